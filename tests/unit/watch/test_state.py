import pytest

from specfloor.signals.counters import Problem, Scrape
from specfloor.signals.counts import DraftCounts
from specfloor.watch.endpoint import Sample, read_sample
from specfloor.watch.guard import judge
from specfloor.watch.state import State, Watch
from tests.unit.watch.builders import engine, metrics

URL = "http://a:1/metrics"
GONE = Sample(Scrape(problem=Problem.NO_ANSWER, sentence="gives no metrics (refused)"))


def views(*texts, over=60.0, period=10.0):
    """Return the watch and its views of one endpoint, ``period`` seconds apart."""
    watch = Watch([URL], over)
    samples = [read_sample(text) if isinstance(text, str) else text for text in texts]
    return watch, [
        watch.take(1000.0 + period * number, {URL: sample}) for number, sample in enumerate(samples)
    ]


def rising(readings, accepted=(80, 60, 40), drafts=100):
    """Return texts of an engine that gains so much at every reading."""
    return [
        metrics(engine(drafts * n, tuple(count * n for count in accepted))) for n in range(readings)
    ]


def test_the_first_reading_has_no_rate_of_now_and_the_second_has():
    _, (first, second) = views(
        metrics(engine(1000, (0, 0, 0))), metrics(engine(1100, (80, 60, 40)))
    )
    (one,) = first.engines
    assert (one.state, one.recent.counts.rate) == (State.FIRST_READING, None)
    (one,) = second.engines
    assert one.state is State.DRAFTING
    assert one.recent.counts == DraftCounts(100, 300, 180, (80, 60, 40))
    assert one.recent.counts.length == pytest.approx(2.8)
    assert one.per_position == (0.8, 0.6, 0.4)
    assert (one.drafted_per_s, one.accepted_per_s) == (30.0, 18.0)
    assert one.since_start.rate == pytest.approx(180 / 3300)
    assert (one.load.running, one.load.waiting) == (4, 1)
    assert one.history == (None, 0.6)


def test_the_window_slides():
    good = [metrics(engine(100 * n, (90 * n, 90 * n))) for n in range(5)]
    dead = [metrics(engine(400 + 100 * n, (360, 360))) for n in range(1, 8)]
    _, found = views(*good, *dead, over=50.0)
    rates = [view.engines[0].recent.counts.rate for view in found]
    assert rates[4] == 0.9
    assert rates[5:9] == pytest.approx([0.72, 0.54, 0.36, 0.18])
    assert rates[9] == 0.0
    assert found[-1].engines[0].recent.seconds == 50.0


def test_an_idle_engine_has_no_rate_and_one_that_generates_without_drafts_is_told_apart():
    before = metrics(engine(9, (5,)), engine(9, (5,)), engine(9, (5,)))
    after = metrics(engine(9, (5,)), engine(9, (5,), generated=500), engine(19, (5,)))
    _, (_, view) = views(before, after)
    assert [e.state for e in view.engines] == [
        State.NO_DRAFTS,
        State.GENERATING_WITHOUT_DRAFTS,
        State.DRAFTING,
    ]
    assert [e.recent.counts.rate for e in view.engines] == [None, None, 0.0]
    assert view.total.recent.counts == DraftCounts(10, 10, 0, (0,))


def test_a_restart_begins_the_window_anew_and_is_told():
    watch, found = views(
        metrics(engine(0, (0, 0))),
        metrics(engine(100, (90, 80))),
        metrics(engine(50, (1, 0)), started=2.0),
        metrics(engine(150, (2, 0)), started=2.0),
    )
    assert found[2].events == (f"{URL}: the server restarted between the scrapes",)
    assert found[2].engines[0].state is State.FIRST_READING
    assert found[3].engines[0].recent.counts == DraftCounts(100, 200, 1, (1, 0))
    summary = watch.summary()
    assert summary.resets == 1
    assert summary.total == DraftCounts(200, 400, 171, (91, 80))


