import platform
from pathlib import Path

import msgspec

from specfloor.host import environment
from specfloor.host.environment import describe_environment


def test_the_machine_and_the_packages_are_described():
    found = describe_environment()
    assert found.cores >= 1
    assert found.memory_bytes > 2**20
    assert found.cpu
    assert found.python.startswith("3.")
    assert {"msgspec", "pytest", "scipy"} <= found.packages.keys()
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found


def test_a_processor_without_a_name_goes_by_its_architecture(monkeypatch):
    def refuse(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert environment._cpu_model() == platform.machine()


def test_a_package_that_is_not_there_is_left_out(monkeypatch):
    monkeypatch.setattr(environment, "_PACKAGES", ("msgspec", "no-such-distribution"))
    assert list(describe_environment().packages) == ["msgspec"]
