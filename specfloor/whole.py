"""Files that are there whole or not at all, whatever ends the program while it writes them."""

from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place and move it there: readers see the old content or the new."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(data)
    part.replace(path)
