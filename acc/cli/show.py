"""``acc show`` and ``threads``: what the agent reads, and which threads there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

from acc.cli import options
from acc.cli.history import after_turn
from acc.cli.opening import Place, last_policy, reading, thread_named
from acc.cli.options import flag, option
from acc.cli.output import count, print_json, print_table, tell
from acc.cli.policies import cadence_of, policy_for
from acc.controller.documents import is_home
from acc.errors import InputError
from acc.journal import Journal, ThreadKey
from acc.journal.names import MAIN, Head
from acc.state.items import Cue, Item, Pinned, Record
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.render import render
from acc.tail import Message, labelled, marked


def show(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: options.ThreadOption = None,
    turn: Annotated[int | None, option("N", "Show it after this turn. [default: the last]", min=1)] = None,
    provenance: Annotated[bool, flag("--provenance", "Show each item with its sources and trust.")] = False,
    json: options.JsonOption = False,
) -> None:  # fmt: skip
    """Show what the agent reads: the state and the tail.

    The tail are the newest messages word for word, as with the default cadence.
    """
    with reading(memory) as journal:
        place = thread_named(journal, thread)
        policy, state, tail = state_after(journal, place, turn)
    rendered = render(state, policy.style)
    share = cadence_of(policy).tool_share
    texts = [labelled(message, policy, share) for message in tail]
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


def state_after(
    journal: Journal, place: Place, turn: int | None = None
) -> tuple[Policy, CompressedCognitiveState, tuple[Message, ...]]:
    """Return policy, state and tail of a branch after a turn, or at its head."""
    if turn is None:
        policy = last_policy(journal, place)
        state = journal.state(place.thread, branch=place.branch, schema=policy.schema)
        if state is None:
            raise InputError("the thread has no state", where=place.label, hint="step it first")
    else:
        stored = after_turn(journal, place, turn)
        policy = policy_for(journal, stored.policy)
        state = policy.schema.load(dict(stored.state or {}))
    texts = journal.texts(place.thread, state.unread, branch=place.branch)
    return policy, state, marked(state.unread, texts)


def _source(item: Item) -> tuple[str, str, str]:
    """Return trust, sources and turn of an item."""
    if isinstance(item, Record):
        return item.trust.word, " ".join(item.sources), str(item.turn)
    if isinstance(item, Pinned | Cue):
        later = [words.ref for words in item.later] if isinstance(item, Pinned) else []
        return item.words.trust.word, " ".join((item.words.ref, *later)), str(item.turn)
    return "", item.text_of, str(item.turn)


def threads(
    memory: options.MemoryOption = options.DEFAULT_MEMORY, json: options.JsonOption = False
) -> None:
    """List the threads of a memory.

    Commits and messages are those of all its branches; the column branches names those beside main.
    """
    with reading(memory) as journal:
        found = list(_by_thread([h for h in journal.heads() if not is_home(h.thread)]))
        sizes = journal.sizes()
    counted = [(*each, *sizes.get(each[0].thread, (0, 0))) for each in found]
    if json or not found:
        value = [
            {**asdict(p.thread), "commits": commits, "messages": said, "head": h.hash, "branches": forks}
            for p, h, forks, commits, said in counted
        ]  # fmt: skip
        tell("no thread has a commit", value, as_json=json)
        return
    rows = [(p.label, f"{c:,}", f"{said:,}", " ".join(forks)) for p, _, forks, c, said in counted]
    print_table(("thread", "commits", "messages", "branches"), rows, wrap=("thread", "branches"))
    print(count(len(found), "thread"))


def _by_thread(heads: list[Head]) -> Iterator[tuple[Place, Head, list[str]]]:
    """Yield each thread with the head of its main branch and the names of the others."""
    forks: dict[ThreadKey, list[str]] = {}
    for head in heads:
        if head.branch != MAIN:
            forks.setdefault(head.thread, []).append(head.branch)
    mains = (head for head in heads if head.branch == MAIN)
    yield from ((Place(head.thread), head, forks.get(head.thread, [])) for head in mains)
