"""Ways to an engine, as an option gives them."""

from pathlib import Path

import pytest

from specfloor.catalog import load_catalog
from specfloor.engines.routes import (
    EVERY_RELEASE,
    ImageRoute,
    PythonRoute,
    UrlRoute,
    VenvRoute,
    parse_route,
    route_of,
    split_release,
)
from specfloor.errors import UsageError


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("python:/opt/py/bin/python", PythonRoute(Path("/opt/py/bin/python"))),
        ("venv", VenvRoute()),
        ("image", ImageRoute()),
        ("image:registry.local:5000/a/b:v1", ImageRoute("registry.local:5000/a/b:v1")),
        ("url:on=http://h:1", UrlRoute(on="http://h:1")),
        (
            "url:on=http://h:1,off=http://h:2,metrics-on=http://e:1/metrics+http://e:2/metrics,"
            'metrics-off=https://p:9090/api/v1/query?query={job="a",x="b+c"},model=glm',
            UrlRoute(
                off="http://h:2",
                on="http://h:1",
                metrics_on=("http://e:1/metrics", "http://e:2/metrics"),
                metrics_off=('https://p:9090/api/v1/query?query={job="a",x="b+c"}',),
                model="glm",
            ),
        ),
    ],
)
def test_a_way(text, route):
    assert parse_route(text) == route


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no way to reach an engine"),
        ("python:", "no way to reach an engine"),
        ("image:", "no way to reach an engine"),
        ("venv:x", "no way to reach an engine"),
        ("docker:x", "no way to reach an engine"),
        ("url:on=127.0.0.1:8000", "no http address"),
        ("url:on=http://", "no http address"),
        ("url:on=http://h:1,on=http://h:2", "each given once"),
        ("url:onn=http://h:1", "is not one of on=…"),
        ("url:on=http://h:1,metric=http://h:2", "no http address|is not one of"),
        ("url:model=x", "names no server"),
        ("url:on=http://h,metrics-on=a+http://b", "no http address"),
    ],
)
def test_what_is_none(text, said):
    with pytest.raises(UsageError, match=said):
        parse_route(text)


@pytest.mark.parametrize(
    ("given", "release", "way"),
    [
        ("0.18.0=venv", "0.18.0", "venv"),
        ("venv", EVERY_RELEASE, "venv"),
        ("0.18.0=url:on=http://h:1", "0.18.0", "url:on=http://h:1"),
        ("url:on=http://h:1", EVERY_RELEASE, "url:on=http://h:1"),
        ("/opt/a=b/python", EVERY_RELEASE, "/opt/a=b/python"),
        ("0.18.0=/opt/a=b/python", "0.18.0", "/opt/a=b/python"),
    ],
)
def test_the_release_before_it(given, release, way):
    assert split_release(given) == (release, way)


def test_the_usual_way():
    releases = load_catalog().releases
    assert route_of(releases["0.23.0"], None) == PythonRoute()
    assert route_of(releases["cpu-0.32.0"], None) == VenvRoute()
    assert route_of(releases["0.23.0"], VenvRoute()) == VenvRoute()
