"""``acc diff``: what changed between two turns, and why."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from acc.audit_record import diff
from acc.cli.opening import policy_of
from acc.cli.screen import told_json
from acc.cli.show import state_after
from acc.cli.threads import LoggedThread, logged_thread
from acc.errors import InputError
from acc.laws.reasons import Reason
from acc.state import CompressedCognitiveState

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_UNTOLD = (Reason.CARRIED, Reason.CITES_NARROWED)
_BOOKKEEPING = ("touched",)


def tell_difference(
    memory: Path,
    thread: str | None,
    first: int | None,
    second: int | None,
    *,
    schema: type[CompressedCognitiveState] | None = None,
    as_json: bool = False,
) -> None:
    """Tell what changed from turn ``first`` to turn ``second``; by default in the last turn."""
    logged = logged_thread(memory, thread)
    newest = logged.last["state"]["turn"]
    until = newest if second is None else second
    since = until - 1 if first is None else first
    if since >= until:
        raise InputError(
            f"turn {since} is not before turn {until}",
            where=f"thread {logged.thread.thread!r}",
            mend="name the earlier turn first",
        )
    policy = policy_of(logged.last, schema=schema)
    before, after = (state_after(logged, policy, turn) for turn in (since, until))
    reasons = _reasons(logged, since, until)
    changes = [
        {**change, "reasons": reasons[change["id"]]}
        for change in diff(before, after)
        if _says_something(change)
    ]
    if as_json:
        told_json({
            "thread": logged.thread.model_dump(), "from": since, "to": until, "changes": changes,
        })  # fmt: skip
        return
    print(f"thread {logged.thread.thread!r}, turn {since:,} to {until:,}: {len(changes)} changes")
    for change in changes:
        print("\n".join(_lines(change)))


def _reasons(logged: LoggedThread, since: int, until: int) -> defaultdict[str, list[Any]]:
    """What the commits in between noted about each item."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for record in logged.back():
        turn = record["state"]["turn"]
        if turn <= since:
            break
        for note in record["notes"] if turn <= until else ():
            if note["item"] and note["reason"] not in _UNTOLD:
                reason = {"turn": turn, "reason": note["reason"], "detail": note["detail"]}
                found[note["item"]].append(reason)
    for reasons in found.values():
        reasons.sort(key=lambda each: int(each["turn"]))
    return found


def _says_something(change: dict[str, Any]) -> bool:
    """Whether it is more than that an item was cited again."""
    return change["change"] != "changed" or any(f not in _BOOKKEEPING for f in change["fields"])


def _lines(change: dict[str, Any]) -> list[str]:
    said = change.get("says", change.get("said", ""))
    lines = [f"{_SIGNS[change['change']]} {change['id']} {change['slot']}: {said}".rstrip(": ")]
    for name, (old, new) in change.get("fields", {}).items():
        if name not in _BOOKKEEPING:
            lines.append(f"    {name}: {_shown(old)} -> {_shown(new)}")
    for why in change["reasons"]:
        detail = f" ({why['detail']})" if why["detail"] else ""
        lines.append(f"    turn {why['turn']}: {why['reason']}{detail}")
    return lines


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
