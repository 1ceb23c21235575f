"""What becomes of an agent's commits on the board, written once for threads and event loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from acc.board.batch import Batch, State, batch_of
from acc.board.board import Board, To
from acc.board.choosing import Choosing, Chosen
from acc.board.delivery import delivery
from acc.board.hearing import beside, foreign, tried
from acc.board.judging import judging, settling
from acc.board.listener import Listener
from acc.board.marks import Heard, Marks
from acc.board.origins import Known
from acc.board.shown import both
from acc.board.writing import Desk, Written, writing
from acc.commit.commit import Commit, Judgement, commit
from acc.compress.protocol import AskingJudge, Judge
from acc.driving import Doing
from acc.errors import CompressionError
from acc.journal import Latest, ThreadKey
from acc.state.items import Pinned
from acc.state.policy import Policy
from acc.state.reasons import Note
from acc.state.render import shown
from acc.step import Step
from acc.tail import rendered


@dataclass(frozen=True)
class SharedStep:
    """A step of an agent that shares a board.

    Attributes:
        step: The agent's step. Its state is the one to keep; a rule that went to the board has left it.
        board: The board's head, state and tail after it.
        board_step: What was committed on the board; None if nothing was.
        board_policy: The board's policy.
        shared: What went to the board, and why, one line each.
        private: What stayed with the agent, and why, one line each.
        warnings: What else went wrong without harm to the states.
    """

    step: Step[Any]
    board: Latest[Any]
    board_step: Step[Any] | None
    board_policy: Policy
    shared: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def state(self) -> Any:
        """The agent's state, to go on from."""
        return self.step.state

    @property
    def notes(self) -> tuple[Note, ...]:
        """What became of everything: of the agent's commits, then of the board's."""
        return (*self.step.notes, *(self.board_step.notes if self.board_step else ()))

    @property
    def state_text(self) -> str:
        """The board, then the agent's own state."""
        return both(self.board, self.step.state, self.board_policy, self.step.policy)

    def text(self) -> str:
        """Return what the agent reads of the past: the board, its own state, then its tail."""
        tail = rendered(self.step.tail, self.step.policy, self.step.cadence.tool_share)
        return "\n".join(part for part in (self.state_text, *tail) if part)

    def messages(self, role: str = "") -> list[dict[str, str]]:
        """Return what the agent reads as chat messages: role, board and own state, then the tail."""
        system = "\n\n".join(part for part in (role, self.state_text) if part)
        tail = replace(self.step, state=self.step.state.empty()).messages()
        return [{"role": "system", "content": system}, *tail] if system else tail

    def explain(self) -> str:
        """Return notes, what was shared and what stayed private, and warnings, one a line."""
        why, warnings = (*self.shared, *self.private), (*self.step.warnings, *self.warnings)
        return "\n".join((*map(str, self.notes), *why, *warnings))


@dataclass
class Told:
    """What became of an agent's commits.

    Attributes:
        written: What was written to the board.
        chosen: What was shared, and what was not.
        failure: Why listener or judge failed; empty if they did not. The next step asks again.
    """

    written: Written
    chosen: Chosen = field(default_factory=Chosen)
    failure: str = ""

    def of_step(self, step: Step[Any], policy: Policy) -> SharedStep:
        """Return it with the agent's step."""
        failures = [f"the board: {self.failure}"] if self.failure else []
        made = self.written.step(policy) if self.written.commits else None
        return SharedStep(
            step, self.written.latest, made, policy, tuple(self.chosen.shared),
            tuple(self.chosen.private), (*self.chosen.warnings, *failures),
        )  # fmt: skip


@dataclass(frozen=True)
class Sharing:
    """Who shares what, and how.

    Attributes:
        board: The board.
        desk: Where its thread is written.
        listener: Who reads for it.
        judge: Reads claims that rules ended a second time.
    """

    board: Board
    desk: Desk
    listener: Listener
    judge: Judge | AskingJudge

    def telling(
        self, key: ThreadKey, state: State, commits: Sequence[Commit[Any]], after: int, to: To = ""
    ) -> Doing[Told]:
        """Tell the board what the agent's commits after a version made, up to ``state``."""
        batch: Batch = yield from batch_of(self.desk.journal, key, state, commits, after)
        latest: Latest[Any] = yield self.desk.latest()
        told, before = Told(Written(latest)), self.desk.state_of(latest)
        heard = yield from self._heard(batch, before, told)
        judged = yield from self._judged(heard or Heard(), batch, before, told)
        if to or batch.read or batch.brought or _is_due(before):
            make = partial(self._made, batch, heard, judged, to, told)
            told.written = yield from writing(self.desk, make)
        yield from settling(self.desk, told.written, judged)
        return told

    def _heard(self, batch: Batch, state: State, told: Told) -> Doing[Heard | None]:
        """Return what the listener says; None if it failed."""
        if not self.listener.is_due(batch, state, self.board):
            return Heard()
        try:
            return (yield from self.listener.hearing(batch, state, self.desk.policy))
        except CompressionError as error:
            told.failure = f"{error.outcome}: {error}"
            return None

    def _judged(
        self, heard: Heard, batch: Batch, state: State, told: Told
    ) -> Doing[Sequence[Judgement]]:
        """Have the claims that rules of the board ended read a second time, those of before among them."""
        if heard.later:
            state = tried(heard, batch, state, self.desk.policy).state
        try:
            read = tuple(foreign(batch, state))
            return (yield from judging(self.judge, state, self.desk.policy, read, batch.at))
        except CompressionError as error:  # no verdict means that the rule stays
            told.failure = f"{error.outcome}: {error}"
            return ()

    def _made(
        self,
        batch: Batch,
        heard: Heard | None,
        judged: Sequence[Judgement],
        to: To,
        told: Told,
        state: State,
        known: Known,
    ) -> Commit[Any] | None:
        """Return the commit on a state of the board; None if it would change nothing but times."""
        policy = self.desk.policy
        agreed = {each.digest for each in judged if each.verdict == "ends"}
        told.chosen = chosen = Choosing(
            self.board, batch, beside(heard or Heard(), batch, state, policy, agreed),
            Marks(heard, batch, policy) if heard is not None else None, state, known,
            batch.said if to == "all" else (),
        ).chosen()  # fmt: skip
        made = delivery(chosen, batch, state, known)
        done = commit(
            state, policy, turn=made.messages, number=state.turn + 1, read=made.messages,
            proposal=made.proposal,
        )  # fmt: skip
        refused = {f"the board refused: {note}" for note in done.refused}
        chosen.warnings += sorted(refused)
        is_news = (
            done.no_room or chosen.to_all or set(_standing(state)) != set(_standing(done.state))
        )
        return done if is_news else None


def _standing(state: State) -> Iterator[tuple[object, ...]]:
    """Yield what agents read of a board, and how far its rules have ended."""
    for slot, item in state.items():
        if isinstance(item, Pinned):
            yield slot.name, shown(item), item.words.ref, item.ending
        elif slot.is_record:
            yield slot.name, shown(item)


def _is_due(state: State) -> bool:
    """Whether a rule ended, and was shown with the words that end it for a turn: the next commit removes it."""
    pinned = (item for _, item in state.items() if isinstance(item, Pinned))
    return any(item.ending is not None and item.ending.verdict == "ends" for item in pinned)
