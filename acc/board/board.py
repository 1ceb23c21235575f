"""What a board is, what a step on it made, and what an agent reads of both: plain values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from acc.errors import ConfigurationError, PinnedOverflow, check_types
from acc.journal import Latest, ThreadKey
from acc.journal.boards import AGENT, BoardState
from acc.journal.names import key_of
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.reasons import Note, Reason
from acc.state.render import render
from acc.step.result import Step

State = CompressedCognitiveState

To = Literal["", "all"]

HEADING = "Shared with all agents:"
OWN_HEADING = "Your own:"


@dataclass(frozen=True)
class Board:
    """A board that agents share: the rules that somebody said to all, in their whole sentences, and nothing else.

    A plain value: equal boards are the same board.

    Attributes:
        name: The name of the board's thread.
        policy: Schema and bounds of the board; by default `BoardState`.
        user: The user whom the board belongs to; empty for the user of the agent's thread. Another name serves all
            users of the tenant.

    Raises:
        ConfigurationError: The name is empty, or a value has another type.
    """

    name: str
    policy: Policy = field(default_factory=lambda: Policy(schema=BoardState))
    user: str = ""

    def __post_init__(self) -> None:
        check_types("Board", ("name", self.name, str), ("policy", self.policy, Policy))
        if not self.name.strip():
            raise ConfigurationError("the name is empty", where="Board", hint="give a name")

    def key_of(self, thread: ThreadKey | str) -> ThreadKey:
        """Return the board's own thread, as seen from an agent's thread: of the same tenant.

        Raises:
            ConfigurationError: ``thread`` is the board's own.
        """
        key = key_of(thread)
        own = ThreadKey(self.name, key.tenant, self.user or key.user, AGENT)
        if own == key:
            raise ConfigurationError(
                "an agent cannot have the board's own thread",
                where=f"board {self.name!r}",
                hint=f"give the agent's thread another agent than {AGENT!r}",
            )
        return own


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
