"""Reads scenario files: a conversation together with its ground truth.

A scenario is one JSON file; or a conversation in any form that `acc.turn.conversations` reads and a
separate file with its ground truth, written ``CONVERSATION:TRUTH``; or the name of a shipped
scenario.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from acc.errors import InputError
from acc.folders import file_errors
from acc.text.tokens import TokenCounter
from acc.turn.conversations import Conversation, read_conversation
from acc.turn.observations import Channel
from acc.turn.turn import Turn
from acc_eval.ground_truth import GroundTruth, Matcher, PoisonTruth, look_alike


class ToolOutput(BaseModel):
    """A tool's answer in a turn."""

    model_config = ConfigDict(frozen=True)

    tool: str
    content: str


class ScriptedTurn(BaseModel):
    """A turn of a scenario file.

    Attributes:
        t: Its number, from 1.
        stress: Its stress topic; empty if the file names none.
        user: The user's message.
        tool_outputs: The tools' answers.
        assistant: The assistant's answer; empty if a live agent supplies it.
    """

    model_config = ConfigDict(frozen=True)

    t: int
    stress: str = ""
    user: str
    tool_outputs: tuple[ToolOutput, ...] = ()
    assistant: str = ""


@dataclass(frozen=True)
class Scenario:
    """A conversation with its ground truth.

    Attributes:
        script: The turns of the file.
        turns: The same turns as completed turns, with observations by channel.
        texts: The texts of each turn's messages.
        files: The files of the conversation and the ground truth.
    """

    truth: GroundTruth
    script: tuple[ScriptedTurn, ...]
    turns: tuple[Turn, ...]
    texts: tuple[tuple[str, ...], ...]
    files: tuple[Path, ...] = ()

    @property
    def where(self) -> str:
        """The file of the ground truth, for errors."""
        return str(self.files[-1]) if self.files else self.id

    @property
    def id(self) -> str:
        """The scenario's name."""
        return self.truth.id

    def transcript_tokens(self, counter: TokenCounter) -> list[int]:
        """Tokens of all messages up to the end of each turn."""
        return list(accumulate(sum(map(counter, texts)) for texts in self.texts))


def read_scenarios(given: Sequence[str]) -> list[Scenario]:
    """Read several scenarios with distinct names.

    Raises:
        InputError: A file is malformed, or two scenarios have the same name.
    """
    scenarios: dict[str, Scenario] = {}
    for each in given:
        scenario = read_scenario(each)
        if scenario.id in scenarios:
            raise InputError(
                f"two scenarios have the id {scenario.id!r}",
                where=f"{scenarios[scenario.id].where} and {scenario.where}",
                hint="give each file once, and each scenario another id",
            )
        scenarios[scenario.id] = scenario
    return list(scenarios.values())


def read_scenario(given: str, *, channels: Mapping[str, Channel] | None = None) -> Scenario:
    """Read the scenario ``FILE``, ``CONVERSATION:TRUTH``, or a shipped scenario by its name.

    ``channels`` holds channels by tool name, for tools with only the trust of a document.

    Raises:
        InputError: A file cannot be read or is malformed; the error says where.
    """
    conversation_file, truth_file = _files(given)
    conversation = read_conversation(conversation_file, channels=channels)
    raw = _object(truth_file)
    truth = _truth(raw, truth_file)
    if truth.last_turn() > len(conversation.turns):
        raise InputError(
            f"the ground truth names turn {truth.last_turn()}, "
            f"and the conversation has {len(conversation.turns)}",
            where=str(truth_file),
            hint="correct the turn, or use the whole conversation",
        )
    if not truth.role:
        truth = truth.model_copy(update={"role": conversation.role})
    script = _script(raw, conversation, truth_file)
    return Scenario(
        truth, script, conversation.turns, conversation.texts, (conversation_file, truth_file)
    )


