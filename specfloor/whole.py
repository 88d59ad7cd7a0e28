"""Files that are there whole or not at all, whatever ends the program while it writes them."""

from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place and move it there: readers see the old content or the new.

    A link stays one, and what is no file, such as a pipe, is written to as it is. Raises OSError
    with the name of the file.
    """
    whole = path.resolve()
    if whole.exists() and not whole.is_file():
        whole.write_bytes(data)
        return
    part = whole.with_name(f"{whole.name}.part")
    try:
        part.write_bytes(data)
        part.replace(whole)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        error.filename, error.filename2 = str(path), None
        raise
