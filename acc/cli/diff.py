"""``acc diff``: what changed between two turns, and why; what a memory in shadow mode would change for the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any

from acc.cli import options
from acc.cli.history import after_turn, since_turn
from acc.cli.opening import Place, reading, thread_named
from acc.cli.options import argument, flag
from acc.cli.output import count, print_json
from acc.cli.policies import cadence_of
from acc.cli.show import state_after
from acc.errors import InputError
from acc.inspector.states import changes as changes_between
from acc.journal import Journal, StoredCommit
from acc.journal.record import notes_of
from acc.state.reasons import Reason
from acc.state.render import render
from acc.tail import labelled
from acc.text.lines import inert_line

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def diff(
    first: Annotated[int | None, argument("A", "The earlier turn. [default: one before]", min=0)] = None,
    second: Annotated[int | None, argument("B", "The later turn. [default: the last]", min=1)] = None,
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: options.ThreadOption = None,
    shadow: Annotated[bool, flag("--shadow", "Show what a memory in shadow mode would change for the model.")] = False,
    json: options.JsonOption = False,
) -> None:  # fmt: skip
    """Show what changed between two turns, and why.

    The signs: + added, - removed, ~ changed, ! refused or noted.
    """
    if shadow and first is not None:
        raise InputError(
            "--shadow compares what the model reads now",
            where="acc diff",
            hint="leave the turns out",
        )
    with reading(memory) as journal:
        place = thread_named(journal, thread)
        if shadow:
            _show_shadow(journal, place, json=json)
            return
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


def _show_shadow(journal: Journal, place: Place, *, json: bool) -> None:
    """Show the messages of a thread that would leave the model's prompt, what would come, and what would stay."""
    policy, state, tail = state_after(journal, place)
    share = cadence_of(policy).tool_share
    every = {
        each.message.ref: labelled(each.message, policy, share)
        for each in journal.messages(place.thread, branch=place.branch)
    }
    stays = {message.ref for message in tail if message.ref in every}
    rendered = render(state, policy.style)
    now = sum(map(policy.counter, every.values()))
    then = policy.counter(rendered) + sum(policy.counter(every[ref]) for ref in stays)
    if json:
        print_json({
            "thread": asdict(place.thread), "branch": place.branch, "turn": state.turn,
            "tokens": now, "tokens_with_memory": then, "rendered": rendered,
            "leave": [ref for ref in every if ref not in stays], "stay": [ref for ref in every if ref in stays],
        })  # fmt: skip
        return
    print(
        f"{place.label}, after turn {state.turn:,}: {now:,} tokens of messages, {then:,} with the memory"
    )
    for sign, texts in (
        ("-", [text for ref, text in every.items() if ref not in stays]),
        ("+", rendered.splitlines()),
        (" ", [text for ref, text in every.items() if ref in stays]),
    ):
        print("".join(f"{sign} {inert_line(text)}\n" for text in texts), end="")


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
