"""What the memory notes of a run beside its state: who wrote the human messages, and which agent it is.

The notes are small plain JSON in a private channel of the graph. Ids of messages that left the channel leave the notes.
A tool or a node can write to the channel. So they are signed with a key of the memory: of notes that it did not sign,
only what lowers trust is believed.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, Self

from langchain_core.messages import BaseMessage
from pydantic import TypeAdapter

from acc.journal import ThreadKey
from acc.logs import cause, log_event
from acc.state.model import OWNER
from acc.text.lines import canonical_json

Pieces = tuple[tuple[str, int], ...]

MOST_PIECES = 24
"""Pieces of evidence that stand in a prompt. With one more, those for earlier messages leave, all at once."""

_SIGNED = "signed"

_LOG = logging.getLogger(__name__)


def notes_key(controller: Any) -> bytes:
    """Return the key of a memory's marks and notes: every process of the memory has the same."""
    return hashlib.blake2b(controller.marks, digest_size=32, person=b"marks").digest()


def content_digest(message: BaseMessage) -> str:
    """Return a digest of what a message says, and of who says it, by which it is known under its id."""
    said = canonical_json([message.content, message.name or ""]).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=6).hexdigest()


@dataclass(frozen=True)
class Note:
    """What is noted of one message.

    Attributes:
        who: Whose words it has, if not the user's: ``"task"``: another agent's. ``"written"``: nobody's to the agent
            (`acc.integrations.voices.WRITTEN`). It only lowers trust.
        words: The digest of the words that are known to be the user's (`content_digest`).
        speaker: Who said it, in a thread in which several speak.
        taken: Digests of what stays in the channel for the step at hand, and stands in the state, not in its tail; or
            of what repeats stored words under another id.
        admitted: Evidence that was admitted for it: ref and passage of each piece (`acc.gate.Verdict`). The words are
            read from the journal.
    """

    who: Literal["", "task", "written"] = ""
    words: str = ""
    speaker: str = ""
    taken: str = ""
    admitted: Pieces = ()


NONE = Note()


@dataclass(frozen=True)
class Notes:
    """The notes of a run.

    Attributes:
        thread: The thread of the run's memory.
        of: The notes of messages, by their ids.
        again: While a run repeats what a killed one said: the place up to which it did, and the place where that
            ends (`acc.journal.Head.seq`). Empty otherwise.
        is_shared: Whether somebody else than the thread's user has spoken.
        is_new: Whether no run has left notes yet.
        is_foreign: Whether this memory did not sign them: another agent's, a copy's, or a tool's.
        key: Signs them (`notes_key`).
    """

    thread: ThreadKey | None = None
    of: Mapping[str, Note] = field(default_factory=dict)
    again: tuple[int, ...] = ()
    is_shared: bool = False
    is_new: bool = True
    is_foreign: bool = False
    key: bytes = field(default=b"", repr=False)

    @classmethod
    def load(cls, raw: Any, key: bytes = b"") -> Notes:
        """Load what `dump` made with the same key; None and an empty mapping make new notes.

        Of others, which a tool may have written, what cannot be read counts as nothing.
        """
        if not raw:
            return cls(key=key)
        try:
            noted = {k: v for k, v in dict(raw).items() if k not in (_SIGNED, OWNER)}
            is_ours = hmac.compare_digest(str(raw.get(_SIGNED, "")), _signature(noted, key))
            if not is_ours:
                of = noted.get("of", {}).items()
                noted = {"of": {name: {"who": note.get("who", "")} for name, note in of}}
            notes = _form().validate_python(noted)
        except (AttributeError, TypeError, ValueError) as error:
            log_event(
                _LOG, logging.WARNING, "damaged_notes",
                "something else than the memory's notes stands in their channel, and is left out",
                cause=cause(error),
            )  # fmt: skip
            notes, is_ours = cls(), False
        return replace(notes, is_new=False, is_foreign=not is_ours, key=key)

    def dump(self) -> dict[str, Any]:
        """Return plain JSON values with a signature; empty fields are left out."""
        noted: dict[str, Any] = _form().dump_python(
            self, mode="json", exclude={"is_new", "is_foreign", "key"}, exclude_defaults=True
        )
        return {**noted, _SIGNED: _signature(noted, self.key)} if noted else {}

    def of_message(self, message: BaseMessage) -> Note:
        """Return what is noted of a message."""
        return self.of.get(str(message.id), NONE)

    def within(self, ids: Collection[str]) -> Self:
        """Return the notes of the messages with these ids alone."""
        return replace(
            self, of={name: note for name, note in self.of.items() if name in ids and note != NONE}
        )

    def noting(self, **fields: Mapping[str, Any]) -> Self:
        """Return the notes with values of fields of `Note`, each by message id."""
        of = dict(self.of)
        for field_name, values in fields.items():
            for name, value in values.items():
                of[name] = replace(of.get(name, NONE), **{field_name: value})
        return replace(self, of=of)

    def and_evidence(self, question: str, pieces: Pieces) -> Self:
        """Return the notes with the evidence for a message. What stands in the prompt for an earlier one stays there,
        so that the prompt's beginning does not change, and is not shown twice."""
        there = {each for note in self.of.values() for each in note.admitted}
        new = tuple(each for each in pieces if each not in there)
        if not new:
            return self
        if len(there) + len(new) <= MOST_PIECES:
            return self.noting(admitted={question: new})
        return self.noting(admitted={**dict.fromkeys(self.of, ()), question: pieces})

    @property
    def users(self) -> set[str]:
        """The ids of the messages whose words are known to be the user's."""
        return {name for name, note in self.of.items() if note.words and not note.who}

    def knows(self, message: BaseMessage) -> bool:
        """Whether it is known who wrote a human message: the user with these very words, or somebody else."""
        note = self.of_message(message)
        return bool(note.who) or note.words == content_digest(message)


@cache
def _form() -> TypeAdapter[Notes]:
    return TypeAdapter(Notes)


def _signature(noted: Mapping[str, Any], key: bytes) -> str:
    return hmac.new(key, canonical_json(noted).encode(), hashlib.sha256).hexdigest()[:32]
