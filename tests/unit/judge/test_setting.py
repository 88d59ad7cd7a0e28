"""Which conditions of the ledger hold, from what a launch was started with and sent."""

import msgspec
import pytest

from specfloor.judge.evidence import RecordIndex
from specfloor.judge.setting import setting_of
from specfloor.ledger.model import Facet
from specfloor.runs.records import BlockRecord, EngineSettings
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, fault, launch, natural

ON = CELL.arm


def setting(*flags, env=None, temperature=0.0, cell=CELL):
    records = [launch(ON, argv=("python", *flags), env=env or {})]
    records += [
        msgspec.structs.replace(r, sampling={"temperature": temperature})
        if isinstance(r, BlockRecord)
        else r
        for r in natural(ON)
    ]
    return setting_of(cell, RecordIndex(records).evidence(cell).on[0])


@pytest.mark.parametrize(
    ("flags", "facet", "holds"),
    [
        (("--enforce-eager",), Facet.EAGER, True),
        (("--enforce-eager",), Facet.FULL_GRAPH, False),
        ((), Facet.GRAPH, True),
        ((), Facet.FULL_GRAPH, None),
        (
            ("--compilation-config", '{"cudagraph_mode": "FULL_DECODE_ONLY"}'),
            Facet.FULL_GRAPH,
            True,
        ),
        (
            ("--compilation-config", '{"cudagraph_mode": "FULL_DECODE_ONLY"}'),
            Facet.PIECEWISE,
            False,
        ),
        (("--compilation-config", '{"cudagraph_mode": "NONE"}'), Facet.GRAPH, False),
        (("--compilation-config", "not JSON"), Facet.PIECEWISE, None),
        (("--tensor-parallel-size", "4"), Facet.TP, True),
        (("--tensor-parallel-size=4",), Facet.TP, True),
        (("-tp", "1"), Facet.TP, False),
        ((), Facet.PP, False),
        (("--async-scheduling",), Facet.ASYNC, True),
        (("--no-async-scheduling",), Facet.SYNC, True),
        ((), Facet.ASYNC, None),
        (("--no-enable-prefix-caching",), Facet.PREFIX_CACHE, False),
        (
            ("--enable-prefix-caching", "--no-enable-prefix-caching"),
            Facet.PREFIX_CACHE,
            False,
        ),
        (("--quantization", "ascend"), Facet.QUANTISED, True),
        (("--model", "vllm-ascend/GLM-5-w8a8"), Facet.QUANTISED, True),
        (("--model", "zai-org/GLM-5"), Facet.QUANTISED, None),
        (("--additional-config", '{"enable_flashcomm1": true}'), Facet.FLASHCOMM, True),
        (("--additional-config", '{"enable_flashcomm1": true}'), Facet.DSA_CP, None),
        (("--additional-config", '{"enable_dsa_cp": true}'), Facet.DSA_CP, True),
        ((), Facet.DSA_CP, False),
        (("--kv-transfer-config", '{"kv_role": "kv_consumer"}'), Facet.PD, True),
        (
            ("--kv-transfer-config", '{"kv_connector": "AscendStoreConnector"}'),
            Facet.KV_POOL,
            True,
        ),
        ((), Facet.PD, False),
        (
            ("--speculative-config", '{"num_speculative_tokens_per_batch_size": [[1, 4, 3]]}'),
            Facet.SCHEDULE,
            True,
        ),
        (("--additional-config", '{"dynamic_spec_config": {"x": 1}}'), Facet.ADAPTIVE, True),
        ((), Facet.ADAPTIVE, False),
        ((), Facet.K_ABOVE_1, True),
        ((), Facet.CONCURRENCY, False),
        ((), Facet.GREEDY, True),
    ],
)
def test_what_a_command_says(flags, facet, holds):
    assert setting(*flags).get(facet) is holds


def test_what_variables_and_requests_say():
    assert setting(env={"VLLM_USE_V2_MODEL_RUNNER": "0"})[Facet.RUNNER_V1]
    assert setting(env={"VLLM_ASCEND_ENABLE_FLASHCOMM1": "1"})[Facet.FLASHCOMM]
    assert not setting(env={"VLLM_ASCEND_ENABLE_FLASHCOMM1": "0"})[Facet.FLASHCOMM]
    assert setting(temperature=1.0)[Facet.SAMPLING]


def test_a_launch_that_never_was_tells_what_was_asked():
    arm = RecordIndex([fault(Finding.START_FAIL, ON)]).evidence(CELL).on[0]
    found = setting_of(CELL, arm)
    assert found[Facet.K_FROM_3]
    assert Facet.GRAPH not in found


def test_what_the_engine_says_outranks_what_was_asked():
    def resolved(**settings):
        records = [launch(ON, settings=EngineSettings(**settings)), *natural(ON)]
        return setting_of(CELL, RecordIndex(records).evidence(CELL).on[0])

    assert resolved(enforce_eager=True)[Facet.EAGER]
    assert resolved(graph_mode="NONE")[Facet.EAGER]
    assert resolved(graph_mode="FULL_AND_PIECEWISE")[Facet.PIECEWISE]
    assert resolved(prefix_caching=True)[Facet.PREFIX_CACHE]
