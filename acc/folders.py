"""Where a path that a user gives leads: ``~`` is their home, for the store and all beside it."""

from __future__ import annotations

from pathlib import Path

from acc.errors import ConfigurationError


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
