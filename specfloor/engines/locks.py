"""Locks between runs that make the same thing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock


@contextmanager
def locked(path: Path, waiting: str, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock file ``path``; say ``waiting`` when another run holds it.

    The kernel ends it with this process at the latest.
    """
    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        say(waiting)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