def test_counters_of_one_engine_that_start_anew_leave_the_others_alone():
    _, found = views(
        metrics(engine(0, (0,)), engine(0, (0,))),
        metrics(engine(100, (50,)), engine(100, (50,))),
        metrics(engine(10, (5,)), engine(200, (100,))),
    )
    first, second = found[2].engines
    assert first.state is State.FIRST_READING
    assert second.recent.counts.drafted == 200
    assert "started anew" in found[2].events[0]


def test_an_endpoint_that_is_gone_is_told_once_kept_and_picked_up_again():
    one, two, three = rising(3)
    watch, found = views(one, two, GONE, GONE, three)
    assert [view.events for view in found] == [
        (),
        (),
        (f"{URL} gives no metrics (refused)",),
        (),
        (f"{URL} answers again",),
    ]
    (endpoint,) = found[3].endpoints
    assert (endpoint.problem, endpoint.since) == (Problem.NO_ANSWER, 1020.0)
    assert found[3].engines == ()
    assert found[3].total is None
    assert found[4].endpoints[0].problem is None
    # nothing was lost meanwhile: the counters went on
    assert found[4].engines[0].recent.seconds == 40.0
    assert watch.summary().unanswered == 2


def test_an_engine_that_appears_and_one_that_goes():
    _, found = views(
        metrics(engine(0, (0,))),
        metrics(engine(10, (5,)), engine(99, (9,))),
        metrics(engine(20, (10,)), engine(109, (19,))),
        metrics(engine(30, (15,)), None),
    )
    assert "is in the last scrape only" in found[1].events[0]
    assert found[1].engines[1].state is State.FIRST_READING
    assert found[2].engines[1].recent.counts.rate == 1.0
    assert "is in the first scrape only" in found[3].events[0]
    assert len(found[3].engines) == 1


def test_counters_that_contradict_each_other_are_left_out():
    watch, (_, view) = views(
        metrics(engine(0, (0, 0))), metrics(engine(100, (90, 70)), model="GLM-5.2")
    )
    assert view.engines[0].recent.counts.rate == 0.8
    damaged = metrics(engine(200, (900, 70)))
    view = watch.take(1020.0, {URL: read_sample(damaged)})
    assert "that interval is left out" in view.events[0]
    assert view.engines[0].recent.counts.rate == 0.8


def test_v0_is_shown_as_what_it_is():
    text = "vllm:spec_decode_draft_acceptance_rate 0.71\nvllm:spec_decode_efficiency 0.6\n"
    _, (view, *_) = views(text)
    (one,) = view.engines
    assert (one.state, one.gauge, one.recent.counts.rate) == (State.V0_GAUGE, 0.71, None)
    assert view.total is None


# -- the floor -------------------------------------------------------------------------------------


def test_a_floor_is_held_against_a_full_window_only():
    _, found = views(*rising(9, accepted=(50, 20, 10)), over=60.0)
    judged = [judge(view, 0.5, 60.0) for view in found]
    assert [guarded.judged for guarded in judged] == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    assert [len(guarded.below) for guarded in judged] == [0] * 6 + [1] * 3


def test_a_floor_is_not_held_against_a_few_drafts_or_none():
    _, found = views(*rising(9, drafts=10, accepted=(0, 0, 0)))
    assert judge(found[-1], 0.5, 60.0).judged == 0
    _, found = views(*[metrics(engine(9, (5,)))] * 9)
    assert judge(found[-1], 0.5, 60.0).judged == 0


@pytest.mark.parametrize(("floor", "below"), [(0.59, 0), (0.6, 0), (0.61, 1)])
def test_a_floor_is_broken_below_it(floor, below):
    _, found = views(*rising(9))
    assert len(judge(found[-1], floor, 60.0).below) == below


def test_one_broken_engine_of_eight_is_seen_though_together_they_hold():
    texts = [
        metrics(*[engine(100 * n, (80 * n, 60 * n))] * 7, engine(100 * n, (0, 0))) for n in range(9)
    ]
    _, found = views(*texts)
    guarded = judge(found[-1], 0.5, 60.0)
    assert guarded.judged == 9
    assert [one.name for one in guarded.below] == ["7"]
