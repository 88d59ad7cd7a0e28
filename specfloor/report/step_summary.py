"""The Markdown summary where a CI server shows it: the file that GITHUB_STEP_SUMMARY names."""

from collections.abc import Mapping
from pathlib import Path

from specfloor.i18n import _

VARIABLE = "GITHUB_STEP_SUMMARY"
"""Set by GitHub Actions, and by Gitea and Forgejo after it, for every step of a job."""
LIMIT = 1024 * 1024 - 4096
"""Bytes of a summary, with room for what other steps of the job write: GitHub shows none of a step
that is over 1 MiB."""


def append_step_summary(text: str, environ: Mapping[str, str]) -> Path | None:
    """Append a run's summary to the file that the CI server shows; return it, None without one.

    A summary that would be too long ends before the section that does not fit, and says so.

    Raises:
        OSError: the file cannot be written.
    """
    if not (name := environ.get(VARIABLE)):
        return None
    path = Path(name)
    taken = path.stat().st_size if path.exists() else 0
    with path.open("ab") as file:
        file.write(_fitting(text, LIMIT - taken).encode())
    return path


def _fitting(text: str, room: int) -> str:
    data = text.encode()
    if len(data) <= room:
        return text
    head = data[: max(0, room)].decode(errors="ignore").rpartition("\n## ")[0]
    return (
        _("{head}\n\nThe rest does not fit here and is in `summary.md` of the run.\n")
        .format(head=head)
        .lstrip()
    )
