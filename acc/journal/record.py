"""A commit's record: everything that `acc.commit.commit` was given, and what it made beside the state.

`verify` gives it to `commit` once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from acc.commit.commit import Commit, Given
from acc.gate import Verdict
from acc.models.protocol import Usage
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import (
    Proposal,
    ProposedDone,
    ProposedLater,
    ProposedPin,
    ProposedRecord,
)
from acc.state.reading import Judgement
from acc.state.reasons import Note
from acc.state.tail import Message
from acc.turn.observations import Evidence

S = TypeVar("S", bound=CompressedCognitiveState)
T = TypeVar("T")

Kind = Literal["step", "taken", "fork", "ingest"]
"""``step``: `commit` made it. ``taken``: a state that came from outside, as of a checkpoint or a seed. ``fork``: the
first of a branch. ``ingest``: documents came in."""


_PROPOSED = {
    "rules": ProposedPin, "goals": ProposedPin, "next": ProposedPin, "later": ProposedLater,
    "done": ProposedDone, "records": ProposedRecord,
}  # fmt: skip
_PLAIN = ("number", "is_provisional", "is_repair", "withdrawn")


@dataclass(frozen=True)
class Entry(Generic[S]):
    """A commit as the journal takes it.

    Attributes:
        commit: What was made, with what it was made of.
        policy: Under which rules.
        usage: What the models cost.
        outcome: How the compressor ended, in one word; empty if it was not asked.
        failure: Why the compressor failed; empty if it did not.
        verdicts: What the gate said of what was recalled.
        kind: Where the state comes from.
    """

    commit: Commit[S]
    policy: Policy
    usage: Usage = field(default_factory=Usage)
    outcome: str = ""
    failure: str = ""
    verdicts: tuple[Verdict, ...] = ()
    kind: Kind = "step"

    @property
    def turn(self) -> tuple[Message, ...]:
        """The new messages that it took."""
        return self.commit.given.turn


def record_of(entry: Entry[Any]) -> dict[str, Any]:
    """Return the record as plain JSON values; what is empty is left out."""
    body: dict[str, Any] = {
        "notes": [_dumped(note) for note in entry.commit.notes],
        "no_room": list(entry.commit.no_room),
        "usage": {k: v for k, v in vars(entry.usage).items() if v},
        "outcome": entry.outcome,
        "failure": entry.failure,
        "verdicts": [[v.ref, v.place, v.reason] for v in entry.verdicts],
    }
    if entry.kind == "step":
        body["given"] = _given_body(entry.commit.given)
    return {key: value for key, value in body.items() if value}


def _given_body(given: Given) -> dict[str, Any]:
    plain = {name: getattr(given, name) for name in _PLAIN}
    body: dict[str, Any] = {
        **plain,
        "turn": [message.ref for message in given.turn],
        "read": [_reading(message) for message in given.read],
        "evidence": [_dumped(each) for each in given.evidence],
        "heard": [_dumped(each) for each in given.heard],
        "judgements": [_dumped(each) for each in given.judgements],
        "before": [_dumped(note) for note in given.before],
    }
    body = {key: value for key, value in body.items() if value}
    if given.proposal is not None:
        proposal = asdict(replace(given.proposal, notes=()))
        proposal["notes"] = [_dumped(note) for note in given.proposal.notes]
        body["proposal"] = {key: value for key, value in proposal.items() if value}
    return body


def _dumped(part: Note | Judgement | Evidence) -> dict[str, Any]:
    return part.model_dump(mode="json", exclude_defaults=True)


def _reading(message: Message) -> list[Any]:
    """Return ref and marks of a message that was read; of a piece of one its text, too."""
    found: list[Any] = [message.ref, message.status, message.tries]
    if message.cut_start or message.cut_end:
        found += [message.cut_start, message.cut_end, message.text]
    return found


def given_of(
    record: Mapping[str, Any], turn: Sequence[Message], text_of: Callable[[str], Message]
) -> Given:
    """Return what `commit` was given.

    Args:
        record: The record.
        turn: The messages that the commit took.
        text_of: Returns the message of a ref.

    Raises:
        KeyError: A message that was read is not there.
        TypeError: The record is damaged. So do ValueError and AttributeError say.
    """
    body: Mapping[str, Any] = record.get("given", {})
    proposal = body.get("proposal")
    parts = {
        "turn": tuple(turn),
        "read": tuple(_read(each, text_of) for each in body.get("read", ())),
        "proposal": None if proposal is None else _proposal(proposal),
        "evidence": tuple(map(Evidence.model_validate, body.get("evidence", ()))),
        "heard": tuple(map(Evidence.model_validate, body.get("heard", ()))),
        "judgements": tuple(map(Judgement.model_validate, body.get("judgements", ()))),
        "before": notes_of(body.get("before", ())),
    }
    return _built(Given, {**body, **parts})


def notes_of(bodies: Iterable[Mapping[str, Any]]) -> tuple[Note, ...]:
    """Return stored notes."""
    return tuple(Note.model_validate(each) for each in bodies)


def _read(stored: Sequence[Any], text_of: Callable[[str], Message]) -> Message:
    ref, status, tries, *piece = stored
    message = text_of(ref)
    if not piece:
        return replace(message, status=status, tries=tries)
    observation = message.observation.model_copy(update={"text": piece[2]})
    return replace(
        message, status=status, tries=tries, observation=observation,
        cut_start=piece[0], cut_end=piece[1],
    )  # fmt: skip


def _proposal(body: Mapping[str, Any]) -> Proposal:
    lists = {
        name: tuple(_built(kind, each) for each in body.get(name, ()))
        for name, kind in _PROPOSED.items()
    }
    return _built(Proposal, {**body, **lists, "notes": notes_of(body.get("notes", ()))})


def _built(kind: Callable[..., T], body: Mapping[str, Any]) -> T:
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in body.items()})
