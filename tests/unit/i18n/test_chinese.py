"""What a Chinese reader gets: no English sentence in tables, reasons, paragraphs, page or bug text.

Left as they are: names, codes, commands, flags and paths; what models answered and logs said; and
what is written in files of data (reasons of floors, conditions of references).
"""

import re
from pathlib import Path

import pytest

from specfloor.i18n import speaking
from specfloor.judge.upgrade import Side, judge_cell_upgrade
from specfloor.report.details import details_table
from specfloor.report.files import markdown
from specfloor.report.html.render import render
from specfloor.report.paragraphs import paragraph
from specfloor.report.table import tables
from specfloor.triage.files import triage
from specfloor.triage.findings import Finding
from specfloor.triage.given import Given, GivenFile
from specfloor.triage.report import as_markdown, as_text
from tests.unit.builders import (
    CELL,
    GLM,
    RULE,
    both_arms,
    catalog,
    evidence,
    fault,
    floor,
    info,
    judged,
    launch,
    natural,
    report_only,
)
from tests.unit.i18n.reading import crowded, english, stumbles
from tests.unit.report.html.pages import DEAD, of_concurrencies, page_of
from tests.unit.triage.builders import HEALTHY, log, started, window
from tests.unit.vendor.builders import GOOD, two_releases, write_run

FLOORS = (floor(0.6), report_only("speedup"))
CASES = Path(__file__).parents[2] / "cases"
FOLDER = Path("reports/r1")


@pytest.mark.parametrize(
    "text", ["the floor is excluded", "x。Look at the draft", "<p>not a code</p>"]
)
def test_english_is_found(text):
    assert english(text)


def test_names_and_codes_are_no_english():
    assert english("FAIL 接受率 cpu-2.0 `look at this` vllm serve MODEL --max-num-seqs 3") == []


@pytest.mark.parametrize("text", ["得到 56:", "x-c1, 按各分支", "在3 个回答", "共 5%的", "速度:快"])
def test_english_punctuation_and_crowded_numbers_are_found(text):
    assert crowded(text)


def test_chinese_punctuation_and_spaced_numbers_are_not_crowded():
    assert crowded("得到 56：在 3 个回答，5 % 的 a:b, c 1:2（k=3）") == []


RUNS_WORSE = {"accepted": (1, 0, 0, 1, 0, 0, 0, 2, 0, 0)}
DATA = (
    "it was reached",
    "nothing to go by yet",
    "t was a ",
    "instead of an answer",
    "died unexpectedly, shutting down executor",
    "dcmi initialisation failed",
)
"""What records, floors and logs of these tests say, which is shown as it is."""
RUNS = {
    "healthy": both_arms(),
    "dead": both_arms(on=DEAD),
    "worse": both_arms(on=RUNS_WORSE),
    "too good": both_arms(on={"accepted": (3,) * 10, "vary": False, "text": "a b c " * 60}),
    "few": both_arms(on={"prompts": 3}),
    "failed requests": both_arms(on={"failed": tuple(range(0, 40, 4))}),
    "every request failed": both_arms(on={"failed": tuple(range(40)), "counted": False}),
    "counters alone": both_arms(on={"per_request": False}),
    "no counts at all": both_arms(on={"per_request": False, "counted": False}),
    "two launches": both_arms(launches=2),
    "domains": both_arms(on={"domains": ("code", "math")}),
    "does not start": [fault(Finding.START_FAIL, CELL.arm), launch(), *natural()],
    "neither starts": [fault(Finding.CRASH, CELL.arm), fault(Finding.CRASH)],
    "broken off": [
        launch(CELL.arm),
        *natural(CELL.arm, answered=7),
        fault(Finding.HANG, CELL.arm),
    ],
    "off arm does not start": [*both_arms()[41:], fault(Finding.START_FAIL)],
    "nothing": [],
}


@pytest.fixture
def _in_chinese():
    with speaking("zh"):
        yield


@pytest.mark.usefixtures("_in_chinese")
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize(
    "entries", [FLOORS, (floor(2.9, "acceptance_length"), floor(1.3, "speedup")), ()]
)
def test_a_run_as_text_and_as_markdown(name, entries):
    result = judged(RUNS[name], *entries)
    said = [paragraph(judgement, FOLDER) for judgement in result.judgements]
    text = "\n".join((*said, *tables(result.cells).values(), details_table(result.cells)))
    assert stumbles(text + markdown(result, info(), FOLDER), *DATA) == []


@pytest.mark.usefixtures("_in_chinese")
def test_an_upgrade():
    sides = [Side(evidence(*both_arms(on=on)), "here") for on in (None, RUNS_WORSE)]
    said = judge_cell_upgrade(*sides, GLM, RULE, "cpu-1.0")
    assert "变差，非偶然" in said.reason
    assert stumbles(paragraph(said, FOLDER), *DATA) == []


