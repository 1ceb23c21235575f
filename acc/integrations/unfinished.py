"""Results of tools that a failed run left in its checkpoint.

Tools that are called together run as tasks of one step. If one fails, the step ends, and the results of the others
stand among the checkpoint's pending writes. A run with new input drops them: the model would call those tools again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from acc.integrations.history import before
from acc.integrations.identity import Config
from acc.integrations.reviews import calls_of
from acc.logs import log_event

NEWEST = 8
"""Checkpoints that led to the run and are read."""

_LOG = logging.getLogger(__name__)


def results_left(messages: Sequence[BaseMessage], config: Config) -> list[ToolMessage]:
    """Return the results that the run's checkpointer holds of calls that have none among ``messages``."""
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    called = {call_id for message in messages for call_id, _ in calls_of(message)}
    left = called - answered
    found: dict[str, ToolMessage] = {}
    try:
        for each in islice(before(config), NEWEST) if left else ():
            for message in _written(each.pending_writes or ()):
                if message.tool_call_id in left:
                    found.setdefault(message.tool_call_id, message)
    except Exception as error:
        log_event(
            _LOG, logging.WARNING, "results_unknown",
            f"the checkpointer cannot be asked for the results of a failed run: {type(error).__name__}",
        )  # fmt: skip
    return list(found.values())


def _written(writes: Collection[Any]) -> Iterator[ToolMessage]:
    for _, _, value in writes:
        for message in value if isinstance(value, list) else [value]:
            if isinstance(message, ToolMessage):
                yield message
