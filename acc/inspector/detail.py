"""One turn of a log as the page shows it: what was said, what the agent reads, what changed and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from acc.audit.record import digest_of
from acc.errors import AccError
from acc.inspector.logs import EXCERPT, Index, sources_in
from acc.inspector.summary import BESIDE, Record, changes_of, words_of
from acc.state.reasons import REFUSALS, Reason
from acc.turn.observations import SET_ASIDE, is_ingested

QUIET = frozenset({Reason.CARRIED, Reason.CITES_NARROWED})
"""Reasons that most items have in most turns."""


class Reading(NamedTuple):
    """What only a record's schema tells.

    Attributes:
        text: The state as the agent reads it.
        pinned: The slots with rules and goals.
        words: What each item says, by its id.
    """

    text: str
    pinned: Sequence[str]
    words: Mapping[str, str]


Reader = Callable[[Record], Reading]
"""Loads the state of a record under its schema; raises an `AccError` if that is not installed."""


@dataclass(frozen=True)
class Details:
    """Makes the details of a log's turns.

    Attributes:
        index: The log's list of turns.
        reader: Loads the states.
        most: Number of characters of a text to give; None for all.
    """

    index: Index
    reader: Reader
    most: int | None = None

    def of(self, record: Record, position: int) -> dict[str, Any]:
        """Return the details of the record at ``position``."""
        turn, proposal = record["turn"], record.get("proposal") or {}
        return {
            "position": position, "digest": record["digest"], "thread": record["thread"],
            "sound": digest_of(record) == record["digest"], "policy": record["policy"],
            "author": proposal.get("author", ""), "failure": record.get("failure", ""),
            "account": record.get("account"), "usage": record.get("usage") or {},
            "erasure": record.get("erasure"),
            "said": [self._said(each) for each in turn["observations"]],
            "reply": self._said(turn["reply"]) if turn.get("reply") else None,
            **self._state(record),
            "changes": list(_changes(record)),
            "refused": [note for note in record.get("notes", ()) if note["reason"] in REFUSALS],
            "left": [_left(gone, record) for gone in record.get("set_aside", ())],
            "notes": list(_other_notes(record)),
            "verdicts": [self._verdict(each, position) for each in record.get("verdicts", ())],
        }  # fmt: skip

    def source(self, record: Record, ref: str) -> dict[str, Any]:
        """Return the text that ``record`` holds behind ``ref``, or why there is none."""
        for _, each in sources_in(record):
            if each["ref"] == ref and each["text"]:
                return {**self._said(each), "turn": record["state"]["turn"]}
        return missing(ref, redacted=bool(record.get("redacted")))

    def _state(self, record: Record) -> dict[str, Any]:
        found: dict[str, Any] = {"rendered": None, "unread": "", "pinned": []}
        words: Mapping[str, str] = {}
        try:
            reading = self.reader(record)
            found |= {"rendered": reading.text, "pinned": list(reading.pinned)}
            words = reading.words
        except AccError as error:
            found["unread"] = str(error)
        state = record["state"]
        items = [_item(slot, each, words) for slot, entries in state.items()
                 if isinstance(entries, list) and slot not in (*BESIDE, "feedback")
                 for each in entries if isinstance(each, Mapping)]  # fmt: skip
        beside = {name: [_beside(each) for each in state.get(name, ())] for name in BESIDE}
        return {**found, "items": items, "beside": beside}

    def _verdict(self, verdict: Mapping[str, Any], position: int) -> dict[str, Any]:
        place = self.index.place_of(verdict["ref"], position)
        return {**verdict, "text": place.excerpt[:EXCERPT] if place else ""}

    def _said(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        text, left_out = str(observation["text"]), int(observation.get("left_out", 0))
        if self.most is not None and len(text) > self.most:
            left_out, text = left_out + len(text) - self.most, text[: self.most]
        told = {name: observation.get(name, "") for name in ("ref", "channel", "name", "at")}
        return {**told, "text": text, "left_out": left_out}


def missing(ref: str, *, redacted: bool = False) -> dict[str, Any]:
    """Return why the text behind ``ref`` is not in the log."""
    if redacted:
        why = "an erasure removed this text"
    elif is_ingested(ref):
        why = "no turn has read this part of the document; the store has it: acc search"
    elif "/" in ref:
        why = "this belongs to another thread, and no turn of this one has read it"
    elif ref.startswith(SET_ASIDE):
        why = "this names an item that left the state in an earlier turn; the store has it: acc search"
    else:
        why = "no record of this log has the text; it was erased, or only the store has it"
    return {"ref": ref, "unavailable": why}


def _item(slot: str, item: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    names = ("id", "trust", "endorsed", "sources", "turn", "dated", "quote")
    says = words.get(item["id"]) or words_of(item)
    return {"slot": slot, "words": says, **{name: item.get(name) for name in names}}


def _beside(entry: Mapping[str, Any]) -> dict[str, Any]:
    told = ("id", "text", "because", "ref", "channel", "trust", "shown")
    return {name: entry[name] for name in told if name in entry}


def _left(gone: Mapping[str, Any], record: Record) -> dict[str, Any]:
    told = {note["item"]: note["text"] for note in record["notes"] if note["text"]}
    return {"reason": gone["reason"], **_item(gone["slot"], gone["item"], told)}


def _changes(record: Record) -> Iterator[dict[str, Any]]:
    for change in changes_of(record):
        notes = [note for note in record.get("notes", ()) if note["item"] == change["id"]]
        reasons = [{"reason": note["reason"], "detail": note["detail"]} for note in notes
                   if note["reason"] not in QUIET]  # fmt: skip
        yield {**change, "reasons": reasons}


def _other_notes(record: Record) -> Iterator[Mapping[str, Any]]:
    """Yield the notes that are told nowhere else: with no refusal, and no item that came, changed or left."""
    told = {Reason.ADDED, Reason.UPDATED, *QUIET, *REFUSALS}
    left = {(gone["reason"], gone["item"]["id"]) for gone in record.get("set_aside", ())}
    for note in record.get("notes", ()):
        if note["reason"] not in told and (note["reason"], note["item"]) not in left:
            yield note
