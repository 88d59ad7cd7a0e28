"""Targets and drafts that fit and that do not."""

import pytest

from specfloor.judge.draft_fit import CheckpointConfig, judge_draft_fit
from specfloor.judge.verdict import Verdict
from specfloor.triage.findings import Finding

BASE = {
    "hidden_size": 4096,
    "vocab_size": 151552,
    "rope_theta": 1e6,
    "hidden_act": "silu",
    "swiglu_limit": 10.0,
    "tie_word_embeddings": False,
}


def config(quantised="", rotated=None, **fields):
    model = {name: value for name, value in (BASE | fields).items() if value is not ...}
    return CheckpointConfig(model, quantised, rotated)


def test_an_mtp_layer_of_the_target_itself():
    judged = judge_draft_fit(config(num_nextn_predict_layers=1), None, "mtp")
    assert judged.verdict is Verdict.PASS
    assert judged.reason == "target and draft agree in MTP layers"


@pytest.mark.parametrize("count", [0, None])
def test_a_target_without_one(count):
    judged = judge_draft_fit(config(num_nextn_predict_layers=count), None, "mtp")
    assert judged.verdict is Verdict.FAIL
    assert judged.findings == (Finding.CONFIG_NOT_IN_EFFECT,)
    assert judged.reason == "MTP layers: the target has at least 1, the draft 0"


def test_a_target_that_does_not_say():
    assert judge_draft_fit(config(), None, "mtp").verdict is Verdict.NO_DATA


def test_the_same_configuration_fits():
    judged = judge_draft_fit(config(), config(), "mtp")
    assert judged.verdict is Verdict.PASS
    assert "swiglu_limit" in judged.reason


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("vocab_size", 151936),
        ("hidden_size", 2048),
        ("swiglu_limit", ...),
        ("rope_theta", 1e4),
        ("tie_word_embeddings", True),
    ],
)
def test_an_mtp_layer_that_differs_does_not(field, value):
    judged = judge_draft_fit(config(), config(**{field: value}), "mtp")
    assert judged.verdict is Verdict.FAIL
    found = "none" if value is ... else str(value)
    assert f"the target has {BASE[field]}, the draft {found}" in judged.reason


@pytest.mark.parametrize("field", ["swiglu_limit", "rope_theta", "tie_word_embeddings"])
def test_another_draft_may_have_values_of_its_own(field):
    judged = judge_draft_fit(config(), config(**{field: 5}), "eagle3")
    assert judged.verdict is Verdict.PASS
    assert f"they differ, which may be meant, in {field} {BASE[field]} and 5" in judged.reason


def test_a_draft_of_another_width_that_says_what_it_reads():
    narrow = config(hidden_size=2048, target_hidden_size=4096)
    assert judge_draft_fit(config(), narrow, "eagle3").verdict is Verdict.PASS
    assert judge_draft_fit(config(), config(hidden_size=2048), "eagle3").verdict is Verdict.FAIL
    assert judge_draft_fit(config(), config(hidden_size=576), "draft_model").verdict is Verdict.PASS


@pytest.mark.parametrize(("reduced", "verdict"), [(32000, "PASS"), (200000, "FAIL")])
def test_a_reduced_vocabulary(reduced, verdict):
    judged = judge_draft_fit(config(), config(draft_vocab_size=reduced), "eagle3")
    assert judged.verdict == verdict


@pytest.mark.parametrize(
    ("target", "draft", "method", "holds"),
    [
        (True, True, "dflash", True),
        (True, None, "dflash", None),
        (True, False, "eagle3", None),
        (False, True, "eagle3", False),
        (None, True, "mtp", False),
    ],
)
def test_the_rotation_of_the_hidden_states(target, draft, method, holds):
    judged = judge_draft_fit(config(rotated=target), config(rotated=draft), method)
    (check,) = [c for c in judged.checks if c.what.startswith("rotation")]
    assert check.holds is holds
    assert (judged.verdict is Verdict.FAIL) == (holds is False)


def test_a_rotation_that_a_draft_never_sees_is_not_asked_about():
    judged = judge_draft_fit(config(rotated=True), config(), "draft_model")
    assert not [c for c in judged.checks if c.what.startswith("rotation")]


def test_quantisation_is_shown():
    judged = judge_draft_fit(config("W8A8"), config(), "eagle3")
    assert judged.verdict is Verdict.PASS
    assert "quantisation W8A8 and none" in judged.reason


def test_nothing_to_compare_is_no_pass():
    empty = CheckpointConfig({}, "", None)
    judged = judge_draft_fit(empty, CheckpointConfig({}, "W8A8", None), "eagle3")
    assert judged.verdict is Verdict.NO_DATA
