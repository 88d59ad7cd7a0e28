"""The mixed load from launches to verdict, on servers that answer by a law."""

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

from specfloor.catalog import load_catalog
from specfloor.cells import OFF, Arm, Cell
from specfloor.engines.command import server_command
from specfloor.experiments import mechanisms
from specfloor.experiments.adaptive import EACH, AdaptiveVerification
from specfloor.experiments.adaptive_arms import arms_of
from specfloor.experiments.schedule import FIELD, KSchedule
from specfloor.judge.mixed import Outcome, Slo
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import BlockRecord, CountersRecord, Notice, RequestRecord
from specfloor.signals.counts import DraftCounts
from specfloor.triage.findings import Finding
from tests.unit.builders import RULE, catalog, floors
from tests.unit.experiments.bench_double import LawBench, asked, experiment_of

GLM = msgspec.structs.replace(
    catalog().families["glm-9.1-tiny"], workloads=("code", "structured", "chat")
)
CELL = Cell("cpu-2.0", GLM.name, "mtp", 3, "code", "off", 1)
KNOWN = catalog(GLM)
ON = CELL.arm
TOKENS = 9


class LoadBench(LawBench):
    """Servers whose waiting and time per token are given by arm and kind of request.

    Args:
        law: (name of the arm, kind) → TTFT and TPOT in seconds.
        length: acceptance length of the name of an arm.
        scatter: of the log of each time of each request; ``luck`` that of a launch.
    """

    def __init__(self, law, *, length=lambda name: 2.4, scatter=0.1, luck=0.01, **options):
        super().__init__(lambda *_: 0.01, **options)
        self.catalog = KNOWN
        self._law, self._length = law, length
        self._each, self._luck = scatter, luck

    def block_plan(self, launch, block):
        plan = super().block_plan(launch, block)
        prompts = tuple(
            msgspec.structs.replace(p, domain=block.workload, id=f"{block.workload}{p.id}")
            for p in plan.prompts
        )
        return msgspec.structs.replace(plan, prompts=prompts)

    def _add_block(self, key, block, plan, seconds):
        name = "off" if not key.arm.speculates else experiment_of(key).removeprefix("adaptive-")
        name = "fixed" if name.startswith("mixed") else name
        loop = plan.open_loop
        sent = BlockRecord(
            key.id, block, len(plan.prompts), "fp", self.seed, {}, {},
            rate_per_s=loop.rate_per_s if loop else None,
        )  # fmt: skip
        self.index.add(sent)
        random = np.random.default_rng([len(self.launches), len(block.label)])
        luck = random.normal(0, self._luck)
        for index, prompt in enumerate(plan.prompts):
            ttft, tpot = (
                value * math.exp(luck + random.normal(0, self._each))
                for value in self._law(name, prompt.domain)
            )
            due = loop.due_s[index] if loop else None
            late = 0.0 if due is None else 0.001
            chunks = tuple(ttft - late + tpot * i for i in range(TOKENS))
            self.index.add(
                RequestRecord(
                    launch=key.id,
                    block=block,
                    index=index,
                    prompt_id=prompt.id,
                    domain=prompt.domain,
                    started_s=(due or 0.0) + late,
                    first_token_s=chunks[0],
                    finished_s=chunks[-1],
                    chunk_s=chunks,
                    chunk_tokens=(1,) * TOKENS,
                    prompt_tokens=5,
                    completion_tokens=TOKENS,
                    finish_reason="length",
                    text_sha256="0",
                    text="",
                    due_s=due,
                )
            )
        if key.arm.speculates:
            counts = DraftCounts(1000, 3000, round(1000 * (self._length(name) - 1)))
            self.index.add(CountersRecord(key.id, block, {"0": counts}))


def plain(name, kind):
    """Return TTFT and TPOT of a healthy server: speculation helps, a schedule a little more."""
    speed = {"off": 1.0, "fixed": 0.7, "schedule": 0.5}[name]
    return 0.2 * speed, {"structured": 0.02, "open": 0.04}[kind] * speed


@pytest.fixture(autouse=True)
def _fewer_requests(monkeypatch):
    """Four launches of 100 requests of a kind bound P99 as well."""
    monkeypatch.setitem(EACH, "full", 100)


def adaptive(law, *, rule=RULE, size="full", **options):
    bench = LoadBench(law, size=size, most=32, **options)
    experiment = AdaptiveVerification()
    experiment.measure(bench, CELL)
    return experiment.judge(bench.index, CELL, bench.catalog, floors(), rule), bench


