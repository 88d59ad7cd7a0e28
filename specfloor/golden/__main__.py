"""``python -m specfloor.golden``: write the schema of the golden format anew."""

from pathlib import Path

from specfloor.golden.model import schema

Path(__file__).with_name("golden.schema.json").write_bytes(schema())
