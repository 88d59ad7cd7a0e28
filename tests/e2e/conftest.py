"""What holds for every test that starts programs of its own."""

import os
import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_worker_of_xdist():
    """Hide from the runs that tests start that these are themselves in a worker of xdist."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PYTEST_XDIST_")]:
            patch.delenv(name)
        yield


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """Let programs be interrupted: what a shell starts in the background ignores the signal."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
