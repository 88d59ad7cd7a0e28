"""``specfloor triage`` as typed."""

import json

import pytest
from click.testing import CliRunner

from specfloor.commands.triage import triage
from specfloor.errors import UsageError
from tests.unit.triage.builders import BASELINE, CASES, DEAD, case_text, log, triaged, verdict

ENGINES = CASES / "logs" / "engines-000-to-007-one-broken" / "server.log"


def run(*arguments, content=None):
    """Return what the command prints and its exit code."""
    result = CliRunner().invoke(
        triage,
        [str(argument) for argument in arguments],
        input=content,
        standalone_mode=False,
        catch_exceptions=False,
    )
    return result.stdout, result.return_value


@pytest.mark.parametrize(
    ("folder", "exit_code"),
    [
        ("logs/v1-final-order", 0),
        ("logs/all-zero", 1),
        ("logs/spec-off-log", 10),
        ("logs/foreign-sglang", 10),
        ("npu_smi/a2-shared-host", 0),
    ],
)
def test_exit_codes(folder, exit_code):
    (path,) = [p for p in (CASES / folder).iterdir() if p.name != "expected.json"]
    _, found = run(path)
    assert found == exit_code


def test_text_says_what_is_wrong_where_by_how_much_and_what_to_do():
    text, exit_code = run(ENGINES, "--release", "0.18.0", "--family", "glm-5", "--method", "mtp")
    first = text.splitlines()[0]
    assert first.startswith("TOPOLOGY (engines 003): ")
    for part in (
        "12,257 of 20,487 tokens accepted",
        "engine 003: 0 of 2,553",
        "Known fixes this release lacks",
        "7808",
        "more are contradicted by the figures",
        "Next",
    ):
        assert part in text
    assert exit_code == 1


def test_markdown_has_headings_and_the_same_facts():
    text, _ = run(ENGINES, "--format", "md")
    assert text.startswith("**TOPOLOGY**")
    assert "### What the files say" in text
    assert "- engine 003: 0 of 2,553" in text


def test_json_is_one_object_with_a_schema():
    text, _ = run(ENGINES, "--format", "json")
    found = json.loads(text)
    assert found["schema"] == 1
    assert list(found) == [
        *("schema", "files", "extract", "verdict", "warnings", "findings", "diagnosis")
    ]
    assert list(found["verdict"]) == ["class", "scope", "reason"]
    assert found["files"] == {str(ENGINES): "logs"}


def test_standard_input():
    text, exit_code = run("-", content=ENGINES.read_bytes())
    assert text.startswith("TOPOLOGY")
    assert exit_code == 1


def test_a_folder_is_searched_and_what_is_of_no_kind_left_out(tmp_path):
    (tmp_path / "logs" / ".hidden").mkdir(parents=True)
    (tmp_path / "logs" / "server.log").write_text(log(6), encoding="utf-8")
    (tmp_path / "logs" / ".hidden" / "x.log").write_text(
        log(6, counts=lambda *_: DEAD), encoding="utf-8"
    )
    (tmp_path / "model.bin").write_bytes(b"PK\0\0SpecDecoding")
    (tmp_path / "notes.txt").write_text("nothing of interest\n", encoding="utf-8")
    (tmp_path / "empty").touch()
    text, exit_code = run(tmp_path, "--format", "json")
    assert list(json.loads(text)["files"]) == [str(tmp_path / "logs" / "server.log")]
    assert exit_code == 0


