"""What gives away in a text that something is secret or a name: each rule rewrites what it finds.

A rule takes a text and a function that returns what to put in the place of a found value. The order
matters: what is certain comes before what is found by its surroundings.
"""

import re
from collections.abc import Callable

import msgspec

from specfloor.redaction.addresses import IPV4, IPV6, MAC, is_address, is_address_v6, is_mac
from specfloor.redaction.kinds import Kind
from specfloor.redaction.names import (
    is_secret_name,
    kind_of_name,
    looks_secret,
    may_be_secret_name,
)


class Found(msgspec.Struct, frozen=True):
    """A value to be replaced."""

    kind: Kind
    value: str


Put = Callable[[Found], str]
Rule = Callable[[str, Put], str]

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\Z)", re.DOTALL)
_CREDENTIAL = re.compile(r"\b(Bearer|Basic|Digest|ApiKey)( +|%20|\+)([A-Za-z0-9._~+/=-]{6,})")
_HEADER = re.compile(
    r"(?i)\b((?:proxy-)?authorization|x-[\w-]*(?:key|token|auth)|(?:set-)?cookie)"
    r"(\\*[\"']?\s*[:=,]\s*\\*[\"']?)(?!\s|(?:bearer|basic|digest|apikey)\b)([^\r\n\"'\\]+)"
)
_USERINFO = re.compile(r"\b([A-Za-z][\w+.-]*://)([^\s/@\"'<>]+)@")
_TOKENS = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}"
    r"|github_pat_\w{16,}|glpat-[\w-]{16,}|(?:AKIA|ASIA)[0-9A-Z]{16}|xox[abeprs]-[\w-]{10,}"
    r"|ms-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|AIza[\w-]{30,}"
    r"|eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*)"
)
"""Tokens by their published prefixes: Hugging Face, OpenAI, GitHub, GitLab, AWS, Slack, ModelScope,
Google, and JSON web tokens."""

_QUOTED = r"(?P<quote>\\*[\"'])(?P<quoted>.*?)(?P=quote)"
_BARE = r"[^\s\"'&<>\\]+"
_VALUE = rf"(?P<value>\[[^\]\n]*\]|{_QUOTED}|{_BARE})"
_ASSIGNMENT = re.compile(
    rf"(?P<name>[A-Za-z_][\w.-]{{0,100}})(?P<sep>\\*[\"']?[ \t]*(?:=>|[:=])[ \t]*){_VALUE}"
)
_FLAG = re.compile(rf"(?P<name>(?<![\w-])--?[A-Za-z][\w-]{{1,80}})(?P<sep>[ \t]+)(?!-){_VALUE}")
_IN_LIST = re.compile(r"(?<=[\"'])[^\"',]+(?=[\"'])")
_TRAILING = ",;)}]"
NOT_SHOWN = "(set, not shown)"
"""What run.json has in the place of secrets."""

_EMAIL = re.compile(
    r"(?<![\w.+-])(?!(?:(?:secret|user)-\d+|git)@)[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}(?![\w-])"
)
_LOGIN = re.compile(
    r"(?<![\w.+/:-])(?!git@)([a-z_][\w.-]*)@(?!sha\d)([A-Za-z][\w.-]*\w)(?=[\s:~\]]|$)",
    re.MULTILINE,
)
_HOME = re.compile(r"((?:/|\\+)(?:home|Users)(?:/|\\+))([^/\\\s\"':,;<>|()\[\]{}]+)")
_SERIAL = re.compile(
    r"(?i)\b(serial(?:[ _-]?(?:number|num|no\.?))?|sn|uuid|v?die[ _]id|machine[ _-]id|asset tag)"
    r"(\\*[\"']?\s*[:=]\s*\\*[\"']?)(?!not\b|to be\b)([A-Za-z0-9][\w-]*(?: [0-9A-Fa-f]{8}\b)*)"
)
_UNAME = re.compile(r"\b(Linux )(\S+)(?= \d+\.\d+\.\d+\S* #\d)")
_URL_HOST = re.compile(
    r"\b(?!file:|hf:|pkg:)([A-Za-z][\w+.-]*://(?:[\w.:-]+@)?)([A-Za-z0-9][\w.-]*)"
)
_AT_PORT = re.compile(
    r"(?i)(\b(?:connect\w*|to|from|on|at|host|hostname|endpoint|address|peer|remote|node|server)"
    r"[ \t=:]+[\"'(]?)([a-z][\w-]*(?:\.[\w-]+)*)(?=:\d{4,5}\b)"
)
_NAMED_INSIDE = re.compile(
    r"(?i)(?<![\w.@-])[a-z0-9](?:[\w-]*\.)+"
    r"(?:local|internal|intranet|intra|lan|corp|localdomain|home\.arpa)(?![\w-]|\.\w)"
)
_IP_IN_NAME = re.compile(r"(?<![\w.])(?:ip|ec2|host|node)(?:-\d{1,3}){4}(?:\.[\w-]+)*")

