"""The command line: everything that needs no pytest."""

import copy
import errno
import importlib
import io
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from typing import TypeVar

import click

from specfloor import __version__, commands
from specfloor.errors import UsageError
from specfloor.exits import Exit
from specfloor.i18n import ENGLISH, LANGUAGES, N_, VARIABLE, _, language, language_of, use

_LANG = "--lang"
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_WORDS = (N_("Options"), N_("Commands"), N_("Show this message and exit."))
"""What click says by itself, named for the catalogue."""
_EXTRA = (N_("default: "), N_("required"))
"""What click puts in brackets behind the help of an option."""
_Named = TypeVar("_Named", bound=click.Command)


class SpokenFormatter(click.HelpFormatter):
    """Writes the words that click puts into a help in the language that is spoken.

    click would ask the locale of the machine for them.
    """

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the line of usage."""
        super().write_usage(prog, args, prefix or _("Usage: "))

    def write_heading(self, heading: str) -> None:
        """Write the heading of a list."""
        title = _("{title}:").format(title=_(heading))
        self.write(f"{'':>{self.current_indent}}{title}\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a list of options or commands."""
        super().write_dl([(term, _said(text)) for term, text in rows], col_max, col_spacing)


def _said(text: str) -> str:
    """Return the help of an option with click's own words in the language that is spoken."""
    text, opening, extra = text.rpartition("  [") if text.endswith("]") else (text, "", "")
    for word in _EXTRA:
        extra = extra.replace(word, _(word))
    return _(text) + opening + extra


class SpokenContext(click.Context):
    """The context of a command whose help is in the language that is spoken."""

    formatter_class = SpokenFormatter


class LazyCommands(click.Group):
    """A group whose commands are the public modules of ``specfloor.commands``.

    Each is imported when it is asked for: reading a log must not wait for the statistics. A module
    is named as its command and holds it under that name, ``_`` standing for ``-``.
    """

    context_class = SpokenContext

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options before the command; ``--lang`` may also stand behind it."""
        use(language_of(os.environ))
        return super().parse_args(ctx, _lang_first(args))

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; whoever stops reading its output has not been told a result."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _drop_output()
            return Exit.UNDECIDED

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        modules = [module.name for module in pkgutil.iter_modules(commands.__path__)]
        return sorted(name.replace("_", "-") for name in modules if not name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None when there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        return in_language(self.load(cmd_name))

    @staticmethod
    def load(name: str) -> click.Command:
        """Import the command of a name, as it is written."""
        name = name.replace("-", "_")
        command = getattr(importlib.import_module(f"{commands.__name__}.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help in the language that is spoken."""
        click.Group.format_help(in_language(self), ctx, formatter)


def in_language(command: _Named) -> _Named:
    """Return a command whose help is in the language that is spoken."""
    if language() == ENGLISH:
        return command
    spoken = copy.copy(command)
    spoken.context_class = SpokenContext
    spoken.help = command.help and _(cleandoc(command.help))
    spoken.params = [copy.copy(param) for param in command.params]
    for param in spoken.params:
        if isinstance(param, click.Option) and param.help:
            param.help = _(param.help)
    if isinstance(spoken, click.Group):
        spoken.commands = {name: in_language(one) for name, one in spoken.commands.items()}
    return spoken


def help_messages(command: click.Command) -> Iterator[str]:
    """Yield what a command's help says, without that of commands below it."""
    options = [param for param in command.params if isinstance(param, click.Option)]
    if command.help:
        yield cleandoc(command.help)
    yield from (option.help for option in options if option.help)


def _lang_first(args: list[str]) -> list[str]:
    """Return arguments with the option for the language before all others."""
    for place, arg in enumerate(args):
        if arg == "--":
            break
        if arg == _LANG or arg.startswith(f"{_LANG}="):
            taken = 2 if arg == _LANG else 1
            return [*args[place : place + taken], *args[:place], *args[place + taken :]]
    return args


def _speak(ctx: click.Context, param: click.Parameter, value: str | None) -> None:  # noqa: ARG001
    if value:
        use(value)


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    _LANG,
    type=click.Choice(list(LANGUAGES)),
    is_eager=True,
    expose_value=False,
    callback=_speak,
    help=f"language of what people read (default: what {VARIABLE} says, else {ENGLISH}); "
    "json stays English",
)
@click.version_option(__version__)
def cli() -> None:
    """Tell whether a vLLM-Ascend release still gives speculative decoding that pays."""


def main() -> None:
    """Run the command line; usage errors are one sentence and exit code 4."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal need not know every character
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(prog_name="specfloor", standalone_mode=False)
    except UsageError as error:
        click.echo(f"specfloor: {error}", err=True)
        code = Exit.USAGE
    except OSError as error:
        if error.filename is None:
            if error.errno not in _UNWRITABLE:
                raise
            _drop_output()
        click.echo(f"specfloor: {_of_system(error)}", err=True)
        code = Exit.USAGE
    except click.exceptions.Abort:
        code = 130  # 128 + SIGINT, as shells report it
    except click.ClickException as error:
        error.show()
        code = Exit.USAGE
    sys.exit(code)


def _of_system(error: OSError) -> str:
    """Return what the system refused, where no command says it better."""
    if error.filename is None:
        return f"the output cannot be written ({error.strerror}); send it somewhere with room"
    return (
        f"{error.filename} cannot be used ({error.strerror}); "
        "make room or give rights there, or name another place"
    )


def _drop_output() -> None:
    """Let what cannot be written go, or the interpreter fails at it once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
