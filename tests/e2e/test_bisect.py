"""The build that broke it, found among builds of the fake server."""

import json
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from specfloor.runs.store import RECORDS
from tests.e2e.fake_host import FLOORS, PATIENCE_S, ROOT, FakeHost, stored_verdict

NAMES = tuple(f"build-{number}" for number in range(8))

# a build of its own: an interpreter that starts the fake with the acceptance of its name
BUILD = """#!{shell}
export BISECT_BUILD={name}
exec {python} "$@"
"""
# before the fake's own prelude: which knobs are those of the build
BY_NAME = """
import json, os
_knobs = json.load(open({builds!r})).get(os.environ.get("BISECT_BUILD", ""), {{}})
os.environ["FAKE_VLLM"] = json.dumps(_knobs)
with open({log!r}, "a") as _log:
    _log.write(os.environ.get("BISECT_BUILD", "") + "\\n")
"""


class Builds:
    """A host with builds by name, each an interpreter of its own with the fake server."""

    def __init__(self, folder, cache):
        self.host = FakeHost(folder / "host", cache)
        self.fixtures = folder / "fixtures"
        self.into = folder / "search"
        self._builds = folder / "builds.json"
        self._log = folder / "builds.log"
        self.fixtures.mkdir()
        for name in ("workloads", "models"):
            (self.fixtures / name).symlink_to(ROOT / "fixtures" / name)
        (self.fixtures / "floors").mkdir()
        self.list = folder / "builds.txt"
        lines = []
        for name in NAMES:
            program = folder / name
            program.write_text(BUILD.format(shell="/bin/sh", name=name, python=sys.executable))
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            lines.append(f"{name} python:{program}")
        self.list.write_text("\n".join(lines))
        server = self.host.python_path / "vllm" / "entrypoints" / "openai" / "api_server.py"
        by_name = BY_NAME.format(builds=str(self._builds), log=str(self._log))
        server.write_text(by_name + server.read_text())
        self.set(broken_from=5)

    def set(self, *, broken_from, **others):
        """Plant a fault from a place on; others are the knobs of single builds."""
        knobs = {
            name: {"acceptance": [0.9 if place < broken_from else 0.2]}
            for place, name in enumerate(NAMES)
        }
        self._builds.write_text(
            json.dumps(knobs | {n.replace("_", "-"): k for n, k in others.items()})
        )

    def with_floor(self):
        (self.fixtures / "floors" / "fake.toml").write_text(FLOORS)

    @property
    def launched(self):
        return self._log.read_text().split() if self._log.exists() else []

    def start(self, *options):
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "specfloor", "bisect", "--list", str(self.list)),
                *("--as", "cpu-0.32.0", "--family", "glm_moe_tiny", "--workload", "code"),
                *("--fixtures", str(self.fixtures), "--into", str(self.into)),
                *("--cache-dir", str(self.host.folder / "cache"), "--format", "json", *options),
            ],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(self.host.python_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *options):
        """Return exit code, what was found, and what was said."""
        with self.start(*options) as process:
            output, said = process.communicate(timeout=PATIENCE_S)
        return process.returncode, json.loads(output) if output else None, said


@pytest.fixture
def builds(tmp_path):
    made = Builds(tmp_path, tmp_path / "cache")
    yield made
    assert made.host.left_over == []


def test_the_first_bad_is_found_in_the_fewest_launches_and_every_probe_is_a_run(builds):
    builds.with_floor()
    code, found, said = builds.run()
    assert code == 0, said
    assert (found["outcome"], found["last_good"]) == ("found", "build-4")
    assert found["first_bad"] == ["build-5"]
    # seven places, weights alike: three launches, and no end is named
    assert builds.launched == ["build-3", "build-5", "build-4"]
    assert found["launches"] == 3
    for probe in found["probes"]:
        stored = stored_verdict(builds.into / probe["run"])
        assert stored.returncode == (1 if probe["answer"] == "bad" else 0), stored.stdout
        assert "cpu-0.32.0" in stored.stdout
    assert {one["k"] for one in builds.host.launches} == {3}, "the off arm is not launched"


def test_without_a_floor_the_good_end_gives_it(builds):
    code, found, said = builds.run()
    assert code == 0, said
    assert found["first_bad"] == ["build-5"]
    assert builds.launched[0] == "build-0"
    assert found["launches"] == 4
    good = found["probes"][0]
    assert found["floor"]["value"] == pytest.approx(good["rate"] * 0.95, abs=0.001)
    assert "good end" in found["floor"]["reason"]


def test_what_does_not_start_is_skipped_and_what_is_left_is_a_range(builds):
    builds.with_floor()
    builds.set(broken_from=5, build_4={"start": "fail"}, build_5={"start": "fail"})
    code, found, said = builds.run()
    assert code == 10, said
    assert (found["outcome"], found["last_good"]) == ("open", "build-3")
    assert found["first_bad"] == ["build-4", "build-5", "build-6"]
    skipped = [one for one in found["probes"] if one["answer"] == "skip"]
    assert {one["release"] for one in skipped} == {"build-4", "build-5"}
    assert "build-4, build-5 told nothing" in found["sentence"]


def test_what_does_not_decide_is_launched_again_and_never_guessed(builds):
    builds.with_floor()
    # between the floor and the least that a PASS excludes: forty prompts cannot tell
    builds.set(broken_from=5, build_4={"acceptance": [0.683]})
    code, found, said = builds.run("--population", "sampled")
    undecided = [one for one in found["probes"] if one["release"] == "build-4"]
    assert [one["answer"] for one in undecided] == ["unknown", "unknown"], said
    assert code == 10
    assert found["last_good"] == "build-3"
    assert found["first_bad"] == ["build-4", "build-5"]


def test_a_search_that_is_killed_goes_on_where_it_stopped(builds):
    builds.with_floor()
    builds.set(broken_from=5, build_5={"acceptance": [0.2], "step_s": 0.02})
    process = builds.start()
    probes = builds.into / "probes"
    deadline = time.monotonic() + PATIENCE_S
    # the second probe has sent something
    while not any(
        b'"record":"request"' in records.read_bytes()
        for records in probes.glob(f"build-5-1/{RECORDS}")
    ):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    builds.set(broken_from=5)
    code, found, said = builds.run()
    assert code == 0, said
    assert found["first_bad"] == ["build-5"]
    # the first was not launched again, the one that was cut off was, in a folder of its own
    assert builds.launched == ["build-3", "build-5", "build-5", "build-4"]
    assert [one["run"] for one in found["probes"]] == [
        *("probes/build-3-1", "probes/build-5-2", "probes/build-4-1"),
    ]
    # asked once more it says the same, without an engine
    assert builds.run()[1] == found
    assert len(builds.launched) == 4


def test_another_question_does_not_take_over_the_folder(builds):
    builds.with_floor()
    assert builds.run()[0] == 0
    code, _, said = builds.run("--margin", "0.1")
    assert code == 4
    assert "differs in margin" in said


def test_both_arms_are_launched_when_asked(builds):
    builds.with_floor()
    code, found, said = builds.run("--both-arms", "--good", "build-4", "--bad", "build-5")
    assert code == 0, said
    assert found["first_bad"] == ["build-5"]
    assert [one["k"] for one in builds.host.launches] == [0, 3, 0, 3]
    assert found["launches"] == 4
