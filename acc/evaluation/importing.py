"""What ``module:name`` names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from acc.errors import ConfigurationError


def imported(name: str) -> Any:
    """The object that ``module:name`` names; the name may have dots.

    Raises:
        ConfigurationError: It cannot be imported.
    """
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # importing runs whatever stands in the module
        raise ConfigurationError(
            f"cannot be imported: {type(error).__name__}: {error}",
            where=name,
            mend="write module:name, with the module on PYTHONPATH",
        ) from error
    return found