class TestMeasuring:
    def test_capacity_first_then_every_arm_in_rounds_of_changing_direction(self):
        _, bench = adaptive(plain)
        started = [(key.arm, experiment_of(key), key.repeat) for key, _, _ in bench.launches]
        off, fixed, own = (OFF, "mixed"), (ON, "mixed"), (ON, "adaptive-schedule")
        assert started[0] == (ON, "mixed-capacity", 0)
        assert started[1:7] == [(*arm, n) for n, order in enumerate(
            ([off, fixed, own], [own, fixed, off])) for arm in order]  # fmt: skip

    def test_all_arms_of_a_round_get_the_same_requests_at_the_same_times(self):
        _, bench = adaptive(plain)
        sent = {}
        for key, blocks, _ in bench.launches[1:]:
            for block in blocks:
                requests = bench.index.block(key, block).requests
                load = tuple((r.prompt_id, r.due_s) for r in requests)
                sent.setdefault((key.repeat, block.label), set()).add(load)
        assert all(len(loads) == 1 for loads in sent.values())
        assert len({load for loads in sent.values() for load in loads}) == len(sent) == 8

    def test_rates_are_shares_of_the_capacity(self):
        said, _ = adaptive(plain)
        assert said.detail.capacity_per_s > 0
        assert [(load.utilisation, load.rate_per_s) for load in said.detail.loads] == [
            (share, pytest.approx(share * said.detail.capacity_per_s)) for share in (0.5, 0.8)
        ]

    def test_the_rates_that_were_asked_for(self):
        bench = LoadBench(plain, size="small", most=32)
        bench.utilisations = (0.3, 0.9)
        AdaptiveVerification().measure(bench, CELL)
        (_, blocks, _) = bench.launches[-1]
        assert [block.label for block in blocks] == ["0.3", "0.9"]

    def test_the_default_schedule_without_a_sweep(self):
        said, bench = adaptive(plain)
        (key, _, overrides) = bench.launches[3]
        assert key.arm == ON
        assert overrides.speculative == {FIELD: [[1, 8, 3], [9, 16, 1], [17, 1 << 20, 0]]}
        assert any("no sweep found k to change" in line for line in bench.lines)
        assert "so the schedule is [[1, 8, 3], [9, 16, 1], [17, 1048576, 0]]" in said.reason

    def test_the_schedule_of_a_sweep_in_the_same_run(self):
        def law(key, overrides, concurrency):
            if not key.arm.speculates:
                return 0.02
            return 0.01 * (1 if (concurrency > 4) == (key.arm.k < 3) else 2)

        swept = LawBench(law, most=16)
        asked(KSchedule(), CELL, swept)
        bench = LoadBench(plain, size="small", most=16)
        bench.index = swept.index
        AdaptiveVerification().measure(bench, CELL)
        (applied,) = (o.speculative[FIELD] for _, _, o in bench.launches if o.speculative)
        assert applied == [[1, 8, 3], [9, 1 << 20, 1]]
        assert any("the schedule is the sweep's" in line for line in bench.lines)

    def test_without_a_capacity_nothing_further_is_started(self):
        said, bench = adaptive(
            plain, faults=("cpu-2.0-glm_9_1_tiny-mtp3-mixed-capacity-code-off-c1-0",)
        )
        assert len(bench.launches) == 1
        assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.START_FAIL,))


