"""Q, the decision qualification gate: admits or refuses each candidate, and says why.

A gate is any callable of a `Candidate` and a `Context` that returns a `Verdict` or a bool.
Gates compose: ``a & b`` asks b only what a admits, ``a | b`` only what a refuses, ``~a``
turns a verdict round. The built-in ones, and `default_gate`, stand in `acc.gates`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

from acc.errors import ConfigurationError
from acc.instruction_like import instruction_like
from acc.recall import Candidate
from acc.turn import Evidence
from acc.verdict import Context as Context
from acc.verdict import Verdict as Verdict

RELEVANCE = "relevance"

Judgement = Verdict | bool
GateLike = Callable[[Candidate, Context], Judgement]


class Gate:
    """Base of the gates: composition, and verdicts with the gate's name."""

    @property
    def name(self) -> str:
        """The gate's name in verdicts."""
        return type(self).__name__.lower()

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Judge one candidate."""
        raise NotImplementedError

    def verdict(
        self, admitted: bool, candidate: Candidate, reason: str, *telemetry: str
    ) -> Verdict:
        """A verdict of this gate."""
        return Verdict(
            admitted=admitted, score=round(candidate.score, 6), reason=reason, gate=self.name,
            ref=candidate.artifact.ref, artifact=candidate.artifact.id, telemetry=telemetry,
        )  # fmt: skip

    def __and__(self, other: GateLike) -> Gate:
        return All.of(self, as_gate(other))

    def __or__(self, other: GateLike) -> Gate:
        return Any.of(self, as_gate(other))

    def __rand__(self, other: GateLike) -> Gate:
        return All.of(as_gate(other), self)

    def __ror__(self, other: GateLike) -> Gate:
        return Any.of(as_gate(other), self)

    def __invert__(self) -> Gate:
        return Not(self)


class Plain(Gate):
    """A plain callable as a gate."""

    def __init__(self, judge: GateLike) -> None:
        self.judge = judge

    @property
    def name(self) -> str:
        """The callable's own name."""
        return str(getattr(self.judge, "__name__", type(self.judge).__name__))

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """The callable's judgement."""
        judged = self.judge(candidate, context)
        if isinstance(judged, Verdict):
            return judged
        return self.verdict(bool(judged), candidate, "admits it" if judged else "refuses it")


def as_gate(gate: GateLike) -> Gate:
    """``gate`` itself, or a plain callable made one.

    Raises:
        ConfigurationError: Not callable.
    """
    if not callable(gate):
        raise ConfigurationError(
            f"a gate is a callable, not {type(gate).__name__}",
            where="gate",
            mend="pass a Gate, or a function of (candidate, context)",
        )
    return gate if isinstance(gate, Gate) else Plain(gate)


@dataclass(frozen=True)
class Several(Gate):
    """Gates asked in order."""

    gates: tuple[Gate, ...]

    @classmethod
    def of(cls, *gates: Gate) -> Self:
        """``gates`` in one row: those that are such a row themselves give their members."""
        rows = (gate.gates if isinstance(gate, cls) else (gate,) for gate in gates)
        return cls(tuple(chain.from_iterable(rows)))


class All(Several):
    """Admits what all admit; the first refusal stands."""

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Ask one after the other."""
        verdicts: list[Verdict] = []
        for gate in self.gates:
            verdicts.append(gate(candidate, context))
            if not verdicts[-1].admitted:
                break
        said = verdicts[-1]
        if context.relaxed and said.admitted:
            # An admission by the floor says so, whichever gate was asked last.
            said = next((v for v in verdicts if v.gate == RELEVANCE), said)
        telemetry = tuple(sign for verdict in verdicts for sign in verdict.telemetry)
        return said.model_copy(update={"telemetry": telemetry}) if telemetry else said


class Any(Several):
    """Admits what one admits; the last refusal stands."""

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Ask until one admits."""
        for gate in self.gates:
            verdict = gate(candidate, context)
            if verdict.admitted:
                break
        return verdict


@dataclass(frozen=True)
class Not(Gate):
    """Admits what the other refuses."""

    gate: Gate

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """The opposite."""
        verdict = self.gate(candidate, context)
        return verdict.model_copy(
            update={"admitted": not verdict.admitted, "reason": f"not: {verdict.reason}"}
        )


def qualify(
    candidates: Sequence[Candidate], gate: GateLike, context: Context, *, floor: int = 0
) -> tuple[list[Evidence], list[Verdict]]:
    """A_t+: judge the candidates, best first.

    Args:
        candidates: A_t.
        gate: The gate.
        context: The turn, the state, and what was retired.
        floor: Candidates that should be admitted if that takes no more than a lower
            relevance threshold; every other refusal is final.

    Returns:
        The evidence as the compressor reads it, and a verdict for each candidate.
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
    return context.admitted, verdicts


def _judged(judge: Gate, candidate: Candidate, context: Context) -> Verdict:
    try:
        verdict = judge(candidate, context)
    except Exception as error:  # a broken gate admits nothing, and stops no turn
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
