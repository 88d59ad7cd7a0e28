"""Addresses and versions: both are numbers with dots, and only one of them names a machine."""

import ipaddress
import re

IPV4 = re.compile(
    r"(?<![\d.])(?<!\bv)(?<!\bV)\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d|\.?(?:rc|a|b|dev|post)\d)"
)
IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")
MAC = re.compile(
    r"(?<![0-9A-Za-z:-])(?:(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2})"
    r"(?![0-9A-Za-z:-])"
)

_IS = r"[\"'\])]*(?:\s*(?:[:=]=?|is|[-_/@ ]))*[\s\"'(\[]*v?"
_VERSION_WORD = r"(?:(?:\b|_)(?:inner)?versions?|\bver)"
_SAID_A_VERSION = re.compile(
    rf"(?:{_VERSION_WORD}{_IS}|[A-Za-z][\w.-]*\s*(?:==|>=|<=|~=|!=)\s*[\"']?v?"
    r"|,\s*(?:>=|<=|<|~=|!=)\s*)$",
    re.IGNORECASE,
)
_PRODUCT = (
    r"(?:release|tag|cann|toolkit|driver|firmware|hdk|nnal|nnrt|nnae|atb|opp|kernels?|npu[-_]smi"
    r"|vllm(?:[-_ ]ascend)?|torch(?:[-_]npu)?|triton(?:[-_]ascend)?|python|libc|gcc|hccl|mindie)"
)
_AFTER_PRODUCT = re.compile(rf"{_PRODUCT}{_IS}$", re.IGNORECASE)
_ADDRESS_BEFORE = re.compile(
    r"(?:://(?:[^/\s@]*@)?|(?:\b|_)(?:ip|ipv4|addr(?:ess)?|host|peer|gateway|inet)[\"'\s:=]*)$",
    re.IGNORECASE,
)
_ADDRESS_AFTER = re.compile(r":\d{2,5}(?!\d)|/\d{1,2}(?![\d.])")
_LOOK_BACK = 48


def is_address(text: str, start: int, end: int) -> bool:
    """Whether four numbers with dots at a place of a text are an address that names a machine.

    Loopback, masks and 0.0.0.0 name none. Numbers that follow the word version or a comparison are
    a version, and so are those that follow the name of a product, which no product has numbered
    like a private network. A port, a prefix length or the scheme of a URL makes them an address.
    """
    try:
        address = ipaddress.IPv4Address(text[start:end])
    except ValueError:
        return False
    if text[start:end].startswith(("0.", "255.")) or address.is_loopback:
        return False
    before = text[max(0, start - _LOOK_BACK) : start]
    if _ADDRESS_BEFORE.search(before) or _ADDRESS_AFTER.match(text, end):
        return True
    if _SAID_A_VERSION.search(before):
        return False
    return address.is_private or not _AFTER_PRODUCT.search(before)


_LONG_GROUP = re.compile(r"[0-9A-Fa-f]{3}")


def is_address_v6(text: str) -> bool:
    """Whether a text of hexadecimal groups is an address that names a machine.

    Two short words with ``::`` between them are a name in a program.
    """
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    if address.is_loopback or address.is_unspecified:
        return False
    return text.count(":") > 2 or bool(_LONG_GROUP.search(text) and re.search(r"\d", text))


def is_machine_address(text: str) -> bool:
    """Whether a whole text, known to be an address or a name, is an address of a machine."""
    if IPV4.fullmatch(text):
        return is_address(f"ip {text}", 3, 3 + len(text))
    return is_address_v6(text)


def is_mac(text: str) -> bool:
    """Whether a text of six pairs is the address of an interface, and not all zeros or ones.

    With dashes and without a letter it is a date and a time.
    """
    digits = text.replace(":", "").replace("-", "").lower()
    dated = "-" in text and digits.isdigit()
    return digits not in ("0" * 12, "f" * 12) and not dated
