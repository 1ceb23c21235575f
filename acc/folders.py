"""Paths that users give, and files that only their owner may read.

What is said to an agent is private: every folder and file that this library makes is its owner's alone,
whatever the umask is. File systems without modes, and files of another owner, are left as they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal

from acc.errors import ConfigurationError, InputError

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_OTHERS = 0o077


def private_folder(folder: Path) -> Path:
    """``folder``, made if absent, with its parents; what is made is its owner's alone.

    Raises:
        OSError: It cannot be made.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    if not folder.is_dir():
        folder.mkdir()  # raises: a file is there
    return folder


def opened_private(file: Path, mode: str = "wb", **how: Any) -> IO[Any]:
    """``file`` opened as `open` does; where it is made, it is its owner's alone.

    Raises:
        OSError: It cannot be opened.
    """
    return open(file, mode, opener=_private, **how)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE_FILE)


def tighten(paths: Iterable[Path]) -> None:
    """Take from everybody else what they may do with these files and folders; absent ones are passed over."""
    for path in paths:
        with suppress(OSError):  # another's file, or a file system without modes
            mode = path.lstat().st_mode
            if mode & _OTHERS and not path.is_symlink():
                path.chmod(mode & 0o7700)


def is_private(path: Path) -> bool:
    """Whether nobody but its owner may read ``path``, or reach what is in it."""
    try:
        return not path.stat().st_mode & _OTHERS
    except OSError:
        return True


def opened_for_text(file: Path, mode: Literal["a", "w"] = "w") -> IO[str]:
    """``file`` opened to write text, its folder made if need be; the same bytes on every system.

    Raises:
        InputError: It is a file of a memory.
        OSError: It cannot be.
    """
    refuse_memorys(file)
    private_folder(file.parent)
    return opened_private(file, mode, encoding="utf-8", newline="\n")


def refuse_memorys(out: Path) -> None:
    """Pass ``out`` as a file to write, unless it would replace one that a memory consists of.

    Raises:
        InputError: It would.
    """
    folders = out.resolve().parents[:2]  # the store's own, and those of its indexes and audit logs
    if out.exists() and any((folder / "chroma.sqlite3").exists() for folder in folders):
        raise InputError(
            "it would replace a file of a memory",
            where=str(out),
            hint="name a file outside the folder of the memory",
        )


def expanded(path: str | Path) -> Path:
    """``path`` with the home folder in the place of ``~``.

    Raises:
        ConfigurationError: It names a user who has no home here.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(
            f"{path!s} leads nowhere: {error}", where="folder", hint="give the path without ~"
        ) from error
