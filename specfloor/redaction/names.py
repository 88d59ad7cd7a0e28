"""Which names, of flags, variables and fields, hold something that is not to be shown."""

import functools
import re

from specfloor.redaction.kinds import Kind

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-.\s]+")
_SECRET = re.compile(
    r"(?:^|_)(?:api_?keys?|access_?keys?(?:_?id)?|secrets?(?:_?keys?)?|secret_access_key"
    r"|(?:private|signing|encryption|account|client|auth|ssh|master)_?keys?"
    r"|passw(?:or)?ds?|passwd|passphrase|pwd|credentials?|client_secret|cookies?|webhook(?:_url)?"
    r"|(?:auth|access|refresh|bearer|session|security|api|hub|hf|id)_?tokens?"
    r"|authorization|connection_?string|dsn)$"
)
_SECRET_VARIABLE = re.compile(r"_(?:TOKEN|KEY|AUTH|CREDS?|PASS)$")
_NO_SECRET_VARIABLE = re.compile(r"_(?:EOS|BOS|PAD|PER|PRIMARY|SORT|CACHE)_(?:TOKEN|KEY)$")
_MODELSCOPE = re.compile(r"MODELSCOPE_(?!(?:CACHE|HUB_CACHE|OFFLINE|LOG_LEVEL|DOMAIN)$)\w+")
_MAYBE = re.compile(r"(?:^|_)(?:token|key|auth|session|signature|nonce)$")
_WORKING_FOLDER = {"PWD", "OLDPWD", "pwd"}

_USER = {"user", "username", "logname", "sudo_user"}
_HOST = re.compile(
    r"(?:^|_)(?:hostname|host_name|host|node_?name|master_addr(?:ess)?|machine_name|fqdn|nodelist"
    r"|node_ip|host_ip|server_name|data_parallel_address|head_address)$"
)
_KUBERNETES = re.compile(r"(?:^|_)(?:pod_?name|pod_?namespace|namespace|k8s_(?!\d)\w+|kube_\w+)$")
_SERIAL = re.compile(
    r"(?:^|_)(?:serial(?:_?(?:number|num|no))?|sn|uuid|v?die_id|machine_id|asset_tag)$"
)


def snake(name: str) -> str:
    """Return a name as words in lower case joined by ``_``: ``--api-key``, ``apiKey``, ``api.key``
    are all ``api_key``.
    """
    return _WORDS.sub("_", name.strip().lstrip("-")).strip("_").lower()


@functools.lru_cache(4096)
def is_secret_name(name: str) -> bool:
    """Whether whatever has this name is secret."""
    if name in _WORKING_FOLDER:
        return False
    return bool(
        _SECRET.search(snake(name))
        or (_SECRET_VARIABLE.search(name) and not _NO_SECRET_VARIABLE.search(name))
        or _MODELSCOPE.fullmatch(name)
    )


def may_be_secret_name(name: str) -> bool:
    """Whether something with this name is secret if it looks so: tokens are also pieces of text."""
    return bool(_MAYBE.search(snake(name)))


@functools.lru_cache(4096)
def kind_of_name(name: str) -> Kind | None:
    """Return what a value with this name is, secrets apart; None for anything else."""
    words = snake(name)
    if words in _USER:
        return Kind.USER
    for pattern, kind in (
        (_HOST, Kind.HOST),
        (_KUBERNETES, Kind.KUBERNETES),
        (_SERIAL, Kind.SERIAL),
    ):
        if pattern.search(words):
            return kind
    return None


_PLAIN = re.compile(r"[A-Za-z0-9_\-.+/=~]{8,}")
_RUN = re.compile(r"[A-Za-z0-9]{12,}")
_TURNS = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_LEAST_TURNS = 3
"""Times a run of 12 letters and digits goes from one to the other: words with a version have one
or two, and of 12 hexadecimal digits drawn at random 93 % have three or more."""


def looks_secret(value: str) -> bool:
    """Whether a value looks drawn at random rather than chosen by a person."""
    if not _PLAIN.fullmatch(value) or value[0] in "./" or is_number(value):
        return False
    return any(len(_TURNS.findall(run)) >= _LEAST_TURNS for run in _RUN.findall(value))


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
