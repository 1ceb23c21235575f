"""Commit on the board by compare-and-swap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from acc.artifacts.protocol import Artifact
from acc.board.batch import State
from acc.board.origins import Known, Origins
from acc.commit.commit import Commit, commit
from acc.controller.indexing import Indexing
from acc.driving import Doing, Io
from acc.errors import ConflictError, InputError
from acc.journal import Entry, Journal, Latest, ThreadKey
from acc.journal.names import MAIN
from acc.models.protocol import Usage
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.step import Cadence, Step
from acc.tail import marked

MOST_TRIES = 200
"""Times that a commit is made anew because another writer was faster. Each time that one has got further."""

Make = Callable[[State, Known], Commit[Any] | None]
"""Makes a commit of the board's newest state and what it has already; None if there is nothing to write."""


@dataclass
class Written:
    """What was written to a board.

    Attributes:
        latest: Its head, state and tail.
        commits: The commits, in order.
    """

    latest: Latest[Any]
    commits: list[Commit[Any]] = field(default_factory=list)

    def step(self, policy: Policy) -> Step[Any]:
        """Return it as a step of the board's thread."""
        state, tail, commits = self.commits[-1].state, self.latest.tail, tuple(self.commits)
        return Step(state, marked(state.unread, tail), commits, Usage(), "", policy, Cadence())


@dataclass(frozen=True)
class Desk:
    """What writing on a board needs."""

    journal: Journal
    index: Indexing
    origins: Origins
    policy: Policy
    key: ThreadKey

    def latest(self) -> Io:
        """Read head, state and tail."""
        return Io(lambda: self.journal.latest(self.key, schema=self.policy.schema))

    def state_of(self, latest: Latest[Any]) -> State:
        """Return the state, an empty one of a new board."""
        return latest.state if latest.state is not None else self.policy.schema.empty()

    def persist(self, latest: Latest[Any], done: Commit[Any], reason: str) -> None:
        """Append a commit with its messages, if the head is still that of ``latest``. It blocks."""
        follows, messages = latest.head, done.given.turn
        where: dict[str, Any] = {"follows": follows.hash, "epoch": follows.epoch}
        entries = [Entry(done, self.policy, outcome=reason)]
        if not messages:
            self.journal.commit(self.key, entries, **where)
            return
        turned = self.journal.append_and_commit(self.key, messages, entries, **where)
        added = [Artifact(each, MAIN, turned.first + n) for n, each in enumerate(messages)]
        self.index.committed(self.key, MAIN, added)


def writing(desk: Desk, make: Make, reason: str = "") -> Doing[Written]:
    """Commit what ``make`` makes of the board's newest state; anew if another writer was faster.

    Raises:
        ConflictError: Other writers were faster all the time.
    """
    for tries in range(1, MOST_TRIES + 1):
        latest: Latest[Any] = yield desk.latest()
        known: Known = yield Io(lambda: desk.origins.of(desk.key))
        state = desk.state_of(latest)
        done = make(state, known)
        if done is None:
            break
        try:
            yield Io(lambda a=latest, b=done: desk.persist(a, b, reason))  # type: ignore[misc]
        except ConflictError:
            if tries == MOST_TRIES:
                raise
        else:
            return Written((yield desk.latest()), [done])
    return Written(latest)


def retiring(desk: Desk, ids: Sequence[str], reason: str) -> Doing[Step[Any]]:
    """Remove items of the board as its operator.

    Raises:
        InputError: The board does not hold one of them.
    """

    def make(state: State, *_: object) -> Commit[Any]:
        if not ids or any(state.find(each) is None for each in ids):
            raise InputError(
                f"not all of {list(ids)} are there",
                where=str(desk.key),
                hint="see BoardMemory.head",
            )
        proposal = Proposal(drop=tuple(ids), author="operator")
        return commit(state, desk.policy, proposal=proposal)

    written = yield from writing(desk, make, reason)
    return written.step(desk.policy)
