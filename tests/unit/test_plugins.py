"""The parts of the suite's plugins that need no run: live lines, the tally, the recorded clock."""

import contextlib
from types import SimpleNamespace

import pytest

from fixtures.measurements import RecordedClock
from fixtures.reporting import Live, Tally
from specfloor.exits import Exit


class Terminal:
    """Stands for pytest's terminal reporter; keeps what was written."""

    def __init__(self, *, isatty: bool) -> None:
        self.isatty = isatty
        self.written: list[str] = []
        self._tw = SimpleNamespace(fullwidth=30)

    def ensure_newline(self) -> None:
        pass

    def write_line(self, line: str) -> None:
        self.written.append(line)

    def rewrite(self, line: str, *, erase: bool) -> None:
        assert erase
        self.written.append(f"\r{line}")

    def flush(self) -> None:
        pass


def live(terminal, capture=None):
    plugins = {"terminalreporter": terminal, "capturemanager": capture}
    manager = SimpleNamespace(get_plugin=plugins.get)
    return Live(SimpleNamespace(pluginmanager=manager))


class TestLive:
    def test_a_terminal_shows_one_line_that_changes(self):
        terminal = Terminal(isatty=True)
        shown = live(terminal)
        shown.tick(0.2, "loading")
        shown.tick(1.3, "a line of the log that is much longer than the terminal is wide")
        shown.say("healthy")
        shown.say("done")
        assert terminal.written == [
            "\r       0 s  loading",
            "\r       1 s  a line of the log",
            # the line of progress goes before the next one comes
            "\r",
            "healthy",
            "done",
        ]

    def test_a_file_gets_a_line_now_and_then(self):
        terminal = Terminal(isatty=False)
        shown = live(terminal)
        for second in range(40):
            shown.tick(float(second), "loading")
        assert terminal.written == ["      15 s  loading", "      30 s  loading"]
        # the next server starts from 0
        shown.tick(0.0, "starting")
        shown.tick(14.0, "starting")
        shown.tick(15.0, "starting")
        assert terminal.written[2:] == ["       0 s  starting", "      15 s  starting"]

    def test_lines_pass_the_capture(self):
        inside = []

        @contextlib.contextmanager
        def disabled():
            inside.append(True)
            yield
            inside.append(False)

        terminal = Terminal(isatty=False)
        live(terminal, SimpleNamespace(global_and_fixture_disabled=disabled)).say("a line")
        assert inside == [True, False]
        assert terminal.written == ["a line"]

    def test_without_a_terminal_nothing_is_shown(self):
        shown = live(None)
        shown.say("a line")
        shown.tick(1.0, "loading")


def report(*, failed=True, when="call", verdict=None):
    said = [] if verdict is None else [("verdict", verdict)]
    return SimpleNamespace(failed=failed, when=when, user_properties=said)


class TestTally:
    @pytest.mark.parametrize(
        ("reports", "counts"),
        [
            ([report(failed=False, verdict="PASS")], (0, 0)),
            ([report(verdict="FAIL")], (1, 0)),
            ([report(verdict="NO_DATA"), report(verdict="INCONCLUSIVE")], (0, 2)),
            ([report(verdict="NO_DATA"), report(verdict="FAIL")], (1, 1)),
            # a test that broke before it concluded anything
            ([report()], (1, 0)),
            # and one that broke after
            ([report(when="teardown", verdict="NO_DATA")], (1, 0)),
            ([report(failed=False, verdict="NO_DATA")], (0, 0)),
        ],
    )
    def test_failures_that_show_something_and_those_that_do_not(self, reports, counts):
        tally = Tally()
        for one in reports:
            tally.pytest_runtest_logreport(one)
        assert (tally.shown, tally.unsure) == counts


@pytest.mark.parametrize(
    ("verdicts", "strict", "lenient"),
    [
        ([], Exit.HOLDS, Exit.HOLDS),
        (["INCONCLUSIVE"], Exit.UNDECIDED, Exit.HOLDS),
        # no data is never a pass
        (["NO_DATA"], Exit.UNDECIDED, Exit.UNDECIDED),
        (["INCONCLUSIVE", "NO_DATA"], Exit.UNDECIDED, Exit.UNDECIDED),
        (["INCONCLUSIVE", "FAIL"], Exit.FAILS, Exit.FAILS),
        # a fault of the suite
        (["INCONCLUSIVE", None], Exit.FAILS, Exit.FAILS),
    ],
)
def test_what_is_inconclusive_may_be_let_pass(verdicts, strict, lenient):
    tally = Tally()
    for verdict in verdicts:
        tally.pytest_runtest_logreport(report(verdict=verdict))
    assert tally.exit_code(inconclusive_passes=False) is strict
    assert tally.exit_code(inconclusive_passes=True) is lenient


def test_the_recorded_clock_moves_by_recorded_times():
    clock = RecordedClock()
    clock.load([0.5, 2.0])
    times = [clock()]
    for _ in range(2):
        clock.play()
        times.append(clock())
    assert times == [0.0, 0.5, 2.5]
    # and never back
    clock.load([1.0])
    clock.play()
    assert clock() == 3.5
