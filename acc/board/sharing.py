"""What becomes of an agent's commits on the board, and what the agent then reads of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from acc.board.board import Board, To
from acc.board.choosing import Choosing, Why, held_on
from acc.board.hearing import Heard, SharingMarks, beside, tried
from acc.board.listener import Listener
from acc.board.origins import Batch, Known, State
from acc.board.writing import Delivery, Desk, writing
from acc.commit.commit import Commit, commit
from acc.driving import Doing
from acc.errors import CompressionError, PinnedOverflow
from acc.journal import Latest
from acc.state.items import Pinned
from acc.state.policy import Policy
from acc.state.reading import Judgement, claim_digest
from acc.state.reasons import Note, Reason
from acc.state.render import render, shown
from acc.state.tail import rendered
from acc.step.step import Step

HEADING = "Shared with all agents:"
OWN_HEADING = "Your own:"


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


class BoardOverflow(PinnedOverflow):
    """Rules and goals exceed their room on a board (law 7). Everything else was committed, there and of the agent.

    Attributes:
        shared: What the step made.
        step: The agent's step. The agent's thread goes on from its state.
        refused: The words that did not fit. They stay in the agent's own state.
    """

    def __init__(self, shared: SharedStep) -> None:
        board = shared.board_step
        assert board is not None
        self.shared = shared
        refused = tuple(note.text for note in board.notes if note.reason is Reason.NO_ROOM)
        super().__init__(
            f"rules and goals do not fit in {board.policy.pinned_tokens:,} tokens of the board. "
            f"Not held: {'; '.join(refused)}",
            where=f"board {shared.board.head.thread}, turn {board.state.turn}",
            hint="retire rules or goals of the board (BoardMemory.retire), or give it a Policy with more max_tokens",
            refused=refused,
            refs=board.no_room,
            step=shared.step,
        )


def both(latest: Latest[Any], own: State | None, board: Policy, agent: Policy) -> str:
    """Return the board, then the agent's own state, each under its heading; what is empty stays out.

    Of the board it is the state without facts that the agent's own has.
    """
    parts, told = [], set[str]()
    if own is not None:
        parts.append((OWN_HEADING, render(own, agent.style)))
        told = {item.text_of for slot, item in own.items() if slot.is_record}
    if latest.state is not None:
        state: State = latest.state
        update = {
            name: tuple(item for item in getattr(state, name) if item.text_of not in told)
            for name, slot in state.slots().items()
            if slot.is_record
        }
        parts.insert(0, (HEADING, render(state.model_copy(update=update), board.style)))
    return "\n".join(f"{heading}\n{text}" for heading, text in parts if text)


def doubled(own: State, board: State) -> Iterator[str]:
    """Yield the ids of an agent's rules and goals that the board holds with all that stands beside them."""
    for slot, item in own.items():
        held = held_on(board, slot, item) if isinstance(item, Pinned) else None
        if isinstance(item, Pinned) and held is not None:
            texts = {item.words.text, *(words.text for words in held.later)}
            names = ("about", "scope", "done", "ending")
            is_all = all(getattr(held, n, None) or not getattr(item, n, None) for n in names)
            if is_all and texts.issuperset(words.text for words in item.later):
                yield item.id


