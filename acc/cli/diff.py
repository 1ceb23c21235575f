"""``acc diff``: what changed between two turns, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any

from acc.cli import options
from acc.cli.history import after_turn, since_turn
from acc.cli.opening import reading, thread_named
from acc.cli.options import argument
from acc.cli.output import count, print_json
from acc.errors import InputError
from acc.inspector.states import changes as changes_between
from acc.journal import StoredCommit
from acc.journal.record import notes_of
from acc.state.reasons import Reason

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def diff(
    first: Annotated[int | None, argument("A", "The earlier turn. [default: one before]", min=0)] = None,
    second: Annotated[int | None, argument("B", "The later turn. [default: the last]", min=1)] = None,
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: options.ThreadOption = None,
    json: options.JsonOption = False,
) -> None:  # fmt: skip
    """Show what changed between two turns, and why.

    The signs: + added, - removed, ~ changed, ! refused or noted.
    """
    with reading(memory) as journal:
        place = thread_named(journal, thread)
        last = journal.state(place.thread, branch=place.branch) if second is None else None
        until = second if second is not None else (last.turn if last else 0)
        since = until - 1 if first is None else first
        if since >= until:
            raise InputError(
                f"turn {since} is not before turn {until}", where=place.label,
                hint="name the earlier turn first",
            )  # fmt: skip
        before = after_turn(journal, place, since).state if since else {}
        after = after_turn(journal, place, until).state
        made = [c for c in since_turn(journal, place, since) if since < c.turn <= until]
    reasons, others = _reasons(made)
    changes = [
        {**c, "reasons": reasons[c["id"]]} for c in changes_between(before or {}, after or {})
    ]
    if json:
        print_json({
            "thread": asdict(place.thread), "branch": place.branch, "from": since, "to": until,
            "changes": changes, "noted": others,
        })  # fmt: skip
        return
    print(f"{place.label}, turn {since:,} to {until:,}: {count(len(changes), 'change')}")
    for change in changes:
        print("\n".join(_lines(change)))
    for note in others:
        print(f"! turn {note['turn']}: {note['note']}")


def _reasons(
    made: Iterable[StoredCommit],
) -> tuple[defaultdict[str, list[Any]], list[dict[str, Any]]]:
    """Return the notes of commits by item, and those about no item, in order of turns."""
    by_item: defaultdict[str, list[Any]] = defaultdict(list)
    others = []
    for stored in made:
        for note in notes_of((stored.record or {}).get("notes", ())):
            told = {"turn": stored.turn, "reason": note.reason.value, "detail": note.detail}
            if not note.item:
                others.append({**told, "note": str(note)})
            elif note.reason is not Reason.KNOWN:
                by_item[note.item].append(told)
    return by_item, others


def _lines(change: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_SIGNS[change['change']]} {change['id']} {change['slot']}: {change['words']}"
    for name, (old, new) in change.get("fields", {}).items():
        yield f"    {name}: {old or '-'} -> {new or '-'}"
    for why in change["reasons"]:
        detail = f" ({why['detail']})" if why["detail"] else ""
        yield f"    turn {why['turn']}: {why['reason']}{detail}"
