"""Labelled messages for the gate: read from a file, or derived from a scenario's ground truth.

A file has one JSON object per line::

    {"question": "...", "read": "the state and the tail that the agent reads anyway", "in_tail": ["u9"],
     "messages": [{"text": "...", "wanted": true, "channel": "tool", "turn": 3, "ref": "t3",
                   "name": "kubectl", "says": ["port"]}]}

Required are the question, and the text and label of each message of the thread in its order: ``wanted`` is true,
false, or null for no label. ``says`` names the needs that a message meets; it matters if several meet the same need.
A message is admitted if a passage of it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acc.errors import InputError
from acc.folders import file_errors
from acc.gate import Candidate, qualify
from acc.state.policy import Gate
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation
from acc_eval.ground_truth import Matcher, Probe
from acc_eval.memories.acc import DEFAULT_GATE, AccMemory, ThreadRecall, make_acc
from acc_eval.scenarios import Scenario

NOT_FOUND = "not_found"
"""Why a wanted message was not admitted if recall did not find it."""


@dataclass(frozen=True)
class Label:
    """What is known of a message: whether it is wanted, None for no label, and the needs that it meets."""

    wanted: bool | None
    says: frozenset[str] = frozenset()

    def needs(self, ref: str) -> frozenset[str]:
        """The needs that the message meets; one of its own if it is wanted and names none."""
        return (self.says or frozenset({ref})) if self.wanted else frozenset()


@dataclass(frozen=True)
class LabelledCase:
    """A question, the passages that recall found, best first, and the labels of messages by ref.

    Attributes:
        messages: The messages of the thread.
        read: What the agent reads anyway: state and tail.
        in_tail: Refs of the messages in the tail.
    """

    question: str
    candidates: Sequence[Candidate]
    labels: Mapping[str, Label]
    messages: Sequence[Message] = field(default=(), repr=False)
    read: str = ""
    in_tail: frozenset[str] = frozenset()


@dataclass(frozen=True)
class GateScore:
    """The score of a gate.

    Attributes:
        cases: Number of questions.
        labelled: Number of messages with a label that are wanted or that recall found.
        wanted: Number of wanted messages.
        admitted: Number of admitted messages with a label.
        right: Number of messages that are wanted and admitted.
        needs: Needs that at least one message meets, counted per case.
        found: Needs that at least one admitted message meets.
        refusals: Wanted messages that were not admitted, counted by the reason.
    """

    cases: int
    labelled: int
    wanted: int
    admitted: int
    right: int
    needs: int
    found: int
    refusals: Mapping[str, int]

    @property
    def precision(self) -> float | None:
        """``right`` / ``admitted``."""
        return _share(self.right, self.admitted)

    @property
    def recall(self) -> float | None:
        """``right`` / ``wanted``."""
        return _share(self.right, self.wanted)

    @property
    def needs_found(self) -> float | None:
        """``found`` / ``needs``."""
        return _share(self.found, self.needs)

    @property
    def base(self) -> float | None:
        """Precision of admitting everything: ``wanted`` / ``labelled``."""
        return _share(self.wanted, self.labelled)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        if self.precision is None or self.recall is None:
            return None
        if not self.right:
            return 0.0
        return 2 * self.precision * self.recall / (self.precision + self.recall)

    def as_json(self) -> dict[str, Any]:
        """The score as plain JSON values."""
        return {
            "cases": self.cases, "labelled": self.labelled, "wanted": self.wanted,
            "admitted": self.admitted, "right": self.right, "precision": self.precision,
            "recall": self.recall, "f1": self.f1, "precision_of_admitting_all": self.base,
            "needs": self.needs, "needs_found": self.needs_found,
            "wanted_but_refused": dict(self.refusals),
        }  # fmt: skip


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def score_gate(cases: Iterable[LabelledCase], gate: Gate = DEFAULT_GATE) -> GateScore:
    """Run the gate on every case and score it."""
    count = Counter(dict.fromkeys(_COUNTS, 0))
    refusals: Counter[str] = Counter()
    for case in cases:
        reasons = _reasons(case, gate)
        needs: set[str] = set()
        found: set[str] = set()
        for ref, label in case.labels.items():
            reason = reasons.get(ref, NOT_FOUND)
            if label.wanted is None or (reason == NOT_FOUND and not label.wanted):
                continue
            admitted = reason == "admitted"
            needs |= label.needs(ref)
            found |= label.needs(ref) if admitted else set()
            right = label.wanted and admitted
            count.update(labelled=1, wanted=label.wanted, admitted=admitted, right=right)
            refusals[reason] += label.wanted and not admitted
        count.update(cases=1, needs=len(needs), found=len(found))
    refused = {name: number for name, number in sorted(refusals.items()) if number}
    return GateScore(**count, refusals=refused)


_COUNTS = ("cases", "labelled", "wanted", "admitted", "right", "needs", "found")


def _reasons(case: LabelledCase, gate: Gate) -> dict[str, str]:
    """``admitted`` or the reason against its best passage, by ref."""
    _, verdicts = qualify(case.candidates, case.question, case.read, case.in_tail, gate)
    reasons: dict[str, str] = {}
    for verdict in verdicts:
        if verdict.reason == "admitted" or verdict.ref not in reasons:
            reasons[verdict.ref] = verdict.reason
    return reasons


class _Labelled(BaseModel):
    """A message in a line of the file."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1)
    wanted: bool | None
    channel: Channel = Channel.USER
    turn: int = Field(1, ge=0)
    ref: str = ""
    name: str = ""
    says: frozenset[str] = frozenset()


