"""Agents by rule: what each says follows from its prompt, its share of `POINTS` and the run's number.

They are no model and stand for none. What is built in: an agent knows only what it reads, says again what it no longer
reads and what the evaluation agent misses, and accepts when nothing is left to say. How a memory decides what is read
is not built in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

from acc.models.protocol import Completion, Messages, Schema, Usage
from acc.text.lines import canonical_json
from acc.text.tokens import utf8_quarter
from acc_eval.judge_by_rule import source_titled

from .judging import METRICS
from .rule_judge import verdicts
from .rule_points import COMPONENTS, POINTS, Point, said_in
from .team import WORKERS

NOTICE = "agents and judge answer by rule: these are no language model's results, and say nothing about one"

SHARE = 0.8
"""The chance that an agent of a run knows a statement of its role. It makes the runs differ."""

FEWEST, MOST = 5, 8
"""Statements that a worker adds in one turn."""

TALK = (
    "I have thought about this with the whole vehicle fleet in mind and with the people who will look after it.",
    "Other teams that I know of went through the same question and came to much the same view in the end.",
    "We could argue about the details for a long while and still not be far apart from one another on this.",
    "It fits what was said about live data and about the different kinds of sensors on each of the cars.",
    "Please tell me when you see it differently and I will gladly go through the arguments once more.",
    "This is one of the parts on which the rest will lean and so it deserves a careful look by everybody.",
)
"""What a talkative worker says around its statements: words without a statement, as models write them."""

MOST_GAPS = 6
"""Gaps that the evaluation agent names in one turn."""

_ROLE = re.compile(r"You are (\w+),")


class Luck(NamedTuple):
    """What makes a run of the rule agents.

    Attributes:
        seed: The run.
        talk: Sentences of `TALK` that a worker says after each statement.
    """

    seed: int
    talk: int = 0


def answer(system: str, user: str, fields: frozenset[str], luck: Luck) -> Mapping[str, Any]:
    """The answer to one prompt, as the object that it asks for.

    Args:
        system: The instructions; they name the role.
        user: All that the agent reads, or the design.
        fields: Names of the fields that are asked for: the judge's, or an agent's.
        luck: The run.
    """
    if frozenset(METRICS) <= fields:
        return verdicts(source_titled(user, "the design"))
    found = _ROLE.match(system)
    role = found[1] if found else ""
    memory = source_titled(user, "your memory")
    read = f"{memory}\n\n{source_titled(user, 'the conversation')}"
    speak = _LEADERS.get(role)
    return {"text": speak(read) if speak else _worker(role, read, luck)}


def known(role: str, seed: int) -> list[Point]:
    """The statements that ``role`` knows in a run, in the order in which it would say them."""
    drawn = Random(f"{seed}/{role}")
    mine = [point for point in POINTS if point.role == role and drawn.random() < SHARE]
    drawn.shuffle(mine)
    return mine


def _worker(role: str, read: str, luck: Luck) -> str:
    """Say what was not read yet, and again what the evaluation agent misses; that comes first."""
    said = said_in(read)
    _, _, gaps = read.rpartition("ERA: ")
    answered = said_in(gaps)
    asked = [
        point
        for point in known(role, luck.seed)
        if gap(point.component, point.kind) in gaps and point not in answered
    ]
    missing = asked + [p for p in known(role, luck.seed) if p not in said and p not in asked]
    drawn = Random(f"{luck.seed}/{role}/{len(missing)}")
    most = drawn.randint(FEWEST, MOST)
    sentences = [
        sentence
        for point in missing[:most]
        for sentence in (point.sentence, *drawn.sample(TALK, luck.talk))
    ]
    if len(missing) <= most:
        sentences.append("I ACCEPT the proposal.")
    return " ".join(sentences)


def _delegate(read: str) -> str:
    accepted = [worker for worker in WORKERS if _has_accepted(worker, read)]
    told = " ".join(f"{worker} accepts the proposal." for worker in accepted)
    return f"{told} {'FINALIZE.' if len(accepted) == len(WORKERS) else 'Please go on.'}".strip()


def _has_accepted(worker: str, read: str) -> bool:
    """By its own words, by those of the delegation agent, or by a row of the delegation agent's memory."""
    words = rf"^{worker}: .*\bACCEPT\b|\b{worker} accepts the proposal|\b{worker},the proposal"
    return re.search(words, read, re.MULTILINE) is not None


def _integrate(read: str) -> str:
    sentences = [point.sentence for point in said_in(read)]
    return " ".join(["So far the team proposes this.", *sentences])


def gap(component: str, kind: str) -> str:
    """How the evaluation agent names what is missing."""
    return f"{component.capitalize()} lacks a {kind}."


def _evaluate(read: str) -> str:
    said = {(point.component, point.kind) for point in said_in(read)}
    kinds = dict.fromkeys(point.kind for point in POINTS)
    gaps = [gap(one, kind) for kind in kinds for one in COMPONENTS if (one, kind) not in said]
    return " ".join(gaps[:MOST_GAPS]) or "The proposal lacks nothing."


def _document(read: str) -> str:
    """PIPELINE_OVERVIEW.json: each component that was read of, with every sentence on it."""
    said = said_in(read)
    design: dict[str, Any] = {"Platform": "AWS"}
    for number, component in enumerate(
        (c for c in COMPONENTS if any(p.component == c for p in said)), 1
    ):
        own = {p.kind.capitalize(): p.sentence for p in said if p.component == component}
        design[f"Component {number}"] = {"Name": component, **own}
    rating = min(10, 1 + len(design))
    design |= {"Implementation difficulties": rating, "Maintenance difficulties": rating}
    return json.dumps(design, indent=1)


_LEADERS: Mapping[str, Callable[[str], str]] = {
    "CDA": _delegate,
    "KIA": _integrate,
    "ERA": _evaluate,
    "DJE": _document,
}


class RuleModel:
    """The rule agents and the rule judge of one run, in the place of a model."""

    name = "rule agent and rule judge"

    def __init__(self, luck: Luck) -> None:
        self._luck = luck

    def complete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Answer; tokens are UTF-8 bytes / 4 of all messages, the schema and the answer."""
        asked = dict(schema or {})
        system, user = messages[0].content, messages[-1].content
        text = json.dumps(answer(system, user, frozenset(asked["properties"]), self._luck))
        read = sum(utf8_quarter(message.content) for message in messages)
        read += utf8_quarter(canonical_json(asked))
        return Completion(text, Usage(1, read, utf8_quarter(text)), self.name)

    async def acomplete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Answer; nothing is waited for."""
        return self.complete(messages, schema, max_tokens=max_tokens)
