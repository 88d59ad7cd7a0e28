"""Versions as the field writes them."""

import re

import msgspec
from packaging.version import InvalidVersion, Version

from specfloor.errors import UsageError

_COMMIT = re.compile(r"g(?:it)?([0-9a-f]{6,40})")
_DATE = re.compile(r"d(\d{8})")
_IMAGE_SUFFIX = re.compile(r"(?:-(?:a3|a5|310p))?(?:-openeuler)?$")


class FieldVersion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A version of vLLM or vLLM-Ascend as found somewhere.

    ``raw`` is what was written, without what follows it; ``version`` the public version without a
    local part. A development build is no release, whatever its number says; ``commit`` and ``date``
    (YYYYMMDD) are those its local part names.
    """

    raw: str
    version: str
    development_build: bool
    commit: str | None = None
    date: str | None = None


def read_version(text: str) -> FieldVersion:
    """Read a version as package managers, ``collect_env`` and people write it.

    ``v0.18.0``, ``0.23.0+empty``, ``0.23.0.post1``, ``0.11.0rc3.dev0+gabc1234.d20260115 (git sha:
    ...)``.

    Raises:
        UsageError: it is no version, not written as packages write theirs (``8.3.RC2``;
            ``0.18.0-a3`` is an image's tag, not an alpha), or the number of something else:
            releases of vLLM and vLLM-Ascend are all 0.x, while CANN, drivers and product images
            count higher.
    """
    words = text.split()
    raw = words[0] if words else ""
    bare = raw.lower().removeprefix("v")
    try:
        version = Version(bare)
    except InvalidVersion:
        raise UsageError(f"{text.strip()!r} is not a version such as 0.23.0 or 0.26.0rc1") from None
    if str(version) != bare:
        raise UsageError(
            f"{raw!r} is not a vLLM-Ascend version, which is written like 0.23.0, 0.26.0rc1 or "
            f"0.23.0.post1{_image_hint(raw)}"
        )
    if version.epoch or version.major > 0:
        raise UsageError(
            f"{raw!r} is not a vLLM-Ascend version: those are 0.x so far, and this is rather the "
            f"number of CANN, a driver or a product image; `pip show vllm-ascend` in it tells"
        )
    local = version.local or ""
    commit, date = _COMMIT.search(local), _DATE.search(local)
    return FieldVersion(
        raw=raw,
        version=version.public,
        development_build=version.is_devrelease or commit is not None,
        commit=commit.group(1) if commit else None,
        date=date.group(1) if date else None,
    )


def _image_hint(raw: str) -> str:
    plain = _IMAGE_SUFFIX.sub("", raw)
    return f"; {raw} is an image's tag, and its release {plain}" if plain != raw else ""


def version_of_image(image: str) -> FieldVersion | None:
    """Return the release an image of the vendor's repository was built from, by its tag.

    ``quay.io/ascend/vllm-ascend:v0.18.0-a3-openeuler`` is 0.18.0. None for tags that name none
    (``main``, ``nightly-main-a3``, ``kimi-k3-a3``) and for images without a tag.
    """
    _, _, tag = image.rpartition("/")[2].partition(":")
    tag = tag.partition("@")[0]
    try:
        return read_version(_IMAGE_SUFFIX.sub("", tag))
    except UsageError:
        return None
