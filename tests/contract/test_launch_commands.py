"""Every launch command of the catalogue against the vLLM and vllm-ascend it is for."""

import itertools

import pytest

from specfloor.catalog import load_catalog
from tests.contract.complaints import complaints
from tests.contract.launches import all_launches


def cases(*, refused):
    """Yield the commands of one placement of a family on a release, which share their flags.

    Those that the catalogue says the release does not take, or the others.
    """
    releases = load_catalog().releases
    for key, group in itertools.groupby(
        all_launches(), key=lambda launch: (launch.release, launch.family, launch.placement)
    ):
        commands = [launch for launch in group if bool(launch.not_taken) == refused]
        if commands:
            release = releases[key[0]]
            yield pytest.param(
                release.vllm, release.vllm_ascend, commands, id="-".join(filter(None, key))
            )


def found(launch, vllm, vllm_ascend, answers, sources):
    """Return what is wrong with a command, a sentence each."""
    source = sources[vllm_ascend] if vllm_ascend else None
    return list(complaints(launch, answers[vllm].commands[launch.argv], source))


@pytest.mark.parametrize(("vllm", "vllm_ascend", "commands"), list(cases(refused=False)))
def test_the_release_takes_every_command(vllm, vllm_ascend, commands, answers, sources):
    wrong = [
        f"{launch.name}: {complaint}"
        for launch in commands
        for complaint in found(launch, vllm, vllm_ascend, answers, sources)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("vllm", "vllm_ascend", "commands"), list(cases(refused=True)))
def test_the_release_takes_none_of_what_it_is_said_to_refuse(
    vllm, vllm_ascend, commands, answers, sources
):
    for launch in commands:
        wrong = found(launch, vllm, vllm_ascend, answers, sources)
        for flag in launch.not_taken:
            value = flag.split()[-1]
            assert any(value in complaint for complaint in wrong), f"{launch.name} takes {flag}"
        assert len(wrong) == len(launch.not_taken), "\n".join(wrong)
