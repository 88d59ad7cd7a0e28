"""The model of the page: what it says first, and that nothing is lost on the way."""

import pytest

from specfloor.cells import OFF
from specfloor.report.html import words
from specfloor.report.html.model import Standing
from specfloor.report.html.overview import answer
from specfloor.report.html.page import MOST_CHARTS, MOST_DETAILED
from specfloor.report.html.standing import sentence
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, both_arms, fault, floor, launch, natural, report_only
from tests.unit.report.html.pages import OLD, page_of, two_releases

P, F, I, N, R = (  # noqa: E741
    Standing.PASS,
    Standing.FAIL,
    Standing.INCONCLUSIVE,
    Standing.NO_DATA,
    Standing.REPORTED,
)


@pytest.mark.parametrize(
    ("standings", "said"),
    [
        ([P, P, R], "Every cell with a floor holds it"),
        ([R], "Measured, and nothing has a floor to hold"),
        ([], "Nothing was judged"),
        ([F], "1 of 1 cells fails"),
        ([F, P], "1 of 2 cells fails"),
        ([F, F, P, N], "2 of 4 cells fail"),
        ([F, F], "Every cell fails"),
        ([N, P], "Nothing is shown to fail, and 1 of 2 cells is undecided"),
        ([N, I], "Nothing is shown to fail, and 2 of 2 cells are undecided"),
    ],
)
def test_the_answer(standings, said):
    assert answer(standings) == said


class TestVerdict:
    def test_a_run_that_holds(self):
        page = page_of(both_arms())
        assert page.standing is P
        assert page.counts == ((P, 1),)
        assert page.troubles == ()
        assert page.warnings == ()

    def test_what_fails_comes_first(self):
        page = two_releases()
        assert page.standing is F
        (trouble,) = page.troubles
        assert trouble.anchor == f"cell-{CELL.id}"
        assert trouble.findings == ("ACCEPT_ZERO",)
        assert trouble.what == "Acceptance"
        assert trouble.reason.startswith("Expected an acceptance rate of at least 0.600; measured")

    def test_no_data_is_not_a_pass(self):
        page = page_of([launch(CELL.arm), *natural(CELL.arm, answered=0, counted=False)])
        assert page.standing is N
        assert page.troubles[0].findings == ("NO_DATA",)

    def test_an_engine_that_does_not_start(self):
        page = page_of([fault(Finding.START_FAIL, CELL.arm, cause="no kernel")])
        assert page.standing is F
        assert "no kernel" in page.troubles[0].reason
        assert (
            page.launches.rows[0][-1] == "START_FAIL: it was a START_FAIL. The log says: no kernel"
        )

    def test_what_is_only_reported(self):
        page = page_of(both_arms(), report_only(), report_only("speedup"))
        assert page.standing is R
        assert page.troubles == ()

    def test_a_run_that_was_cut_off_says_so(self):
        page = page_of(both_arms(), complete=False, truncated=True)
        assert page.warnings == (words.INCOMPLETE, words.TRUNCATED)

    @pytest.mark.parametrize(
        ("reason", "said"),
        [
            ("expected more", "Expected more."),
            ("vLLM is another", "vLLM is another."),
            ("HTTP 400. The end.", "HTTP 400. The end."),
            ("", "."),
        ],
    )
    def test_reasons_are_sentences_and_names_keep_their_letters(self, reason, said):
        assert sentence(reason) == said

    def test_a_configuration_in_effect_is_told_by_its_table(self):
        page = page_of(both_arms(), purposes=["natural"])
        assert page.cells[0].said[0].reason == ""
        page = page_of([launch(CELL.arm, resolved_k=1), *natural(CELL.arm)])
        assert "asked for 3, found 1" in page.cells[0].said[0].reason


class TestMatrix:
    def test_a_square_is_the_worst_of_its_cells(self):
        page = two_releases()
        (row,) = page.matrix
        assert page.releases == ("cpu-1.0", "cpu-2.0")
        assert [square.standing for square in row.squares] == [P, F]
        assert row.squares[1].anchor == f"cell-{CELL.id}"
        assert row.squares[1].counts == ((F, 1),)

    def test_a_family_that_a_release_was_not_asked_for(self):
        other = OLD.on_release("cpu-1.0")
        small = type(CELL)("cpu-2.0", "small", "ngram", 4, "rewrite", "none", 1)
        page = page_of(both_arms(cell=other), floor(0.6), cells=(other, small))
        squares = {row.family: row.squares for row in page.matrix}
        assert squares["small"][0].standing is None
        assert squares["small"][1].standing is N

    def test_ranks_put_the_worst_first(self):
        page = two_releases()
        ranks = {row.standing: row.rank for row in page.rows}
        assert ranks[F] < ranks[P]


