"""The summary where a CI server shows it."""

import pytest

from specfloor.report import step_summary
from specfloor.report.step_summary import VARIABLE, append_step_summary

SUMMARY = "# 1 PASS\n\n## cpu-2.0\n\na table\n\n## Acceptance in detail\n\nanother — table\n"


def test_without_a_ci_server_nothing_is_written(tmp_path):
    assert append_step_summary(SUMMARY, {}) is None
    assert append_step_summary(SUMMARY, {VARIABLE: ""}) is None


def test_it_is_appended_to_what_other_steps_wrote(tmp_path):
    path = tmp_path / "summary"
    path.write_text("before\n")
    assert append_step_summary(SUMMARY, {VARIABLE: str(path)}) == path
    assert path.read_text(encoding="utf-8") == f"before\n{SUMMARY}"


@pytest.mark.parametrize("limit", range(0, 77, 7))
def test_what_does_not_fit_ends_before_a_section_and_says_so(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(step_summary, "LIMIT", limit)
    path = tmp_path / "summary"
    append_step_summary(SUMMARY, {VARIABLE: str(path)})
    text = path.read_text(encoding="utf-8")
    kept, _, note = text.rpartition("The rest does not fit here")
    assert note.endswith("`summary.md` of the run.\n")
    assert SUMMARY.startswith(kept.rstrip("\n"))
    assert "another" not in kept
    assert len(kept.encode()) <= limit + 2


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        append_step_summary(SUMMARY, {VARIABLE: str(tmp_path / "none" / "summary")})
