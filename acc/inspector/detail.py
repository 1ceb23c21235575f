"""One commit as the page shows it: what was said, what the agent reads, what changed and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from acc.controller.documents import document
from acc.inspector.entries import LEFT, REFUSED, Index
from acc.inspector.states import Body, changes, items_of
from acc.inspector.threads import Threads
from acc.journal import StoredCommit
from acc.recall import passages
from acc.tail import Message


@dataclass(frozen=True)
class Details:
    """Makes the details of a branch's commits.

    Attributes:
        threads: The threads.
        index: The branch's list of commits.
        most: Number of characters of a text to give; None for all.
    """

    threads: Threads
    index: Index
    most: int | None = None

    def of(self, version: int) -> dict[str, Any]:
        """Return the details of a version. Items, notes and claims stand in it as the journal has them."""
        commit, before = self.threads.commit(self.index, version)
        record, entry = commit.record or {}, self.index.at(version)
        old = (before and before.state) or {}
        proposal = record.get("given", {}).get("proposal") or {}
        return {
            "version": version, "hash": commit.hash, "thread": vars(self.index.key),
            "policy": {**self.threads.reader.policies.get(commit.policy, {}), "fingerprint": commit.policy},
            "author": proposal.get("author", ""), "mode": proposal.get("mode", ""),
            **{name: record.get(name, kind()) for name, kind in _TOLD.items()},
            "said": [self._said(each) for each in self._took(commit)],
            **self._state(commit.state, entry["fault"]),
            "notes": [_grouped(note) for note in record.get("notes", ())],
            "changes": list(_explained(old, commit.state or old, record.get("notes", ()))),
            "verdicts": [self._verdict(*each) for each in record.get("verdicts", ())],
            "waiting": self._waiting() if entry is self.index.entries[-1] else [],
        }  # fmt: skip

    def source(self, ref: str) -> dict[str, Any]:
        """Return the text behind a ref, or why there is none."""
        journal, key = self.threads.journal, self.index.key
        found = next(iter(self._texts([ref])), None) or document(journal, key, ref)
        if found is not None:
            return self._said(found)
        rows = journal.messages(key, branch=self.index.branch, also_open=True)
        if any(each.message.ref == ref and not each.digest for each in rows):
            return {"ref": ref, "unavailable": "an erasure removed this text"}
        return {"ref": ref, "unavailable": "no message of this thread has this ref"}

    def between(self, one: int, other: int) -> list[dict[str, Any]]:
        """Return what changed from one version to a later one, with the reasons of all commits in between."""
        first, last = sorted((one, other))
        steps = [e["version"] for e in self.index.entries if first < e["version"] <= last]
        notes = [note for each in steps for note in self._record(each).get("notes", ())]
        states = [self.threads.commit(self.index, each)[0].state or {} for each in (first, last)]
        return list(_explained(states[0], states[1], notes))

    def _record(self, version: int) -> Body:
        return self.threads.commit(self.index, version)[0].record or {}

    def _texts(self, refs: Iterable[str]) -> tuple[Message, ...]:
        return self.threads.journal.texts(self.index.key, refs, branch=self.index.branch)

    def _took(self, commit: StoredCommit) -> Iterator[Message]:
        """Yield the messages that a commit took."""
        first, last = commit.span
        found = self.threads.journal.messages(
            self.index.key, first, last - first + 1 if last else 0, branch=self.index.branch
        )
        return (each.message for each in found)

    def _waiting(self) -> list[dict[str, Any]]:
        """Return what was said and no commit took: of a step that failed or was killed."""
        waiting = self.threads.journal.waiting(self.index.key, self.index.branch)
        return [self._said(each) for each in waiting]

    def _state(self, state: Body | None, fault: str) -> dict[str, Any]:
        if state is None:
            why = fault or "an erasure removed this state"
            return {"rendered": None, "unread": why, "pinned": [], "items": [], "tail": []}
        reading = self.threads.reader.read(state)
        says = reading.words
        return {
            "rendered": reading.text, "unread": reading.problem, "pinned": reading.pinned,
            "items": [{**item, "slot": slot, "says": says[item["id"]]} for slot, item in items_of(state)],
            "tail": self._tail(state), "gone": state.get("gone", []),
        }  # fmt: skip

    def _tail(self, state: Body) -> list[dict[str, Any]]:
        """Return the messages that the agent reads word for word beside the state."""
        entries = state.get("unread", ())
        texts = {m.ref: self._said(m) for m in self._texts([each["ref"] for each in entries])}
        return [{**each, **texts.get(each["ref"], {"text": None})} for each in entries]

    def _verdict(self, ref: str, place: int, reason: str) -> dict[str, Any]:
        """Return what the gate said of a passage, with its words."""
        parts = [part for message in self._texts([ref]) for part in passages(message.text)]
        text = parts[place] if place < len(parts) else ""
        return {"ref": ref, "place": place, "reason": reason, "text": text}

    def _said(self, message: Message) -> dict[str, Any]:
        seen, text = message.observation, message.text
        cut = max(0, len(text) - self.most) if self.most is not None else 0
        return {
            "ref": message.ref, "channel": message.channel.value, "name": seen.name,
            "at": message.at, "turn": message.turn, "text": text[: self.most],
            "left_out": seen.left_out + cut,
        }  # fmt: skip


_TOLD: dict[str, Any] = {"failure": str, "outcome": str, "usage": dict, "no_room": list}
"""Parts of a record that the page shows as they are."""


def _grouped(note: Body) -> dict[str, Any]:
    reason = note["reason"]
    return {**note, "group": "refused" if reason in REFUSED else "left" if reason in LEFT else ""}


def _explained(before: Body, after: Body, notes: Iterable[Body]) -> Iterator[dict[str, Any]]:
    """Yield the changes between two states, each with the reasons that the notes give of its item."""
    by_item: dict[str, dict[tuple[str, str], None]] = {}
    for note in notes:
        told = note["reason"], note.get("detail", "")
        by_item.setdefault(note.get("item", ""), {})[told] = None
    for change in changes(before, after):
        reasons = by_item.get(change["id"], {})
        yield {**change, "reasons": [{"reason": r, "detail": d} for r, d in reasons]}
