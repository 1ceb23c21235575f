"""Reads LoCoMo (snap-research) in its own format: conversations, and questions with evidence.

The data is licensed CC BY-NC 4.0 and not part of this project. Users need their own copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from acc.artifacts.recall import Recall
from acc.errors import InputError
from acc.journal import StoredMessage, ThreadKey
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation
from acc_eval.gate_scoring import Label, LabelledCase
from acc_eval.scenarios import read_json

CUTS = (5, 10, 16)


@dataclass(frozen=True)
class Outcome:
    """The result for one question: its recall at each of `CUTS`."""

    category: int
    recall: tuple[float, ...]


def messages_of(conversation: LocomoConversation) -> list[StoredMessage]:
    """The documents as messages of a user, one a turn."""
    found = []
    for number, text in enumerate(conversation.documents):
        said = Observation(channel=Channel.USER, text=text, ref=f"u{number}")
        found.append(StoredMessage(Message(said, number), "main", number))
    return found


def measure(
    conversation: LocomoConversation, recall: Recall | None = None, thread: str = "locomo"
) -> list[Outcome]:
    """Rank the messages for every question, asked after the end of ``conversation``.

    ``recall`` is the thread's, by default one by words alone.
    """
    rows, recall = messages_of(conversation), recall or Recall(None)
    outcomes = []
    for question in conversation.questions:
        reading = recall.reading(
            ThreadKey(thread), question.text, lambda: reversed(rows),
            lambda seqs: [rows[seq] for seq in seqs if 0 <= seq < len(rows)],
        )  # fmt: skip
        with reading as (scope, cosines):
            best = scope.best(question.text, cosines, recall.weight, None, max(CUTS))
            places = [scope.messages[at].seq for at in best]
        shares = (len(question.evidence & set(places[:c])) / len(question.evidence) for c in CUTS)
        outcomes.append(Outcome(question.category, tuple(shares)))
    return outcomes


def summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """All figures by name. Categories without questions are omitted."""
    figures = {f"R@{cut}": fmean(o.recall[i] for o in outcomes) for i, cut in enumerate(CUTS)}
    figures["hit@16"] = fmean(o.recall[-1] > 0 for o in outcomes)
    for category, name in CATEGORIES.items():
        if recalls := [o.recall[-1] for o in outcomes if o.category == category]:
            figures[f"R@16 {name}"] = fmean(recalls)
    return figures


def labelled_by_evidence(conversation: LocomoConversation) -> Iterator[LabelledCase]:
    """One case per question, with the passages of recall. Its evidence is wanted.

    There is no state, and every document counts as a user's message.
    """
    rows, recall = messages_of(conversation), Recall(None)
    for question in conversation.questions:
        found = recall.recall(
            ThreadKey("locomo"),
            question.text,
            lambda: reversed(rows),
            lambda seqs: [rows[seq] for seq in seqs],
        )
        labels = {row.message.ref: Label(row.seq in question.evidence) for row in rows}
        yield LabelledCase(question.text, found, labels)


CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""The categories of questions. The fifth, adversarial, has no evidence."""

_EVIDENCE = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True)
class Question:
    """A question with the positions of the documents that answer it."""

    text: str
    category: int
    evidence: frozenset[int]


@dataclass(frozen=True)
class LocomoConversation:
    """The documents of one conversation, in order, and the questions about it.

    A document is a turn: ``Speaker: text [image: caption]``.
    """

    documents: tuple[str, ...]
    questions: tuple[Question, ...]


def load_locomo(path: Path) -> list[LocomoConversation]:
    """Read the conversations of a file. Questions without existing evidence are omitted.

    Raises:
        InputError: The file cannot be read, or is not in LoCoMo's format.
    """
    samples = read_json(path, _HINT)
    if not (isinstance(samples, list) and samples):
        raise _malformed(path, "no list of conversations")
    found = []
    for number, sample in enumerate(samples, 1):
        try:
            found.append(_conversation(sample))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            what = f"conversation {number}: {type(error).__name__}: {error}"
            raise _malformed(path, what) from error
    if not any(conversation.questions for conversation in found):
        raise _malformed(path, "no question with evidence")
    return found


_HINT = "use locomo10.json as snap-research publishes it"


def _malformed(path: Path, what: str) -> InputError:
    return InputError(f"not in LoCoMo's format: {what}", where=str(path), hint=_HINT)


def _conversation(sample: dict[str, Any]) -> LocomoConversation:
    turns = list(_turns(sample["conversation"]))
    positions = {_ids(turn["dia_id"])[0]: at for at, turn in enumerate(turns)}
    questions = []
    for entry in sample["qa"]:
        named = _ids(" ".join(entry["evidence"]))
        evidence = frozenset(positions[turn] for turn in named if turn in positions)
        if evidence and entry["category"] in CATEGORIES:
            questions.append(Question(entry["question"], entry["category"], evidence))
    return LocomoConversation(tuple(map(_document, turns)), tuple(questions))


def _turns(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sessions = (key for key in conversation if re.fullmatch(r"session_\d+", key))
    for session in sorted(sessions, key=lambda key: int(key.removeprefix("session_"))):
        yield from conversation[session]


def _ids(text: str) -> list[tuple[int, int]]:
    # Compare ids as numbers: the data has several ids in one string, and "D30:05" for "D30:5".
    return [(int(session), int(turn)) for session, turn in _EVIDENCE.findall(text)]


def _document(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [image: {caption}]" if caption else "")
