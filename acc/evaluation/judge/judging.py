"""The judge: an agent that writes queries, keeps notes, scores answers and audits them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, NamedTuple, TypeVar

from acc.compressors.endpoint import Ask, Endpoint, Message
from acc.errors import EvaluationError
from acc.evaluation.asking import Patience, asked, object_in
from acc.evaluation.judge.canonical import MOST_FACTS, CanonicalMemory, parsed_claims
from acc.evaluation.judge.prompts import (
    AUDIT,
    AUDIT_SCHEMA,
    CANONICAL,
    CANONICAL_SCHEMA,
    METRICS,
    QUERY,
    QUERY_SCHEMA,
    SCORE,
    SCORE_SCHEMA,
    SUPPORTS,
    bulleted,
    cut,
    instruction,
    material,
)
from acc.evaluation.scenarios import ScriptedTurn

Scores = dict[str, float]
"""Outcome scores by the names of `METRICS`, from 0 to 10."""

T = TypeVar("T")


class Audit(NamedTuple):
    """What an audit of one answer found.

    Attributes:
        claims: Number of claims by support (`SUPPORTS`).
        violations: V_t, constraints that the answer breaks.
        omissions: O_t, required elements that it lacks.
    """

    claims: Mapping[str, int]
    violations: int
    omissions: int


@dataclass(frozen=True)
class JudgeSettings:
    """How the judge works.

    Attributes:
        visible_chars: Characters of an answer, and of tool outputs, that it reads.
        most_claims: Claims that it extracts from an answer at the most.
        output_tokens: Tokens of one of its answers at the most.
    """

    visible_chars: int = 4_000
    most_claims: int = 20
    output_tokens: int = 4_000


class Judge:
    """Judges one run. An answer that cannot be used is asked for once more, then given up.

    Attributes:
        unjudged: Judgements that were given up.
    """

    def __init__(
        self, endpoint: Endpoint, settings: JudgeSettings, patience: Patience, role: str
    ) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._patience = patience
        self._role = role
        self.unjudged = 0

    def query(self, turn: ScriptedTurn, turns: int, notes: CanonicalMemory) -> str:
        """x_t: the next query, from the topic schedule, the script and the notes.

        Where nothing usable comes, the scripted words.
        """
        topic = turn.stress or "none"
        stable = instruction(QUERY, role=self._role, turn=turn.t, turns=turns, topic=topic)
        shown = material(("notes", notes.rendered()), (f"script of turn {turn.t}", turn.user))
        said = self._judged(stable, shown, QUERY_SCHEMA, _read_query)
        return said if said is not None else turn.user

    def noted(self, turn: int, query: str, notes: CanonicalMemory) -> CanonicalMemory:
        """The notes after ``query``; the same notes where nothing usable comes."""
        stable = instruction(CANONICAL, most_facts=MOST_FACTS)
        shown = material(("notes", notes.rendered()), (_said(turn), query))
        read = self._judged(stable, shown, CANONICAL_SCHEMA, _read_notes)
        return read if read is not None else notes

    def scored(
        self,
        turn: int,
        query: str,
        notes: CanonicalMemory,
        answers: Sequence[str],
        order: random.Random,
    ) -> list[Scores | None]:
        """The scores of each answer, blinded, presented in an order drawn from ``order``."""
        places = list(range(len(answers)))
        order.shuffle(places)
        labels = {ascii_uppercase[n]: place for n, place in enumerate(places)}
        longest = self._settings.visible_chars
        answered = [(f"answer {label}", cut(answers[at], longest)) for label, at in labels.items()]
        shown = material(("notes", notes.rendered()), (_said(turn), query), *answered)
        found = self._judged(
            instruction(SCORE), shown, SCORE_SCHEMA, lambda value: _read_scores(value, labels)
        )
        return [None if found is None else found[place] for place in range(len(answers))]

    def audited(
        self, turn: int, query: str, tools: str, notes: CanonicalMemory, answer: str
    ) -> Audit | None:
        """The claims, violations and omissions of one answer, whose author it is not told."""
        longest = self._settings.visible_chars
        stable = instruction(AUDIT, most_claims=self._settings.most_claims)
        shown = material(
            ("notes", notes.rendered()),
            ("required of the answer", bulleted(notes.required)),
            (_said(turn), query),
            ("tool outputs of this turn, for the label tools alone", cut(tools, longest)),
            ("the answer", cut(answer, longest)),
        )
        return self._judged(stable, shown, AUDIT_SCHEMA, _read_audit)

    def _judged(
        self,
        stable: str,
        shown: str,
        schema: Mapping[str, Any],
        read: Callable[[Mapping[str, Any]], T],
    ) -> T | None:
        """What ``read`` makes of the model's object; it raises ValueError for one that is no use."""
        messages: tuple[Message, ...] = (Message("system", stable), Message("user", shown))
        for _ in range(2):
            reply = asked(
                self._endpoint, Ask(messages, schema, self._settings.output_tokens), self._patience
            )
            try:
                return read(object_in(reply, schema, self._endpoint.model))
            except (ValueError, EvaluationError) as error:
                said = Message("assistant", reply.text[:4_000].strip() or "(nothing)")
                again = f"That cannot be used: {error}. Reply again with the whole JSON object."
                messages = (*messages, said, Message("user", again))
        self.unjudged += 1
        return None


def _said(turn: int) -> str:
    return f"the user's message in turn {turn}"


def presentation_order(seed: int, scenario: str, turn: int) -> random.Random:
    """What the order of presentation is drawn from: another one each turn, the same each time."""
    return random.Random(f"{seed}/{scenario}/{turn}")


def _read_query(value: Mapping[str, Any]) -> str:
    query = value.get("query")
    if not isinstance(query, str) or not query.strip():
        raise ValueError("the field query is no text")
    return query.strip()


def _read_notes(value: Mapping[str, Any]) -> CanonicalMemory:
    if missing := [
        name for name in CANONICAL_SCHEMA["properties"] if not isinstance(value.get(name), list)
    ]:
        raise ValueError(f"{missing[0]} is no list")
    return CanonicalMemory.read(value)


def _read_scores(value: Mapping[str, Any], labels: Mapping[str, int]) -> dict[int, Scores]:
    """Scores by place; every label exactly once, every score a number from 0 to 10."""
    entries = value.get("answers")
    found: dict[int, Scores] = {}
    for entry in entries if isinstance(entries, list) else ():
        label = str(entry.get("label", "")).strip().upper() if isinstance(entry, Mapping) else ""
        label = label.removeprefix("ANSWER ").strip()
        if label not in labels or labels[label] in found:
            raise ValueError(f"the label {label!r} is unknown, or stands twice")
        found[labels[label]] = {metric: _score(entry.get(metric), metric) for metric in METRICS}
    if len(found) != len(labels):
        raise ValueError(f"{len(labels)} answers were given, and {len(found)} are scored")
    return found


def _score(value: Any, metric: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10:
        raise ValueError(f"{metric} is {value!r}, not a number from 0 to 10")
    return float(value)


def _read_audit(value: Mapping[str, Any]) -> Audit:
    claims = parsed_claims(value.get("claims"), SUPPORTS)
    violations, omissions = value.get("violations"), value.get("omissions")
    if claims is None or not isinstance(violations, list) or not isinstance(omissions, list):
        raise ValueError(f"claims need a support of {', '.join(SUPPORTS)}; the rest are lists")
    return Audit(claims, len(violations), len(omissions))
