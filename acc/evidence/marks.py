"""Small files that mark unfinished work in a memory's folder, written and removed durably."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from acc.errors import StoreError
from acc.folders import opened_private, private_folder

_HALF = ".half"


def begin(path: Path, value: Any) -> None:
    """Write ``value`` to ``path`` atomically.

    Raises:
        StoreError: The file cannot be written.
    """
    half = half_of(path)
    try:
        private_folder(path.parent)
        half.unlink(missing_ok=True)
        with opened_private(half, "xb") as file:
            file.write(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, path)
        _sync(path.parent)
    except OSError as error:
        wipe(half)
        raise StoreError(
            f"it cannot be begun: {error.strerror or error}",
            where=str(path),
            hint="free space, or let this user write there",
        ) from error


def read(path: Path) -> Any:
    """Return the value of the mark at ``path``; None if there is none. Drops a partial mark.

    Raises:
        StoreError: The mark cannot be read.
    """
    try:
        wipe(half_of(path))
        if not path.exists():
            return None
        return json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    except (OSError, ValueError) as error:
        raise StoreError(
            "the mark of what was under way cannot be read",
            where=str(path),
            hint="remove what stands there, and do the same again",
        ) from error


def wipe(path: Path) -> None:
    """Remove the mark atomically, then overwrite and delete its content."""
    if path.exists():
        if not path.name.endswith(_HALF):
            # From here on the mark counts as partial: a file of zeros must not be read as a mark.
            path = path.replace(half_of(path))
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()


def half_of(path: Path) -> Path:
    """Return the path of a mark while it is written."""
    return path.with_name(f".{path.name}{_HALF}")


def _sync(folder: Path) -> None:
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