class _Case(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1)
    messages: list[_Labelled] = Field(min_length=1)
    read: str = ""
    in_tail: frozenset[str] = frozenset()


def read_labelled(file: Path) -> Iterator[LabelledCase]:
    """Read a file of labelled messages.

    Raises:
        InputError: The file cannot be read, or a line is malformed; the error names it.
    """
    what, hint, besides = "the labels cannot be read", "choose another file", (UnicodeDecodeError,)
    with file_errors(InputError, what, where=file, hint=hint, besides=besides):
        lines = file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _case(line, f"{file}, line {number}")


def _case(line: str, where: str) -> LabelledCase:
    try:
        given = _Case.model_validate(json.loads(line))
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{' '.join(map(str, first['loc']))}: {first['msg']}"
        raise InputError(what, where=where, hint="see docs/evaluation.md for the format") from error
    except (ValueError, RecursionError) as error:
        hint = "write one JSON object per line"
        raise InputError(f"not JSON: {error}", where=where, hint=hint) from error
    messages = [_message(at, each) for at, each in enumerate(given.messages, 1)]
    labels = {
        message.ref: Label(each.wanted, each.says)
        for message, each in zip(messages, given.messages, strict=True)
    }
    return case_of(given.question, messages, labels, read=given.read, in_tail=given.in_tail)


def _message(at: int, given: _Labelled) -> Message:
    observation = Observation(
        channel=given.channel, text=given.text, name=given.name, ref=given.ref or f"x{at}"
    )
    return Message(observation, given.turn)


def case_of(
    question: str,
    messages: Sequence[Message],
    labels: Mapping[str, Label],
    *,
    read: str = "",
    in_tail: frozenset[str] = frozenset(),
) -> LabelledCase:
    """A case of one question to a thread of ``messages``."""
    index = ThreadRecall()
    for message in messages:
        index.add(message)
    found = index.recall(question)
    return LabelledCase(question, found, labels, messages, read, in_tail)


def cases_of(scenario: Scenario) -> Iterator[LabelledCase]:
    """Derive one case per probe of a scenario: a thread under the keyless rules, asked after the turn.

    A message is wanted if it holds an entry that the probe needs and the agent does not read anyway. It has no
    label if it holds an entry that state or tail already have. Any other message is unwanted.
    """
    matcher, truth = Matcher(scenario.truth), scenario.truth
    memory = make_acc()
    for number, turn in enumerate(scenario.turns, 1):
        memory.observe(turn)
        for probe in truth.probes:
            if probe.turn == number:
                yield _probed(memory, probe, matcher)


def _probed(memory: AccMemory, probe: Probe, matcher: Matcher) -> LabelledCase:
    reading, needs = memory.held(), set(probe.needs)
    held = frozenset[str]().union(*(matcher.found(item.text).entries for item in reading.items))
    labels = {}
    for message in memory.journal:
        needed = matcher.found(message.text).entries & needs
        labels[message.ref] = Label(_wanted(needed, held), frozenset(needed - held))
    in_tail = frozenset(message.ref for message in memory.tail)
    return case_of(
        probe.question, tuple(memory.journal), labels, read=reading.text, in_tail=in_tail
    )


def _wanted(needed: frozenset[str] | set[str], held: frozenset[str]) -> bool | None:
    if needed - held:
        return True
    return None if needed else False


def as_lines(cases: Sequence[LabelledCase]) -> Iterator[str]:
    """The lines of a file of labelled messages, for manual review and correction."""
    for case in cases:
        messages = [
            {
                "text": m.text, "wanted": label.wanted, "channel": m.channel.value,
                "turn": m.turn, "ref": m.ref, "name": m.observation.name,
                "says": sorted(label.says),
            }
            for m in case.messages
            if m.text and not m.observation.is_call and (label := case.labels[m.ref])
        ]  # fmt: skip
        yield json.dumps({
            "question": case.question, "read": case.read, "in_tail": sorted(case.in_tail),
            "messages": messages,
        }, ensure_ascii=False)  # fmt: skip
