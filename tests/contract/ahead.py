"""Work begun before it is asked for, as much at a time as there are processors."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Self, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Ahead(Generic[K, V]):
    """The results of a function for keys known beforehand, in whose order it is begun.

    Reading a key waits for its result, and raises what the function raised.
    """

    def __init__(self, work: Callable[[K], V], keys: Iterable[K]) -> None:
        self._pool = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)
        self._results = {key: self._pool.submit(work, key) for key in keys}

    def __getitem__(self, key: K) -> V:
        return self._results[key].result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
