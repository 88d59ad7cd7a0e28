"""How a workload is sent: lengths, sampling, and how many of its prompts measure speed."""

import tomllib
from pathlib import Path

import msgspec

from specfloor.errors import UsageError
from specfloor.load.long_context import LongContext


class WorkloadSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of one workload, from its set's ``workloads.toml``.

    ``max_tokens`` bounds an answer that stops by itself; ``forced_tokens`` is the length that every
    request of a speed block generates, end of sequence ignored; ``forced_prompts`` the number of
    prompts a speed block sends, the first of the seeded order. ``about`` says what the prompts are.
    ``parts`` are the workloads of the set whose prompts this one has together; without any it has a
    file of its own, or, with ``long_context``, prompts that are made to length.
    """

    about: str
    max_tokens: int
    forced_tokens: int
    forced_prompts: int
    parts: tuple[str, ...] = ()
    long_context: LongContext | None = None
    temperature: float = 0.0
    top_p: float = 1.0


SETTINGS = "workloads.toml"


def read_settings(folder: Path) -> dict[str, WorkloadSettings]:
    """Read the settings of a workload set: workload name → settings.

    Raises:
        UsageError: the file is missing or has a field that is not as it should be.
    """
    path = folder / SETTINGS
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(data, dict[str, WorkloadSettings])
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path}: {error}") from None
