"""What holds for every test that starts programs of its own."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_worker_of_xdist():
    """Hide from the runs that tests start that these are themselves in a worker of xdist."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PYTEST_XDIST_")]:
            patch.delenv(name)
        yield
