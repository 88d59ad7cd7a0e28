"""``specfloor compare`` as typed, on stored runs."""

import json

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.judge.run import Basis, Wanted, write_basis
from specfloor.runs.records import Purpose, RequestRecord
from specfloor.runs.store import RunWriter
from tests.unit.builders import ACCEPTED, CELL, RULE, catalog, floors, info, launch, natural
from tests.unit.report.html.markup import Markup, words

LESS = tuple(max(0, n - 1) for n in ACCEPTED)
OLD = CELL.on_release("cpu-1.0")
GLM47 = msgspec.structs.replace(CELL, family="glm-4.7", tier="high")


def paced(record, pace):
    """Return a request that took so many times as long."""
    if not isinstance(record, RequestRecord):
        return record
    return msgspec.structs.replace(record, chunk_s=tuple(pace * s for s in record.chunk_s))


@pytest.fixture
def stored(tmp_path):
    """Store a run of cells; each is given with how its block differs."""

    def store(name, cells, **fields):
        wanted = tuple(Wanted(cell, frozenset(Purpose)) for cell in cells)
        with RunWriter(tmp_path / name, info(run=name, complete=True, **fields)) as writer:
            write_basis(Basis(wanted, floors(), RULE), writer.folder)
            for cell, block in cells.items():
                writer.append(launch(cell.arm, cell=cell))
                pace = block.pop("pace", 1)
                for record in natural(cell.arm, cell=cell, **block):
                    writer.append(paced(record, pace))
        return str(writer.folder)

    return store


@pytest.fixture
def compare(monkeypatch, typed):
    def run(*arguments, known=catalog):
        monkeypatch.setattr("specfloor.commands.compare.load_catalog", known)
        return typed("compare", *arguments)

    return run


@pytest.fixture
def both(stored):
    """A run of two releases of which the new one is worse."""
    return stored("both", {OLD: {}, CELL: {"accepted": LESS}})


def test_the_first_line_is_the_answer(compare, both):
    code, out, err = compare(both)
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == "Upgrade cpu-1.0 → cpu-2.0: 1 family worse"
    assert "Old: cpu-1.0, run both, on a processor, 2 cores." in lines
    said = "1 of one cell worse, most glm_9_1_tiny-mtp3-code-off-c1 (-43.9%)"
    assert said in compare(both, "--format", "md")[1]
    assert "WORSE" in out
    # a family of the CPU is none of the ledger's
    assert "Not covered: cpu-1.0 is not a vLLM-Ascend release" in out


SLOWER = (
    "Time per output token, by cell: slower in 1 of 1 (by 30%). Each is beyond chance at a level "
    "of 5%, but from one launch a release with a supposed scatter of 3%; times never decide."
)


def test_times_that_changed_stand_under_the_answer(compare, stored):
    run = stored("slow", {OLD: {}, CELL: {"pace": 1.3}})
    code, out, _ = compare(run)
    assert code == 0
    answer, *more = out.split("\n\n")[0].splitlines()
    assert answer == "Upgrade cpu-1.0 → cpu-2.0: 1 family same"
    assert " ".join(more) == SLOWER
    _, out, _ = compare(run, "--format", "md")
    assert out.split("\n\n")[:2] == [f"# {answer}", SLOWER]
    _, out, _ = compare(run, "--format", "html")
    assert SLOWER in [one.text for one in Markup(out).all("p")]
    faster = stored("fast", {OLD: {"pace": 1.3}, CELL: {}})
    assert "faster in 1 of 1 (by 23%)" in compare(faster)[1]
    still = stored("still", {OLD: {}, CELL: {}})
    assert "Time per output token" not in compare(still)[1]


def test_the_same_runs_give_the_same_bytes(compare, both):
    for style in ("text", "md", "json"):
        assert compare(both, "--format", style) == compare(both, "--format", style)


def test_two_runs_and_one_release_of_each(compare, both, stored):
    later = stored("later", {CELL: {}})
    code, out, _ = compare(f"{both}:cpu-1.0", later)
    assert (code, out.splitlines()[0]) == (0, "Upgrade cpu-1.0 → cpu-2.0: 1 family same")
    code, out, _ = compare(f"{both}:cpu-2.0", later)
    assert code == 0
    assert out.splitlines()[0] == "Upgrade cpu-2.0 (both) → cpu-2.0 (later): 1 family better"
    assert "Both sides are the same release." in out


