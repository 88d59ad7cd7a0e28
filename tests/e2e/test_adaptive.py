"""Mixed load on fake servers over real HTTP, and the adaptive arm that vLLM has on the CPU."""

import asyncio
import json
import subprocess
import sys

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.experiments.adaptive import AdaptiveVerification
from specfloor.experiments.adaptive_arms import arms_of, load_block
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.mixed import Slo
from specfloor.judge.verdict import Verdict
from specfloor.load.client import Block, Counting, Endpoint, run_block
from specfloor.load.open_loop import blend, poisson
from specfloor.load.sampling import Sampling
from specfloor.load.workload import Message, Prompt
from specfloor.runs.records import BlockRecord, RequestRecord
from specfloor.triage.findings import Finding
from tests.e2e.fake_host import ROOT, FakeHost, stored_verdict
from tests.fakes.vllm_server import serving
from tests.unit.builders import RULE, floors, launch
from tests.unit.experiments.test_adaptive import CELL, KNOWN

PROMPTS = {
    kind: [Prompt(f"{kind}{i}", kind, (Message("user", f"{kind} {i}"),)) for i in range(200)]
    for kind in ("structured", "open")
}
TOKENS = 9
ARMS = {arm.name: arm for arm in arms_of(CELL, KNOWN, ((1, 8, 3), (9, 99, 0)))}
BLOCK = load_block(CELL, KNOWN, 32, "0.7")


def loaded(rate, each, **knobs):
    """Send one load to fake servers, side by side; return what was recorded."""
    index = RecordIndex()
    prompts = blend(PROMPTS, each, seed=5)
    loop = poisson(rate, len(prompts), seed=5)

    async def send(name, own):
        arm = ARMS[name]
        key = arm.key(CELL, 0)
        index.add(msgspec.structs.replace(launch(key.arm), key=key))
        index.add(
            BlockRecord(key.id, BLOCK, len(prompts), "f", 5, {}, {}, rate_per_s=loop.rate_per_s)
        )
        counting = Counting.NEVER if arm.arm == OFF else Counting.PER_BLOCK
        block = Block(
            key.id, BLOCK, prompts, Sampling(max_tokens=TOKENS, ignore_eos=True),
            counting=counting, open_loop=loop, warmup=0,
        )  # fmt: skip
        async with serving(k=arm.arm.k, **own) as url:
            await run_block(Endpoint(url, "fake"), block, index.add, index.add)

    async def main():
        await asyncio.gather(*(send(name, own) for name, own in knobs.items()))

    asyncio.run(main())
    return index


def judged(index, **rule):
    asked = msgspec.structs.replace(RULE, **rule)
    return AdaptiveVerification().judge(index, CELL, KNOWN, floors(), asked)


def test_a_shorter_reported_length_and_a_higher_goodput_pass():
    drafts = {"structured": (0.8, 0.75, 0.7), "open": (0.35, 0.2, 0.1)}
    trimmed = {"structured": (0.7, 0.6, 0.5), "open": (0.25, 0.1, 0.05)}
    # slow enough that a busy machine sends and answers it in time
    index = loaded(
        50.0,
        370,
        fixed={"prefill_s": 1.0, "step_s": 1.0, "acceptance_by_text": drafts},
        schedule={"prefill_s": 0.2, "step_s": 0.25, "acceptance_by_text": trimmed},
    )
    # of the fixed arm's requests 259 take up to three steps for their eight tokens, the others
    # at least four, which is never faster than this
    said = judged(index, slo=Slo(10.0, 0.495))
    fixed, own = said.detail.counts
    assert own.length / fixed.length - 1 == pytest.approx(-0.143, abs=0.001)
    (compared,) = said.detail.loads[0].compared
    (goodput,) = (v for v in compared.found if v.quantity == "goodput")
    assert goodput.ratio - 1 >= 1.8
    assert (said.verdict, said.findings) == (Verdict.PASS, (Finding.EXPECTED,))


