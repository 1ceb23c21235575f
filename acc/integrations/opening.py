"""Open the memory that a middleware names by its model."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from acc.controller.controller import MemoryController
from acc.errors import ConfigurationError
from acc.folders import expanded
from acc.integrations.stepping import Controller
from acc.journal.opened import is_url

KEYLESS = "keyless"
"""Names the memory without a model."""

FOLDER = "memory"
"""The memory's folder, if none is named: in the working folder."""

_OPEN: dict[tuple[Path | str, str], MemoryController[Any]] = {}
_GUARD = threading.Lock()


def opened(memory: Controller | str, folder: str | Path | None) -> Controller:
    """Return a memory, or open the one whose model is named; agents of a process share one of the same folder.

    Raises:
        ConfigurationError: A folder is given beside a memory, or the model cannot be reached.
        StoreError: The memory cannot be opened.
    """
    if not isinstance(memory, str):
        if folder is not None:
            raise ConfigurationError(
                "a folder beside a memory that is open",
                where="folder",
                hint='give a folder with a model\'s name: MemoryMiddleware("openai:NAME", folder=...)',
            )
        return memory
    named = folder or FOLDER
    where = str(named) if is_url(named) else expanded(named).absolute()
    with _GUARD:
        held = _OPEN.get((where, memory))
        if held is None:
            model = None if memory == KEYLESS else memory
            held = _OPEN[where, memory] = MemoryController.open(where, model=model)
        return held