_DOMAIN = re.compile(
    r"\b(host-\d+)(?:\.(?!(?:log|txt|out|err|jsonl?|ya?ml|gz|md|py)\b)[A-Za-z][\w-]*)+"
)
"""What follows the pseudonym of a machine that was known by its first name only."""

_CLUSTER = re.compile(
    r"(?<![\w.-])[a-z0-9][a-z0-9-]*(?:\.[a-z0-9][a-z0-9-]*)*"
    r"(?:\.svc(?:\.cluster\.local)?|\.(?:svc\.|pod\.)?cluster\.local)(?![\w-])"
)
_POD = re.compile(
    r"(?<![\w.-])[a-z][a-z0-9-]*-[a-f0-9]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}(?![\w-])"
)
_SERVICE_LINK = re.compile(
    r"\b([A-Z][A-Z0-9_]*?)(?=_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?"
    r"|PORT_\d+_(?:TCP|UDP)(?:_(?:ADDR|PORT|PROTO))?|PORT(?=[\"']?\s*[:=]\s*[\"']?(?:tcp|udp)://))\b)"
)
"""The variables that Kubernetes sets in a pod for each service of its namespace, so that any whose
name begins with ASCEND or VLLM is listed as if it were a setting."""
_NO_SERVICE = {"KUBERNETES", "ASCEND", "VLLM"}

PUBLIC = (
    "github.com",
    "githubusercontent.com",
    "github.io",
    "huggingface.co",
    "hf.co",
    "hf-mirror.com",
    "modelscope.cn",
    "modelscope.ai",
    "vllm.ai",
    "readthedocs.io",
    "python.org",
    "pytorch.org",
    "pydantic.dev",
    "hiascend.com",
    "gitee.com",
    "gitcode.com",
    "openai.com",
    "nvidia.com",
    "apache.org",
    "quay.io",
    "json-schema.org",
    "w3.org",
    "example.com",
)
"""Sites that anybody knows, whose names are left: they say where a model or a package is from."""


def _pem(text: str, put: Put) -> str:
    return _PEM.sub(lambda m: put(Found(Kind.SECRET, m[0])), text) if "-----BEGIN" in text else text


def _credentials(text: str, put: Put) -> str:
    text = _CREDENTIAL.sub(lambda m: m[1] + m[2] + put(Found(Kind.SECRET, m[3])), text)
    return _HEADER.sub(lambda m: m[1] + m[2] + put(Found(Kind.SECRET, m[3].strip())), text)


def _userinfo(text: str, put: Put) -> str:
    def replaced(match: re.Match[str]) -> str:
        user, colon, password = match[2].partition(":")
        if not colon:
            return f"{match[1]}{put(Found(Kind.USER, user))}@"
        secret = put(Found(Kind.SECRET, password))
        return f"{match[1]}{put(Found(Kind.USER, user))}:{secret}@"

    return _USERINFO.sub(replaced, text) if "@" in text else text