def test_a_fixed_arm_with_ten_times_the_wait_and_the_same_pace_fails_on_the_wait():
    index = loaded(
        40.0,
        60,
        off={"prefill_s": 0.1, "step_s": 0.03},
        fixed={"prefill_s": 1.0, "step_s": 0.03, "step_cost": 2.0},
        schedule={"prefill_s": 1.0, "step_s": 0.03, "step_cost": 2.0},
    )
    said = judged(index)
    assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.SPEED_REGRESSION,))
    failed = said.reason.partition(";")[0]
    assert failed.startswith("fixed against off at 70% of capacity")
    assert "P50 TTFT of open requests" in failed
    assert "while TPOT" in failed
    assert "TPOT of" not in failed


SMALL = ("tests/suite/test_adaptive.py", "--experiments=small")
"""A family, a release, and as little of them as answers the question."""


def adaptive_of(folder):
    cells = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))["cells"]
    (said,) = (one for cell in cells for one in cell["experiments"])
    return said


def check_a_small_run(folder, output):
    """Check what a run of 40 requests of a kind can say, and that its folder says the same."""
    said = adaptive_of(folder)
    (load,) = said["detail"]["loads"]
    assert [arm["arm"] for arm in load["arms"]] == ["off", "fixed", "schedule"], output
    assert all((arm["requests"], arm["failed"]) == (80, 0) for arm in load["arms"])
    assert load["rate_per_s"] == pytest.approx(0.7 * said["detail"]["capacity_per_s"])
    _, own = load["compared"]
    assert (own["arm"], own["against"], own["adaptive"]) == ("schedule", "fixed", True)
    tails = [one for one in own["found"] if one["quantity"].startswith("P99")]
    assert len(tails) == 6
    assert {(one["outcome"], one["requests_missing"]) for one in tails} == {("too few", 328)}
    rest = {one["quantity"]: one["outcome"] for one in own["found"] if one not in tails}
    assert rest.keys() == {"goodput", "P50 TTFT", "P50 TPOT", "P50 end-to-end"}
    assert "too few" not in rest.values()
    # what is shown to be worse is, of so few requests; that nothing is worse is not
    assert said["verdict"] in {"INCONCLUSIVE", "FAIL"}, said["reason"]
    assert "adaptive: the fixed arm takes" in output
    assert said["reason"] in stored_verdict(folder).stdout
    return said


def test_a_small_run_of_the_suite_on_fake_servers(tmp_path):
    host = FakeHost(tmp_path, tmp_path / "cache")
    host.set_knobs({"all": {"step_s": 0.004, "step_cost": 1.2, "adaptive": {"step_cost": 1.0}}})
    finished = host.suite(*SMALL, "--family", "glm_moe_tiny", "--spec-tokens", "3")
    said = check_a_small_run(finished.folder, finished.output)
    assert finished.code == (10 if said["verdict"] == "INCONCLUSIVE" else 1), finished.output
    sent = [r for r in finished.records if isinstance(r, RequestRecord) and r.due_s is not None]
    assert len(sent) == 3 * 80
    assert {r.domain for r in sent} == {"structured", "open"}
    started = [json.loads(one["argv"][one["argv"].index("--speculative-config") + 1])
               for one in host.launches if one["k"]]  # fmt: skip
    field = "num_speculative_tokens_per_batch_size"
    assert [one.get(field) for one in started] == [
        *(None, None),
        [[1, 4, 3], [5, 8, 1], [9, 1048576, 0]],
    ]
    assert host.left_over == []


@pytest.mark.engine
def test_the_schedule_takes_effect_under_mixed_load(tmp_path):
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *SMALL),
            *("--family", "smollm2_135m", "--method", "ngram"),
            *("--reports", str(tmp_path), "--run-name", "run"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    output = ended.stdout + ended.stderr
    assert ended.returncode in {1, 10}, output
    said = check_a_small_run(tmp_path / "run", output)
    fixed, own = said["detail"]["counts"]
    # at a larger batch the schedule drafts less, and n-grams hit more often where requests copy
    assert own["drafted_per_step"] < fixed["drafted_per_step"]
    assert "CONFIG_NOT_IN_EFFECT" not in said["findings"]
