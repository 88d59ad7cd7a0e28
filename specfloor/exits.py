"""Exit codes, the same for the suite and every command."""

from enum import IntEnum


class Exit(IntEnum):
    """What a shell gets; 2 and 3 are left to pytest: interrupted, and its own faults."""

    HOLDS = 0
    FAILS = 1
    USAGE = 4
    UNDECIDED = 10
