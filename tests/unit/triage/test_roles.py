"""Roles as users give them and as names tell them."""

import pytest

from specfloor.triage.roles import read_role, role_of_name


@pytest.mark.parametrize(
    ("role", "wanted"),
    [
        ("log", ("", None)),
        ("off", ("off", None)),
        ("before", ("", 0)),
        ("decode-after", ("decode", 1)),
        ("scrape-12", ("", 12)),
        ("decode-scrape-3", ("decode", 3)),
        ("Prefill", ("prefill", None)),
    ],
)
def test_given_roles(role, wanted):
    assert read_role(role) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("c04-off.txt", ("off", None)),
        ("runs/decode_after.prom", ("decode", 1)),
        ("old-before.prom", ("old", 0)),
        ("scrape-5.prom", ("", 5)),
        ("metrics_2.txt", ("", 2)),
        ("server.log.1", ("", None)),
        ("offload.log", ("", None)),
        ("on-off.txt", ("", None)),
    ],
)
def test_names(name, wanted):
    assert role_of_name(name) == wanted