@dataclass
class Telling:
    """Tells the board what an agent's commits made.

    ``latest`` is where the board stands; ``failure``, why listener or judge failed: the next step asks again.
    """

    board: Board
    desk: Desk
    listener: Listener
    latest: Latest[Any]
    commits: list[Commit[Any]] = field(default_factory=list)
    why: Why = field(default_factory=Why)
    failure: str = ""

    def of_step(self, step: Step[Any]) -> SharedStep:
        """Return what became of it, with the agent's step."""
        made = self.desk.step(self.latest, self.commits) if self.commits else None
        warnings = (*self.why.warnings, *([f"the board: {self.failure}"] if self.failure else ()))
        why = tuple(self.why.shared), tuple(self.why.private), warnings
        return SharedStep(step, self.latest, made, self.desk.policy, *why)

    def tell(self, batch: Batch, to: To) -> Doing[None]:
        """Tell what a batch brought; ``to`` says to whom the user spoke."""
        before = self.desk.state_of(self.latest)
        heard = yield from self._heard(batch, before)
        judged = yield from self._judged(heard or Heard(), batch, before)
        if to or batch.read or batch.brought or any(_endings(before, "ends")):
            make = lambda state, known: self._made(batch, heard, judged, to, state, known)  # noqa: E731
            self.latest, done = yield from writing(self.desk, make)
            self.commits += [done] if done is not None else []
        yield from self._settle(judged)

    def _heard(self, batch: Batch, state: State) -> Doing[Heard | None]:
        """Return what the listener says; None if it failed."""
        if not self.listener.is_due(batch, state, self.board):
            return Heard()
        try:
            return (yield from self.listener.hearing(batch, state, self.desk.policy))
        except CompressionError as error:
            self.failure = f"{error.outcome}: {error}"
            return None

    def _judged(self, heard: Heard, batch: Batch, state: State) -> Doing[Sequence[Judgement]]:
        """Have the claims that rules of the board ended read a second time, those of before among them."""
        policy, read = self.desk.policy, tuple(batch.foreign(state))
        if heard.later:
            state = tried(heard, batch, state, policy).state
        try:
            return (yield from self.listener.judging(state, policy, read, batch.at))
        except CompressionError as error:  # no verdict means that the rule stays
            self.failure = f"{error.outcome}: {error}"
            return ()

    def _made(
        self,
        batch: Batch,
        heard: Heard | None,
        judged: Sequence[Judgement],
        to: To,
        state: State,
        known: Known,
    ) -> Commit[Any] | None:
        """Return the commit on a state of the board; None if it would change nothing but times."""
        policy = self.desk.policy
        agreed = {each.digest for each in judged if each.verdict == "ends"}
        marks = SharingMarks(heard, batch, policy) if heard is not None else None
        delivery = Delivery(batch, state, known)
        to_all = batch.said if to == "all" else ()
        choosing = Choosing(self.board, delivery, marks, to_all)
        choosing.choose(beside(heard or Heard(), batch, state, policy, agreed))
        messages = delivery.messages
        done = commit(
            state, policy, turn=messages, number=state.turn + 1, read=messages,
            proposal=delivery.proposal(),
        )  # fmt: skip
        self.why = choosing.why
        self.why.warnings += sorted({f"the board refused: {note}" for note in done.refused})
        is_news = delivery.remembers or set(_standing(state)) != set(_standing(done.state))
        return done if is_news or done.no_room else None

    def _settle(self, judged: Sequence[Judgement]) -> Doing[None]:
        """Write the verdicts on claims that stand on the board: they name rule and words, for any newer state."""
        standing = set(map(claim_digest, _endings(self.desk.state_of(self.latest), "")))
        if any(each.digest in standing for each in judged):
            given: dict[str, Any] = {"judgements": judged}
            self.latest, done = yield from writing(
                self.desk, lambda s, _: commit(s, self.desk.policy, number=s.turn, **given)
            )
            self.commits += [done] if done is not None else []


def _standing(state: State) -> Iterator[tuple[object, ...]]:
    """Yield what agents read of a board, and how far its rules have ended."""
    for slot, item in state.items():
        if isinstance(item, Pinned):
            yield slot.name, shown(item), item.words.ref, item.ending
        elif slot.is_record:
            yield slot.name, shown(item)


def _endings(state: State, verdict: str) -> Iterator[Pinned]:
    """Yield the rules and goals that are said to end, with a verdict.

    One that ends, and was shown with the words that end it for a turn, leaves with the next commit.
    """
    for _, item in state.items():
        if isinstance(item, Pinned) and item.ending is not None and item.ending.verdict == verdict:
            yield item
