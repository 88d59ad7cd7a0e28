"""Commands as a Chinese reader gives them."""

import pytest

from specfloor import cli


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command in Chinese and return what it prints."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["specfloor", "--lang", "zh", *map(str, arguments)])
        with pytest.raises(SystemExit):
            cli.main()
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run
