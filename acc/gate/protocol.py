"""Q, the decision qualification gate: admits or refuses each candidate and records the reason.

A gate is any callable that takes a `Candidate` and a `Context` and returns a `Verdict` or a
bool. Gates compose: ``a & b`` asks b only if a admits, ``a | b`` asks b only if a refuses,
``~a`` inverts the verdict. `acc.gate.built_in` has the built-in gates and `default_gate`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict

from acc.errors import ConfigurationError
from acc.recall.candidates import Candidate
from acc.state.items import Item, Relation
from acc.state.model import CompressedCognitiveState
from acc.text.caching import cached_by_text
from acc.text.tokens import TokenCounter, utf8_quarter
from acc.text.wording import stems
from acc.turn.excerpt import excerpt
from acc.turn.observations import Evidence, Trust
from acc.turn.turn import Turn

_PATTERN = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:instruction|rule|polic|previous|above|limit)"
    r"|\b(?:system|assistant|ai agent|automated agents?|agents?)\s*[:,]\s"
    r"|\byou (?:must|should|are now|have to)\b|\b(?:has|is|are) (?:pre-?)?(?:approved|lifted|waived)\b"
    r"|\b(?:assistants?|agents?) (?:must|should|shall|may|are to)\b",
    re.I,
)

_NEEDED = (
    "ignore", "disregard", "forget", "overrid", "system", "assistant", "agent", "you ",
    "approved", "lifted", "waived",
)  # fmt: skip
"""Every match of the pattern contains one of these words. Searching for them first is cheap."""


def instruction_like(text: str, trust: Trust) -> str:
    """Return the first words of ``text`` that look like an instruction; empty for agents and above."""
    return _first(text) if trust < Trust.AGENT else ""


@cached_by_text
def _first(text: str) -> str:
    lowered = text.lower()
    if not any(word in lowered for word in _NEEDED):
        return ""
    found = _PATTERN.search(text)
    return " ".join(found.group(0).split())[:80] if found else ""


READ_CHARS = 600
"""Characters of one candidate that a compressor reads."""


class Verdict(BaseModel):
    """The gate's decision on one candidate. The audit record keeps it (law 4).

    Attributes:
        admitted: Whether the compressor may read the candidate.
        score: The recall score, 0 to 1.
        reason: The reason in words.
        gate: Name of the gate that decided.
        ref: The candidate's ref.
        artifact: The candidate's artifact id.
        telemetry: Signals to count that do not affect the decision, such as ``instruction_like``.
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
    """Everything that a gate may read in addition to the candidate.

    Attributes:
        turn: x_t.
        state: CCS_t-1.
        counter: Counts tokens.
        candidates: All candidates of this turn.
        retired: Turn in which the content of a ref was retired, by ref.
        admitted: Evidence admitted so far.
        relaxed: Whether the floor asks again with a lower relevance threshold.
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
        """Tokens of the evidence admitted so far. Each text is counted once."""
        self._costs += (self.counter(e.text) for e in self.admitted[len(self._costs) :])
        return sum(self._costs)

    @cached_property
    def about(self) -> frozenset[str]:
        """Stems of the user's words of this turn."""
        return stems(self.turn.user_words)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """All items of the state."""
        return tuple(item for _, item in self.state.items())

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """The relations among the items."""
        return tuple(item for item in self.items if isinstance(item, Relation))

    @cached_property
    def held(self) -> tuple[frozenset[str], ...]:
        """Stems of each item of the state, in the order of `items`."""
        return tuple(stems(item.words) for item in self.items)

    @cached_property
    def leaving(self) -> frozenset[str]:
        """Ids of the ephemeral items, which the next commit drops."""
        return frozenset(i.id for s, i in self.state.items() if s.rules.ephemeral)

    @cached_property
    def quoted(self) -> tuple[Item, ...]:
        """The pinned items of the state that need a quote: its rules."""
        return tuple(i for s, i in self.state.items() if s.rules.pinned and s.rules.quote)

    def read(self, candidate: Candidate, limit: int = READ_CHARS) -> Evidence:
        """Return the candidate as the compressor would read it: an excerpt relevant to the turn.

        Args:
            candidate: The candidate.
            limit: Maximum length of the excerpt in characters. The first call for an artifact fixes it.
        """
        artifact = candidate.artifact
        if artifact.id in self._read:
            return self._read[artifact.id]
        about = self.about if candidate.shared is None else candidate.shared
        text = excerpt(artifact.text, about, limit)
        self._read[artifact.id] = evidence = Evidence(
            channel=artifact.channel, text=text, name=artifact.name, call_id=artifact.call_id,
            ref=artifact.ref, turn=candidate.turn, standing=artifact.trust,
            left_out=max(0, len(artifact.text) - len(text)), at=artifact.when,
        )  # fmt: skip
        return evidence


RELEVANCE = "relevance"

Judgement = Verdict | bool
GateLike = Callable[[Candidate, Context], Judgement]


