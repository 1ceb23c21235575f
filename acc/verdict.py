"""What a gate says of a candidate, and what it may look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import BaseModel, ConfigDict

from acc.excerpt import excerpt
from acc.items import Item, Relation
from acc.recall import Candidate
from acc.state import CompressedCognitiveState
from acc.tokens import TokenCounter, utf8_quarter
from acc.turn import Evidence, Turn
from acc.wording import stems

READ_CHARS = 600
"""Characters of one candidate that a compressor reads."""


class Verdict(BaseModel):
    """What the gate says of one candidate. Kept in the audit record (law 4).

    Attributes:
        admitted: Whether the compressor may read it.
        score: The recall score, 0 to 1.
        reason: Why, in words.
        gate: The gate that decided.
        ref: The candidate's ref, and ``artifact`` its id.
        telemetry: Signs worth counting that decide nothing, such as ``instruction_like``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    admitted: bool
    score: float
    reason: str
    gate: str = ""
    ref: str = ""
    artifact: str = ""
    telemetry: tuple[str, ...] = ()


@dataclass
class Context:
    """What a gate may look at beside the candidate.

    Attributes:
        turn: x_t.
        state: CCS_t-1.
        counter: Counts tokens.
        candidates: All candidates of this turn.
        retired: Turn in which what a ref said was retired, by ref.
        admitted: Evidence admitted so far.
        relaxed: Whether the floor asks again at a lower relevance threshold.
    """

    turn: Turn
    state: CompressedCognitiveState
    counter: TokenCounter = utf8_quarter
    candidates: Sequence[Candidate] = ()
    retired: dict[str, int] = field(default_factory=dict)
    admitted: list[Evidence] = field(default_factory=list)
    relaxed: bool = False
    _read: dict[str, Evidence] = field(default_factory=dict)
    _costs: list[int] = field(default_factory=list)

    @property
    def spent(self) -> int:
        """Tokens of the evidence so far; each text is counted once."""
        self._costs += (self.counter(e.text) for e in self.admitted[len(self._costs) :])
        return sum(self._costs)

    @cached_property
    def about(self) -> frozenset[str]:
        """Stems of the user's words of this turn."""
        return stems(self.turn.user_words)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Each item of the state."""
        return tuple(item for _, item in self.state.items())

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """The facts among them."""
        return tuple(item for item in self.items if isinstance(item, Relation))

    @cached_property
    def held(self) -> tuple[frozenset[str], ...]:
        """Stems of each item of the state."""
        return tuple(stems(item.words) for item in self.items)

    @cached_property
    def leaving(self) -> frozenset[str]:
        """Ids of the items that the next commit drops by itself."""
        return frozenset(i.id for s, i in self.state.items() if s.rules.lifetime == "turn")

    @cached_property
    def quoted(self) -> tuple[Item, ...]:
        """The pinned items of the state that rest on a quote: its rules."""
        return tuple(i for s, i in self.state.items() if s.rules.pinned and s.rules.quote)

    def read(self, candidate: Candidate, limit: int = READ_CHARS) -> Evidence:
        """The candidate as the compressor would read it: cut to what bears on the turn."""
        artifact = candidate.artifact
        if artifact.id in self._read:
            return self._read[artifact.id]
        about = self.about if candidate.shared is None else candidate.shared
        text = excerpt(artifact.text, about, limit)
        self._read[artifact.id] = evidence = Evidence(
            channel=artifact.channel, text=text, name=artifact.name, call_id=artifact.call_id,
            ref=artifact.ref, turn=artifact.turn, standing=artifact.trust,
            left_out=max(0, len(artifact.text) - len(text)),
        )  # fmt: skip
        return evidence
