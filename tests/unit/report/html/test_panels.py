"""The panels: that they show what was measured, and nothing that was not."""

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.experiments.base import Curve, ExperimentJudgement, Point, Table
from specfloor.host.npu_smi import Device
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.run import CellResult
from specfloor.report.html import words
from specfloor.report.html.context import Context
from specfloor.report.html.model import Role
from specfloor.report.html.other_panels import experiments
from specfloor.report.html.speed_panels import flip_sentence
from specfloor.runs.records import HostSampleRecord, ProcessorSample
from specfloor.triage.findings import Finding
from tests.unit.builders import (
    ACCEPTED,
    CELL,
    both_arms,
    catalog,
    floor,
    launch,
    natural,
    report_only,
)
from tests.unit.report.html.pages import of_concurrencies, page_of, panel, titles


class TestAcceptance:
    def test_rows_and_the_floor(self):
        chart = panel(page_of(both_arms()), words.RATE_TITLE).charts[0]
        assert [row.label for row in chart.rows] == [words.MEAN, words.POOLED]
        assert chart.rows[0].low < chart.rows[0].value < chart.rows[0].high
        assert [level.value for level in chart.levels] == [0.6]

    def test_domains_have_rows(self):
        page = page_of(both_arms(on={"domains": ("code", "math")}))
        labels = [row.label for row in panel(page, words.RATE_TITLE).charts[0].rows]
        assert labels[2:] == ["code", "math"]

    def test_a_floor_of_length_is_drawn_beside_lengths(self):
        page = page_of(both_arms(), floor(2.0, "acceptance_length"), report_only("speedup"))
        assert panel(page, words.RATE_TITLE).charts[0].levels == ()
        assert panel(page, words.LENGTH_TITLE).charts[0].levels[0].value == 2.0

    def test_where_the_floor_and_the_counts_come_from(self):
        notes = panel(page_of(both_arms()), words.RATE_TITLE).notes
        assert notes[0] == "Floor 0.6 since 2026-05-01: it was reached (a run)."
        assert notes[1].startswith("Rung A: 40 of 40 prompts sent, 0 failed. ")
        assert notes[2] == "40 of 40 prompts got the same text with speculation off."
        assert notes[3] == words.NO_REFERENCE

    def test_the_profile_is_that_of_the_steps(self):
        series = panel(page_of(both_arms(on={"vary": False})), words.PROFILE_TITLE).charts[0].series
        expected = [sum(a > i for a in ACCEPTED) / len(ACCEPTED) for i in range(3)]
        assert series[0].y == pytest.approx(expected)
        assert series[0].x == (1, 2, 3)

    def test_published_figures_stand_beside(self, monkeypatch):
        from specfloor.catalog.references import Reference
        from specfloor.report.html import acceptance_panels

        def published(quantity, *value):
            return Reference("glm", "mtp", quantity, value, "golden", "vLLM", "a file")

        found = (
            published("acceptance_rate", 0.7, 0.8),
            published("acceptance_length", 2.9),
            published("per_position", 0.9, 0.8),
        )
        monkeypatch.setattr(acceptance_panels, "fitting", lambda cell: found)
        page = page_of(both_arms())
        rate = panel(page, words.RATE_TITLE)
        dot = rate.charts[0].rows[-1]
        assert (dot.label, dot.text, dot.role) == ("vLLM, golden", "0.7 to 0.8", Role.REFERENCE)
        assert any("acceptance length 2.9 (vLLM, golden; k unknown)" in note for note in rate.notes)
        assert panel(page, words.LENGTH_TITLE).charts[0].rows[-1].value == 2.9
        assert panel(page, words.PROFILE_TITLE).charts[0].series[1].y == (0.9, 0.8)

    def test_requests_over_time(self):
        chart = panel(page_of(both_arms()), words.TIME_TITLE).charts[0]
        cloud, line = chart.series
        assert len(cloud.x) == len(line.x) == 40
        assert list(cloud.x) == sorted(cloud.x)
        assert chart.levels[0].value == 0.6

    def test_the_lowest_requests(self):
        accepted = "<b>markup</b> " * 20
        rows = panel(page_of(both_arms(on={"text": accepted})), words.LOWEST_TITLE).table.rows
        assert len(rows) == 5
        assert [row[4] for row in rows] == ["0.667"] * 5
        assert rows[0][5].startswith("<b>markup</b> <b>")
        assert rows[0][5].endswith(" …")

    def test_nothing_measured_shows_nothing(self):
        assert titles(page_of([])) == []


class TestSpeed:
    def test_the_factors_multiply(self):
        chart = panel(page_of(both_arms(launches=3)), words.SPEED_TITLE).charts[0]
        length, cost, speedup = chart.rows
        assert length.value * cost.value == pytest.approx(speedup.value, rel=0.02)
        assert speedup.low < speedup.value < speedup.high
        assert chart.base == 1

    def test_one_pair_says_that_its_interval_is_supposed(self):
        notes = panel(page_of(both_arms()), words.SPEED_TITLE).notes
        assert notes[0].startswith("One pair of launches: the interval supposes")

    def test_both_arms_have_their_times(self):
        page = page_of(both_arms(launches=2))
        for title, n in ((words.TPOT_TITLE, 16), (words.TTFT_TITLE, 40)):
            found = panel(page, title)
            assert found.prose.count(f"({n} requests)") == 2
            off, on = found.charts[0].series
            assert (off.role, on.role) == (Role.OFF, Role.ON)
            assert (off.y[0], off.y[-1]) == (0, 1)

    def test_one_concurrency_is_no_curve(self):
        assert words.CURVE_TITLE not in titles(page_of(both_arms()))

    def test_the_flip_lies_between_two_that_were_measured(self):
        page = of_concurrencies({1: 0.03, 4: 0.04, 16: 0.09})
        found = panel(page, words.CURVE_TITLE, cell=2)
        assert found.prose == ("Speculation pays up to 4 requests in flight and costs from 16 on.")
        (series,) = found.charts[0].series
        assert series.x == (1, 4, 16)
        assert series.y[0] > series.y[1] > 1 > series.y[2]

    @pytest.mark.parametrize(
        ("speedups", "said"),
        [
            ((2.0, 1.5), "Speculation pays at every concurrency measured, up to 2."),
            ((0.9, 0.8), "Speculation costs at every concurrency measured."),
            ((0.9, 1.2), "Speculation pays at 2 requests in flight and costs at 1."),
        ],
    )
    def test_a_curve_without_a_flip(self, speedups, said):
        assert flip_sentence((1, 2), speedups) == said