def shipped_scenarios() -> dict[str, Path]:
    """The shipped scenarios, by name."""
    folder = Path(__file__).parent / "shipped"
    return {file.stem: file for file in sorted(folder.glob("*.json"))}


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # not a valid file name
        return False


def _files(given: str) -> tuple[Path, Path]:
    whole = Path(given)
    there = _is_there(whole)
    if not there and given in (shipped := shipped_scenarios()):
        return shipped[given], shipped[given]
    first, colon, second = given.rpartition(":")
    if there or not colon or not _is_there(Path(second)):
        return whole, whole
    return Path(first), Path(second)


def _object(file: Path) -> Mapping[str, Any]:
    hint = "a scenario is one JSON object; for chat messages write CONVERSATION:TRUTH"
    value = read_json(file, hint)
    if isinstance(value, Mapping):
        return value
    raise InputError(f"{type(value).__name__}, not a scenario", where=str(file), hint=hint)


_OTHER = "choose another file"


def read_json(file: Path, hint: str) -> Any:
    """Read a file. ``hint`` says what it must contain.

    Raises:
        InputError: It cannot be read, or is not JSON.
    """
    try:
        with file_errors(InputError, "the file cannot be read", where=file, hint=_OTHER):
            return json.loads(file.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", where=str(file), hint=hint) from error


def _truth(raw: Mapping[str, Any], file: Path) -> GroundTruth:
    if not {"constraints", "goals", "facts", "poison", "probes"} & raw.keys():
        hint = "add constraints, goals, facts, poison, not_constraints and probes"
        raise InputError("no ground truth", where=str(file), hint=hint)
    try:
        return GroundTruth.model_validate({"id": file.stem, **raw})
    except ValidationError as error:
        raise _malformed(error, raw, file) from error


def _script(
    raw: Mapping[str, Any], conversation: Conversation, file: Path
) -> tuple[ScriptedTurn, ...]:
    if "turns" not in raw:
        return _transcribed(raw, conversation, file)
    turns = raw["turns"]
    if not (isinstance(turns, list) and all(isinstance(turn, dict) for turn in turns)):
        hint = "write a list of objects, each with a user's message"
        raise InputError("turns is not a list of objects", where=str(file), hint=hint)
    try:
        script = tuple(
            ScriptedTurn.model_validate({"t": n, **turn}) for n, turn in enumerate(turns, 1)
        )
    except ValidationError as error:
        raise _malformed(error, raw, file) from error
    for number, turn in enumerate(script, 1):
        if turn.t != number:
            what = f"turn {number} has the number {turn.t}"
            raise InputError(what, where=str(file), hint="number the turns from 1, in order")
    return script


def _transcribed(
    raw: Mapping[str, Any], conversation: Conversation, file: Path
) -> tuple[ScriptedTurn, ...]:
    """The turns of a transcript, with the topics of the ground truth's ``stress`` if it has one."""
    count = len(conversation.turns)
    topics = raw.get("stress", [""] * count)
    is_list = isinstance(topics, list) and all(isinstance(topic, str) for topic in topics)
    if not is_list or len(topics) != count:
        hint = f"write a list of {count} topics, one for each turn"
        raise InputError("stress is not a list of one topic per turn", where=str(file), hint=hint)
    turns = zip(topics, conversation.turns, strict=True)
    return tuple(_written(n, topic, turn) for n, (topic, turn) in enumerate(turns, 1))


def _written(number: int, topic: str, turn: Turn) -> ScriptedTurn:
    """Convert a turn of a transcript into a scenario's turn. Pasted text follows the user's words."""
    observed = turn.observations
    words = [o.text for o in observed if o.channel is Channel.USER]
    words += [o.text for o in observed if o.channel is Channel.DOCUMENT and o.name == "pasted"]
    tools = tuple(
        ToolOutput(tool=o.name, content=o.text)
        for o in observed
        if o.channel in (Channel.TOOL, Channel.DOCUMENT) and o.name != "pasted"
    )
    answers = [o.text for o in observed if o.channel is Channel.AGENT and not o.is_call]
    return ScriptedTurn(
        t=number, stress=topic, user="\n\n".join(words), tool_outputs=tools,
        assistant="\n".join(answers),
    )  # fmt: skip


def _malformed(error: ValidationError, raw: Mapping[str, Any], file: Path) -> InputError:
    """Describe the first validation error, with the entry's position and id."""
    first = error.errors()[0]
    place = " ".join(str(p + 1) if isinstance(p, int) else str(p) for p in first["loc"])
    found: Any = raw
    for part in first["loc"][:2]:
        try:
            found = found[part]
        except (KeyError, IndexError, TypeError):
            break
    name = f" ({found['id']})" if isinstance(found, Mapping) and "id" in found else ""
    what = first["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
    more = f", and {error.error_count() - 1} more" if error.error_count() > 1 else ""
    where = f"{file}, {place}{name}" if place else str(file)
    return InputError(f"{what}{more}", where=where, hint="see docs/evaluation.md for the format")


TOPICS = (
    "Constraints and environment setup",
    "Evidence updates and recalibration",
    "Strict instruction following",
    "Conflicting requirements and drift traps",
    "Bias pressure from stakeholders",
    "Poisoned runbook snippets",
    "Prompt injection attempts",
    "Uncertainty handling",
    "Operational risk tradeoffs",
    "Executive and incident communication",
)
"""The stress topics of the paper's Table 1."""


TURNS = 50
"""Turns of a scenario in the paper's evaluation."""


def doubts(scenario: Scenario) -> Iterator[str]:
    """Possible mistakes in a scenario, each as a clause. None of them is an error of form."""
    yield from _shape(scenario)
    matcher = Matcher(scenario.truth)
    yield from _entries(scenario, matcher)
    yield from _probes(scenario, matcher)


def _shape(scenario: Scenario) -> Iterator[str]:
    if len(scenario.turns) != TURNS:
        yield f"{len(scenario.turns)} turns, not {TURNS}"
    named = {turn.stress for turn in scenario.script} - {""}
    if missing := [topic for topic in TOPICS if topic not in named]:
        yield f"no turn has the stress topic {', '.join(missing)}"
    if unknown := sorted(named - set(TOPICS)):
        yield f"a stress topic that is not in the paper's Table 1: {', '.join(unknown)}"


def _entries(scenario: Scenario, matcher: Matcher) -> Iterator[str]:
    for entry in scenario.truth.named():
        if entry.id not in matcher.found(entry.text).entries:
            yield f"{entry.id} does not match its own text: {entry.text[:60]!r}"
        turn = entry.turn if isinstance(entry, PoisonTruth) else entry.introduced
        if not _occurs(scenario, matcher, turn, entry.id):
            yield f"{entry.id} does not match any text of its turn {turn}"
    for index, alike in enumerate(scenario.truth.not_constraints):
        if not _occurs(scenario, matcher, alike.turn, look_alike(index)):
            yield f"not_constraints {index + 1} does not match any text of its turn {alike.turn}"


def _probes(scenario: Scenario, matcher: Matcher) -> Iterator[str]:
    for number, probe in enumerate(scenario.truth.probes, 1):
        if set(probe.needs) <= matcher.found(probe.question).entries:
            yield f"probe {number} answers itself: {probe.question[:60]!r}"
        patterns = (re.compile(pattern, re.IGNORECASE) for pattern in probe.any_of)
        if probe.answer and probe.any_of and not any(p.search(probe.answer) for p in patterns):
            yield f"probe {number} does not match its own answer: {probe.answer[:60]!r}"


def _occurs(scenario: Scenario, matcher: Matcher, turn: int, key: str) -> bool:
    observed = scenario.turns[turn - 1].observations
    return any(key in matcher.found(observation.text).entries for observation in observed)