class TestJudging:
    def test_an_adaptive_arm_that_protects_those_who_wait(self):
        said, _ = adaptive(plain)
        assert (said.verdict, said.findings) == (Verdict.PASS, (Finding.EXPECTED,))
        assert "schedule against fixed at 50% of capacity" in said.reason
        assert "P99 TTFT of open requests" in said.reason
        assert len(said.detail.loads) == 2

    def test_a_worse_tail_fails_by_its_name(self):
        def law(name, kind):
            ttft, tpot = plain(name, kind)
            return ttft * (3 if (name, kind) == ("schedule", "open") else 1), tpot

        said, _ = adaptive(law)
        assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.SPEED_REGRESSION,))
        assert "P99 TTFT of open requests" in said.reason
        assert "of structured requests × " not in said.reason.partition(" is worse")[0]

    def test_too_few_requests_say_how_many_more(self):
        said, _ = adaptive(plain, size="small")
        assert (said.verdict, said.findings) == (Verdict.INCONCLUSIVE, (Finding.INCONCLUSIVE,))
        assert f"P99 takes {368 - EACH['small']} more requests of a kind" in said.reason
        assert "goodput × " in said.reason

    def test_a_worse_median_fails_even_of_few_requests(self):
        def law(name, kind):
            ttft, tpot = plain(name, kind)
            return ttft, tpot * (2 if name == "schedule" else 1)

        said, _ = adaptive(law, size="small")
        assert said.verdict is Verdict.FAIL
        assert "P50 TPOT" in said.reason

    def test_acceptance_decides_nothing(self):
        said, _ = adaptive(plain, length=lambda name: 1.0 if name == "schedule" else 2.4)
        assert said.verdict is Verdict.PASS
        fixed, own = said.detail.counts
        assert (fixed.length, own.length) == (2.4, 1.0)
        (table,) = (t for t in said.tables if t.title.startswith("Acceptance"))
        assert "not exported" in table.title
        assert "k = 0 count as no draft" in table.rows[1][-1]

    def test_a_fixed_arm_that_lets_users_wait_fails_on_that(self):
        def law(name, kind):
            ttft, tpot = plain(name, kind)
            return (ttft * 10 if name != "off" else ttft), tpot

        said, _ = adaptive(law)
        assert said.verdict is Verdict.FAIL
        assert "fixed against off" in said.reason
        assert "P99 TTFT of open requests × 7" in said.reason
        assert "end-to-end of" in said.reason.partition(" is more than")[0]
        assert "more than twice as long while TPOT is not" in said.reason

    def test_a_fixed_arm_of_which_everything_is_slow(self):
        def law(name, kind):
            return tuple(10 * s for s in plain("off", kind)) if name != "off" else plain(name, kind)

        said, _ = adaptive(law)
        assert "is more than twice as long;" in said.reason

    def test_a_fixed_arm_that_costs_less_than_half_is_left_to_the_flip_point(self):
        def law(name, kind):
            slow = {"off": 1.0, "fixed": 1.4, "schedule": 0.9}[name]
            return tuple(slow * s for s in plain("off", kind))

        said, _ = adaptive(law)
        assert said.verdict is Verdict.PASS
        assert "fixed against off" not in said.reason

    def test_limits_that_the_user_gives(self):
        rule = msgspec.structs.replace(RULE, slo=Slo(1.0, 0.025))
        said, _ = adaptive(plain, rule=rule)
        off, fixed, own = said.detail.loads[0].arms
        # open requests take 40, 28 and 20 ms a token
        assert off.in_time == pytest.approx(400, abs=20)
        assert own.in_time == pytest.approx(800, abs=30)
        assert said.detail.loads[0].limits_from == "given"
        (goodput,) = (v for v in said.detail.loads[0].compared[1].found if v.quantity == "goodput")
        assert goodput.outcome is Outcome.BETTER
        assert fixed.goodput_per_s < own.goodput_per_s

    def test_without_limits_there_is_no_verdict_on_goodput(self):
        said, _ = adaptive(
            plain, faults=tuple(f"cpu-2.0-glm_9_1_tiny-off-mixed-code-off-c1-{n}" for n in range(4))
        )
        assert said.verdict is Verdict.FAIL
        assert said.findings == (Finding.START_FAIL,)
        assert "give --slo-ttft and --slo-tpot" in said.reason

    def test_an_engine_that_gave_the_schedule_up(self):
        lost = Notice("schedule_lost", "Disabling num_speculative_tokens_per_batch_size")
        said, _ = adaptive(plain, said={"adaptive-schedule": {"notices": (lost,)}})
        assert said.verdict is Verdict.FAIL
        assert Finding.CONFIG_NOT_IN_EFFECT in said.findings

    def test_nothing_measured(self):
        bench = LoadBench(plain)
        said = AdaptiveVerification().judge(bench.index, CELL, KNOWN, floors(), RULE)
        assert (said.verdict, said.findings) == (Verdict.NO_DATA, (Finding.NO_DATA,))


ASCEND = load_catalog()


def cell(release, family, method, k):
    return Cell(release, family, method, k, "code", next(iter(ASCEND.family(family).tiers)), 1)


