"""The language of what people read: English, or Chinese from gettext catalogues.

A language is asked for, with ``--lang`` or in ``SPECFLOOR_LANG``; the locale of the machine is not
asked, since what a build prints should not hang on the machine that runs it. What programs read is
English always: records, ``verdicts.json`` and every ``--format json``.

The texts of the fix ledger are data and not source, so they have a catalogue of their own, which
is opened when the first of them is shown.
"""

import contextlib
import gettext
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from specfloor.errors import UsageError

VARIABLE = "SPECFLOOR_LANG"
ENGLISH = "en"
LANGUAGES: Mapping[str, str | None] = {ENGLISH: None, "zh": "zh_CN"}
"""What may be asked for, and the catalogue it is read from; English is in the source."""

_SOURCE = "specfloor"
_LEDGER = "ledger"
_LOCALE = Path(__file__).parent / "locale"


class _Spoken:
    language = ENGLISH


def use(language: str) -> None:
    """Speak a language from now on.

    Raises:
        UsageError: it is none of ``LANGUAGES``.
    """
    if language not in LANGUAGES:
        raise UsageError(
            f"there is no language {language}: give --lang or {VARIABLE} one of "
            f"{', '.join(LANGUAGES)}"
        )
    _Spoken.language = language


def language() -> str:
    """Return the language that is spoken."""
    return _Spoken.language


def language_of(environ: Mapping[str, str]) -> str:
    """Return the language that an environment asks for."""
    return environ.get(VARIABLE) or ENGLISH


@contextlib.contextmanager
def speaking(language: str) -> Iterator[None]:
    """Speak a language for a while."""
    before = _Spoken.language
    use(language)
    try:
        yield
    finally:
        _Spoken.language = before


def _(message: str) -> str:
    """Return a message in the language that is spoken; what has no translation stays English.

    Messages with values have names in braces, which ``str.format`` fills in afterwards.
    """
    return _in(_SOURCE, message)


def ledger_text(text: str) -> str:
    """Return a symptom or condition of the ledger in the language that is spoken.

    What has no translation stays English, and so does a text that is not of the ledger.
    """
    return _in(_LEDGER, text)


def ended(sentence: str) -> str:
    """Return a sentence with its full stop, and one only: what is quoted may have its own."""
    return _("{sentence}.").format(sentence=sentence.removesuffix(".").removesuffix("。"))


def N_(message: str) -> str:  # noqa: N802 - the name that extractors know
    """Mark a message that is translated where it is shown."""
    return message


def _in(domain: str, message: str) -> str:
    catalogue = LANGUAGES[_Spoken.language]
    # the empty message is the catalogue's own header
    return _catalogue(domain, catalogue).gettext(message) if catalogue and message else message


@cache
def _catalogue(domain: str, name: str) -> gettext.NullTranslations:
    return gettext.translation(domain, _LOCALE, languages=[name])