def test_three_sides_have_an_answer_each_and_the_worst_exit_code(compare, both, stored):
    code, out, _ = compare(both, stored("later", {CELL: {}}))
    assert code == 1
    answers = out.split("\n\n")[0].splitlines()
    assert [line for line in answers if line.startswith("Upgrade")] == [
        "Upgrade cpu-1.0 → cpu-2.0: 1 family worse",
        "Upgrade cpu-1.0 → cpu-2.0: 1 family same",
    ]
    assert "New: cpu-2.0, run later" in out


def test_what_cannot_be_compared_is_said_with_its_reason(compare, stored):
    old = stored("old", {OLD: {}})
    new = stored("new", {CELL: {"answered": 12}})
    code, out, _ = compare(old, new)
    assert code == 10
    assert out.splitlines()[0] == "Upgrade cpu-1.0 → cpu-2.0: 1 family unknown"
    assert "Not compared, and why\n- not every prompt of this cell was measured on cpu-2.0" in out


def test_markdown_for_a_pull_request(compare, both):
    _, out, _ = compare(both, "--format", "md")
    answer, _, heading, *_ = out.split("\n\n")
    assert answer == "# Upgrade cpu-1.0 → cpu-2.0: 1 family worse"
    assert heading == "## What was compared"
    assert "\n## Families\n\n| family" in out
    assert "\n## Cells\n\n| cell" in out


def test_a_page_that_needs_nothing_else(compare, both):
    code, out, _ = compare(both, "--format", "html")
    assert code == 1
    markup = Markup(out)
    assert markup.one("h1").text == "Upgrade cpu-1.0 → cpu-2.0: 1 family worse"
    assert words(markup.one("p", of="verdict").text) == "✗ FAIL"
    assert [one.text for one in markup.all("h2")] == [
        *("What was compared", "What the ledger says", "Families", "Cells")
    ]
    assert "glm_9_1_tiny-mtp3-code-off-c1" in [one.text for one in markup.all("td")]
    assert not list(markup.all("script"))
    assert {one["href"] for one in markup.all("link")} == {"data:,"}
    assert compare(both, "--format", "html")[1] == out


def test_what_a_log_says_is_no_markup(compare, stored):
    records = {CELL: {"answered": 0}}
    run = stored("both <b>&", {OLD: {}, **records})
    _, out, _ = compare(run, "--format", "html")
    assert "both &lt;b&gt;&amp;" in out
    assert "<b>" not in out


def test_json_for_programs(compare, both):
    _, out, _ = compare(both, "--format", "json")
    document = json.loads(out)
    (found,) = document["comparisons"]
    assert document["schema"] == 1
    assert found["headline"] == "Upgrade cpu-1.0 → cpu-2.0: 1 family worse"
    (family,) = found["families"]
    assert family["outcome"] == "WORSE"
    assert family["cells"][0]["quantities"][0]["result"]["change"] < -0.2
    assert found["ledger"]["unknown"].startswith("cpu-1.0 is not")


def test_the_ledger_says_what_an_upgrade_of_ascend_gains(compare, stored):
    run = stored("npu", {GLM47.on_release("0.18.0"): {}, GLM47.on_release("0.23.0"): {}})
    code, out, _ = compare(run, known=load_catalog)
    assert code == 0
    assert out.splitlines()[0] == "Upgrade 0.18.0 → 0.23.0: 1 family same"
    assert "for the families and methods compared: 0.23.0 gains " in " ".join(out.split())
    assert "`specfloor fixes --release 0.18.0 --release 0.23.0 --all`" in " ".join(out.split())
    # the answer, then the ledger, then the families
    assert 0 < out.index("What the ledger says") < out.index("Families\n")
    _, out, _ = compare(run, "--format", "json", known=load_catalog)
    gained = json.loads(out)["comparisons"][0]["ledger"]["gained"]
    assert gained
    assert all({"any", "glm-4.7"} & set(change["row"]["families"]) for change in gained)


def test_past_the_end_of_the_ledger_nothing_is_claimed(compare, stored):
    run = stored("npu", {GLM47.on_release("0.23.0"): {}, GLM47.on_release("0.99.0"): {}})
    _, out, _ = compare(run, known=load_catalog)
    assert "Not covered: 0.99.0 is past what the ledger has read" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{both}:cpu-1.0"], "takes two sides or more"),
        (["{both}", "{both}:cpu-2.0"], "is named twice"),
        (["{both}:cpu-7"], "known here: cpu-1.0, cpu-2.0"),
        (["{both}", "nowhere"], "run.json cannot be read"),
        (["{both}", "--family", "nothing"], "unknown family 'nothing'"),
    ],
)
def test_usage_errors_are_one_sentence(compare, both, arguments, sentence):
    code, out, err = compare(*[argument.format(both=both) for argument in arguments])
    assert (code, out) == (4, "")
    assert sentence in err
    assert err.count("\n") == 1
