"""What becomes of an agent's commits on the board, and what the agent then reads of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from acc.board.board import Board, To
from acc.board.listening import Hearing, Listener, listening
from acc.board.privacy import Choosing, Delivery, Why, held_on
from acc.board.writing import Batch, Desk, Known, Make, State, writing
from acc.commit.commit import Commit, Given, commit
from acc.driving import Doing
from acc.errors import PinnedOverflow
from acc.journal import Latest
from acc.state.items import Rule
from acc.state.policy import Policy
from acc.state.reading import claim_digest
from acc.state.reasons import Note, Reason
from acc.state.render import render, shown
from acc.step.step import Memory, Step

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
        """Return what the agent reads of the past: the board, its own state, its tail, evidence."""
        return "\n".join(filter(None, (self.state_text, self._beside_state.text())))

    def messages(self, role: str = "") -> list[dict[str, str]]:
        """Return what the agent reads as chat messages: role, board and own state, then tail and evidence."""
        system, rest = "\n\n".join(filter(None, (role, self.state_text))), self._beside_state
        return [*([{"role": "system", "content": system}] if system else []), *rest.messages()]

    @property
    def _beside_state(self) -> Step[Any]:
        return replace(self.step, state=self.step.state.empty())

    def explain(self) -> str:
        """Return notes, what was shared and what stayed private, and warnings, one a line."""
        why, warnings = (*self.shared, *self.private), (*self.step.warnings, *self.warnings)
        return "\n".join((*map(str, self.notes), *why, *warnings))


class BoardOverflow(PinnedOverflow):
    """Rules exceed their room on a board (law 7). Everything else was committed, there and of the agent.

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
            f"rules do not fit in {board.policy.pinned_tokens:,} tokens of the board. "
            f"Not held: {'; '.join(refused)}",
            where=f"board {shared.board.head.thread}, turn {board.state.turn}",
            hint="retire rules of the board (BoardMemory.retire), or give it a Policy with more max_tokens",
            refused=refused,
            refs=board.no_room,
            step=shared.step,
        )


def both(latest: Latest[Any], own: State | None, board: Policy, agent: Policy) -> str:
    """Return the board, then the agent's own state, each under its heading; what is empty stays out."""
    parts = []
    if latest.state is not None:
        parts.append((HEADING, render(latest.state, board.style)))
    if own is not None:
        parts.append((OWN_HEADING, render(own, agent.style)))
    return "\n".join(f"{heading}\n{text}" for heading, text in parts if text)


def doubled(own: State, board: State) -> Iterator[str]:
    """Yield the ids of an agent's rules that the board holds with all that stands beside them."""
    for rule in own.constraints:
        held = held_on(board, rule)
        if held is not None:
            texts = {rule.words.text, *(words.text for words in held.later)}
            names = ("about", "scope", "ending")
            is_all = all(getattr(held, n) or not getattr(rule, n) for n in names)
            if is_all and texts.issuperset(words.text for words in rule.later):
                yield rule.id


@dataclass
class Telling:
    """Tells the board what an agent's commits made.

    ``memory`` judges, ``latest`` is where the board stands; ``failure``, why listener or judge failed: the next step
    asks again.
    """

    board: Board
    desk: Desk
    memory: Memory[Any]
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
        heard: Hearing = yield from listening(self.memory, self.listener, self.board, batch, before)
        self.failure = heard.failure
        if to or batch.read or batch.brought or any(_endings(before, "ends")):
            yield from self._write(lambda state, known: self._made(batch, heard, to, state, known))
        standing = set(map(claim_digest, _endings(self.desk.state_of(self.latest), "")))
        verdicts = heard.judgements
        if any(each.digest in standing for each in verdicts):  # they hold for any newer state
            policy = self.desk.policy
            yield from self._write(lambda s, _: commit(s, policy, Given(judgements=verdicts)))

    def _write(self, make: Make) -> Doing[None]:
        self.latest, done = yield from writing(self.desk, make)
        self.commits += [done] if done is not None else []

    def _made(
        self, batch: Batch, heard: Hearing, to: To, state: State, known: Known
    ) -> Commit[Any] | None:
        """Return the commit on a state of the board; None if it would change nothing but times."""
        delivery = Delivery(batch, state, known)
        choosing = Choosing(self.board, delivery, heard, batch.said if to == "all" else ())
        choosing.choose()
        messages = tuple(delivery.messages)
        given = Given(messages, state.turn + 1, messages, delivery.proposal())
        done = commit(state, self.desk.policy, given)
        self.why = choosing.why
        self.why.warnings += sorted({f"the board refused: {note}" for note in done.refused})
        is_news = delivery.remembers or _standing(state) != _standing(done.state)
        return done if is_news or done.no_room else None


def _standing(state: State) -> set[tuple[object, ...]]:
    """Return what agents read of a board, and how far its rules have ended."""
    return {(shown(rule), rule.words.ref, rule.ending) for rule in state.constraints}


def _endings(state: State, verdict: str) -> Iterator[Rule]:
    """Yield the rules that are said to end, with a verdict.

    One that ends, and was shown with the words that end it for a turn, leaves with the next commit.
    """
    for rule in state.constraints:
        if rule.ending is not None and rule.ending.verdict == verdict:
            yield rule
