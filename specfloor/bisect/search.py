"""The search itself: where the fault may have begun, and which release to launch next.

Releases stand in a line, 0 the good end and ``n`` the bad one; exactly one of 1 … n is the first
bad, with the weight that a prior gives it. Without releases that cannot run, the cheapest order of
launches is the search tree of least expected depth over those n leaves in their order, an optimal
alphabetic tree, found by dynamic programming with the bounds on its roots of Knuth ("Optimum binary
search trees", Acta Informatica 1971). A release that turns out not to run joins the one after it,
since nothing tells them apart, and the tree is made anew.

What is named at the end was measured: where an end itself becomes the last good or the first bad,
it is launched too. That costs one launch there under any order, so the tree stays the best.
"""

import itertools
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from specfloor.i18n import N_


class Answer(StrEnum):
    """What became of the probe of one release."""

    GOOD = N_("good")
    BAD = N_("bad")
    SKIP = N_("skip")
    """It cannot run here, so it tells nothing."""
    UNKNOWN = N_("unknown")
    """It ran, and what was measured did not decide."""

    @property
    def tells(self) -> bool:
        """Whether it narrows the search."""
        return self in (Answer.GOOD, Answer.BAD)


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the fault began: after release ``low`` and at ``high`` or before it.

    ``low`` is the last one known good and ``high`` the first one known bad, as places in the line.
    """

    low: int
    high: int

    @property
    def first_bad(self) -> range:
        """The places that may be the first bad."""
        return range(self.low + 1, self.high + 1)


class Probe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to launch next: a place in the line.

    ``expected`` is the mean number of launches from here on, this one included, and ``worst`` the
    most; both suppose that every release left can run and decides.
    """

    place: int
    expected: float
    worst: int


class Contradiction(Exception):  # noqa: N818 - it is what the releases showed, not an error
    """An end is not what the search was told it is: there is nothing to search between them."""

    def __init__(self, place: int, answer: Answer) -> None:
        """Keep the place of the end and what it turned out to be."""
        super().__init__(f"place {place} is {answer}")
        self.place = place
        self.answer = answer


def range_of(ends: int, answers: Mapping[int, Answer]) -> Range:
    """Return where the fault began, by the answers so far.

    Args:
        ends: the place of the bad end.
        answers: place → answer.

    Raises:
        Contradiction: the good end is bad or the bad end is good.
    """
    if answers.get(0) is Answer.BAD:
        raise Contradiction(0, Answer.BAD)
    if answers.get(ends) is Answer.GOOD:
        raise Contradiction(ends, Answer.GOOD)
    good = [place for place, answer in answers.items() if answer is Answer.GOOD]
    bad = [place for place, answer in answers.items() if answer is Answer.BAD]
    return Range(max(good, default=0), min(bad, default=ends))


def next_probe(weights: Sequence[float], answers: Mapping[int, Answer]) -> Probe | None:
    """Return what to launch next; None when no launch would tell more.

    Args:
        weights: of the places 1 … n being the first bad, in any unit, each above 0.
        answers: place → answer, as far as there are any.

    Raises:
        Contradiction: as of :func:`range_of`.
        ValueError: a weight is not above 0.
    """
    if min(weights) <= 0:
        raise ValueError("every place may be the first bad, so every weight is above 0")
    found = range_of(len(weights), answers)
    inner = [place for place in range(found.low + 1, found.high) if place not in answers]
    stops = [found.low, *inner, found.high]
    groups = [sum(weights[low:high]) for low, high in itertools.pairwise(stops)]
    # what is named at the end has to be measured
    ends = found.low not in answers, found.high not in answers
    tree = Tree(groups)
    extra = ends[0] * groups[0] + ends[1] * groups[-1]
    expected = (tree.cost + extra) / sum(groups)
    worst = tree.worst(*ends)
    if inner:
        return Probe(stops[tree.root], expected, worst)
    for place, unmeasured in zip(stops, ends, strict=True):
        if unmeasured:
            return Probe(place, expected, worst)
    return None


class Tree:
    """The search tree of least expected depth over leaves in a fixed order.

    ``cost`` is Σ weight × depth. Takes time and room in proportion to the square of the leaves.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        """Build the tree over leaves of these weights."""
        n = len(weights)
        upto = [0.0, *itertools.accumulate(weights)]
        # row i, column j: the tree over the leaves i … j - 1
        costs = [[0.0] * (n + 1) for _ in range(n + 1)]
        self._roots = [[min(i + 1, n)] * (n + 1) for i in range(n + 1)]
        for size in range(2, n + 1):
            for i in range(n - size + 1):
                j = i + size
                first = max(self._roots[i][j - 1], i + 1)
                last = min(self._roots[i + 1][j], j - 1) if size > 2 else i + 1
                cost, root = min((costs[i][m] + costs[m][j], m) for m in range(first, last + 1))
                costs[i][j] = cost + upto[j] - upto[i]
                self._roots[i][j] = root
        self._n = n
        self.cost = costs[0][n]

    @property
    def root(self) -> int:
        """The split to ask first: leaves before it on one side, the rest on the other."""
        return self._roots[0][self._n]

    def worst(self, low: bool, high: bool) -> int:
        """Return the most launches, where the first and the last leaf may cost one more."""
        deepest = 0
        open_ = [(0, self._n, 0)]
        while open_:
            i, j, depth = open_.pop()
            if j - i > 1:
                root = self._roots[i][j]
                open_ += [(i, root, depth + 1), (root, j, depth + 1)]
            else:
                deepest = max(deepest, depth + (low and i == 0) + (high and j == self._n))
        return deepest
