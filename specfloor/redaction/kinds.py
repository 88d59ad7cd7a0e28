"""What is taken out, and what is said of it."""

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What a replaced text was; pseudonyms begin with it."""

    SECRET = "secret"  # noqa: S105 - the name of a kind
    """A key, token, password or certificate."""
    USER = "user"
    HOST = "host"
    IP = "ip"
    MAC = "mac"
    SERIAL = "serial"
    """The number of one piece of hardware."""
    KUBERNETES = "k8s"
    """A name inside a Kubernetes cluster: a service, a namespace, a pod."""
    EMAIL = "email"


class Replacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that was replaced, and never what it was.

    ``count`` is how often, in ``places`` (names of files, or parts of a text).
    """

    kind: Kind
    pseudonym: str
    count: int
    places: tuple[str, ...]
