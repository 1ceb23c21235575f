"""The checkpoints that led to a run's step: what stood in the channels before, and what a run was given."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from langchain_core.messages import BaseMessage

from acc.integrations.identity import CHECKPOINTER, Config
from acc.integrations.messages import as_messages

PAGE = 32
"""Checkpoints that are read at once."""


def saver_of(config: Config) -> Any:
    """Return a run's checkpointer; None if it has none."""
    found = (config.get("configurable") or {}).get(CHECKPOINTER)
    return None if isinstance(found, bool) else found


def before(config: Config) -> Iterator[Any]:
    """Yield the checkpoints that led to a run's step, the newest first; none without a checkpointer.

    Those of other branches are left out. Raises whatever the checkpointer raises.
    """
    if (saver := saver_of(config)) is None:
        return
    configured: Mapping[str, Any] = config.get("configurable") or {}
    around = str(configured.get("checkpoint_ns") or "").rpartition("|")[0]
    thread = str(configured.get("thread_id"))
    where = {"configurable": {"thread_id": thread, "checkpoint_ns": around}}
    current = (configured.get("checkpoint_map") or {}).get(around)
    wanted, last, page = None, None, [None]
    while page:
        # Each page to its end: a saver that is asynchronous inside closes its query only there.
        page = list(saver.list(where, before=last, limit=PAGE))
        for each in page:
            last = each.config
            name = last["configurable"]["checkpoint_id"]
            if name != wanted if wanted else current and name > current:
                continue
            yield each
            if each.parent_config is None:
                return
            wanted = each.parent_config["configurable"]["checkpoint_id"]


def messages_in(checkpoint: Any, key: str) -> list[BaseMessage]:
    """Return the messages of a checkpoint's channel."""
    return as_messages(checkpoint.checkpoint["channel_values"].get(key) or ())


def inputs(config: Config, key: str, ids: Collection[str]) -> set[str]:
    """Return which of these messages runs were given: what else comes into a channel, a tool or a node wrote.

    They come with the step behind the checkpoint of an input. Without a checkpointer that tells, these are none.
    """
    wanted, given, newer = set(ids), set[str](), set[str]()
    with suppress(Exception):
        for each in before(config):
            there = {str(m.id) for m in messages_in(each, key)}
            came = (newer - there) & wanted
            if (each.metadata or {}).get("source") == "input":
                given |= came
            wanted -= came
            newer = there
            if not wanted:
                break
    return given
