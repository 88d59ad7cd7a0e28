"""A comparison of stored runs as one file of HTML, in the dress of the page of a run."""

from collections.abc import Sequence

import msgspec
from markupsafe import Markup

from specfloor.exits import Exit
from specfloor.report.comparison import Compared, Section, headline, sections, times
from specfloor.report.html import words
from specfloor.report.html.model import Standing
from specfloor.report.html.render import asset, template

_STANDINGS = {
    Exit.HOLDS: Standing.PASS,
    Exit.FAILS: Standing.FAIL,
    Exit.UNDECIDED: Standing.INCONCLUSIVE,
}


class View(msgspec.Struct, frozen=True):
    """One comparison: how it stands, its answer, what times show, and what follows."""

    standing: Standing
    headline: str
    times: str | None
    sections: tuple[Section, ...]


def render_comparisons(all_compared: Sequence[Compared]) -> str:
    """Return comparisons as one page: no script, nothing fetched, everything escaped."""
    views = [
        View(
            _STANDINGS[one.comparison.exit_code],
            headline(one.comparison),
            times(one.comparison),
            tuple(sections(one)),
        )
        for one in all_compared
    ]
    return template("compare.html.j2").render(
        views=views,
        words=words,
        style=Markup(asset("page.css")),  # noqa: S704
    )
