"""What a summariser removed from a thread's messages, read from the checkpointer's history.

    now                    [summary 2, d, e]
    a checkpoint before    [summary 1, c, d]     as summary 2 came, c left
    and before             [a, b, c]             as summary 1 came, a and b left
    recovered              [a, b, c]

Only what left as a summary came is recovered: a message that somebody deleted stays deleted. The checkpoints are
believed as much as the channel is. What is recovered never goes back into the channel.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from langchain_core.messages import BaseMessage, SystemMessage

from acc.integrations.history import PAGE, before, messages_in
from acc.integrations.identity import Config, saver_of
from acc.integrations.messages import is_summary
from acc.logs import log_event

MOST_MESSAGES, MOST_CHARACTERS = 1_000, 400_000
"""What is recovered at most, the newest: about ten requests of a compressor."""

_LOG = logging.getLogger(__name__)


class Recovered(NamedTuple):
    """What the summaries in a channel stand for.

    Attributes:
        messages: What they removed and the memory has not taken, in order.
        told: Ids of summaries that say nothing new: the memory has taken all that they stand for.
    """

    messages: Sequence[BaseMessage] = ()
    told: frozenset[str] = frozenset()


def may_sum_up(message: BaseMessage) -> bool:
    """Return whether a message may be a summary: a summariser marked it, or it is a system message."""
    return is_summary(message) or isinstance(message, SystemMessage)


def recovered(
    config: Config,
    messages: Sequence[BaseMessage],
    key: str,
    knows: Callable[[Collection[str]], Collection[str]] | None,
) -> Recovered:
    """Return what the summaries in a channel stand for, as far as the checkpointer still has it.

    Args:
        config: The run's configuration.
        messages: The channel's messages.
        key: The channel's name.
        knows: Which of these ids the memory has taken. None if it has taken nothing of the thread: then a system
            message may be a summary, too.
    """
    sums_up = is_summary if knows else may_sum_up
    summaries = {str(m.id) for m in messages if sums_up(m)}
    if not summaries or (knows and summaries <= set(knows(summaries))):
        return Recovered()
    found: dict[str, BaseMessage] = {}
    told: set[str] = set()
    try:
        for came, left in _replaced(config, messages, key, sums_up):
            taken = set(knows(left)) if knows else set()
            found = {**{name: m for name, m in left.items() if name not in taken}, **found}
            if taken >= left.keys():
                told = came & summaries
                break
            if len(_newest([*found.values()])) < len(found):
                break
    except Exception as error:  # whatever the checkpointer raises: the summary itself is there
        if any(map(is_summary, messages)):
            _tell("cannot be read", config, type(error).__name__)
    kept = _newest([*found.values()])
    if len(kept) < len(found):
        _tell(f"holds more than {len(kept):,} messages that a summary removed", config)
    return Recovered(kept, frozenset(told))


def _replaced(
    config: Config,
    messages: Sequence[BaseMessage],
    key: str,
    sums_up: Callable[[BaseMessage], bool],
) -> Iterator[tuple[set[str], dict[str, BaseMessage]]]:
    """Yield the summaries that came at a checkpoint and the messages that left, by their ids, the newest first."""
    newer, is_sure = messages, any(map(is_summary, messages))
    for place, checkpoint in enumerate(before(config)):
        older = messages_in(checkpoint, key)
        there, now = ({str(m.id) for m in each} for each in (older, newer))
        came = {str(m.id) for m in newer if sums_up(m)} - there
        left = {str(m.id): m for m in older if str(m.id) not in now and not sums_up(m)}
        if came and left:
            is_sure = True
            yield came, left
        if not any(map(sums_up, older)) or (place > PAGE and not is_sure):
            return
        newer = older


def _newest(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return the newest messages that are within the bounds."""
    sizes = accumulate(len(str(m.content)) for m in reversed(messages[-MOST_MESSAGES:]))
    return messages[len(messages) - sum(size <= MOST_CHARACTERS for size in sizes) :]


def _tell(what: str, config: Config, error: str = "") -> None:
    log_event(
        _LOG, logging.WARNING, "not_recovered",
        f"the checkpointer's history {what}: the rest stands in the summary alone",
        saver=type(saver_of(config)).__name__, error=error,
    )  # fmt: skip
