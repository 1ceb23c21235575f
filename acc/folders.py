"""Where a path that a user gives leads: ``~`` is their home, and folders of outputs are made."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Literal

from acc.errors import ConfigurationError


def opened_for_text(file: Path, mode: Literal["a", "w"] = "w") -> IO[str]:
    """``file`` opened to write text, its folder made if need be; the same bytes on every system.

    Raises:
        OSError: It cannot be.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    return file.open(mode, encoding="utf-8", newline="\n")


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
