"""The page's model as one file of HTML."""

import base64
import hashlib
import itertools
from gettext import ngettext
from importlib import resources

import jinja2
from markupsafe import Markup

from specfloor.i18n import _
from specfloor.report.html import words
from specfloor.report.html.model import Chart, Dots, Page, Series
from specfloor.report.html.standing import sentence
from specfloor.report.html.svg import draw, drawing


def render(page: Page) -> str:
    """Return a page as HTML: the same page, the same text to the byte.

    Everything that is not markup of the template is escaped, and a policy in the page forbids what
    might get past that: nothing is fetched, and no script runs but its own.
    """
    style, script = asset("page.css"), asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    numbers = itertools.count(1)

    def drawn(chart: Chart) -> Markup:
        return Markup(draw(chart, f"d{next(numbers)}"))  # noqa: S704, text in it is escaped

    with drawing():
        return template("page.html.j2").render(
            page=page,
            words=words,
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            script_hash=f"sha256-{digest}",
            draw=drawn,
            legend=legend,
            sentence=sentence,
        )


def legend(chart: Chart) -> tuple[Series, ...]:
    """Return the series that need a key, one a label; one alone is named by its title."""
    if isinstance(chart, Dots) or len(chart.series) < 2:
        return ()
    return tuple({series.label: series for series in chart.series}.values())


def template(name: str) -> jinja2.Template:
    """Return a template of the folder ``assets``, in which everything filled in is escaped."""
    environment = jinja2.Environment(
        autoescape=True,
        extensions=["jinja2.ext.i18n"],
        loader=jinja2.FunctionLoader(asset),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.install_gettext_callables(_, ngettext, newstyle=True)  # type: ignore[attr-defined]
    return environment.get_template(name)


def asset(name: str) -> str:
    """Return the text of a file in the folder ``assets``."""
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")
