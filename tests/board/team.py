"""Agents that share a board, and a compressor that proposes what a test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from acc import (
    InMemoryStore,
    MemoryController,
    Observation,
    Proposal,
    Settings,
    Step,
    Thread,
    Turn,
)
from acc.audit.verify import verify
from acc.board import Board
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import ProposedItem
from acc.turn.observations import Evidence

BOARD = Board("incident-42")

Scripted = Proposal | Callable[[CompressedCognitiveState], Proposal]


class Script:
    """A compressor that proposes what was put on it last, and keeps what it saw."""

    def __init__(self) -> None:
        self.next: Scripted = Proposal()
        self.seen: CompressedCognitiveState | None = None
        self.read: Sequence[Evidence] = ()

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        self.seen, self.read = state, evidence
        return self.next(state) if callable(self.next) else self.next


class Team:
    """Agents of one user on one memory, each with a thread and a state of its own."""

    def __init__(
        self, memory: MemoryController, script: Script | None = None, board: Board = BOARD
    ) -> None:
        self.memory = memory
        self.script = script or Script()
        self.board = board
        self.states: dict[str, CompressedCognitiveState] = {}

    @classmethod
    def on(cls, folder: Path | None = None, board: Board = BOARD, keyless: bool = False) -> Team:
        """A team in a folder, or in memory without one."""
        script = Script()
        compressor = None if keyless else script
        if folder is None:
            memory = MemoryController(InMemoryStore(), compressor, Settings())
        else:
            memory = MemoryController.open(folder, compressor=compressor)
        return cls(memory, script, board)

    def thread(self, agent: str) -> Thread:
        return Thread(thread=f"of-{agent}", agent=agent, user="bob")

    @property
    def place(self) -> Thread:
        return self.board.thread_of(self.thread("any"))

    def step(self, agent: str, *said: Observation, proposal: Scripted | None = None) -> Step:
        """One turn of an agent, from its newest state."""
        self.script.next = Proposal() if proposal is None else proposal
        step = self.memory.step(
            self.states.get(agent), Turn(observations=said), thread=self.thread(agent),
            board=self.board,
        )  # fmt: skip
        self.states[agent] = step.state
        return step

    def head(self) -> CompressedCognitiveState:
        return self.memory.read_board(self.board, thread=self.thread("any"))

    def verified(self, agent: str = "") -> int:
        """Recompute the commits of an agent, or of the board."""
        memory = self.memory if agent else self.memory.board(self.board)
        log = memory._audit_of(self.thread(agent) if agent else self.place)
        assert log is not None
        policy = memory.settings.policy
        return verify(log, {policy.fingerprint: policy})


def decision(subject: str, said: str, *cites: str, id: str = "") -> ProposedItem:
    fields = {"subject": subject, "predicate": "is", "object": said, "status": "decided"}
    return ProposedItem(slot="decisions", fields=fields, cites=cites, id=id)


def words(state: CompressedCognitiveState) -> set[str]:
    """What a state's items say."""
    return {item.words for _, item in state.items()}
