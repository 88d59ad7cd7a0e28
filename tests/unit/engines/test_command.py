"""What a launch is started with."""

import json
from pathlib import Path

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.catalog.model import Checkpoint, Family, Method, Release, Signals
from specfloor.cells import OFF, Arm
from specfloor.engines.command import server_command

RELEASE = Release(
    name="cpu-1.0",
    platform="cpu",
    kind="venv",
    vllm="1.0",
    signals=Signals(per_request=True),
    env={"SPACE": "1", "BOTH": "release"},
)
FAMILY = Family(
    name="tiny-1.5",
    display="Tiny",
    platform="cpu",
    checkpoint=Checkpoint(kind="embedded", source="tiny"),
    methods=(
        Method(name="mtp", k=(3,)),
        Method(name="ngram", k=(4,), config={"prompt_lookup_max": 4}),
        Method(name="draft_model", k=(3,), draft="target"),
    ),
    workload_set="tiny",
    workloads=("code",),
    tiers={"off": {}},
    serve={"--dtype": "float32", "--enforce-eager": ""},
    env={"BOTH": "family"},
)
PER_REQUEST = ["--enable-per-request-metrics", "--per-request-spec-decode-metrics", "detailed"]


def command(arm=OFF, *, release=RELEASE, family=FAMILY, **options):
    return server_command(
        Path("/env/bin/python"),
        release=release,
        family=family,
        arm=arm,
        model="/models/tiny",
        port=8123,
        **options,
    )


def config_of(argv):
    return json.loads(argv[argv.index("--speculative-config") + 1])


def test_the_off_arm_has_no_speculative_configuration_at_all():
    assert command().argv == (
        *("/env/bin/python", "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", "/models/tiny", "--served-model-name", "tiny-1.5"),
        *("--host", "127.0.0.1", "--port", "8123", "--no-enable-prefix-caching"),
        *("--dtype", "float32", "--enforce-eager"),
    )


def test_a_speculating_arm_adds_its_configuration_and_nothing_else():
    off, on = command().argv, command(Arm("mtp", 3)).argv
    assert on[: len(off)] == off
    assert config_of(on) == {"method": "mtp", "num_speculative_tokens": 3}
    assert list(on[len(off) + 2 :]) == PER_REQUEST


@pytest.mark.parametrize("offered", [False, None])
def test_per_request_counts_are_only_asked_for_where_the_release_has_them(offered):
    release = msgspec.structs.replace(RELEASE, signals=Signals(per_request=offered))
    assert not set(PER_REQUEST) & set(command(Arm("mtp", 3), release=release).argv)
    assert not set(PER_REQUEST) & set(command(Arm("mtp", 3), per_request_metrics=False).argv)


def test_further_fields_and_the_draft_checkpoint_are_part_of_the_configuration():
    assert config_of(command(Arm("ngram", 4)).argv) == {
        "method": "ngram",
        "num_speculative_tokens": 4,
        "prompt_lookup_max": 4,
    }
    assert config_of(command(Arm("draft_model", 3), draft="/models/draft").argv) == {
        "method": "draft_model",
        "num_speculative_tokens": 3,
        "model": "/models/draft",
    }


def test_a_method_may_be_spelt_either_way():
    assert config_of(command(Arm("draft-model", 2)).argv)["method"] == "draft_model"


def test_a_method_the_family_does_not_have_is_an_error():
    with pytest.raises(KeyError, match=r"tiny-1\.5 has no method 'eagle3'"):
        command(Arm("eagle3", 3))


def test_extra_arguments_come_last_so_that_they_win():
    extra = ("--enable-prefix-caching", "--seed", "1")
    assert command(Arm("mtp", 3), extra_args=extra).argv[-3:] == extra


def test_the_environment_holds_additions_only_and_the_family_wins():
    assert command().env == {
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
        "SPACE": "1",
        "BOTH": "family",
    }


def test_a_model_of_the_hub_may_be_fetched():
    hub = msgspec.structs.replace(FAMILY, checkpoint=Checkpoint(kind="hub", source="org/model"))
    assert "HF_HUB_OFFLINE" not in command(family=hub).env


def test_every_arm_of_the_catalogue_has_a_command():
    catalog = load_catalog()
    for family in catalog.families.values():
        release = next(r for r in catalog.releases.values() if r.platform == family.platform)
        for arm in (OFF, *(Arm(m.name, k) for m in family.methods for k in m.k)):
            argv = command(arm, release=release, family=family).argv
            assert ("--speculative-config" in argv) == arm.speculates
            assert all(flag.startswith("--") for flag in family.serve)
