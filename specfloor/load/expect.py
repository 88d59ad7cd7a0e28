"""What the answer to a checkable prompt must be; judged by :mod:`specfloor.judge.output`."""

from fractions import Fraction
from typing import Any

import msgspec


def check_schema(schema: dict[str, Any]) -> None:
    """Raise ValueError when ``schema`` is no JSON Schema."""
    # only sets that have schemas pay for the import
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"no JSON Schema: {error.message}") from None


class ExpectNumber(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="number", tag_field="kind"
):
    """The number that the answer ends with: ``42``, ``-3.5`` or a fraction such as ``5/6``."""

    value: str

    def __post_init__(self) -> None:
        try:
            Fraction(self.value)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"value {self.value!r} is no number") from None


class ExpectText(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="text", tag_field="kind"
):
    """The whole answer, but for a code fence, quotes and white space around it."""

    value: str


class ExpectContains(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="contains", tag_field="kind"
):
    """Pieces that all come in the answer, whatever the case of their letters."""

    values: tuple[str, ...]


class ExpectJson(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="json", tag_field="kind"
):
    """One JSON value that ``schema`` (JSON Schema, draft 2020-12) accepts, and nothing else."""

    schema: dict[str, Any]

    def __post_init__(self) -> None:
        check_schema(self.schema)


class ExpectedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call of a tool. ``arguments`` are those that are beyond doubt; others may come too."""

    name: str
    arguments: dict[str, Any] = {}


class ExpectToolCalls(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="tool_calls", tag_field="kind"
):
    """The calls that the answer makes, in any order; none when no tool is needed."""

    calls: tuple[ExpectedCall, ...]


Expect = ExpectNumber | ExpectText | ExpectContains | ExpectJson | ExpectToolCalls
