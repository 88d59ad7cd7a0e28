"""Every launch command of the catalogue against the vLLM and vllm-ascend it is for."""

import itertools

import pytest

from specfloor.catalog import load_catalog
from tests.contract.complaints import complaints
from tests.contract.gaps import gap
from tests.contract.launches import all_launches


def cases():
    """Yield the commands of one placement of a family on a release, which share their flags."""
    releases = load_catalog().releases
    for key, group in itertools.groupby(
        all_launches(), key=lambda launch: (launch.release, launch.family, launch.placement)
    ):
        why = gap(*key)
        marks = [pytest.mark.xfail(reason=why, raises=AssertionError, strict=True)] if why else []
        release = releases[key[0]]
        yield pytest.param(
            release.vllm,
            release.vllm_ascend,
            list(group),
            id="-".join(filter(None, key)),
            marks=marks,
        )


@pytest.mark.parametrize(("vllm", "vllm_ascend", "commands"), list(cases()))
def test_the_release_takes_every_command(vllm, vllm_ascend, commands, answers, sources):
    source = sources[vllm_ascend] if vllm_ascend else None
    found = [
        f"{launch.name}: {complaint}"
        for launch in commands
        for complaint in complaints(launch, answers[vllm][launch.argv], source)
    ]
    assert not found, "\n".join(found)
