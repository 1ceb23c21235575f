"""What a tombstone commit may do to a state: take items out, and name fewer sources. No more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acc.errors import AuditError
from acc.evidence.redaction import state_hash

_MAY_DIFFER = ("version", "parent", "hash")


def check_tombstone(entry: Mapping[str, Any], before: Mapping[str, Any], where: str) -> None:
    """Pass a tombstone commit that only takes out: nothing new, nothing worded anew, no more trust.

    Args:
        entry: The record of the commit.
        before: The state of that branch before it, as the log tells it now; empty if it tells of none.
        where: Line, for messages.

    Raises:
        AuditError: It does something else.
    """
    state = entry["state"]
    if state.get("hash") != state_hash(state):
        raise _refused("its state was changed", where)
    if not before or state["parent"] != before["hash"] or state["version"] != before["version"] + 1:
        raise _refused("it does not follow the state before it", where)
    for name, value in state.items():
        old = before.get(name)
        if isinstance(value, list):
            _check_items(name, value, old if isinstance(old, list) else [], where)
        elif name not in _MAY_DIFFER and value != old:
            raise _refused(f"it changes {name}", where)


def _check_items(name: str, after: list[Any], before: list[Any], where: str) -> None:
    known = [_without_sources(item) for item in before]
    for item in after:
        if _without_sources(item) not in known:
            raise _refused(f"it adds to {name}, or words it anew", where)
        old = before[known.index(_without_sources(item))]
        if isinstance(item, Mapping) and not set(item.get("sources", ())) <= set(
            old.get("sources", ())
        ):
            raise _refused(f"it adds a source in {name}", where)


def _without_sources(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {key: value for key, value in item.items() if key != "sources"}
    return item


def _refused(what: str, where: str) -> AuditError:
    return AuditError(
        f"the tombstone commit is none: {what}", where=where, mend="restore the log from a backup"
    )
