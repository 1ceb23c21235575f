"""Open a memory, and run its steps inside a graph: traces and streams."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.config import get_stream_writer
from langgraph.constants import TAG_NOSTREAM

from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.driving import Doing, perform
from acc.errors import ConfigurationError
from acc.folders import expanded
from acc.journal import ThreadKey
from acc.journal.opened import is_url
from acc.step.step import Step

Controller = MemoryController[Any] | AsyncMemoryController[Any]

RUN = "acc_memory"
"""Name of the run of a step in traces, and its ``lc_source``."""


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


def check_controller(controller: Any) -> None:
    """Check that ``controller`` is a memory.

    Raises:
        ConfigurationError: It is not.
    """
    if not isinstance(controller, MemoryController | AsyncMemoryController):
        raise ConfigurationError(
            f"the memory is {type(controller).__name__}",
            where="controller",
            hint="open one: MemoryController.open(folder)",
        )


def traced(
    memory: Controller, doing: Doing[Step[Any]], config: RunnableConfig, thread: ThreadKey
) -> Doing[Step[Any]]:
    """Take a step as a run `RUN`, if somebody traces or streams.

    A compressor's calls are its children. The graph's stream does not show their tokens.
    """
    whole = ensure_config(config)
    callbacks = whole.get("callbacks")
    if not getattr(callbacks, "handlers", callbacks):
        return (yield from doing)
    about = {**whole.get("metadata", {}), "lc_source": RUN}
    about.setdefault("thread_id", thread.thread)
    given = merge_configs(whole, {"tags": [TAG_NOSTREAM], "metadata": about})
    return (yield _Traced(memory, doing, given))  # type: ignore[no-any-return]


class _Traced(NamedTuple):
    memory: Any
    doing: Doing[Step[Any]]
    config: RunnableConfig

    def complete(self) -> Any:
        return self._run().invoke(None, self.config)

    async def acomplete(self) -> Any:
        return await self._run().ainvoke(None, self.config)

    def _run(self) -> RunnableLambda[None, Any]:
        async def awaited(_: None) -> Any:
            return await self.memory.carried_out(self.doing)

        return RunnableLambda(lambda _: perform(self.doing), awaited, name=RUN)


def tell(step: Step[Any]) -> None:
    """Send what a step made to the stream (``stream_mode="custom"``), as plain JSON; nothing outside of a graph."""
    try:
        writer = get_stream_writer()
    except (RuntimeError, KeyError):  # no graph is running
        return
    turn = step.state.turn
    is_compressed = any(each.given.proposal is not None for each in step.commits)
    writer({
        "memory": "committed", "turn": turn, "version": step.state.version, "hash": step.state.hash,
        "compressed": is_compressed,
    })  # fmt: skip
    if step.notes:
        writer({"memory": "notes", "turn": turn, "notes": [str(note) for note in step.notes]})
    for warning in (*step.warnings, *filter(None, (step.failure,))):
        writer({"memory": "warning", "turn": turn, "warning": warning})
