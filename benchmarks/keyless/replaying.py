"""Conversations replayed with the keyless compressor, and what it reads in each turn."""

from __future__ import annotations

from collections.abc import Sequence

from acc import Settings
from acc.controller import MemoryController
from acc.evaluation.scenarios import Scenario
from acc.keyless.compressor import RuleCompressor
from acc.keyless.reading import TurnReading, read
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore
from acc.turn.observations import Evidence
from acc.turn.turn import Turn


class Listening(RuleCompressor):
    """Notes what it reads, and proposes as ever."""

    def __init__(self, readings: list[TurnReading], policy: Policy) -> None:
        super().__init__(policy.max_tokens, policy.counter)
        self._readings = readings

    def under(self, policy: Policy) -> Listening:
        """The same for the bounds of ``policy``."""
        return Listening(self._readings, policy)

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Note the reading, and propose."""
        self._readings.append(read(turn, state, evidence))
        return super().__call__(turn, state, evidence)


def readings(scenario: Scenario, max_tokens: int = 800) -> list[TurnReading]:
    """What the compressor reads, turn by turn, beside a state of ``max_tokens``."""
    found: list[TurnReading] = []
    policy = Policy(max_tokens=max_tokens)
    memory = MemoryController(InMemoryStore(), Listening(found, policy), Settings(policy=policy))
    state = None
    for turn in scenario.turns:
        state = memory.step(state, turn, thread=scenario.id).state
    return found
