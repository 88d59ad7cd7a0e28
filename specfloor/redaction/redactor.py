"""Replacing what is secret or names somebody by pseudonyms, the same one throughout a bundle.

A redactor first reads everything (:meth:`Redactor.learn`), so that a name that only one place gives
away is taken out of all others too, and then rewrites it. Pseudonyms are numbered in the order in
which things are met: nothing of what they stand for is in them.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote, unquote

from specfloor.redaction.addresses import is_machine_address
from specfloor.redaction.kinds import Kind, Replacement
from specfloor.redaction.names import is_secret_name, kind_of_name
from specfloor.redaction.rules import NOT_SHOWN, RULES, Found

_PSEUDONYM = re.compile(rf"(?:(?i:bearer|basic|digest|apikey) )?(?:{'|'.join(Kind)})-\d+")
_ENCODED = re.compile(r"[^\s\"'<>`]*%[0-9A-Fa-f]{2}[^\s\"'<>`]*")
_NUMBERS = {int, float, bool, type(None)}
_KEPT_IN_URLS = ":/?&=@,;+$!*()[]{}"

_NOTHING = re.compile(
    r"|none|null|nil|true|false|yes|no|n/?a|unknown|empty|unset|default|auto|not specified|\*+|x+"
    r"|bearer|basic|digest|<[^>]*>|\$\{?\w+\}?|to be filled by o\.e\.m\.",
    re.IGNORECASE,
)
"""What stands where a value should be, and hides nothing: ``EMPTY`` is what vLLM's clients send
for a key when there is none."""
_COMMON = frozenset(
    {
        "admin",
        "administrator",
        "ascend",
        "client",
        "default",
        "docker",
        "guest",
        "host",
        "jenkins",
        "localhost",
        "master",
        "model",
        "models",
        "nobody",
        "node",
        "nohup",
        "npu",
        "pod",
        "public",
        "python",
        "root",
        "runner",
        "server",
        "service",
        "test",
        "tester",
        "tmp",
        "ubuntu",
        "user",
        "users",
        "vllm",
        "work",
        "worker",
        "workspace",
        "www-data",
    }
)
"""Names so common that they name nobody outside the place that calls them a name."""
_SHORT = 200
"""Characters up to which clean texts are remembered: names of fields and of launches, which come
with every record."""
_LEAST = {Kind.SECRET: 8, Kind.SERIAL: 6}
"""Characters from which a value is looked for everywhere and not only where it was found; shorter
ones are parts of ordinary words. Three for what is not listed."""


class Redactor:
    """Replaces secrets and names in texts and records.

    Args:
        keep: words that are evidence, such as names of releases, families and cells: never taken
            for something to hide when they are met as a whole.
        hosts: names of machines known beforehand, such as this one's.
        users: names of people likewise.
    """

    def __init__(
        self, keep: Iterable[str] = (), *, hosts: Iterable[str] = (), users: Iterable[str] = ()
    ) -> None:
        self._keep = {word.lower() for word in keep}
        self._known: dict[tuple[Kind, str], str] = {}
        self._numbers: Counter[Kind] = Counter()
        self._counts: Counter[tuple[Kind, str]] = Counter()
        self._places: dict[str, dict[str, None]] = {}
        self._everywhere: re.Pattern[str] | None = None
        self._everywhere_of: int = 0
        self._place = ""
        self._clean: set[str] = set()
        self._clean_of = 0
        for kind, names in ((Kind.HOST, hosts), (Kind.USER, users)):
            for name in filter(None, names):
                self._name(kind, name)
                if kind is Kind.HOST and "." in name:
                    self._name(kind, name.split(".")[0])
        self._counts.clear()
        self._places.clear()

    def learn(self, value: object) -> None:
        """Read a text, or anything made of texts, for what is to be replaced everywhere."""
        counts, places = self._counts.copy(), {k: dict(v) for k, v in self._places.items()}
        self.value(value, "")
        self._counts, self._places = counts, places

    def text(self, text: str, place: str) -> str:
        """Return a text with what is to be hidden replaced; ``place`` says where it is from."""
        self._place = place
        return self._text(text)

    def value(self, value: object, place: str) -> object:
        """Return a plain value (of dicts, lists and scalars) redacted, keys included.

        What has a telling name is replaced as a whole, such as the value of ``VLLM_API_KEY`` or of
        the argument after ``--api-key``.
        """
        self._place = place
        return self._value(value)

    @property
    def replacements(self) -> tuple[Replacement, ...]:
        """What was replaced, in the order of kinds and numbers."""
        order = {kind: rank for rank, kind in enumerate(Kind)}
        counted = sorted(
            self._counts.items(), key=lambda one: (order[one[0][0]], int(one[0][1].split("-")[-1]))
        )
        return tuple(
            Replacement(kind, pseudonym, count, tuple(self._places[pseudonym]))
            for (kind, pseudonym), count in counted
        )

    def leaks(self, text: str) -> tuple[str, ...]:
        """Return the pseudonyms of what is still in a text, plain or URL-encoded; the last check
        before something is written."""
        pattern = self._pattern()
        if pattern is None:
            return ()
        found = (m[0] for seen in {text, unquote(text)} for m in pattern.finditer(seen))
        return tuple(sorted({self._pseudonym_of_literal(one) for one in found}))

    # values

    def _value(self, value: object, name: str = "") -> object:
        if isinstance(value, str):
            return self._named(name, value)
        if isinstance(value, Mapping):
            return {self._text(str(k)): self._value(v, str(k)) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return self._list(value, name)
        if type(value) in (int, float) and is_secret_name(name):
            return self._hide(Kind.SECRET, str(value))
        return value

    def _list(self, values: Sequence[object], name: str) -> list[object]:
        telling = is_secret_name(name)
        if not telling and all(type(one) in _NUMBERS for one in values):
            return list(values)
        if telling or kind_of_name(name):
            return [self._value(one, name) for one in values]
        return self._arguments(values)

    def _arguments(self, values: Iterable[object]) -> list[object]:
        """Redact a list; a text after a flag is that flag's value, up to the next flag."""
        done: list[object] = []
        flag = ""
        for value in values:
            if isinstance(value, str) and value.startswith("-"):
                name, equals, given = value.partition("=")
                done.append(f"{name}={self._named(name, given)}" if equals else self._text(value))
                flag = "" if equals else name
            else:
                done.append(self._value(value, flag))
        return done

    def _named(self, name: str, value: str) -> str:
        kind = Kind.SECRET if is_secret_name(name) else kind_of_name(name)
        return self._text(value) if kind is None else self._found(Found(kind, value))

    # texts

    def _text(self, text: str, *, encoded: bool = True) -> str:
        """Return a text redacted; what was found clean before is not gone over again."""
        if len(self._known) != self._clean_of:
            self._clean_of = len(self._known)
            self._clean.clear()
        if encoded and text in self._clean:
            return text
        redacted = self._redacted(text, encoded=encoded)
        clean = encoded and redacted == text and len(self._known) == self._clean_of
        if clean and len(text) <= _SHORT:
            self._clean.add(text)
        return redacted

    def _redacted(self, text: str, *, encoded: bool) -> str:
        if pattern := self._pattern():
            text = pattern.sub(self._literal, text)
        for rule in RULES:
            text = rule(text, self._found)
        if encoded and "%" in text:
            text = _ENCODED.sub(self._decoded, text)
        return text

    def _decoded(self, match: re.Match[str]) -> str:
        plain = unquote(match[0])
        redacted = self._text(plain, encoded=False)
        return match[0] if redacted == plain else quote(redacted, safe=_KEPT_IN_URLS)

    def _found(self, found: Found) -> str:
        if found.kind is Kind.HOST:
            return ",".join(map(self._machine, found.value.split(",")))
        if not self._hides(found.kind, found.value):
            return found.value
        return self._hide(found.kind, found.value)

    def _machine(self, value: str) -> str:
        """Return a name or address of a machine redacted, its port kept."""
        name, colon, port = value.rpartition(":")
        if not (name and port.isdigit() and ":" not in name):
            name, colon, port = value, "", ""
        kind = Kind.IP if is_machine_address(name) else Kind.HOST
        if (kind is Kind.HOST and _names_no_machine(name)) or not self._hides(kind, name):
            return value
        return self._hide(kind, name) + colon + port

    def _hides(self, kind: Kind, value: str) -> bool:
        bare = value.strip()
        if (
            bare == NOT_SHOWN
            or _NOTHING.fullmatch(bare)
            or _PSEUDONYM.fullmatch(bare)
            or bare.lower() in self._keep
        ):
            return False
        return not (kind is Kind.USER and bare == "root")

    def _hide(self, kind: Kind, value: str) -> str:
        pseudonym = self._name(kind, value)
        self._counts[kind, pseudonym] += 1
        self._places.setdefault(pseudonym, {})[self._place] = None
        return pseudonym

    def _name(self, kind: Kind, value: str) -> str:
        """Return the pseudonym of a value; names of machines are the same in either case."""
        key = kind, value if kind in (Kind.SECRET, Kind.USER) else value.lower()
        if key not in self._known:
            self._numbers[kind] += 1
            self._known[key] = f"{kind}-{self._numbers[kind]}"
        return self._known[key]

    # what was learnt

    def _literal(self, match: re.Match[str]) -> str:
        pseudonym = self._pseudonym_of_literal(match[0])
        kind = Kind(pseudonym.rsplit("-", 1)[0])
        self._counts[kind, pseudonym] += 1
        self._places.setdefault(pseudonym, {})[self._place] = None
        return pseudonym

    def _pseudonym_of_literal(self, found: str) -> str:
        return self._literals.get(found) or self._literals[found.lower()]

    def _pattern(self) -> re.Pattern[str] | None:
        """Return what finds every value learnt so far that may be looked for everywhere."""
        if self._everywhere_of != len(self._known):
            self._everywhere_of = len(self._known)
            self._literals: dict[str, str] = {}
            parts: dict[str, str] = {}
            for (kind, value), pseudonym in self._known.items():
                if self._is_looked_for(kind, value):
                    for form in _forms(kind, value):
                        folded = form if kind in (Kind.SECRET, Kind.USER) else form.lower()
                        self._literals.setdefault(folded, pseudonym)
                        parts.setdefault(form, _part(kind, form))
            ordered = [parts[form] for form in sorted(parts, key=lambda f: (-len(f), f))]
            self._everywhere = re.compile("|".join(ordered)) if ordered else None
        return self._everywhere

    def _is_looked_for(self, kind: Kind, value: str) -> bool:
        return (
            # addresses are found by their form, and some are somewhere else a version
            kind is not Kind.IP
            and len(value) >= _LEAST.get(kind, 3)
            and value.lower() not in self._keep
            and value.lower() not in _COMMON
            # a number as a password would take every figure with it
            and not re.fullmatch(r"[\d.,:_-]*", value)
        )


def _part(kind: Kind, form: str) -> str:
    literal = re.escape(form)
    if kind is Kind.SECRET:
        return literal
    bounded = rf"(?<![A-Za-z0-9]){literal}(?![A-Za-z0-9])"
    return bounded if kind is Kind.USER else f"(?i:{bounded})"


def _forms(kind: Kind, value: str) -> tuple[str, ...]:
    """Return a value as it may be written: plain, in JSON, in a URL, quoted for a shell.

    A service of Kubernetes is also in lower case with dashes: its address.
    """
    forms = [value, json.dumps(value)[1:-1], quote(value, safe="")]
    forms += [form.replace("'", "'\"'\"'") for form in forms]
    if kind is Kind.KUBERNETES:
        forms.append(value.replace("_", "-"))
    return tuple(dict.fromkeys(forms))


def _names_no_machine(name: str) -> bool:
    """Whether a name is that of any machine, or no name: an address that is none, a number."""
    return bool(
        name.lower() in ("localhost", "localhost.localdomain", "host.docker.internal")
        or re.fullmatch(r"[\d.]*|[0-9a-f:]*:[0-9a-f:]*", name.lower())
    )
