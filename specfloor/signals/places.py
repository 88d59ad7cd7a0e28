"""Short names for the addresses that counters are read from."""

from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit


def short_names(urls: Iterable[str]) -> dict[str, str]:
    """Return each address by its host and port, and by more where only that tells it apart.

    Behind a gateway several servers have one host and port, and paths or queries of their own.
    """
    hosts = {url: urlsplit(url).netloc for url in urls}
    shared = {host for host, number in Counter(hosts.values()).items() if number > 1}
    return {url: _without_scheme(url) if host in shared else host for url, host in hosts.items()}


def _without_scheme(url: str) -> str:
    return url.partition("://")[2]