def _tokens(text: str, put: Put) -> str:
    return _TOKENS.sub(lambda m: put(Found(Kind.SECRET, m[0])), text)


def _assignments(text: str, put: Put) -> str:
    def replaced(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        if match.string.startswith(NOT_SHOWN, match.start("value")):
            return match[0]
        kind = Kind.SECRET if is_secret_name(name) else kind_of_name(name)
        inner = match["quoted"] if match["quote"] else value.rstrip(_TRAILING)
        if kind is None and may_be_secret_name(name) and looks_secret(inner):
            kind = Kind.SECRET
        if kind is None:
            # the value of one name may begin with the next: --env TOKEN=…, {"a": "KEY=…"}
            return match["name"] + match["sep"] + _assignments(value, put)
        if value.startswith("["):
            hidden = _IN_LIST.sub(lambda m: put(Found(kind, m[0])), value)
        elif match["quote"]:
            hidden = match["quote"] + put(Found(kind, inner)) + match["quote"]
        else:
            hidden = put(Found(kind, inner)) + value[len(inner) :]
        return match["name"] + match["sep"] + hidden

    text = _ASSIGNMENT.sub(replaced, text) if ("=" in text or ":" in text) else text
    return _FLAG.sub(replaced, text) if "-" in text else text


def _people(text: str, put: Put) -> str:
    if "@" in text:
        text = _EMAIL.sub(lambda m: put(Found(Kind.EMAIL, m[0])), text)
        text = _LOGIN.sub(
            lambda m: f"{put(Found(Kind.USER, m[1]))}@{put(Found(Kind.HOST, m[2]))}", text
        )
    return _HOME.sub(lambda m: m[1] + put(Found(Kind.USER, m[2])), text)


def _numbers(text: str, put: Put) -> str:
    text = MAC.sub(lambda m: put(Found(Kind.MAC, m[0])) if is_mac(m[0]) else m[0], text)
    text = IPV6.sub(lambda m: put(Found(Kind.IP, m[0])) if is_address_v6(m[0]) else m[0], text)
    text = IPV4.sub(
        lambda m: put(Found(Kind.IP, m[0])) if is_address(m.string, *m.span()) else m[0], text
    )
    return _SERIAL.sub(lambda m: m[1] + m[2] + put(Found(Kind.SERIAL, m[3])), text)


def _cluster(text: str, put: Put) -> str:
    def service(match: re.Match[str]) -> str:
        return match[1] if match[1] in _NO_SERVICE else put(Found(Kind.KUBERNETES, match[1]))

    text = _SERVICE_LINK.sub(service, text)
    text = _CLUSTER.sub(lambda m: put(Found(Kind.KUBERNETES, m[0])), text)
    return _POD.sub(lambda m: put(Found(Kind.KUBERNETES, m[0])), text)


def _hosts(text: str, put: Put) -> str:
    text = _UNAME.sub(lambda m: m[1] + put(Found(Kind.HOST, m[2])), text)
    if "://" in text:
        text = _URL_HOST.sub(
            lambda m: m[1] + (m[2] if _is_public(m[2]) else put(Found(Kind.HOST, m[2]))), text
        )
    text = _AT_PORT.sub(lambda m: m[1] + put(Found(Kind.HOST, m[2])), text)
    text = _NAMED_INSIDE.sub(lambda m: put(Found(Kind.HOST, m[0])), text)
    text = _IP_IN_NAME.sub(lambda m: put(Found(Kind.HOST, m[0])), text)
    return _DOMAIN.sub(r"\1", text)


def _is_public(host: str) -> bool:
    host = host.lower().rstrip(".")
    return any(host == site or host.endswith(f".{site}") for site in PUBLIC)


RULES: tuple[Rule, ...] = (
    _pem,
    _credentials,
    _userinfo,
    _tokens,
    _assignments,
    _people,
    _cluster,
    _numbers,
    _hosts,
)
"""Every rule, in the order they are applied."""
