"""Settings by name: what is not one of them is an error that lists those there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from acc.errors import ConfigurationError

T = TypeVar("T")


def settings_of(kind: type[T], changed: Mapping[str, Any], mend: str) -> T:
    """A dataclass ``kind`` with ``changed`` fields, and its defaults for the rest.

    Raises:
        ConfigurationError: No such setting; ``mend`` says what to do.
    """
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    if unknown := [name for name in changed if name not in known]:
        raise ConfigurationError(
            f"no setting {unknown[0]!r}", where=f"settings are {', '.join(known)}", mend=mend
        )
    return kind(**changed)
