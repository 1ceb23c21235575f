"""What the memory notes of a run beside its state: who wrote the human messages, and which agent it is.

The notes are small plain JSON in a private channel of the graph. Ids of messages that left the channel leave the notes.
A tool or a node can write to the channel. So they are signed with a key of the memory: of notes that it did not sign,
only what lowers trust is believed.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Self

from langchain_core.messages import BaseMessage
from pydantic import TypeAdapter

from acc.errors import StateError
from acc.integrations.voices import Voiced
from acc.journal import ThreadKey
from acc.state.model import OWNER
from acc.text.lines import canonical_json

Pieces = tuple[tuple[str, int], ...]

MOST_PIECES = 24
"""Pieces of evidence that stand in a prompt. With one more, those for earlier messages leave, all at once."""

_SIGNED = "signed"
_LOWERING = ("tasks", "written")
"""Notes that only lower trust: believed whoever wrote them."""


def notes_key(controller: Any) -> bytes:
    """Return the key of a memory's marks and notes, so that another process knows them again."""
    return hashlib.blake2b(controller.parts.marks, digest_size=32, person=b"marks").digest()


def content_digest(message: BaseMessage) -> str:
    """Return a digest of what a message says, by which it is known under its id."""
    said = str(message.content).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=6).hexdigest()


@dataclass(frozen=True)
class Notes:
    """The notes of a run.

    Attributes:
        thread: The thread of the run's memory.
        users: Human messages that are known to be the user's: digests of their words by id (`content_digest`).
        tasks: Ids of tasks that another agent wrote.
        written: Ids of human messages that are nobody's words to the agent (`acc.integrations.voices.WRITTEN`).
        speakers: Users by message id, in a thread in which several speak.
        is_shared: Whether somebody else than the thread's user has spoken.
        taken: Digests by message id of what stays in the channel for the step at hand, and stands in the state, not in
            its tail; and of what repeats stored words under another id.
        again: While a run repeats what a killed one said: the place up to which it did, and the place where that
            ends (`acc.journal.Head.seq`). Empty otherwise.
        admitted: Evidence by the id of the human message for which it was admitted: ref and passage of each piece
            (`acc.gate.Verdict`). The words are read from the journal.
        is_new: Whether no run has left notes yet.
        is_foreign: Whether this memory did not sign them: another agent's, a copy's, or a tool's.
        key: Signs them (`notes_key`).
    """

    thread: ThreadKey | None = None
    users: Mapping[str, str] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    speakers: Mapping[str, str] = field(default_factory=dict)
    taken: Mapping[str, str] = field(default_factory=dict)
    again: tuple[int, ...] = ()
    admitted: Mapping[str, Pieces] = field(default_factory=dict)
    is_shared: bool = False
    is_new: bool = True
    is_foreign: bool = False
    key: bytes = field(default=b"", repr=False)

    @classmethod
    def load(cls, raw: Any, key: bytes = b"") -> Notes:
        """Load what `dump` made with the same key; None and an empty mapping make new notes.

        Raises:
            StateError: ``raw`` has another form.
        """
        if not raw:
            return cls(key=key)
        try:
            noted = {k: v for k, v in dict(raw).items() if k not in (_SIGNED, OWNER)}
            is_ours = hmac.compare_digest(str(raw.get(_SIGNED, "")), _signature(noted, key))
            known = noted if is_ours else {k: v for k, v in noted.items() if k in _LOWERING}
            notes = _form().validate_python(known)
        except (AttributeError, TypeError, ValueError) as error:
            raise StateError(
                "the memory's notes in the checkpoint are damaged",
                where=type(raw).__name__,
                hint="leave the channel as the memory wrote it",
            ) from error
        return replace(notes, is_new=False, is_foreign=not is_ours, key=key)

    def dump(self) -> dict[str, Any]:
        """Return plain JSON values with a signature; empty fields are left out."""
        noted: dict[str, Any] = _form().dump_python(
            self, mode="json", exclude={"is_new", "is_foreign", "key"}, exclude_defaults=True
        )
        return {**noted, _SIGNED: _signature(noted, self.key)} if noted else {}

    def within(self, ids: Collection[str]) -> Self:
        """Return the notes of the messages with these ids alone."""
        return replace(
            self,
            users={k: v for k, v in self.users.items() if k in ids},
            tasks=_those(self.tasks, ids),
            written=_those(self.written, ids),
            speakers={k: v for k, v in self.speakers.items() if k in ids},
            taken={k: v for k, v in self.taken.items() if k in ids},
            admitted={k: v for k, v in self.admitted.items() if k in ids},
        )

    def and_these(
        self,
        *,
        users: Mapping[str, str] | None = None,
        tasks: Collection[str] = (),
        written: Collection[str] = (),
        speakers: Mapping[str, str] | None = None,
    ) -> Self:
        """Return the notes with more of them."""
        known = {k: v for k, v in self.users.items() if k not in {*tasks, *written}}
        return replace(
            self,
            users={**known, **(users or {})},
            tasks=tuple(dict.fromkeys((*self.tasks, *tasks))),
            written=tuple(dict.fromkeys((*self.written, *written))),
            speakers={**(speakers or {}), **self.speakers},
        )

    def and_evidence(self, question: str, pieces: Pieces) -> Self:
        """Return the notes with the evidence for a message. What stands in the prompt for an earlier one stays there,
        so that the prompt's beginning does not change, and is not shown twice."""
        there = {each for found in self.admitted.values() for each in found}
        if new := tuple(each for each in pieces if each not in there):
            is_full = len(there) + len(new) > MOST_PIECES
            held = {} if is_full else self.admitted
            return replace(self, admitted={**held, question: pieces if is_full else new})
        return self

    def knows(self, message: BaseMessage) -> bool:
        """Whether it is known who wrote a human message: the user with these very words, or somebody else."""
        name = str(message.id)
        return (
            name in self.tasks
            or name in self.written
            or self.users.get(name) == content_digest(message)
        )

    @property
    def voiced(self) -> Voiced:
        """Who wrote the human messages."""
        return Voiced(frozenset(self.tasks), frozenset(self.written), self.speakers)


@cache
def _form() -> TypeAdapter[Notes]:
    return TypeAdapter(Notes)


def _signature(noted: Mapping[str, Any], key: bytes) -> str:
    return hmac.new(key, canonical_json(noted).encode(), hashlib.sha256).hexdigest()[:32]


def _those(noted: Sequence[str], ids: Collection[str]) -> tuple[str, ...]:
    return tuple(each for each in noted if each in ids)
