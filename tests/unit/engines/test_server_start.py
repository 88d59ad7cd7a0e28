"""What is said of a server that ended before it served; ``tests/e2e`` has servers that serve."""

import pytest

from specfloor.engines.command import Command
from specfloor.engines.server import Server, StartFailure
from specfloor.triage.findings import Finding


def failure_of(tmp_path, script):
    command = Command(("/bin/sh", "-c", script), {})
    with pytest.raises(StartFailure) as caught:
        Server.start(lambda _: command, log=tmp_path / "on.log", deadline_s=60.0)
    assert caught.value.failure.finding is Finding.START_FAIL
    return caught.value.failure


def test_the_last_words_of_what_was_to_run_it_are_quoted(tmp_path):
    failure = failure_of(tmp_path, "echo launcher: no licence; echo INFO: bye; exit 125")
    assert failure.message.endswith("(exit code 125)")
    assert failure.cause == "launcher: no licence"


def test_the_program_for_containers_is_quoted(tmp_path):
    said = "docker: unknown server OS: ."
    failure = failure_of(tmp_path, f'echo "{said}"; echo "See \'docker run --help\'."; exit 125')
    assert failure.cause == said


def test_one_that_says_nothing_has_no_cause(tmp_path):
    assert failure_of(tmp_path, "exit 3").cause is None
