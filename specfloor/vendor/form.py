"""The vendor's issue forms, and titles that its automatic labels understand.

Names of fields are those of vllm-project/vllm-ascend: the bug report form, and
``.github/ISSUE_TEMPLATE/700-performance-discussion.yml``. Labels are given by the patterns of
``.github/issue-labeler.yml``, which are matched against title and text.
"""

from collections.abc import Collection

import msgspec

from specfloor.catalog.model import Family, Release
from specfloor.cells import Cell, slug
from specfloor.triage.findings import Finding

REPOSITORY = "vllm-project/vllm-ascend"


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An issue form: how its titles begin, and the names of its fields.

    ``proposal`` and ``discussion`` are optional fields that only the performance form has.
    """

    prefix: str
    environment: str
    report: str
    proposal: str | None = None
    discussion: str | None = None


BUG = Form("[Bug]: ", "Your current environment", "🐛 Describe the bug")
PERFORMANCE = Form(
    "[Performance]: ",
    "Your current environment (if you think it is necessary)",
    "Report of performance regression",
    "Proposal to improve performance",
    "Misc discussion on performance",
)

SPEED = frozenset(
    {Finding.SPEED_REGRESSION, Finding.SPEED_REGRESSION_ACCEPT_OK, Finding.BATCH_FLIP}
)


def form_of(findings: Collection[Finding]) -> Form:
    """Return the form that findings belong in: performance when they are about speed alone."""
    return PERFORMANCE if findings and SPEED.issuperset(findings) else BUG


def method_words(method: str) -> str:
    """Return a method as a title names it, so that the label for speculative decoding is set."""
    return "MTP" if slug(method) == "mtp" else f"speculative decode ({method})"


def model_name(family: Family) -> str:
    """Return the model's name without what is said of its checkpoint."""
    return family.display.partition(",")[0]


def product(release: Release) -> str:
    """Return what was run, as ``vLLM-Ascend 0.23.0``."""
    if release.platform == "ascend":
        return f"vLLM-Ascend {release.name}"
    return f"vLLM {release.vllm} on the CPU"


def title(form: Form, what: str, cell: Cell, family: Family, release: Release) -> str:
    """Return the title: ``what`` is the finding in a few words."""
    subject = f"{method_words(cell.method)} k={cell.k}, {model_name(family)}, {product(release)}"
    return f"{form.prefix}{subject}: {what}"


def keywords(cell: Cell, family: Family) -> tuple[str, ...]:
    """Return words by which labels and searches find the issue.

    The labels' patterns spell some models without the dash (``glm5``) and some with a space.
    """
    name = model_name(family)
    words = ("speculative decode", cell.method, name, name.replace("-", ""), name.replace("-", " "))
    return tuple(dict.fromkeys(word.lower() for word in words))


def searches(cell: Cell, family: Family, release: Release, cause: str | None) -> tuple[str, ...]:
    """Return queries that find duplicates in the vendor's issues; ``cause`` is a line of a log."""
    name, method = model_name(family), cell.method
    subject = "MTP" if slug(method) == "mtp" else method
    queries = [
        f'{subject} acceptance "{name}"',
        f"{subject} acceptance {release.vllm_ascend or release.vllm}",
        f"{subject} 接受率",
        f'speculative "{name}" is:open',
    ]
    if cause:
        words = cause.replace('"', " ").split()
        queries.insert(0, f'"{" ".join(words[:8])}"')
    return tuple(f"repo:{REPOSITORY} is:issue {query}" for query in queries)
