"""``acc threads``, ``search``, ``show`` and ``diff``: what a memory holds, and what changed between two turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import takewhile
from typing import Annotated, Any

from acc.cli import terminal
from acc.cli.opening import NamedBranch, last_policy, looking, policy_for, reading, thread_named
from acc.cli.terminal import argument, flag, option, print_json, print_table, tell_table
from acc.errors import InputError
from acc.evidence.base import plain
from acc.evidence.evidence import Evidence
from acc.inspector.commits import commits_of, explained
from acc.journal import Journal, StoredCommit, ThreadKey
from acc.journal.names import MAIN, is_home
from acc.journal.record import notes_of
from acc.state.items import Cue, Item, Pinned, Record
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.render import render
from acc.state.tail import Message, labelled, marked
from acc.step.update import KEYLESS, WITH_A_MODEL
from acc.text.lines import count

_EXCERPT = 300

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def show(
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    thread: terminal.ThreadOption = None,
    turn: Annotated[int | None, option("N", "Show it after this turn. [default: the last]", min=1)] = None,
    provenance: Annotated[bool, flag("--provenance", "Show each item with its sources and trust.")] = False,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Show what the agent reads: the state and the tail.

    The tail are the newest messages word for word, as with the default cadence.
    """
    with reading(memory) as journal:
        place = thread_named(journal, thread)
        policy, state, tail = _state_after(journal, place, turn)
    rendered, texts = render(state, policy.style), _shown(tail, policy)
    tokens, beside = policy.counter(rendered), sum(map(policy.counter, texts))
    if json:
        print_json({
            "thread": asdict(place.thread), "branch": place.branch, "turn": state.turn,
            "version": state.version, "tokens": tokens, "reads": tokens + beside,
            "rendered": rendered, "state": state.canonical(),
            "tail": [{"ref": m.ref, "status": m.status, "text": t} for m, t in zip(tail, texts, strict=True)],
        })  # fmt: skip
        return
    print(
        f"{place.label}, after turn {state.turn:,}: state {tokens:,} of at most "
        f"{policy.max_tokens:,} tokens, tail {beside:,}\n"
    )
    if provenance:
        rows = [(item.id, slot.name, item.text_of, *_source(item)) for slot, item in state.items()]
        names = ("id", "slot", "text", "trust", "sources", "turn")
        print_table(names, rows, wrap=("text", "sources"))
    else:
        print(rendered or "(an empty state)")
    if texts:
        print("\nthe tail:\n" + "\n".join(texts))


def _state_after(
    journal: Journal, place: NamedBranch, turn: int | None = None
) -> tuple[Policy, CompressedCognitiveState, tuple[Message, ...]]:
    """Return policy, state and tail of a branch after a turn, or at its head."""
    if turn is None:
        policy = last_policy(journal, place)
        state = journal.state(place.thread, branch=place.branch, schema=policy.schema)
        if state is None:
            raise InputError("the thread has no state", where=place.label, hint="step it first")
    else:
        stored = _last_of(journal, place, turn, _commits(journal, place, turn, turn))
        policy = policy_for(journal, stored.policy)
        state = policy.schema.load(dict(stored.state or {}))
    texts = journal.texts(place.thread, state.unread, branch=place.branch)
    return policy, state, marked(state.unread, texts)


def _commits(journal: Journal, place: NamedBranch, first: int, last: int) -> list[StoredCommit]:
    # A turn makes one commit or more, so that its first has at least its number.
    found = commits_of(journal, place.thread, place.branch, max(0, first - 1))
    return [each for each in takewhile(lambda c: c.turn <= last, found) if each.turn >= first]


def _last_of(
    journal: Journal, place: NamedBranch, turn: int, commits: Iterable[StoredCommit]
) -> StoredCommit:
    """Return the last of the commits that a turn made, if it is not damaged."""
    found = [each for each in commits if each.turn == turn]
    if found and not found[-1].problem:
        return found[-1]
    what = f"no turn {turn}"
    if found:
        what = f"the state after turn {turn} is lost: {found[-1].problem}"
    head = journal.state(place.thread, branch=place.branch)
    hint = f"name a turn from 1 to {head.turn}" if head is not None else "step the thread first"
    raise InputError(what, where=place.label, hint=hint)