def test_spec_tokens_and_method_are_what_was_asked_for(tmp_path):
    (tmp_path / "server.log").write_text(log(6), encoding="utf-8")
    text, exit_code = run(tmp_path / "server.log", "--spec-tokens", "5")
    assert text.startswith("CONFIG_NOT_IN_EFFECT")
    assert exit_code == 1
    assert run(tmp_path / "server.log", "--spec-tokens", "3")[1] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there is no file to read"),
        (("missing.log",), "missing.log cannot be read"),
        ((ENGINES, "--given", "given.json"), "leave FILE... out"),
        ((ENGINES, ENGINES), "given twice"),
        ((ENGINES, "--release", "8.5.0"), "is not a vLLM-Ascend version"),
        ((ENGINES, "--release", "0.18.0", "--family", "gpt-7"), "unknown family"),
        ((ENGINES, "--release", "0.18.0", "--method", "magic"), "magic"),
        (("--given", "missing.json"), "missing.json cannot be read"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not what --given takes"),
        ('{"files": []}', "names no files"),
        ('{"files": [{"path": 3}]}', "is not what --given takes"),
        ('{"files": [{"path": "no.log", "role": "log"}]}', "no.log cannot be read"),
        ('{"files": [{"path": "a"}], "baseline": {"k": "three"}}', "is not what --given takes"),
    ],
)
def test_a_given_file_that_cannot_be_used(content, message, tmp_path):
    path = tmp_path / "given.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        run("--given", path)


def test_paths_in_a_given_file_are_relative_to_it(tmp_path, monkeypatch):
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "server.log").write_text(log(20), encoding="utf-8")
    given = {"files": [{"path": "server.log", "role": "log"}], "baseline": BASELINE}
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    text, exit_code = run("--given", "case/given.json")
    assert text.startswith("EXPECTED")
    assert exit_code == 0


def test_a_folder_with_nothing_of_a_known_kind_is_no_pass(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(UsageError, match="of a kind that is known"):
        run(tmp_path)


# -- several kinds together ------------------------------------------------------------------------


def test_what_a_tool_without_acceptance_lacks_does_not_hide_what_a_log_shows(tmp_path):
    bench = case_text("bench", "serve-spec-off", "bench.txt")
    files = {"server.log": log(20), "bench.txt": bench}
    healthy = triaged(tmp_path / "a", files, baseline=BASELINE)
    assert verdict(healthy) == "EXPECTED"
    assert healthy["extract"]["bench"]["runs"][0]["spec"] is None
    text, _ = run(tmp_path / "a")
    assert "bench: " in text
    assert "TPOT 27.90 ms, no acceptance" in text
    ill = triaged(tmp_path / "b", files | {"server.log": log(20, counts=lambda *_: DEAD)})
    assert verdict(ill) == "ACCEPT_ZERO"
    assert verdict(triaged(tmp_path / "c", files)) == "PARSE"


def test_no_data_of_a_server_is_not_covered_by_another(tmp_path):
    before = case_text("metrics", "speculation-off", "before.prom")
    after = case_text("metrics", "speculation-off", "after.prom")
    files = {"server.log": log(20), "before.prom": before, "after.prom": after}
    assert verdict(triaged(tmp_path, files, baseline=BASELINE)) == "NO_DATA"


def test_a_shared_host_makes_a_loss_of_speed_worthless_and_not_a_loss_of_acceptance(tmp_path):
    table = case_text("npu_smi", "a2-shared-host", "npu-smi.txt")
    folder = CASES / "bench" / "dynamic-k-zero-tax"
    slow = {f"c004-{arm}.txt": (folder / f"c004-{arm}.txt").read_text() for arm in ("off", "on")}
    config = {"server_pids": [9120]}
    shared = triaged(tmp_path / "a", slow | {"npu.txt": table}, config=config)
    assert verdict(shared) == "BASELINE_INVALID"
    assert "SPEED_REGRESSION" in {entry["finding"] for entry in shared["findings"]}
    dead = {"server.log": log(20, counts=lambda *_: DEAD), "npu.txt": table}
    assert verdict(triaged(tmp_path / "b", dead, config=config)) == "ACCEPT_ZERO"


def test_two_environment_texts_are_both_kept(tmp_path):
    files = {"a.txt": "vllm_ascend 0.18.0\n", "b.txt": "vllm_ascend 0.23.0\n"}
    extract = triaged(tmp_path, files)["extract"]
    assert extract["vllm_ascend"]["version"] == "0.18.0"
    assert extract["env"]["vllm_ascend"]["version"] == "0.23.0"
