"""A step of the memory inside a LangGraph run: off the event loop, and out of the user's stream."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs, set_config_context
from langgraph.constants import TAG_NOSTREAM

from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError, StoreError, StoreLockedError, StoreMismatchError
from acc.run import Step
from acc.state import CompressedCognitiveState
from acc.store import Thread
from acc.turn import Turn

Controller = MemoryController | AsyncMemoryController
Prior = CompressedCognitiveState | None


def check_controller(controller: Any) -> None:
    """Hold ``controller`` to being one, before anything is asked of it.

    Raises:
        ConfigurationError: It is something else.
    """
    if not isinstance(controller, MemoryController | AsyncMemoryController):
        raise ConfigurationError(
            f"the memory is {type(controller).__name__}",
            where="controller",
            mend="open one: MemoryController.open(folder)",
        )


def stepped(
    controller: Controller,
    prior: Prior,
    turns: Sequence[Turn],
    thread: Thread,
    config: RunnableConfig | None,
) -> list[Step]:
    """`MemoryController.step` for each of ``turns``, each from the state that the one before left.

    No chat model that a compressor calls is heard in the stream.

    Raises:
        ConfigurationError: The memory is an `AsyncMemoryController`.
    """
    steps: list[Step] = []
    if not turns:
        return steps
    memory = synchronous(controller)
    with set_config_context(_quiet(config)) as context:
        for turn in turns:
            step = context.run(memory.step, prior, turn, thread=thread)
            steps, prior = [*steps, step], step.state
    return steps


async def astepped(
    controller: Controller,
    prior: Prior,
    turns: Sequence[Turn],
    thread: Thread,
    config: RunnableConfig | None,
) -> list[Step]:
    """As `stepped`, with either controller; a synchronous one works in a thread."""
    steps: list[Step] = []
    with set_config_context(_quiet(config)) as context:
        for turn in turns:
            if isinstance(controller, AsyncMemoryController):
                stepping = controller.step(prior, turn, thread=thread)
            else:
                stepping = asyncio.to_thread(controller.step, prior, turn, thread=thread)
            step = await asyncio.create_task(stepping, context=context)
            steps, prior = [*steps, step], step.state
    return steps


def synchronous(controller: Controller) -> MemoryController:
    """The controller, where it can be used without an event loop.

    Raises:
        ConfigurationError: It cannot.
    """
    if isinstance(controller, MemoryController):
        return controller
    raise ConfigurationError(
        "an AsyncMemoryController in a graph that is run with invoke",
        where="controller",
        mend="run the graph with ainvoke or astream, or give a MemoryController",
    )


def _quiet(config: RunnableConfig | None) -> RunnableConfig:
    return merge_configs(ensure_config(config), {"tags": [TAG_NOSTREAM]})


def worth_retrying(error: BaseException) -> bool:
    """For ``RetryPolicy(retry_on=worth_retrying)`` on a memory's node.

    LangGraph's default retries what can only fail again: an edited state, rules that do not fit.
    A store that cannot be reached may be reached later; all other errors wait for somebody.
    """
    lasting = isinstance(error, StoreLockedError | StoreMismatchError)
    return isinstance(error, StoreError) and not lasting