class TestMechanisms:
    @pytest.mark.parametrize(
        ("asked", "names"),
        [
            (cell("cpu-0.32.0", "smollm2_135m", "ngram", 4), ["schedule"]),
            (cell("0.23.0", "qwen3-dense", "dflash", 7), []),
            (cell("0.27.1rc1", "qwen3-dense", "dspark", 7), ["schedule", "budget"]),
            (cell("0.28.0rc1", "qwen3-dense", "dspark", 7), ["schedule", "verification", "budget"]),
            (cell("0.28.0rc1", "qwen3-dense", "dflash", 7), ["schedule", "budget"]),
            (cell("0.30.0rc1", "glm-4.7", "mtp", 3), ["schedule", "verification"]),
            (cell("0.30.0rc1", "glm-4.6", "mtp", 1), ["verification"]),
        ],
    )
    def test_what_a_release_has(self, asked, names):
        assert [m.name for m in mechanisms.offered(asked, ASCEND)] == names
        assert len(mechanisms.refusals(asked, ASCEND)) == 3 - len(names)

    def test_none_is_refused_with_every_reason(self):
        why = AdaptiveVerification().why_not(cell("0.23.0", "qwen3-dense", "dflash", 7), ASCEND)
        assert why == (
            "0.23.0 has no num_speculative_tokens_per_batch_size; 0.23.0 has no "
            "enable_adaptive_verification; 0.23.0 has no dynamic_spec_config"
        )

    def test_a_family_without_both_kinds_of_request(self):
        bare = msgspec.structs.replace(GLM, workloads=("code", "chat"))
        why = AdaptiveVerification().why_not(CELL, catalog(bare))
        assert why == f"{GLM.name} has no workload with structured requests"

    def test_how_each_is_launched(self):
        asked = cell("0.28.0rc1", "qwen3-dense", "dspark", 7)
        own = {
            m.name: mechanisms.adaptive(m, asked, ASCEND, ((1, 4, 7), (5, 9, 0)))
            for m in mechanisms.offered(asked, ASCEND)
        }
        assert own["schedule"].speculative == {FIELD: [[1, 4, 7], [5, 9, 0]]}
        assert own["verification"].speculative == {"enable_adaptive_verification": True}
        assert own["verification"].env == {"VLLM_USE_V2_MODEL_RUNNER": "1"}
        config = msgspec.json.decode(own["budget"].serve["--additional-config"])
        assert config["dynamic_spec_config"] == {
            "method": "dspark",
            "method_params": {
                "initial_verify_budget_per_req": 5,
                "budget_update_interval": 16,
                "budget_threshold": 0.3,
                "min_verify_tokens": 1,
            },
        }

    def test_the_command_of_each(self):
        asked = cell("0.28.0rc1", "qwen3-dense", "dspark", 7)
        commands = {
            m.name: server_command(
                Path("python"),
                release=ASCEND.release(asked.release),
                family=ASCEND.family(asked.family),
                arm=asked.arm,
                model="target",
                port=1,
                overrides=mechanisms.adaptive(m, asked, ASCEND, ((1, 4, 7), (5, 9, 0))),
            )
            for m in mechanisms.offered(asked, ASCEND)
        }
        speculation = {
            name: msgspec.json.decode(one.argv[one.argv.index("--speculative-config") + 1])
            for name, one in commands.items()
        }
        assert speculation["schedule"][FIELD] == [[1, 4, 7], [5, 9, 0]]
        assert speculation["verification"]["enable_adaptive_verification"] is True
        assert "--additional-config" in commands["budget"].argv
        runners = {name: one.env.get(mechanisms.RUNNER) for name, one in commands.items()}
        assert runners == {"schedule": None, "verification": "1", "budget": None}

    def test_a_budget_leaves_the_rest_of_the_configuration(self):
        family = msgspec.structs.replace(
            ASCEND.family("qwen3-dense"), serve={"--additional-config": '{"enable_x": true}'}
        )
        known = msgspec.structs.replace(ASCEND, families={family.name: family})
        asked = cell("0.28.0rc1", "qwen3-dense", "dspark", 7)
        (budget,) = (m for m in mechanisms.offered(asked, known) if m.name == "budget")
        config = mechanisms.adaptive(budget, asked, known, ()).serve["--additional-config"]
        assert msgspec.json.decode(config).keys() == {"enable_x", "dynamic_spec_config"}

    def test_arms_of_the_other_runner_are_compared_on_it(self):
        asked = cell("0.28.0rc1", "qwen3-dense", "dspark", 7)
        arms = {arm.name: arm for arm in arms_of(asked, ASCEND, ((1, 4, 7), (5, 9, 0)))}
        assert list(arms) == [
            *("off", "fixed", "schedule"),
            *("off on V2", "fixed on V2", "verification", "budget"),
        ]
        assert arms["fixed on V2"].overrides.env == {"VLLM_USE_V2_MODEL_RUNNER": "1"}
        assert arms["fixed"].overrides.env == {}
        assert arms["fixed on V2"].arm == Arm("dspark", 7)
        ids = {arm.key(asked, 0).id for arm in arms.values()}
        assert len(ids) == len(arms)

    @pytest.mark.parametrize(
        ("k", "most", "ranges"),
        [
            (4, 32, ((1, 8, 4), (9, 16, 2), (17, 1 << 20, 0))),
            (1, 32, ((1, 8, 1), (9, 1 << 20, 0))),
            (3, 1, ((1, 1, 3), (2, 2, 1), (3, 1 << 20, 0))),
        ],
    )
    def test_the_default_schedule(self, k, most, ranges):
        assert mechanisms.default_schedule(k, most) == ranges
