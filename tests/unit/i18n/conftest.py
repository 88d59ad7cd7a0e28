"""Commands as a Chinese reader gives them."""

import pytest


@pytest.fixture
def command(typed):
    """Run a command in Chinese and return what it prints."""

    def run(*arguments):
        _, out, err = typed("--lang", "zh", *arguments)
        assert err == ""
        return out

    return run