@pytest.mark.usefixtures("_in_chinese")
@pytest.mark.parametrize("name", RUNS)
def test_a_page(name):
    page = render(page_of(RUNS[name], complete=False, truncated=True))
    assert 'lang="zh-CN"' in page
    assert stumbles(page, *DATA) == []


@pytest.mark.usefixtures("_in_chinese")
def test_a_page_with_several_concurrencies():
    assert stumbles(render(of_concurrencies({1: 0.03, 2: 0.04, 4: 0.09})), *DATA) == []


@pytest.mark.usefixtures("_in_chinese")
@pytest.mark.parametrize("case", sorted(CASES.glob("*/*/")), ids=lambda case: case.name)
def test_triage(case):
    files = [path for path in sorted(case.iterdir()) if path.name != "expected.json"]
    report = triage(Given(files=tuple(GivenFile(path=path.name) for path in files)), case)
    assert stumbles(as_text(report), *DATA) == []


@pytest.mark.usefixtures("_in_chinese")
def test_triage_of_several_kinds_with_all_that_is_wrong_with_them(tmp_path):
    bad = window(0, HEALTHY).replace("Accepted: 418 tokens", "Accepted: 918 tokens")
    (tmp_path / "server.log").write_text(
        started("0.20.2", k=1) + log(20, counts=lambda *_: (9,)) + bad, encoding="utf-8"
    )
    for kind, case in (("npu_smi", "a2-shared-host"), ("metrics", "pair-total-and-created")):
        for path in (CASES / kind / case).iterdir():
            if path.name != "expected.json":
                (tmp_path / path.name).write_bytes(path.read_bytes())
    given = Given((GivenFile("."),), {"server_pids": [9120], "image_tag": "v0.18.0"})
    report = triage(given, tmp_path, "0.23.0", "glm-4.7")
    found = {warned.code for warned in report.warnings}
    differing = {"release_differs", "model_differs", "k_differs"}
    assert found >= differing | {"contradictory_line", "shared_device"}
    assert stumbles(as_text(report), *DATA) == []
    assert stumbles(as_markdown(report), *DATA) == []


@pytest.fixture
def command(command, monkeypatch):
    """Run a command in Chinese on the small catalogue and return what it prints."""
    for name in ("report", "bug", "compare"):
        monkeypatch.setattr(f"specfloor.commands.{name}.load_catalog", catalog)
    return command


@pytest.fixture
def stored(tmp_path):
    """A stored run of a good release and of one whose draft has gone bad."""
    return write_run(tmp_path / "r1", two_releases(), cells=(GOOD, CELL))


@pytest.mark.usefixtures("command")  # for the small catalogue
def test_a_report_to_the_vendor(typed, stored, tmp_path):
    text = tmp_path / "bug.md"
    options = ("-o", text, "--archive", tmp_path / "bug.tar.gz")
    _, said, missing = typed("--lang", "zh", "bug", stored, *options)
    assert missing.startswith("文本中没有可发送的请求：")
    title, _, body = text.read_text(encoding="utf-8").partition("\n")
    # the vendor's labels and forms are English
    fields = "### Your current environment", "### 🐛 Describe the bug"
    quoted = "cannot be read (No such file or directory)", GLM.display, GLM.display.lower()
    assert stumbles(said, title) == []
    assert stumbles(body, *fields, *quoted, *DATA) == []
    assert all(field in body for field in fields)
    assert "实测与预期" in body


@pytest.mark.parametrize("style", ["text", "md", "html"])
def test_a_comparison(command, stored, style):
    assert stumbles(command("compare", stored, "--format", style), *DATA) == []


def test_programs_read_english(command, stored):
    assert re.search(r"[\u4e00-\u9fff]", command("compare", stored, "--format", "json")) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "--release", "0.18.0", "--family", "glm-5", "--soc", "a2", "--cards", "16"),
        ("families",),
        ("releases",),
        ("bisect", "--good", "0.18.0", "--bad", "0.23.0", "--family", "glm-5", "--plan"),
    ],
    ids=" ".join,
)
def test_what_is_known(command, arguments):
    assert stumbles(command(*arguments), "Engram tables in host") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("fixes", "--release", "0.18.0", "--release", "0.23.0", "--family", "glm-5"),
        ("fixes", "--release", "0.23.0", "--family", "glm-4.7", "--method", "mtp", "--all"),
        ("references",),
        ("workloads",),
        ("host",),
        ("families", "glm-5.2"),
        ("releases", "0.23.0"),
        ("history", "--help"),
        ("triage", "--help"),
    ],
    ids=" ".join,
)
def test_the_punctuation_of_what_is_known(command, arguments):
    assert crowded(command(*arguments)) == []
