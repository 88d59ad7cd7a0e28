"""What the simulations share: when an error rate is too high, and how tables are printed."""

from collections.abc import Sequence

from scipy import stats
from tabulate import tabulate

CONFIDENCE = 0.999
"""An error rate is called too high only when it is so at this confidence: of hundreds of rates
in a table, some exceed their target by luck."""


def exceeds(errors: int, runs: int, target: float) -> bool:
    """Whether the lower bound (Clopper and Pearson) of an error rate exceeds its target."""
    if errors == 0:
        return False
    return bool(stats.beta.ppf(1 - CONFIDENCE, errors, runs - errors + 1) > target)


def percent(share: float) -> str:
    """Return a share as the tables print it."""
    return f"{share:.1%}"


class Report:
    """Markdown tables on standard output, and a note of every figure that missed its target."""

    def __init__(self, title: str) -> None:
        """Print the title of a part."""
        self._missed: list[str] = []
        print(f"### {title}\n")

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print a table."""
        print(tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True), "\n")

    def say(self, sentence: str) -> None:
        """Print a paragraph."""
        print(sentence, "\n")

    def demand(self, what: str, *, holds: bool) -> None:
        """Note a figure that misses its target."""
        if not holds:
            self._missed.append(what)

    def end(self) -> int:
        """Print what missed its target and return the exit status."""
        for what in self._missed:
            print(f"**MISSED**: {what}\n")
        return 1 if self._missed else 0