class TestRow:
    def values(self, page):
        keys = [column.label for column in page.columns]
        return list(zip(keys, page.rows[0].values, strict=True))

    def test_numbers_sort_as_numbers(self):
        found = dict(self.values(page_of(both_arms(launches=3))))
        assert found["acceptance"].text == "0.683"
        assert found["acceptance"].key == pytest.approx(41 / 60, abs=1e-3)
        assert found["acceptance"].detail.count(" to ") == 1
        assert found["k"].key == 3
        assert found["speedup"].key > 1

    def test_what_is_unknown_has_no_key(self):
        page = page_of([launch(CELL.arm), *natural(CELL.arm, answered=0, counted=False)])
        found = dict(self.values(page))
        assert (found["acceptance"].text, found["acceptance"].key) == (words.NOTHING, None)
        assert page.rows[0].strip is None

    def test_a_floor_of_length_says_so_and_is_no_rate(self):
        page = page_of(both_arms(), floor(2.0, "acceptance_length"), report_only("speedup"))
        assert page.rows[0].values[6].text == "2.000 length"
        assert page.rows[0].strip.floor is None

    def test_the_strip_has_the_floor(self):
        assert page_of(both_arms()).rows[0].strip.floor == 0.6


class TestCell:
    def test_commands_measure_judge_and_serve(self):
        commands = {one.label: one.text for one in page_of(both_arms()).cells[0].commands}
        assert commands[words.MEASURE_AGAIN] == (
            "tox -e cpu -- --release cpu-2.0 --family glm-9.1-tiny --method mtp --spec-tokens 3 "
            "--workload code --tier off --concurrency 1"
        )
        assert commands[words.JUDGE_AGAIN] == "specfloor report reports/r1"
        assert commands[words.SERVE_ON] == "python"

    def test_values_in_commands_are_quoted(self):
        odd = {"argv": ("vllm", "--speculative-config", '{"k": 1}'), "env": {"A": "b c"}}
        page = page_of([launch(CELL.arm, **odd), *natural(CELL.arm)])
        commands = {one.label: one.text for one in page.cells[0].commands}
        assert commands[words.SERVE_ON] == "A='b c' vllm --speculative-config '{\"k\": 1}'"

    def test_evidence_is_linked_relative_to_the_page(self):
        hrefs = [link.href for link in page_of(both_arms()).cells[0].evidence]
        assert hrefs == ["records.jsonl", launch(CELL.arm).log, launch(OFF).log]

    def test_only_what_does_not_hold_is_open(self):
        page = two_releases()
        assert [cell.open for cell in page.cells] == [False, True]


@pytest.fixture(scope="module")
def large():
    cells = [
        type(CELL)("cpu-2.0", CELL.family, "mtp", k, workload, "off", concurrency)
        for workload in ("structured-output", "code")
        for k in (1, 3)
        for concurrency in range(1, 42)
    ]
    records = []
    for cell in cells:
        if cell.k == 3 and cell.concurrency <= 24 and cell != CELL:
            records += natural(cell.arm, cell=cell)
    records += [launch(CELL.arm), *natural(CELL.arm, accepted=(0,) * 10)]
    return page_of(records, cells=tuple(cells))


class TestLargeRuns:
    def test_the_worst_are_drawn(self, large):
        charts = {
            cell.anchor: sum(len(panel.charts) for panel in cell.panels) for cell in large.cells
        }
        drawn = [cell for cell in large.cells if cell.drawn]
        assert MOST_CHARTS - 10 < sum(charts[cell.anchor] for cell in drawn) <= MOST_CHARTS
        failing = [cell for cell in large.cells if cell.standing is F]
        assert failing
        assert all(cell.drawn for cell in failing)

    def test_the_best_lose_their_panels(self, large):
        assert len(large.cells) > MOST_DETAILED
        bare = [cell for cell in large.cells if not cell.panels]
        assert all(cell.said and cell.commands for cell in bare)