def _shown(messages: Iterable[Message], policy: Policy) -> list[str]:
    """Return messages as the agent reads them. The cadence is not stored: it is that of the bound's default."""
    cadence = dict((WITH_A_MODEL, KEYLESS)).get(policy.max_tokens)
    shown = replace(policy, cadence=cadence)
    return [labelled(message, shown) for message in messages]


def _source(item: Item) -> tuple[str, str, str]:
    if isinstance(item, Record):
        return item.trust.word, " ".join(item.sources), str(item.turn)
    if isinstance(item, Pinned | Cue):
        later = [words.ref for words in item.later] if isinstance(item, Pinned) else []
        return item.words.trust.word, " ".join((item.words.ref, *later)), str(item.turn)
    return "", item.text_of, str(item.turn)


def diff(
    first: Annotated[int | None, argument("A", "The earlier turn. [default: one before]", min=0)] = None,
    second: Annotated[int | None, argument("B", "The later turn. [default: the last]", min=1)] = None,
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    thread: terminal.ThreadOption = None,
    json: terminal.JsonOption = False,
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
            what, hint = f"turn {since} is not before turn {until}", "name the earlier turn first"
            raise InputError(what, where=place.label, hint=hint)
        commits = _commits(journal, place, since, until)
        before = _last_of(journal, place, since, commits).state if since else {}
        after = _last_of(journal, place, until, commits).state
    made = [each for each in commits if each.turn > since]
    notes = [
        {"turn": each.turn, **note}
        for each in made
        for note in (each.record or {}).get("notes", ())
    ]
    changes = list(explained(before or {}, after or {}, notes))
    others = [
        {"turn": each.turn, "reason": note.reason.value, "detail": note.detail, "note": str(note)}
        for each in made
        for note in notes_of((each.record or {}).get("notes", ()))
        if not note.item
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


def _lines(change: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_SIGNS[change['change']]} {change['id']} {change['slot']}: {change['words']}"
    for name, (old, new) in change.get("fields", {}).items():
        yield f"    {name}: {old or '-'} -> {new or '-'}"
    for why in change["reasons"]:
        detail = f" ({why['detail']})" if why["detail"] else ""
        yield f"    turn {why['turn']}: {why['reason']}{detail}"


def threads(
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY, json: terminal.JsonOption = False
) -> None:
    """List the threads of a memory.

    Commits and messages are those of all its branches; the column branches names those beside main.
    """
    with reading(memory) as opened, opened.snapshot() as journal:
        heads = [head for head in journal.heads() if not is_home(head.thread)]
        sizes = journal.sizes()
    found: dict[ThreadKey, dict[str, Any]] = {}
    for head in heads:  # that of a thread's main branch comes first
        new = {
            **asdict(head.thread),
            "commits": 0,
            "messages": 0,
            "head": head.hash,
            "branches": [],
        }
        told, size = found.setdefault(head.thread, new), sizes[head.thread, head.branch]
        told["commits"] += size.commits
        told["messages"] += size.messages
        told["branches"] += [head.branch] if head.branch != MAIN else []
    rows = [
        (NamedBranch(key).label, f"{t['commits']:,}", f"{t['messages']:,}", " ".join(t["branches"]))
        for key, t in found.items()
    ]
    names, none = ("thread", "commits", "messages", "branches"), "no thread has a commit"
    value = list(found.values())
    tell_table(names, rows, value, wrap=("thread", "branches"), none=none, as_json=json)
    if rows and not json:
        print(count(len(rows), "thread"))


def search(
    query: Annotated[str, argument("WORDS", "Words to search for.")],
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    scope: terminal.FilterOption = None,
    limit: Annotated[int, option("N", "Results at most.", min=1)] = 8,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Search threads and documents by words.

    acc erase and acc hold take the threads and refs that this prints.
    """
    with looking(memory) as controller:
        found = Evidence(controller).search(query, limit=limit, **(scope or {}))
    whose = ", ".join(f"{name} {str(value)!r}" for name, value in (scope or {}).items())
    rows = [
        (str(h.thread), h.ref, h.name or str(h.channel), " ".join(h.text.split())[:_EXCERPT])
        for h in found
    ]
    names, none = (
        ("thread", "ref", "from", "text"),
        f"nothing found ({whose or 'all threads and documents'})",
    )
    value = [plain(each) for each in found]
    tell_table(names, rows, value, wrap=("thread", "text"), none=none, as_json=json)
