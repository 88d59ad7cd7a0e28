"""Every way of speculating of the catalogue against the SpeculativeConfig of the vLLM it is for."""

import itertools
import re

import pytest

from specfloor.catalog import load_catalog
from tests.contract.gaps import gap
from tests.contract.launches import all_launches, releases_under_contract
from tests.contract.misfits import REFUSED, TAKEN
from tests.contract.speculation import case_of, misfits, needs_the_release

every_vllm = pytest.mark.parametrize(
    "vllm", list(dict.fromkeys(r.vllm for r in releases_under_contract(load_catalog())))
)


def cases():
    """Yield the launches of one method of a family on a release."""
    releases = load_catalog().releases
    speculating = (launch for launch in all_launches() if case_of(launch))
    for (release, family), group in itertools.groupby(
        speculating, key=lambda launch: (launch.release, launch.family)
    ):
        launches = list(group)
        for method in dict.fromkeys(launch.arm.method for launch in launches):
            name = f"{release}-{family}-{method}"
            why = gap(name)
            marks = [pytest.mark.xfail(reason=why, raises=AssertionError)] if why else []
            yield pytest.param(
                releases[release].vllm,
                releases[release].vllm_ascend,
                [launch for launch in launches if launch.arm.method == method],
                id=name,
                marks=marks,
            )


@pytest.mark.parametrize(("vllm", "vllm_ascend", "launches"), list(cases()))
def test_vllm_makes_of_it_what_is_meant(vllm, vllm_ascend, launches, answers, sources):
    wrong = []
    for launch in launches:
        case = case_of(launch)
        resolution = answers[vllm].cases[case]
        why = needs_the_release(launch, resolution, sources[vllm_ascend])
        if why:
            pytest.skip(why)
        wrong += [f"{launch.name}: {misfit}" for misfit in misfits(case, resolution)]
    assert not wrong, "\n".join(wrong)


@every_vllm
@pytest.mark.parametrize("what", REFUSED)
def test_vllm_refuses_a_misfit(vllm, what, answers):
    case, words = REFUSED[what]
    assert re.search(words, answers[vllm].cases[case].error)


@every_vllm
@pytest.mark.parametrize("what", TAKEN)
def test_vllm_takes_its_neighbour(vllm, what, answers):
    case = TAKEN[what]
    assert list(misfits(case, answers[vllm].cases[case])) == []
