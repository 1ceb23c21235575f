"""ACC under evaluation: the memory controller with any compressor, schema and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from acc.compress import Compressor
from acc.controller import MemoryController
from acc.evaluation.memories.protocol import HeldItem, Reading
from acc.memory import Settings
from acc.run import Step
from acc.state import CompressedCognitiveState
from acc.store import ArtifactStore
from acc.stores.memory import MemoryArtifactStore
from acc.turn import Turn

THREAD = "evaluated"


class ControlledMemory:
    """The Compressed Cognitive State, committed once per completed turn.

    Attributes:
        failures: Compressions that failed, each with the turn.
    """

    has_slots = True

    def __init__(
        self,
        compressor: Compressor | None = None,
        settings: Settings | None = None,
        *,
        store: Callable[[], ArtifactStore] = MemoryArtifactStore,
        conditioning: Literal["step", "state"] = "step",
    ) -> None:
        """Open one.

        Args:
            compressor: Proposes; the keyless rules if None.
            settings: Schema, bounds, recall, gate.
            store: Makes the store of the evidence.
            conditioning: What an agent reads on a question: the state after a step on it (the
                paper's Algorithm 1), or the last committed state as it stands (section 3.3).
        """
        self._memory = MemoryController(store(), compressor, settings or Settings())
        self._policy = self._memory.settings.policy
        self._conditioning = conditioning
        self._state: CompressedCognitiveState = self._policy.schema.empty()
        self.failures: list[str] = []

    @property
    def max_tokens(self) -> int:
        """The bound on the rendered state."""
        return self._policy.max_tokens

    @property
    def state(self) -> CompressedCognitiveState:
        """The last committed state."""
        return self._state

    def observe(self, turn: Turn) -> None:
        """Commit the completed turn."""
        self._state = self._step(turn).state

    def held(self) -> Reading:
        """The committed state."""
        return self._reading(self._state)

    def read(self, question: str) -> Reading:
        """The state as it would be after a step on ``question``; that step leads to a fork of
        the thread which nothing goes on from."""
        if self._conditioning == "state":
            return self.held()
        return self._reading(self._step(Turn.said(question)).state)

    def close(self) -> None:
        """Close the store."""
        self._memory.close()

    def _step(self, turn: Turn) -> Step:
        step = self._memory.step(self._state, turn, thread=THREAD)
        if step.failure:
            self.failures.append(f"turn {step.turn.number}: {step.failure}")
        return step

    def _reading(self, state: CompressedCognitiveState) -> Reading:
        return Reading(self._policy.rendered(state), tuple(_items(state)))


def _items(state: CompressedCognitiveState) -> Iterator[HeldItem]:
    for slot, item in state.items():
        yield HeldItem(
            item.words,
            slot=slot.name,
            is_hypothesis=getattr(item, "status", "") == "hypothesis",
            is_open=item.is_open,
        )
