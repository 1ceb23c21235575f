"""What an agent's commits brought, what stands on the board of it already, and how more is written.

What commits brought is read from the journal, also where a step was killed, repeated, or compressed behind the agent.
Writers of several processes need no lock: a commit is a compare-and-swap on the board's head, and is made anew if
another writer was faster. The origin of each message stands in its id, which no compressor reads. By it a repeated
step finds what it brought, and an erasure the copies of what it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

from acc.board.board import State
from acc.commit.commit import Commit, Given, commit
from acc.controller.indexing import Indexing
from acc.driving import Doing, Io
from acc.errors import ConflictError, InputError
from acc.journal import Entry, Journal, Latest, ThreadKey
from acc.journal.boards import Origin
from acc.journal.names import MAIN
from acc.journal.record import notes_of
from acc.models.protocol import Usage
from acc.state.items import Rule
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.state.reasons import Reason
from acc.state.tail import Message, marked
from acc.step.result import Step
from acc.turn.observations import LAWFUL

MOST_TRIES = 200
"""Times that a commit is made anew because another writer was faster. Each time that one has got further."""

MOST_BEHIND = 64
"""Commits of a thread that are looked at where a step was killed before it told the board."""

_BROUGHT = (Reason.ADDED, Reason.KNOWN, Reason.UPDATED)


@dataclass(frozen=True)
class Batch:
    """What an agent's commits brought since the board was last told.

    Attributes:
        thread: The agent's thread.
        state: The agent's last state.
        at: When the turn happened.
        read: The messages that compressions read for the first time, whole, in their order.
        said: Those of user and operator that the last turn took.
        brought: The rules that the commits brought, as they stand now.
    """

    thread: ThreadKey
    state: State
    at: str
    read: tuple[Message, ...]
    said: tuple[Message, ...]
    brought: tuple[Rule, ...]

    def is_settled(self, ref: str) -> bool:
        """Whether the agent's compressor has read a message."""
        return not any(each.ref == ref and each.status != "read" for each in self.state.unread)


def begin_of_turn(journal: Journal, key: ThreadKey, state: State) -> int:
    """Return the version before the commits of a state's turn."""
    made = journal.commits(key, state.branch, max(0, state.version - MOST_BEHIND))
    own = [each.version for each in made if each.turn == state.turn]
    return min(own, default=state.version + 1) - 1


def batch_of(journal: Journal, key: ThreadKey, state: State, after: int) -> Batch:
    """Return what the commits after a version, up to ``state``, brought."""
    statuses, ids = dict[str, str](), set[str]()
    taken: list[str] = []
    for each in journal.commits(key, state.branch, max(after, state.version - MOST_BEHIND)):
        if each.version > state.version or each.record is None:
            continue
        given = each.record.get("given", {})
        for ref, status, *_ in given.get("read", ()):
            statuses.setdefault(ref, status)  # a later commit may have read it again, as context
        taken += given.get("turn", ()) if each.turn == state.turn else ()
        notes = notes_of(each.record.get("notes", ()))
        ids |= {note.item for note in notes if note.reason in _BROUGHT}
    texts = journal.texts(key, dict.fromkeys([*statuses, *taken]), branch=state.branch)
    return Batch(
        key, state, texts[-1].at if texts else "",
        tuple(m for m in texts if statuses.get(m.ref, "read") != "read"),
        tuple(m for m in texts if m.ref in taken and m.channel in LAWFUL),
        tuple(rule for rule in state.constraints if rule.id in ids),
    )  # fmt: skip


class Known:
    """The messages of one board by their origins, read once and then as they grow. Threads may share it."""

    def __init__(self, board: ThreadKey) -> None:
        self._board, self._upto, self._lock = board, 0, Lock()
        self._said: set[tuple[object, ...]] = set()

    def read(self, journal: Journal) -> Known:
        """Read what is new, and return this."""
        with self._lock:
            for each in journal.messages(self._board, self._upto + 1):
                self._upto = each.seq
                origin = Origin.of(each.message)
                if origin is not None:
                    text = None if origin.is_to_all else each.message.text
                    self._said.add((*origin.place, text))
        return self

    def is_to_all(self, origin: Origin) -> bool:
        """Whether the board knows that the agent's message was said to all."""
        return (*origin.place, None) in self._said

    def has(self, origin: Origin, text: str) -> bool:
        """Whether these words of a message were brought before."""
        return (*origin.place, text) in self._said


Make = Callable[[State, Known], Commit[Any] | None]
"""Makes a commit of the board's newest state and what it has already; None if there is nothing to write."""


@dataclass(frozen=True)
class Desk:
    """Where is written on a board."""

    journal: Journal
    index: Indexing
    known: Known
    policy: Policy
    key: ThreadKey

    def latest(self) -> Latest[Any]:
        """Return head, state and tail."""
        return self.journal.latest(self.key, schema=self.policy.schema)

    def state_of(self, latest: Latest[Any]) -> State:
        """Return the state, an empty one of a new board."""
        return latest.state if latest.state is not None else self.policy.schema.empty()

    def step(self, latest: Latest[Any], commits: Sequence[Commit[Any]]) -> Step[Any]:
        """Return what was committed as a step of the board's thread."""
        state = commits[-1].state
        tail = marked(state.unread, latest.tail)
        return Step(state, tail, tuple(commits), Usage(), "", self.policy)

    def write(self, make: Make, reason: str = "") -> Doing[Commit[Any] | None]:
        """Commit what ``make`` makes of the newest state; anew if another writer was faster.

        Raises:
            ConflictError: Other writers were faster all the time.
        """
        tries = 0
        while True:
            latest: Latest[Any] = yield Io(self.latest)
            known: Known = yield Io(lambda: self.known.read(self.journal))
            done = make(self.state_of(latest), known)
            if done is None:
                return None
            try:
                yield Io(partial(self._persist, latest, done, reason))
            except ConflictError:
                tries += 1
                if tries == MOST_TRIES:
                    raise
            else:
                return done

    def _persist(self, latest: Latest[Any], done: Commit[Any], reason: str) -> None:
        """Append a commit with its messages, if the head is still that of ``latest``."""
        follows, messages = latest.head, done.given.turn
        where: dict[str, Any] = {"follows": follows.hash, "epoch": follows.epoch}
        entries = [Entry(done, self.policy, outcome=reason)]
        if not messages:
            self.journal.commit(self.key, entries, **where)
            return
        self.journal.append_and_commit(self.key, messages, entries, **where)
        self.index.committed(self.key, MAIN)

    def retire(self, ids: Sequence[str], reason: str) -> Doing[Step[Any]]:
        """Remove items of the board as its operator.

        Raises:
            InputError: The board does not hold one of them.
        """

        def make(state: State, *_: object) -> Commit[Any]:
            if not ids or any(state.find(each) is None for each in ids):
                raise InputError(
                    f"not all of {list(ids)} are there",
                    where=str(self.key),
                    hint="see BoardMemory.head",
                )
            proposal = Proposal(drop=tuple(ids), author="operator")
            return commit(state, self.policy, Given(proposal=proposal))

        done = yield from self.write(make, reason)
        assert done is not None
        return self.step((yield Io(self.latest)), [done])
