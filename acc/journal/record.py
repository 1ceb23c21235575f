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

Kind = Literal["step", "taken", "fork", "erasure", "ingest"]
"""``step``: `commit` made it. ``taken``: a state that came from outside, as of a checkpoint or a seed. ``fork``: the
first of a branch. ``erasure``: what an erasure left of the state before. ``ingest``: documents came in."""


_PROPOSED = {
    "rules": ProposedPin, "goals": ProposedPin, "next": ProposedPin, "later": ProposedLater,
    "done": ProposedDone,
}  # fmt: skip


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
    body: dict[str, Any] = {
        "turn": [message.ref for message in given.turn],
        "number": given.number,
        "read": [_reading(message) for message in given.read],
        "evidence": [each.model_dump(mode="json", exclude_defaults=True) for each in given.evidence],
        "judgements": [_dumped(each) for each in given.judgements],
        "is_provisional": given.is_provisional,
        "is_repair": given.is_repair,
        "before": [_dumped(note) for note in given.before],
        "withdrawn": list(given.withdrawn),
    }  # fmt: skip
    if given.proposal is not None:
        proposal = asdict(replace(given.proposal, notes=()))
        notes = [_dumped(note) for note in given.proposal.notes]
        body["proposal"] = {k: v for k, v in {**proposal, "notes": notes}.items() if v}
    return {key: value for key, value in body.items() if value or key == "proposal"}


def _dumped(part: Note | Judgement) -> dict[str, Any]:
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
    body: dict[str, Any] = dict(record.get("given", {}))
    proposal = body.pop("proposal", None)
    given = Given(
        turn=tuple(turn),
        read=tuple(_read(each, text_of) for each in body.pop("read", ())),
        proposal=None if proposal is None else _proposal(proposal),
        evidence=tuple(Evidence.model_validate(each) for each in body.pop("evidence", ())),
        judgements=tuple(Judgement.model_validate(each) for each in body.pop("judgements", ())),
        before=notes_of(body.pop("before", ())),
        withdrawn=tuple(body.pop("withdrawn", ())),
    )
    return replace(given, **{k: v for k, v in body.items() if k != "turn"})


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
    made: dict[str, Any] = {
        name: tuple(kind(**each) for each in body.get(name, ())) for name, kind in _PROPOSED.items()
    }
    records = tuple({**each, "refs": tuple(each["refs"])} for each in body.get("records", ()))
    return Proposal(
        **made,
        records=tuple(ProposedRecord(**each) for each in records),
        **{key: tuple(body.get(key, ())) for key in ("drop", "minor", "keep")},
        mode=body["mode"],
        author=body["author"],
        notes=notes_of(body.get("notes", ())),
    )
