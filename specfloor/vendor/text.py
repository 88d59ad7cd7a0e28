"""A bug report as text: the vendor's form, in Markdown."""

import re
from gettext import ngettext
from importlib import resources

import jinja2

from specfloor.i18n import _
from specfloor.vendor.figures import NOTHING
from specfloor.vendor.report import BugReport
from specfloor.vendor.reproduce import PORT

_TEMPLATE = "bug.md.j2"


def as_text(report: BugReport) -> str:
    """Return the report: its title on the first line, then the fields of the form."""
    text = _template().render(r=report, port=PORT)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        # Markdown for a person to paste, and what is between fences is shown as it is
        autoescape=False,  # noqa: S701
        extensions=["jinja2.ext.i18n"],
        loader=jinja2.FunctionLoader(_file),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.install_gettext_callables(_, ngettext, newstyle=True)  # type: ignore[attr-defined]
    environment.globals |= {"fence": fence, "number": _number, "milliseconds": _milliseconds}
    return environment.get_template(_TEMPLATE)


def fence(text: str) -> str:
    """Return a fence that a text cannot close."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    return "`" * (longest + 1)


def _number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _milliseconds(seconds: float | None) -> str:
    return NOTHING if seconds is None else f"{seconds * 1000:.2f}"


def _file(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")
