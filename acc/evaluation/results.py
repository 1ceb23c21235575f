"""What a probe found: turn by turn, by scenario, and averaged over scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acc.evaluation.metrics import (
    PROBES,
    Count,
    Counts,
    macro,
    mean,
    micro,
    pooled,
    rates,
    token_summary,
)


@dataclass(frozen=True)
class TurnResult:
    """How a memory stands after a turn.

    Attributes:
        turn: The turn, from 1.
        tokens: Tokens of what it holds.
        transcript_tokens: Tokens of all messages so far.
        counts: What it gets right and wrong.
    """

    turn: int
    tokens: int
    transcript_tokens: int
    counts: Counts


@dataclass(frozen=True)
class Asked:
    """A probe, and whether the memory answers it; ``tokens`` are what the agent would read."""

    turn: int
    question: str
    needs: tuple[str, ...]
    answered: bool
    tokens: int


@dataclass(frozen=True)
class ScenarioResult:
    """One memory on one scenario.

    Attributes:
        scenario: The scenario's id.
        domain: Its domain.
        turns: Turn by turn.
        probes: Its questions, in their order.
        notable: By rate, entries missing at the end, or held and should not be.
        failures: Compressions that failed, as the memory tells them.
        max_tokens: The bound that it states; None for none.
    """

    scenario: str
    domain: str
    turns: tuple[TurnResult, ...]
    probes: tuple[Asked, ...]
    notable: dict[str, list[str]]
    failures: tuple[str, ...] = ()
    max_tokens: int | None = None

    @property
    def end(self) -> Counts:
        """Counts after the last turn, with all probes."""
        return {**self.turns[-1].counts, **self._asked()}

    @property
    def over_turns(self) -> Counts:
        """Counts summed over all turns, with all probes."""
        return {**pooled(turn.counts for turn in self.turns), **self._asked()}

    @property
    def tokens(self) -> dict[str, float]:
        """Mean, greatest and last tokens."""
        return token_summary([turn.tokens for turn in self.turns])

    @property
    def share_of_transcript(self) -> float | None:
        """The greatest tokens of a turn over those of the whole transcript.

        The format wants the bound at a tenth or less.
        """
        whole = self.turns[-1].transcript_tokens
        return self.tokens["tokens_max"] / whole if whole else None

    def _asked(self) -> Counts:
        return {PROBES: Count(sum(p.answered for p in self.probes), len(self.probes))}

    def as_json(self) -> dict[str, Any]:
        """The result as plain JSON values."""
        return {
            "scenario": self.scenario,
            "domain": self.domain,
            "end": _rounded(rates(self.end)),
            "over_turns": _rounded(rates(self.over_turns)),
            "tokens": _rounded({**self.tokens, "share_of_transcript": self.share_of_transcript}),
            "notable": self.notable,
            "failures": list(self.failures),
            "max_tokens": self.max_tokens,
            "probes": [vars(probe) | {"needs": list(probe.needs)} for probe in self.probes],
            "turns": [
                {
                    "turn": turn.turn,
                    "tokens": turn.tokens,
                    "transcript_tokens": turn.transcript_tokens,
                    "counts": {name: list(count) for name, count in turn.counts.items()},
                }
                for turn in self.turns
            ],
        }


@dataclass(frozen=True)
class MemoryResult:
    """One memory on all scenarios.

    Attributes:
        memory: Its label.
        scenarios: Its results, in the order given.
    """

    memory: str
    scenarios: tuple[ScenarioResult, ...]

    def averages(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """``end`` and ``turns``, each ``micro`` and ``macro``: a value by metric.

        Tokens are averaged over scenarios; the greatest is the greatest of all.
        """
        tokens = self._tokens()
        found = {}
        for when, counts in (
            ("end", [s.end for s in self.scenarios]),
            ("turns", [s.over_turns for s in self.scenarios]),
        ):
            found[when] = {
                "micro": {**micro(counts), **tokens},
                "macro": {**macro(counts), **tokens},
            }
        return found

    def as_json(self) -> dict[str, Any]:
        """The result as plain JSON values."""
        averages = {
            when: {how: _rounded(values) for how, values in both.items()}
            for when, both in self.averages().items()
        }
        return {
            "memory": self.memory,
            "averages": averages,
            "scenarios": [result.as_json() for result in self.scenarios],
        }

    def _tokens(self) -> dict[str, float | None]:
        each = [result.tokens for result in self.scenarios]
        return {
            "tokens_mean": mean(tokens["tokens_mean"] for tokens in each),
            "tokens_max": max(tokens["tokens_max"] for tokens in each),
            "tokens_last": mean(tokens["tokens_last"] for tokens in each),
        }


def _rounded(values: Mapping[str, float | None]) -> dict[str, float | None]:
    return {n: None if v is None else round(float(v), 6) for n, v in values.items()}
