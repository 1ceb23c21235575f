"""Private files: the library creates every folder and file so that only its owner can read it.

This holds whatever the umask is. Files of other owners, and file systems without modes, are left unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from acc.errors import AccError, ConfigurationError, InputError

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def private_folder(folder: Path) -> Path:
    """Create ``folder`` and its missing parents for the owner alone; return ``folder``."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    if not folder.is_dir():
        folder.mkdir()  # raises FileExistsError: the path is a file
    return folder


def opened_private(file: Path, mode: str = "wb", **how: Any) -> IO[Any]:
    """Open ``file`` like `open`; a new file is readable by its owner alone."""
    return open(file, mode, opener=_private, **how)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE_FILE)


@contextmanager
def file_errors(
    kind: type[AccError],
    what: str,
    *,
    where: object,
    hint: str,
    besides: tuple[type[BaseException], ...] = (),
) -> Iterator[None]:
    """Raise an error of ``kind`` for an `OSError` in the block: ``what`` and the system's words.

    The time-out of a file lock is an `OSError`, too. ``besides`` are further exceptions with this meaning.
    """
    kinds: tuple[type[BaseException], ...] = (OSError, *besides)
    try:
        yield
    except kinds as error:
        said = getattr(error, "strerror", "") or error
        raise kind(f"{what}: {said}", where=str(where), hint=hint) from error


def opened_for_text(file: Path, mode: Literal["a", "w"] = "w") -> IO[str]:
    """Open ``file``, which is no file of a memory, to write UTF-8 text with line feeds; create its folder."""
    refuse_memorys(file)
    private_folder(file.parent)
    return opened_private(file, mode, encoding="utf-8", newline="\n")


def refuse_memorys(out: Path) -> None:
    """Raise `InputError` if writing to ``out`` would overwrite a file of a memory."""
    folders = out.resolve().parents[:2]  # a memory's folder, or its folders of indexes
    names = ("journal.sqlite3", "chroma.sqlite3")
    if out.exists() and any((folder / name).exists() for folder in folders for name in names):
        raise InputError(
            "the output would overwrite a file of a memory",
            where=str(out),
            hint="choose a file outside the memory's folder",
        )


def expanded(path: str | Path) -> Path:
    """Return ``path`` with ``~`` replaced by the home folder; `ConfigurationError` if that is unknown."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(
            f"the home folder in {path!s} is unknown: {error}",
            where="folder",
            hint="write the path without ~",
        ) from error
