"""Steps of the core with a journal, as a controller will do them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from acc.compress.keyless import compress
from acc.compress.keyless.rules import judge
from acc.driving import perform
from acc.journal import Appended, Entry, Journal, Latest, ThreadKey
from acc.state.policy import Cadence, Policy
from acc.state.tail import messages_of
from acc.step.step import Memory, stepping
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn


def memory(over: int = 300, **how: Any) -> Memory[Any]:
    """Return a keyless memory that compresses over so many tokens."""
    compressor = how.pop("compressor", compress)
    policy = Policy(**{"cadence": Cadence(compress_over=over), **how})
    return Memory(compressor, judge, compress, policy)


def core_step(
    journal: Journal,
    thread: ThreadKey | str,
    *said: tuple[str, str],
    mem: Memory[Any],
    branch: str = "main",
) -> Appended:
    """Take a step of the core: append, compress if it pays, commit."""
    latest: Latest[Any] = journal.latest(thread, branch=branch, schema=mem.policy.schema)
    state = latest.state or mem.policy.schema.empty()
    seen = tuple(Observation(channel=Channel(who), text=text) for who, text in said)
    turn = Turn(observations=seen, at="2026-11-03T10:00:00Z").numbered(state.turn + 1)
    where: dict[str, Any] = {"follows": latest.head.hash, "branch": branch}
    appended = journal.append(thread, messages_of(turn), **where)
    step = perform(stepping(mem, state, turn, texts=latest.tail))
    entries = [Entry(made, step.policy, failure=step.failure) for made in step.commits]
    head = journal.commit(thread, entries, epoch=latest.head.epoch, turn=appended, **where)
    return replace(appended, head=head, is_committed=True)
