"""The command line: everything that needs no pytest."""

import importlib
import pkgutil
import sys

import click

from specfloor import __version__, commands
from specfloor.errors import UsageError
from specfloor.exits import Exit


class LazyCommands(click.Group):
    """A group whose commands are the public modules of ``specfloor.commands``.

    Each is imported when it is asked for: reading a log must not wait for the statistics. A module
    is named as its command and holds it under that name, ``_`` standing for ``-``.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        modules = [module.name for module in pkgutil.iter_modules(commands.__path__)]
        return sorted(name.replace("_", "-") for name in modules if not name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None when there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(importlib.import_module(f"{commands.__name__}.{name}"), name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Tell whether a vLLM-Ascend release still gives speculative decoding that pays."""


def main() -> None:
    """Run the command line; usage errors are one sentence and exit code 4."""
    try:
        code = cli.main(standalone_mode=False)
    except UsageError as error:
        click.echo(f"specfloor: {error}", err=True)
        code = Exit.USAGE
    except click.exceptions.Abort:
        code = 130  # 128 + SIGINT, as shells report it
    except click.ClickException as error:
        error.show()
        code = Exit.USAGE
    sys.exit(code)
