"""Private files: the library creates every folder and file so that only its owner can read it.

This holds whatever the umask is. Files of other owners, and file systems without modes, are left unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

from acc.errors import AccError, ConfigurationError, InputError

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_OTHERS = 0o077


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


def tighten(paths: Iterable[Path]) -> None:
    """Remove all rights of other users on these files and folders; skip missing ones."""
    for path in paths:
        with suppress(OSError):  # the file of another owner, or a file system without modes
            mode = path.lstat().st_mode
            if mode & _OTHERS and not path.is_symlink():
                path.chmod(mode & 0o7700)


def is_private(path: Path) -> bool:
    """Whether only its owner may read or enter ``path``."""
    try:
        return not path.stat().st_mode & _OTHERS
    except OSError:
        return True


def opened_for_text(file: Path, mode: Literal["a", "w"] = "w") -> IO[str]:
    """Open ``file``, which is no file of a memory, to write UTF-8 text with line feeds; create its folder."""
    refuse_memorys(file)
    private_folder(file.parent)
    return opened_private(file, mode, encoding="utf-8", newline="\n")


def refuse_memorys(out: Path) -> None:
    """Raise `InputError` if writing to ``out`` would overwrite a file of a memory."""
    folders = out.resolve().parents[
        :2
    ]  # a memory's folder, or its folders of indexes and audit logs
    if out.exists() and any((folder / "chroma.sqlite3").exists() for folder in folders):
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


def replace_file(path: Path, chunks: Iterable[bytes], *, half: Path, sync: bool = True) -> None:
    """Write ``chunks`` to ``half``, a path in the same folder, and put it in the place of ``path``.

    A reader finds the earlier file or the whole new one, readable by its owner alone. With ``sync`` the new one
    survives a power cut. After a failure or a kill ``half`` may be left; the next call replaces it.
    """
    half.unlink(missing_ok=True)
    with opened_private(half, "xb") as file:
        file.writelines(chunks)
        if sync:
            synced(file)
    half.replace(path)
    if sync:
        sync_folder(path.parent)


def synced(file: IO[Any]) -> None:
    """Write a file's bytes to the disk, so that they survive a power cut."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Write a folder's entries to the disk; nothing where folders cannot be opened, as on Windows."""
    try:
        found = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(found)
    finally:
        os.close(found)
