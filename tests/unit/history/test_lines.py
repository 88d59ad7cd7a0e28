"""Entries as lines, and lines as Otava's files."""

import csv

import msgspec

from specfloor.history.lines import Quantity, Wanted, lines_of
from specfloor.history.otava import CONFIG, as_csv, write_files
from tests.unit.builders import CELL
from tests.unit.history.builders import elsewhere, entry

OTHER = msgspec.structs.replace(CELL, family="small", method="ngram", k=4, tier="none")


def test_runs_under_the_same_conditions_are_one_line_over_releases():
    (line,) = lines_of([entry(1, cell=CELL.on_release("cpu-1.0")), entry(2, 0.7)])
    assert (line.cell, line.quantity, line.apart) == (CELL.pair_id, Quantity.ACCEPTANCE, {})
    assert [(spot.release, spot.value) for spot in line.spots] == [
        ("cpu-1.0", 0.8),
        ("cpu-2.0", 0.7),
    ]


def test_other_conditions_are_another_line_that_says_what_differs():
    entries = [entry(1), entry(2, conditions=elsewhere(hardware="16 × an NPU")), entry(3)]
    one, other = lines_of(entries)
    assert [spot.run for spot in one.spots] == ["run1", "run3"]
    assert [spot.run for spot in other.spots] == ["run2"]
    assert (one.apart, other.apart) == ({"hardware": "two cores"}, {"hardware": "16 × an NPU"})


def test_a_condition_that_only_one_line_has():
    _, other = lines_of([entry(1), entry(2, conditions=elsewhere(clock="whole"))])
    assert other.apart == {"clock": "whole"}


def test_what_is_wanted():
    entries = [entry(1), entry(2, cell=CELL.on_release("cpu-1.0")), entry(3, cell=OTHER)]
    both = lines_of(entries)
    assert len(both) == 2
    assert [one.family for one in lines_of(entries, Wanted(family="small"))] == ["small"]
    assert [one.method for one in lines_of(entries, Wanted(method="mtp"))] == ["mtp"]
    (line,) = lines_of(entries, Wanted(release="cpu-1.0"))
    assert [spot.run for spot in line.spots] == ["run2"]
    assert lines_of(entries, Wanted(line=both[1].id)) == both[1:]
    assert lines_of(entries, Wanted(family="none")) == ()


def test_entries_without_numbers_are_on_no_line():
    assert lines_of([entry(acceptance=None)]) == ()


def test_csv_has_a_number_in_every_column_of_metrics():
    first = entry(1, speedup=1.5)
    without_on = msgspec.structs.replace(entry(2, speedup=1.4).speed, on_s=None)
    second = entry(2, speed=without_on)
    _, line = lines_of([first, second])
    rows = list(csv.reader(as_csv(line).splitlines()))
    assert rows == [
        ["time", "run", "release", "verdict", "speedup", "off_s_per_token"],
        ["2026-05-01T10:00:00+00:00", "run1", "cpu-2.0", "PASS", "1.5", "0.02"],
        ["2026-05-02T10:00:00+00:00", "run2", "cpu-2.0", "PASS", "1.4", "0.02"],
    ]


def test_a_file_a_line_and_the_configuration_that_names_them(tmp_path):
    lines = lines_of([entry(1, speedup=1.5)])
    paths = write_files(lines, tmp_path / "otava")
    assert [path.suffix for path in paths] == [".csv", ".csv", ".yaml"]
    names = [path.stem for path in paths[:2]]
    assert names == [
        f"{CELL.pair_id}-acceptance_rate-{lines[0].id}",
        f"{CELL.pair_id}-speedup-{lines[1].id}",
    ]
    assert (tmp_path / "otava" / CONFIG).read_text().splitlines()[:12] == [
        "tests:",
        f'  "{names[0]}":',
        "    type: csv",
        f'    file: "{paths[0]}"',
        "    time_column: time",
        "    attributes: [run, release, verdict]",
        "    metrics:",
        "      acceptance_rate:",
        "        direction: 1",
        "      acceptance_length_pooled:",
        "        direction: 1",
        "    csv_options:",
    ]
    assert "      on_s_per_token:\n        direction: -1\n" in paths[2].read_text()
