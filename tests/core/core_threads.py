"""Conversations and proposals for the tests of the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acc.driving import perform
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.state.proposal import Proposal, read
from acc.state.reading import Claim, Judgement, Reading
from acc.step.result import Step
from acc.step.step import Memory, stepping
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn


def turn(*said: tuple[str, str], number: int = 0, at: str = "") -> Turn:
    """Return a turn of (channel, text) pairs. ``"user:Ann"`` names the speaker, ``"tool:sql"`` the tool."""
    observations = []
    for who, text in said:
        channel, _, name = who.partition(":")
        observations.append(Observation(channel=Channel(channel), text=text, name=name))
    found = Turn(observations=tuple(observations), at=at)
    return found.numbered(number) if number else found


class Scripted:
    """A compressor whose answers are given; it keeps what it was given to read."""

    def __init__(self, *answers: Mapping[str, Any]) -> None:
        self.answers = list(answers)
        self.readings: list[Reading] = []

    def __call__(self, reading: Reading) -> Proposal:
        self.readings.append(reading)
        answer = self.answers.pop(0) if self.answers else {}
        return read(answer, reading.policy.schema)


class Judging:
    """A judge that always says the same; it keeps the claims."""

    def __init__(self, verdict: str = "ends") -> None:
        self.verdict = verdict
        self.claims: list[Claim] = []

    def __call__(self, claims: Sequence[Claim]) -> list[Judgement]:
        from acc.state.reading import claim_digest

        self.claims += claims
        return [
            Judgement.model_validate({"digest": claim_digest(c.item), "verdict": self.verdict})
            for c in claims
        ]


class Thread:
    """A conversation that goes through the core turn by turn."""

    def __init__(
        self,
        *answers: Mapping[str, Any],
        judge: Any = None,
        compressor: Any = None,
        fallback: Any = None,
        over: int = 0,
        cadence: Cadence | None = None,
        **policy: Any,
    ) -> None:
        self.compressor = compressor or Scripted(*answers)
        self.policy = Policy(cadence=cadence or Cadence(compress_over=over), **policy)
        self.memory: Memory[Any] = Memory(self.compressor, judge, fallback, self.policy)
        self.state = self.policy.schema.empty()
        self.steps: list[Step[CompressedCognitiveState]] = []

    def say(self, *said: tuple[str, str], force: bool = False, at: str = "") -> Step[Any]:
        """Commit a turn."""
        tail = self.steps[-1].tail if self.steps else ()
        number = self.state.turn + 1
        asking = stepping(
            self.memory, self.state, turn(*said, number=number, at=at), texts=tail, force=force
        )
        self.steps.append(perform(asking))
        self.state = self.steps[-1].state
        return self.steps[-1]

    @property
    def rules(self) -> list[str]:
        """The sentences of the rules."""
        return [rule.words.text for rule in self.state.constraints]

    def reasons(self) -> list[str]:
        """The reasons of the last step's notes."""
        return [note.reason.value for note in self.steps[-1].notes]
