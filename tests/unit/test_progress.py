"""Lines for people who wait: not too often, and with the time left."""

from specfloor.progress import LaunchProgress, Progress


class Waiting:
    """A progress whose clock is moved by hand."""

    def __init__(self, *sizes):
        self.now, self.lines = 0.0, []
        self.progress = Progress(list(sizes), self.lines.append, lambda: self.now)

    def requests(self, number, each_s):
        for _ in range(number):
            self.now += each_s
            self.progress.count()


def test_what_takes_no_longer_than_ten_seconds_says_nothing():
    wait = Waiting((9, None))
    wait.progress.begin()
    wait.requests(9, 1.0)
    assert wait.lines == []


def test_the_time_left_is_that_of_the_requests_left():
    wait = Waiting((30, None))
    wait.progress.begin()
    wait.requests(30, 1.0)
    assert wait.lines == [
        "    10 of 30 requests, about 20 s left",
        "    20 of 30 requests, about 10 s left",
        "    30 of 30 requests, about 0 s left",
    ]


def test_blocks_that_follow_count_too():
    wait = Waiting((10, None), (20, None), (7, 60.0))
    wait.progress.begin()
    wait.requests(10, 1.0)
    wait.progress.begin()
    wait.requests(10, 1.0)
    assert wait.lines == [
        "    block 1 of 3, 10 of 10 requests, about 80 s left",
        "    block 2 of 3, 10 of 20 requests, about 70 s left",
    ]


def test_a_block_limited_in_time_says_what_is_left_of_it():
    wait = Waiting((5, 3600.0))
    wait.progress.begin()
    wait.requests(100, 1.0)
    # a long wait says less often
    assert wait.lines == [
        "    10 requests, about 60 min left",
        "    82 requests, about 59 min left",
    ]


def test_launches_say_how_long_those_left_will_take():
    now, lines = [5.0], []
    progress = LaunchProgress("output", 3, lines.append, lambda: now[0])
    progress.begin("off")
    now[0] += 40
    progress.begin("mtp3")
    now[0] += 20
    progress.begin("off again")
    assert lines == [
        "output: launch 1 of 3, off",
        "output: launch 2 of 3, mtp3, about 80 s left",
        "output: launch 3 of 3, off again, about 30 s left",
    ]