class Gate:
    """Base class of gates: composition operators, and verdicts that carry the gate's name."""

    verdict_name: ClassVar[str] = ""
    """The gate's name, if it is not that of its class."""

    @property
    def name(self) -> str:
        """The gate's name in verdicts."""
        return self.verdict_name or type(self).__name__.lower()

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Judge one candidate."""
        raise NotImplementedError

    def verdict(
        self, admitted: bool, candidate: Candidate, reason: str, *telemetry: str
    ) -> Verdict:
        """Return a verdict of this gate."""
        return Verdict(
            admitted=admitted, score=round(candidate.score, 6), reason=reason, gate=self.name,
            ref=candidate.artifact.ref, artifact=candidate.artifact.id, telemetry=telemetry,
        )  # fmt: skip

    def __and__(self, other: GateLike) -> Gate:
        return All.of(self, as_gate(other))

    def __or__(self, other: GateLike) -> Gate:
        return AnyOf.of(self, as_gate(other))

    def __rand__(self, other: GateLike) -> Gate:
        return All.of(as_gate(other), self)

    def __ror__(self, other: GateLike) -> Gate:
        return AnyOf.of(as_gate(other), self)

    def __invert__(self) -> Gate:
        return Not(self)


class Plain(Gate):
    """Wraps a plain callable as a gate."""

    def __init__(self, judge: GateLike) -> None:
        self.judge = judge

    @property
    def name(self) -> str:
        """The callable's own name."""
        return str(getattr(self.judge, "__name__", type(self.judge).__name__))

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Call the callable; turn a bool into a verdict."""
        judged = self.judge(candidate, context)
        if isinstance(judged, Verdict):
            return judged
        return self.verdict(bool(judged), candidate, "admitted" if judged else "refused")


def as_gate(gate: GateLike) -> Gate:
    """Return ``gate`` as a `Gate`, or raise `ConfigurationError` if it is not callable."""
    if not callable(gate):
        raise ConfigurationError(
            f"the gate is {type(gate).__name__}, not a callable",
            where="gate",
            hint="pass a Gate or a function of (candidate, context)",
        )
    return gate if isinstance(gate, Gate) else Plain(gate)


@dataclass(frozen=True)
class Several(Gate):
    """Gates that are asked in order."""

    gates: tuple[Gate, ...]

    @classmethod
    def of(cls, *gates: Gate) -> Self:
        """Combine ``gates`` into one sequence; flatten members that are already of this class."""
        rows = (gate.gates if isinstance(gate, cls) else (gate,) for gate in gates)
        return cls(tuple(chain.from_iterable(rows)))


class All(Several):
    """Admits a candidate that all gates admit. The first refusal is the verdict."""

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Ask the gates in order until one refuses."""
        verdicts: list[Verdict] = []
        for gate in self.gates:
            verdicts.append(gate(candidate, context))
            if not verdicts[-1].admitted:
                break
        said = verdicts[-1]
        if context.relaxed and said.admitted:
            # Report the relevance verdict, because it records that the floor admitted the candidate.
            said = next((v for v in verdicts if v.gate == RELEVANCE), said)
        telemetry = tuple(sign for verdict in verdicts for sign in verdict.telemetry)
        return said.model_copy(update={"telemetry": telemetry}) if telemetry else said


class AnyOf(Several):
    """Admits a candidate that one gate admits. If none does, the last refusal is the verdict."""

    verdict_name = "any"

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Ask the gates in order until one admits."""
        for gate in self.gates:
            verdict = gate(candidate, context)
            if verdict.admitted:
                break
        return verdict


@dataclass(frozen=True)
class Not(Gate):
    """Admits what the wrapped gate refuses, and the reverse."""

    gate: Gate

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Invert the wrapped gate's verdict."""
        verdict = self.gate(candidate, context)
        return verdict.model_copy(
            update={"admitted": not verdict.admitted, "reason": f"not: {verdict.reason}"}
        )


def qualify(
    candidates: Sequence[Candidate], gate: GateLike, context: Context, *, floor: int = 0
) -> tuple[list[Evidence], list[Verdict]]:
    """A_t+: judge the candidates in the given order, best first.

    Args:
        candidates: A_t.
        gate: The gate. If it raises, the candidate is refused and the turn continues.
        context: The turn, the state and the retirements. Evidence is appended to ``context.admitted``.
        floor: Number of candidates to admit if a lower relevance threshold is enough. Refusals by other gates
            are final.

    Returns:
        The evidence as the compressor reads it, and one verdict for each candidate. The evidence is in the order
        in which it was said, so that the last word on a subject comes last; what has no turn comes first.
    """
    judge = as_gate(gate)
    context.candidates = candidates
    verdicts = [_judged(judge, candidate, context) for candidate in candidates]
    context.relaxed = True
    for index, candidate in enumerate(candidates):
        if len(context.admitted) >= floor:
            break
        if not verdicts[index].admitted and verdicts[index].gate == RELEVANCE:
            verdicts[index] = _judged(judge, candidate, context)
    return sorted(context.admitted, key=lambda evidence: evidence.turn), verdicts


def _judged(judge: Gate, candidate: Candidate, context: Context) -> Verdict:
    try:
        verdict = judge(candidate, context)
    except Exception as error:  # a broken gate refuses the candidate; the turn continues
        verdict = Verdict(
            admitted=False,
            score=candidate.score,
            reason=f"the gate failed: {type(error).__name__}: {error}"[:400],
            gate=judge.name,
        )
    if verdict.admitted:
        context.admitted.append(context.read(candidate))
    artifact = candidate.artifact
    sign = instruction_like(artifact.text, candidate.trust)
    signs = [*verdict.telemetry, *([f"instruction_like: {sign}"] if sign else [])]
    telemetry = tuple(dict.fromkeys(signs))
    if (verdict.ref, verdict.artifact, verdict.telemetry) == (artifact.ref, artifact.id, telemetry):
        return verdict
    named = {"ref": artifact.ref, "artifact": artifact.id}
    return verdict.model_copy(update={**named, "telemetry": telemetry})
