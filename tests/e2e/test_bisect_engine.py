"""The build that broke it, found among builds of a real engine with a planted fault."""

import json

import pytest

from specfloor.bisect.asked import Asked, settings_of, start
from specfloor.bisect.line import Line
from specfloor.bisect.probe import Prober
from specfloor.bisect.report import conclude
from specfloor.bisect.run import search, upcoming
from specfloor.bisect.state import Candidate, save
from specfloor.catalog import load_catalog
from specfloor.catalog.onsite import Site
from specfloor.engines import environment
from specfloor.engines.indexes import load_indexes
from specfloor.engines.local import default_cache
from specfloor.engines.routed import EngineNeeds, engines_of
from specfloor.engines.routes import PythonRoute
from specfloor.ledger import read_ledger
from specfloor.selfcheck import set_drafter, with_calibrated_drafter
from specfloor.session import on_this_host
from tests.e2e.fake_host import ROOT


def twice(folder):
    """Write the code prompts twice: the drafter learns an answer the first time it is given."""
    source = ROOT / "fixtures" / "workloads" / "glm_moe_tiny"
    target = folder / "workloads" / "glm_moe_tiny"
    target.mkdir(parents=True)
    prompts = [json.loads(line) for line in (source / "code.jsonl").read_text().splitlines()[:20]]
    lines = [
        json.dumps(prompt | {"id": f"{prompt['id']}-{time_}"})
        for prompt in prompts
        for time_ in ("first", "again")
    ]
    (target / "code.jsonl").write_text("\n".join(lines))
    (target / "workloads.toml").write_text(
        '[code]\nabout = "code, twice"\nmax_tokens = 64\nforced_tokens = 64\nforced_prompts = 8\n'
    )


@pytest.mark.engine
def test_a_planted_fault_is_found_over_two_releases_of_a_real_engine(tmp_path):
    """Six builds of two releases; from the fifth on the drafter is set to be accepted less."""
    fixtures, into = tmp_path / "fixtures", tmp_path / "search"
    twice(fixtures)
    (fixtures / "floors").mkdir()
    well, broken = tmp_path / "well.json", tmp_path / "broken.json"
    set_drafter(well, mean=0.8, sd=0.05, seed=7)
    set_drafter(broken, mean=0.4, sd=0.05, seed=7)
    able = with_calibrated_drafter(load_catalog(), load_catalog().family("glm_moe_tiny"), well)
    releases = ["cpu-0.28.0"] * 2 + ["cpu-0.32.0"] * 4
    candidates = []
    for place, name in enumerate(releases):
        python = environment.build(able.release(name), (), default_cache(), load_indexes(), print)
        # the switch: which settings the drafter reads is that of the build
        program = tmp_path / f"build-{place}"
        setting = f"SPECFLOOR_DRAFTER={broken if place >= 4 else well}"
        program.write_text(f'#!/bin/sh\nexec env {setting} {python} "$@"\n')
        program.chmod(0o755)
        candidates.append(Candidate(program.name, name, PythonRoute(program)))
    asked = Asked(family="glm_moe_tiny", method="custom_class", workload="code", fixtures=fixtures)
    settings, site = settings_of(asked, "cpu"), Site(able)
    state = start(
        asked,
        candidates=candidates,
        line=Line(tuple(one.name for one in candidates), "as built"),
        settings=settings,
        site=site,
        ledger=read_ledger(),
    )

    def engines(of_run):
        needs = EngineNeeds(site, ROOT / "fixtures" / "models", None, 600, dict(of_run.routes))
        return on_this_host(engines_of(needs, print, lambda *_: None), print)

    prober = Prober(
        state.question, settings=settings, site=site, engines=engines, folder=into, say=print
    )
    planned = upcoming(state)
    ended = search(state, prober, lambda now: save(now, into), print)
    found = conclude(ended, read_ledger())
    assert found.exit_code == 0, found.sentence
    assert (found.last_good, found.first_bad) == ("build-3", ("build-4",))
    # the good end for its floor, and three of the five others: no order needs fewer in the mean
    assert planned.place == 0
    assert ended.launches <= planned.worst
    assert [one.place for one in ended.done] == [0, 2, 3, 4]
    rates = {one.place: one.rate for one in ended.done}
    assert rates[4] < ended.floor.value < min(rates[place] for place in (0, 2, 3))
