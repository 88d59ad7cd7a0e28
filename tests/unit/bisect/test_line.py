"""The line of a search: what grew out of what, whatever the numbers say."""

import pytest

from specfloor.bisect.line import cut, line_of, read_list
from specfloor.catalog import load_catalog
from specfloor.engines.routes import ImageRoute, PythonRoute, VenvRoute
from specfloor.errors import UsageError
from specfloor.ledger import read_ledger

CATALOG, LEDGER = load_catalog(), read_ledger()


def line(good, bad):
    return line_of(CATALOG, LEDGER, good, bad)


def test_a_line_goes_along_main_and_up_the_branch_of_the_bad_end():
    found = line("0.18.0", "v0.23.0")
    assert found.names == (
        *("0.18.0", "0.19.1rc1", "0.20.2rc1", "0.21.0rc1", "0.22.1rc1", "0.23.0rc1", "0.23.0"),
    )
    assert "not by number" in found.order
    assert found.left_out == {}


def test_a_maintenance_release_that_is_newer_in_date_stands_where_its_branch_was_cut():
    # 0.23.0.post1 is of 2026-09-21, 0.25.1rc1 of 2026-08-19
    tags = {tag.name: tag for tag in LEDGER.tags}
    assert tags["0.23.0.post1"].date > tags["0.25.1rc1"].date
    assert line("0.23.0.post1", "0.25.1rc1").names == ("0.23.0.post1", "0.24.0rc1", "0.25.1rc1")


def test_a_branch_is_on_the_way_with_its_first_release_alone():
    found = line("0.22.1rc1", "0.25.1rc1")
    assert found.names == ("0.22.1rc1", "0.23.0rc1", "0.24.0rc1", "0.25.1rc1")
    assert set(found.left_out) == {"0.23.0", "0.23.0.post1"}
    assert "not the first of its branch" in found.left_out["0.23.0"]


def test_what_came_after_the_good_end_on_its_own_branch_is_not_on_the_way():
    found = line("0.18.0rc1", "0.20.2rc1")
    assert found.names == ("0.18.0rc1", "0.19.1rc1", "0.20.2rc1")
    assert "did not grow out of" in found.left_out["0.18.0"]


def test_one_branch_is_walked_by_date():
    # the third candidate of 0.13.0 came after the release itself
    assert line("0.13.0rc2", "0.13.0rc3").names == ("0.13.0rc2", "0.13.0", "0.13.0rc3")


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("0.23.0", "0.18.0", "does not come before"),
        ("0.18.0", "0.18.0", "name two releases"),
        # later in number, and not grown out of it
        ("0.25.1rc1", "0.23.0.post1", "does not come before"),
        ("0.18.0", "cpu-0.32.0", "of one platform"),
        ("cpu-0.32.0", "cpu-0.28.0", "not older"),
    ],
)
def test_ends_that_have_no_line_between_them_are_refused(good, bad, said):
    with pytest.raises(UsageError, match=said):
        line(good, bad)


def test_without_history_the_number_of_the_vllm_decides_and_the_line_says_so():
    found = line("cpu-0.28.0", "cpu-0.32.0")
    assert (found.names[0], found.names[-1]) == ("cpu-0.28.0", "cpu-0.32.0")
    assert "number of their vLLM" in found.order


def test_every_line_of_the_ledger_is_in_the_order_in_which_branches_left_main():
    cuts = {
        tag.name: tag.base.split()[1] if tag.base else tag.date.isoformat() for tag in LEDGER.tags
    }
    names = line("0.7.1rc1", "0.30.0rc2").names
    assert [cuts[name] for name in names] == sorted(cuts[name] for name in names)
    assert len(names) > 30


def test_a_list_gives_names_and_ways(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text(
        "# the good end first\na1b2 python:/opt/a/bin/python\n\nnightly image:x/y:z # no\nc venv\n"
    )
    entries = read_list(path)
    assert [entry.name for entry in entries] == ["a1b2", "nightly", "c"]
    assert isinstance(entries[0].route, PythonRoute)
    assert entries[1].route == ImageRoute("x/y:z")
    assert entries[2].route == VenvRoute()
    assert [entry.name for entry in cut(entries, None, "nightly")] == ["a1b2", "nightly"]
    assert cut(entries, None, None) == entries
    with pytest.raises(UsageError, match="is not in the list"):
        cut(entries, "d", None)
    with pytest.raises(UsageError, match="does not come before"):
        cut(entries, "c", "a1b2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a venv\na venv\n", "line 2"),
        ("a venv\nb\n", "line 2"),
        ("a venv\nb docker:x\n", "line 2: .* no way to reach"),
        ("a/b venv\nc venv\n", "line 1"),
        ("a venv\n", "fewer than two"),
    ],
)
def test_a_list_of_another_shape_is_refused_by_its_line(tmp_path, text, said):
    path = tmp_path / "list.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_list(path)


def test_a_list_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_list(tmp_path / "none.txt")