def device(npu, **said):
    known = {
        "name": "910B3",
        "health": "OK",
        "bus_id": None,
        "power_w": 90.0,
        "temp_c": 40,
        "aicore_pct": 70,
        "memory_used_mb": None,
        "memory_total_mb": None,
        "hbm_used_mb": 16384,
        "hbm_total_mb": 65536,
    }
    return Device(npu, 0, **known | said)


def samples(arm=CELL.arm, *, devices=(), processor=None, problem=None):
    return [
        HostSampleRecord(
            launch(arm).key.id,
            t_s=5.0 * i,
            took_s=0.1,
            processor=processor,
            devices=devices,
            problem=problem,
        )
        for i in range(4)
    ]


class TestMachine:
    def test_every_device_and_their_median(self):
        devices = [device(npu, aicore_pct=10 * npu, power_w=None) for npu in range(3)]
        page = page_of([*both_arms(), *samples(devices=tuple(devices))])
        charts = {chart.title: chart for chart in panel(page, words.HOST_TITLE).charts}
        *each, middle = charts[words.AICORE_CHART].series
        assert [series.y[0] for series in each] == [0, 10, 20]
        assert {series.role for series in each} == {Role.QUIET}
        assert (middle.label, middle.y) == ("median of 3 devices", (10,) * 4)
        assert charts[words.DEVICE_MEMORY_CHART].series[-1].y == (25.0,) * 4
        assert words.POWER_CHART not in charts

    def test_one_device_is_its_own_median(self):
        page = page_of([*both_arms(), *samples(devices=(device(0),))])
        assert len(panel(page, words.HOST_TITLE).charts[0].series) == 1

    def test_the_processor(self):
        processor = ProcessorSample(80.0, 60.0, 2.0, 1, 2)
        page = page_of([*both_arms(), *samples(processor=processor)])
        (chart,) = panel(page, words.HOST_TITLE).charts
        assert [series.y[0] for series in chart.series] == [80.0, 60.0]

    def test_each_launch_has_a_sentence_and_one_is_drawn(self):
        busy = ProcessorSample(80.0, 10.0, 2.0, 1, 2)
        quiet = ProcessorSample(5.0, 5.0, 2.0, 1, 2)
        records = [*samples(OFF, processor=busy), *samples(processor=quiet)]
        found = panel(page_of([*both_arms(), *records]), words.HOST_TITLE)
        off, on = found.notes
        assert off.startswith(f"{launch(OFF).key.id}: processes of others took 70 %")
        assert on.startswith(f"{launch(CELL.arm).key.id}: the processor looked normal")
        assert found.charts[0].series[0].y == (5.0,) * 4

    def test_devices_that_could_not_be_read(self):
        page = page_of([*both_arms(), *samples(problem="npu-smi is not there")])
        found = panel(page, words.HOST_TITLE)
        assert "the devices could not be read (npu-smi is not there)" in found.notes[0]
        assert found.charts == ()

    def test_no_samples_no_panel(self):
        assert words.HOST_TITLE not in titles(page_of(both_arms()))


class TestExperiments:
    def context(self, *judgements):
        result = CellResult(CELL, None, None, None, experiments=judgements)
        return Context(result, RecordIndex().evidence(CELL), (result,), catalog())

    def test_curves_and_tables(self):
        judgement = ExperimentJudgement(
            CELL,
            "flip",
            None,
            (Finding.BATCH_FLIP,),
            "it flips",
            tables=(Table("points", ("c", "note"), ((1.0, None), (2.0, "a note"))),),
            curves=(
                Curve("full", "c", "speedup", (Point(1, 2.0, 1.9, 2.1), Point(2, 1.0, 0.9, 1.1))),
                Curve("small", "c", "speedup", (Point(1, 2.0),)),
                Curve("other", "c", "goodput", (Point(1, 2.0),), log_x=True),
                Curve("empty", "c", "goodput", ()),
            ),
        )
        first, table = experiments(self.context(judgement))
        assert first.title == "Experiment: flip"
        assert first.prose == "It flips."
        speedup, goodput = first.charts
        assert [s.label for s in speedup.series] == ["full", "small"]
        assert speedup.series[0].low == (1.9, 0.9)
        assert speedup.series[1].low == ()
        assert goodput.doubling
        assert table.table.rows == (("1", words.NOTHING), ("2", "a note"))
        assert table.table.numeric == {0}


def test_counts_of_a_block_alone_draw_no_requests():
    crowded = msgspec.structs.replace(CELL, concurrency=4)
    records = [
        *(launch(arm) for arm in (OFF, CELL.arm)),
        *natural(CELL.arm, cell=crowded, per_request=False),
    ]
    for_counters = [
        msgspec.structs.replace(record, chunk_tokens=(1,) * len(record.chunk_tokens))
        if hasattr(record, "chunk_tokens")
        else record
        for record in records
    ]
    page = page_of(for_counters, cells=(crowded,))
    assert words.TIME_TITLE not in titles(page)
