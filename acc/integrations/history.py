"""The checkpoints that led to a run's step: what stood in the channels before, what a run was given, which results of
tools a failed run left there, and what another summariser removed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, islice
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage

from acc.integrations.identity import USER_KEYS, Config, namespace, saver_of
from acc.integrations.messages import as_messages, calls_of, is_summary
from acc.logs import log_event

PAGE = 32
"""Checkpoints that are read at once."""

NEWEST = 8
"""Checkpoints that are asked for the results of a failed run."""

MOST_MESSAGES, MOST_CHARACTERS = 1_000, 400_000
"""What is recovered at most, the newest: about ten requests of a compressor."""

_LOG = logging.getLogger(__name__)

_POLLS, _POLL = 200, 0.01
"""How often and how many seconds a pass waits for a checkpoint that is being written, where a message is missing."""


def before(config: Config) -> Iterator[Any]:
    """Yield the checkpoints that led to a run's step, the newest first; none without a checkpointer.

    Those of other branches are left out; where one was deleted, the one before it follows. Raises whatever the
    checkpointer raises.
    """
    if (saver := saver_of(config)) is None:
        return
    configured: Mapping[str, Any] = config.get("configurable") or {}
    where = _place(config)
    around = where["configurable"]["checkpoint_ns"]
    wanted: str | None = (configured.get("checkpoint_map") or {}).get(around)
    last: Any = None
    while True:
        # Each page to its end: a saver that is asynchronous inside closes its query only there.
        page = list(saver.list(where, before=last, limit=PAGE))
        for each in page:
            last = each.config
            if wanted and _name(each) > wanted:
                continue  # another branch's: ids grow with time
            yield each
            if each.parent_config is None:
                return
            wanted = each.parent_config["configurable"]["checkpoint_id"]
        if len(page) < PAGE:
            return


def _place(config: Config) -> Any:
    """Return which checkpoints are those of a run's graph and thread."""
    thread = str((config.get("configurable") or {}).get("thread_id"))
    around = namespace(config).rpartition("|")[0]
    return {"configurable": {"thread_id": thread, "checkpoint_ns": around}}


def elsewhere(config: Config, key: str, ids: Collection[str]) -> frozenset[str]:
    """Return those of some messages that stand in newest checkpoints of a run's thread, and in none that led to it."""
    with suppress(Exception):
        led = {_name(each) for each in islice(before(config), PAGE)}
        found: dict[bool, set[str]] = {True: set(), False: set()}
        for each in list(saver_of(config).list(_place(config), limit=PAGE)):
            found[_name(each) in led].update(_ids(each, key))
        return frozenset(ids) & (found[False] - found[True])
    return frozenset()


def taken_back(config: Config, key: str, ids: Collection[str]) -> frozenset[str]:
    """Return those of some messages that the application took out of the channel: with ``update_state``, or as it gave
    a run its input.

    What it removes in front of all that stays is trimmed, not taken back. Only the newest checkpoints are read.
    """
    if not ids:
        return frozenset()
    wanted, gone = set(ids), set[str]()
    held, is_update = set[str](), False
    with suppress(Exception):
        _await_written(config)
        for each in islice(before(config), PAGE):
            there = _ids(each, key)
            source = (each.metadata or {}).get("source")
            if is_update or source == "input":
                first = next((i for i, name in enumerate(there) if name in held), len(there))
                gone |= wanted & set(there[first:]) - held
            wanted.difference_update(there)
            if not wanted:
                break
            held, is_update = set(there), source == "update"
    return frozenset(gone)


def _await_written(config: Config) -> None:
    """Wait until the checkpoint from which a step goes on is written: LangGraph writes it while the step runs.

    With ``durability="exit"`` it is not written before the run ends, and nothing waits.
    """
    configured: Mapping[str, Any] = config.get("configurable") or {}
    where = _place(config)
    wanted = (configured.get("checkpoint_map") or {}).get(where["configurable"]["checkpoint_ns"])
    if not wanted or configured.get("__pregel_durability") == "exit":
        return
    for _ in range(_POLLS):
        newest = [*saver_of(config).list(where, limit=1)]
        if newest and _name(newest[0]) >= wanted:
            return
        time.sleep(_POLL)


def _name(checkpoint: Any) -> str:
    return str(checkpoint.config["configurable"]["checkpoint_id"])


def messages_in(checkpoint: Any, key: str) -> list[BaseMessage]:
    """Return the messages of a checkpoint's channel."""
    return as_messages(checkpoint.checkpoint["channel_values"].get(key) or ())


def _ids(checkpoint: Any, key: str) -> list[str]:
    return [str(m.id) for m in messages_in(checkpoint, key)]


class Came(NamedTuple):
    """How a message came into its channel: whether the application gave it, for which user's run, and whether it put it
    in the place of other words. What was not given, a tool or a node wrote."""

    is_given: bool
    user: str = ""
    is_edit: bool = False


def arrivals(config: Config, key: str, messages: Collection[BaseMessage]) -> dict[str, Came]:
    """Return how messages came, by their ids, as far as the run's checkpointer tells.

    The application gives messages to a run: they come with the step behind the checkpoint of an input. Or it adds them
    with ``update_state``; words that it puts in the place of others there are nobody's. Inside another graph, whose
    nodes write the input, nothing is told; nor where checkpoints of inputs are not kept.
    """
    if "|" in namespace(config) or not messages:
        return {}
    wanted = {(str(m.id), str(m.content)) for m in messages}
    found: dict[str, Came] = {}
    newer, source, has_inputs = set[tuple[str, str]](), "", False
    with suppress(Exception):
        for each in islice(before(config), 8 * PAGE):
            there = {(str(m.id), str(m.content)) for m in messages_in(each, key)}
            held, came = {name for name, _ in there}, (newer - there) & wanted
            about = each.metadata or {}
            is_updated, source = source == "update", str(about.get("source"))
            is_input = source == "input" and not is_updated
            has_inputs = has_inputs or source == "input"
            user = next((str(about[name]) for name in USER_KEYS if about.get(name)), "")
            for name, _ in came:
                is_edit = is_updated and name in held
                is_given = is_input or (is_updated and not is_edit)
                found[name] = Came(is_given, user if is_input else "", is_edit)
            wanted -= came
            newer = there
            if not wanted:
                break
    return {k: came for k, came in found.items() if came.is_given or came.is_edit or has_inputs}


def is_running_summary(config: Config, message: BaseMessage) -> bool:
    """Return whether a system message holds the running summary that langmem keeps beside the messages."""
    with suppress(Exception):
        for each in islice(before(config), 1):
            running = each.checkpoint["channel_values"]["context"]["running_summary"].summary
            return bool(running) and running in str(message.text)
    return False


def results_left(messages: Sequence[BaseMessage], config: Config) -> list[ToolMessage]:
    """Return the results that the run's checkpointer holds of calls that have none among ``messages``.

    Tools that are called together run as tasks of one step. If one fails, the step ends, and the results of the others
    stand among the checkpoint's pending writes. A run with new input drops them: the model would call the tools again.
    """
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


class Recovered(NamedTuple):
    """What summaries in a channel removed and the memory has not taken, and the ids of those that say nothing new."""

    messages: Sequence[BaseMessage] = ()
    told: Collection[str] = ()


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

    Only what left as a summary came is recovered: a message that somebody deleted stays deleted. It never goes back
    into the channel. ``knows`` says which ids the memory has taken; None if it has taken nothing of the thread: then a
    system message may be a summary, too.
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
    return Recovered(kept, told)


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
