"""Commit on the board by compare-and-swap, and have a second reading judge what is said to end its rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from acc.artifacts.protocol import Artifact
from acc.board.batch import State
from acc.board.origins import Known, Origins
from acc.commit.commit import Commit, commit
from acc.commit.endings import Judgement, is_to_judge
from acc.compress.protocol import Asking, AskingJudge, Claim, Judge
from acc.controller.indexing import Indexing
from acc.driving import Doing, Io
from acc.errors import CompressionError, ConflictError, InputError
from acc.journal import Entry, Journal, Latest, ThreadKey
from acc.journal.names import MAIN
from acc.models.protocol import Usage
from acc.state.items import Pinned
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.step import Cadence, Step
from acc.tail import Message, marked
from acc.turn.observations import Channel

MOST_TRIES = 200
"""Times that a commit is made anew because another writer was faster. Each time that one has got further."""

Make = Callable[[State, Sequence[Message], Known], Commit[Any] | None]
"""Makes a commit of the board's newest state, its tail, and what it has already; None if there is nothing to write."""


@dataclass
class Written:
    """What was written to a board.

    Attributes:
        latest: Its head, state and tail.
        commits: The commits, in order.
        failure: Why no second reading came; empty if it did.
    """

    latest: Latest[Any]
    commits: list[Commit[Any]] = field(default_factory=list)
    failure: str = ""

    def step(self, policy: Policy) -> Step[Any]:
        """Return it as a step of the board's thread."""
        state, tail, commits = self.commits[-1].state, self.latest.tail, tuple(self.commits)
        return Step(
            state, marked(state.unread, tail), commits, Usage(), self.failure, policy, Cadence()
        )


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
        done = make(state, marked(state.unread, latest.tail), known)
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


def judging(
    desk: Desk, written: Written, judge: Judge | AskingJudge, read: Sequence[Message], at: str
) -> Doing[None]:
    """Have open claims that rules of the board ended read a second time, and write the verdicts."""
    claims = [
        Claim(item, _around(item, read), at)
        for _, item in desk.state_of(written.latest).items()
        if isinstance(item, Pinned) and is_to_judge(item, desk.policy.lifting, at)
    ]
    if not claims:
        return
    try:
        found = yield from _judgements(judge, claims)
    except CompressionError as error:  # no verdict means that the rule stays
        written.failure = f"{error.outcome}: {error}"
        return
    if found:  # verdicts name rule and words by digest, so that they hold on any newer state
        told = yield from writing(
            desk, lambda s, *_: commit(s, desk.policy, number=s.turn, judgements=found)
        )
        written.latest = told.latest
        written.commits += told.commits


def _judgements(judge: Judge | AskingJudge, claims: Sequence[Claim]) -> Asking[Sequence[Judgement]]:
    if isinstance(judge, AskingJudge):
        return (yield from judge.judging(claims))
    try:
        return tuple(judge(claims))
    except Exception as error:
        said = f"the judge failed: {type(error).__name__}: {error}"
        raise CompressionError(said[:500], outcome="raised") from error


def _around(item: Pinned, read: Sequence[Message]) -> tuple[Message, ...]:
    """Return the message that holds the words in question, with the agent's before it, as far as it was read now."""
    ending = item.ending
    words = ending.words if ending is not None and ending.words is not None else item.words
    before: tuple[Message, ...] = ()
    for message in read:
        if message.channel is words.channel and words.text in " ".join(message.text.split()):
            return (*before, message)
        if message.channel is Channel.AGENT and not message.observation.is_call:
            before = (message,)
    return ()


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
