"""Where a path that a user gives leads: ``~`` is their home, and folders of outputs are made."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Literal

from acc.errors import ConfigurationError, InputError


def opened_for_text(file: Path, mode: Literal["a", "w"] = "w") -> IO[str]:
    """``file`` opened to write text, its folder made if need be; the same bytes on every system.

    Raises:
        InputError: It is a file of a memory.
        OSError: It cannot be.
    """
    refuse_memorys(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file.open(mode, encoding="utf-8", newline="\n")


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
            mend="name a file outside the folder of the memory",
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
            f"{path!s} leads nowhere: {error}", where="folder", mend="give the path without ~"
        ) from error
