"""Asking an interpreter about its kernels, with interpreters that answer this and that."""

import json
import sys

import pytest

from specfloor.engines import kernels
from specfloor.engines.kernels import LIMITS, ROWS, WIDTHS, kernel_answer
from specfloor.errors import UsageError

ANSWER = {
    "vllm": "0.32.0",
    "device": "cpu",
    "cases": [
        {
            "path": "SiluAndMul",
            "dtype": "bfloat16",
            "limit": None,
            "rows": 1,
            "width": 96,
            "worst": 0.001,
            "new_in_a_later_script": 1,
        }
    ],
}


@pytest.fixture
def interpreter(tmp_path):
    def make(body):
        python = tmp_path / "python"
        python.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}\n")
        python.chmod(0o755)
        return python

    return make


def test_the_answer_is_found_among_what_an_engine_prints(interpreter):
    python = interpreter(
        "print('INFO loading')\n"
        f"print('swiglu kernels:' + json.dumps({ANSWER!r}))\n"
        "print('INFO bye', file=sys.stderr)"
    )
    answer = kernel_answer(python)
    assert (answer.vllm, answer.device) == ("0.32.0", "cpu")
    assert answer.cases[0].worst == 0.001


def test_the_script_gets_the_request_and_the_environment(interpreter, tmp_path):
    python = interpreter(
        f"open({str(tmp_path / 'asked')!r}, 'w').write(json.dumps([sys.argv[1:], "
        "os.environ['TORCHDYNAMO_DISABLE'], os.environ['ASCEND_HOME_PATH']]))\n"
        f"print('swiglu kernels:' + json.dumps({ANSWER!r}))"
    )
    kernel_answer(python, env={"ASCEND_HOME_PATH": "/cann"})
    (script, request), disabled, home = json.loads((tmp_path / "asked").read_text())
    assert script.endswith("scripts/swiglu.py")
    assert json.loads(request) == {
        "limits": list(LIMITS),
        "rows": list(ROWS),
        "widths": list(WIDTHS),
        "seed": 20260601,
    }
    assert (disabled, home) == ("1", "/cann")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit('ModuleNotFoundError: No module named vllm')", "No module named vllm"),
        ("pass", "nothing"),
    ],
)
def test_an_interpreter_that_does_not_answer(interpreter, body, said):
    with pytest.raises(UsageError, match=rf"could not be run \(.*{said}\)"):
        kernel_answer(interpreter(body))


def test_one_that_hangs(interpreter, monkeypatch):
    monkeypatch.setattr(kernels, "_TIMEOUT_S", 0.5)
    with pytest.raises(UsageError, match=r"did not answer within 0\.5 s"):
        kernel_answer(interpreter("import time; time.sleep(60)"))


def test_one_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        kernel_answer(tmp_path / "python")
