"""Holds: what nobody's policy may delete, such as what a court or an audit still asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from acc.errors import InputError
from acc.evidence.shelf import Shelf
from acc.evidence.tombstones import managed
from acc.evidence.usage import is_named
from acc.store import Artifact, Thread

_HOLD = "hold"


@dataclass(frozen=True)
class Holds:
    """The holds of a namespace, by evidence key; a key without a ref holds the whole thread."""

    reasons: dict[str, str]

    def on(self, key: str) -> str | None:
        """Why the evidence of ``key`` is held, itself, as a document's part or with its thread."""
        thread = key.partition(":")[0]
        whole = (key, key.rpartition(".")[0], f"{thread}:")
        return next((self.reasons[k] for k in whole if k in self.reasons), None)


def holds(records: Iterable[Artifact]) -> Holds:
    """The holds that stand, by the records of a usage shelf."""
    reasons: dict[str, str] = {}
    for record in records:
        if record.name == _HOLD:
            said = json.loads(record.text)
            if said["held"]:
                reasons[said["key"]] = said["reason"]
            else:
                reasons.pop(said["key"], None)
    return Holds(reasons)


def hold(usage: Shelf, owner: Thread, ref: str, reason: str, at: str) -> None:
    """Hold what ``ref`` of ``owner`` names, or all of the thread where it is empty.

    Args:
        usage: The usage shelf of the namespace.
        owner: The thread, or the namespace for documents and experiences.
        ref: What citations call it.
        reason: Who asks for it, and why.
        at: The time.

    Raises:
        InputError: No reason, or nothing of that name: a hold that holds nothing protects nobody.
        StoreError: It cannot be written.
    """
    if not reason.strip():
        raise InputError("a hold without a reason", where=ref, mend="say who asks for it, and why")
    store, tenant = managed(usage.store), owner.tenant
    records = store.get(tenant, store.ids(tenant, thread=owner.key))
    if not any(is_named(record, ref) or not ref for record in records):
        raise InputError(
            f"nothing to hold: no evidence {ref or owner.thread!r}",
            where=f"thread {owner.thread!r}, user {owner.user!r}, agent {owner.agent!r}",
            mend="look for it with acc search, and name its thread, user and agent",
        )
    usage.append([hold_record(f"{owner.key}:{ref}", reason, at)])


def release(usage: Shelf, owner: Thread, ref: str, at: str) -> None:
    """Lift a hold.

    Raises:
        InputError: There is none.
    """
    key = f"{owner.key}:{ref}"
    if key not in holds(usage.records()).reasons:
        raise InputError("no hold on it", where=ref or owner.thread, mend="see what is held first")
    usage.append([hold_record(key, "", at, held=False)])


def hold_record(key: str, reason: str, at: str, *, held: bool = True) -> Artifact:
    """The record of a usage shelf that says so."""
    text = json.dumps({"key": key, "reason": reason[:2_000], "held": held}, ensure_ascii=False)
    return Artifact(
        id="", thread="", branch="", seq=0, turn=0, kind="usage", name=_HOLD, text=text, at=at
    )
