"""``specfloor workloads`` as typed."""

import json

import pytest
from click.testing import CliRunner

from specfloor.commands.workloads import workloads
from specfloor.errors import UsageError
from specfloor.load.workload import fingerprint, load_workload
from tests.unit.builders import FIXTURES

FOLDER = FIXTURES / "workloads"


def run(*arguments):
    result = CliRunner().invoke(workloads, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_every_set_is_listed():
    text = run("--workloads-dir", FOLDER)
    for part in ("general/code", "glm_moe_tiny/mixed", "061a41520696", "short stories"):
        assert part in text
    listed = {w["workload"]: w for w in json.loads(run("--workloads-dir", FOLDER, "--format=json"))}
    mixed = listed["glm_moe_tiny/mixed"]
    assert mixed["domains"] == dict.fromkeys(("chat", "code", "copy", "math", "structured"), 40)
    chat = load_workload(FOLDER / "general" / "chat.jsonl")
    assert listed["general/chat"]["fingerprint"] == fingerprint(chat)


def test_a_file_is_checked(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"question": "How many?", "answer": "#### 3"}\n{"conversations": []}\n')
    text = run(path)
    for part in ("gsm8k, sharegpt", "prompts                             1", "checked  1"):
        assert part in text
    assert json.loads(run(path, "--format", "json"))["checkable"] == 1


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(UsageError, match="line 1"):
        run(FIXTURES / "floors" / "cpu.toml")
    with pytest.raises(UsageError, match="no workload set"):
        run("--workloads-dir", tmp_path)
