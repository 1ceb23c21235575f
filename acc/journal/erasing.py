"""Erasure in place: texts, and every record and state that may hold their words, are overwritten.

A commit is blanked if it cites an erased ref, or an item that ever cited one: `was` values, notes and labels repeat
an item's words without its ref. So more is blanked than holds the words, and never less than what is derived by
citation. Words that somebody said again in another message are not found by citation: name them in ``words``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, update

from acc.journal import places
from acc.journal.appending import Desk
from acc.journal.branching import append_body, successor
from acc.journal.names import ThreadKey
from acc.journal.places import Place, names_of
from acc.journal.reading import decoded
from acc.journal.record import packed
from acc.journal.tables import (
    BRANCHES,
    COMMITS,
    HEADS,
    MESSAGES,
    OF_A_BRANCH,
    OF_A_THREAD,
    THREADS,
    TOMBSTONES,
    TURNS,
)
from acc.journal.wording import Wanted
from acc.turn.observations import is_ingested, storable

UNINDEXED = -1
"""Stands in a tombstone in place of a branch: the index has yet to lose the message, or with no ref the thread."""


@dataclass(frozen=True)
class Unindexed:
    """A message, or with an empty ref a whole thread, that was erased and that the index has yet to lose."""

    thread: ThreadKey
    ref: str
    id: int


@dataclass(frozen=True)
class Blanked:
    """What an erasure did.

    Attributes:
        messages: Rows of messages whose text was overwritten.
        commits: Commits whose record and state were overwritten.
        heads: Branches whose head held the words: a state without them was committed.
        left: Where it is left besides; empty if nowhere.
    """

    messages: int
    commits: int
    heads: tuple[str, ...]
    left: str = ""


class _Traces:
    """What tells that a commit may hold erased words: refs, ids of items that cited them, words, feedback lines."""

    def __init__(self, refs: Iterable[str], words: Iterable[str]) -> None:
        self._names = set(refs)
        self._words = Wanted(words)
        self._feedback: set[str] = set()
        self._pattern = self._compiled()

    def _compiled(self) -> re.Pattern[str]:
        names = "|".join(map(re.escape, sorted(self._names))) or "(?!)"
        return re.compile(rf"(?<![\w.])(?:{names})(?![\w.]*\w)")

    def is_in(self, value: Any) -> bool:
        """Whether ``value``, plain JSON, may hold erased words."""
        text = json.dumps(value)
        return bool(self._pattern.search(text)) or self._words.are_in(value)

    def learn(self, body: Mapping[str, Any]) -> None:
        """Take the ids of items that hold a trace as traces, and the feedback that stood beside them."""
        found = {
            item["id"]
            for items in body.values()
            if isinstance(items, list)
            for item in items
            if isinstance(item, dict) and item.get("id") and self.is_in(item)
        }
        if not found <= self._names:
            self._names |= found
            self._pattern = self._compiled()
            self.learn(body)  # an item may cite an item

    def learn_feedback(self, body: Mapping[str, Any]) -> None:
        """Take feedback as a trace: it repeats words without a ref, until the next compression."""
        self._feedback |= set(body.get("feedback", ()))

    def are_in_state(self, body: Mapping[str, Any]) -> bool:
        """Whether a state may hold erased words."""
        self.learn(body)
        return bool(self._feedback & set(body.get("feedback", ()))) or self.is_in(body)

    def without(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the state without everything that may hold erased words."""
        lists = {
            key: [each for each in value if not self.is_in(each)]
            for key, value in body.items()
            if isinstance(value, list)
        }
        return {**body, **lists, "feedback": []}


def blank(
    connection: Connection,
    desk: Desk,
    key: ThreadKey,
    branch: str,
    refs: Sequence[str],
    words: Sequence[str],
    why: str,
) -> Blanked:
    """Overwrite messages of a branch, and what cites them in every branch that sees them."""
    place = places.found(connection, key, branch, desk.digest_key)
    seen = place.sees(MESSAGES.c.branch_id, MESSAGES.c.seq)
    rows = connection.execute(select(MESSAGES).where(MESSAGES.c.ref.in_(refs), seen)).all()
    for row in rows:
        overwrite(connection, desk, key, row, why)
    commits, heads, traces = 0, [], _Traces(refs, words)
    for name in places.branch_names(connection, place.thread_id).values():  # parents first
        other = places.found(connection, key, name, desk.digest_key)
        if words or any(other.holds(row.branch_id, row.seq) for row in rows):
            count, is_head = _blank_commits(connection, desk, other, traces)
            commits += count
            heads += [name] if is_head else []
    return Blanked(len(rows), commits, tuple(heads))


def overwrite(connection: Connection, desk: Desk, key: ThreadKey, row: Any, why: str) -> None:
    """Blank a message; a tombstone says ref, digest, when and why."""
    if row.digest:
        tombstone = {
            "branch_id": row.branch_id, "seq": row.seq, "ref": row.ref, "digest": row.digest,
            "message_id": "" if is_ingested(row.ref) else row.message_id, "at": desk.now, "why": storable(why),
        }  # fmt: skip
        connection.execute(TOMBSTONES.insert(), tombstone)
        _note_unindexed(connection, desk, key, row.ref)
    connection.execute(
        update(MESSAGES)
        .where(MESSAGES.c.id == row.id)
        .values(text="", name="", call_id="", message_id="", digest="")
    )
    connection.execute(  # its identity is a digest of the words
        update(TURNS)
        .where(
            TURNS.c.branch_id == row.branch_id,
            TURNS.c.first_seq <= row.seq, TURNS.c.last_seq >= row.seq,
        )
        .values(identity=os.urandom(16))
    )  # fmt: skip


def _blank_commits(
    connection: Connection, desk: Desk, place: Place, traces: _Traces
) -> tuple[int, bool]:
    """Blank the commits of one branch; return how many, and whether the head was one."""
    statement = (
        select(COMMITS).where(COMMITS.c.branch_id == place.branch_id).order_by(COMMITS.c.version)
    )
    before, count, is_hit, last = b"", 0, False, None
    was_blank = False
    for row in connection.execute(statement).all():
        stored, before = decoded(row, place.head.branch, before)
        if stored.state is None:  # blanked before; what is damaged is blanked, too
            if stored.problem:
                _write(connection, row.id, record=None, state=None, is_whole=1)
            was_blank = True
            continue
        last = stored.state
        is_hit = traces.are_in_state(stored.state) or traces.is_in(stored.record)
        if is_hit:
            traces.learn_feedback(stored.state)
            note_state(connection, desk, place.branch_id, row.hash)
            _write(connection, row.id, record=None, state=None, is_whole=1)
            count += 1
        elif was_blank and not row.is_whole:  # what it was written against is gone
            _write(connection, row.id, state=packed(stored.state), is_whole=1)
        was_blank = is_hit
    if last is None or not is_hit:
        raise_epoch(connection, place)
        return count, False
    after = {**traces.without(last), "hash": last["hash"]}
    append_body(connection, desk, place, successor(after), "erasure")
    raise_epoch(connection, place)
    return count, True


def _write(connection: Connection, row_id: int, **values: Any) -> None:
    connection.execute(update(COMMITS).where(COMMITS.c.id == row_id).values(**values))


def note_state(connection: Connection, desk: Desk, branch_id: int, digest: str) -> None:
    """Keep the hash of a state that goes, so that a checkpoint that still has it is told."""
    tombstone = {
        "branch_id": branch_id, "seq": 0, "ref": "", "message_id": "", "digest": digest,
        "at": desk.now, "why": "",
    }  # fmt: skip
    connection.execute(TOMBSTONES.insert(), tombstone)


def raise_epoch(connection: Connection, place: Place) -> None:
    """A worker that read the words before must not commit what it made of them."""
    connection.execute(
        update(HEADS).where(HEADS.c.branch_id == place.branch_id).values(epoch=HEADS.c.epoch + 1)
    )


def delete_thread(connection: Connection, desk: Desk, key: ThreadKey, why: str) -> int:
    """Delete all rows of a thread; return how many messages it had. A digest of its names stays."""
    place = places.find(connection, key)
    if place is None:
        return 0
    branches = list(places.branch_names(connection, place.thread_id))
    count = 0
    for table in OF_A_BRANCH:
        done = connection.execute(delete(table).where(table.c.branch_id.in_(branches)))
        count += done.rowcount if table is MESSAGES else 0
    for table in (*OF_A_THREAD, BRANCHES):
        connection.execute(delete(table).where(table.c.thread_id == place.thread_id))
    connection.execute(delete(THREADS).where(THREADS.c.id == place.thread_id))
    tombstone = {
        "branch_id": 0, "seq": 0, "ref": "", "message_id": "",
        "digest": key.digest(desk.digest_key), "at": desk.now, "why": storable(why),
    }  # fmt: skip
    connection.execute(TOMBSTONES.insert(), tombstone)
    _note_unindexed(connection, desk, key, "")
    return count


def _note_unindexed(connection: Connection, desk: Desk, key: ThreadKey, ref: str) -> None:
    """Keep what the index has yet to lose, with the names of the thread, until it has lost it."""
    note = {
        "branch_id": UNINDEXED, "seq": 0, "ref": ref, "message_id": json.dumps(names_of(key)),
        "digest": "", "at": desk.now, "why": "",
    }  # fmt: skip
    connection.execute(TOMBSTONES.insert(), note)


def unindexed(connection: Connection) -> list[Unindexed]:
    """Return what the index has yet to lose."""
    notes = select(TOMBSTONES).where(TOMBSTONES.c.branch_id == UNINDEXED).order_by(TOMBSTONES.c.id)
    return [
        Unindexed(ThreadKey(**json.loads(row.message_id)), row.ref, row.id)
        for row in connection.execute(notes)
    ]


def forget_notes(connection: Connection, notes: Sequence[Unindexed]) -> None:
    """Note that the index has lost these."""
    done = delete(TOMBSTONES).where(TOMBSTONES.c.id == bindparam("note"))
    connection.execute(done, [{"note": each.id} for each in notes])


_HELD = select(MESSAGES.c.seq, MESSAGES.c.text).where(
    MESSAGES.c.branch_id == bindparam("branch_id"), MESSAGES.c.seq <= bindparam("last"),
    MESSAGES.c.seq.in_(bindparam("seqs", expanding=True)), MESSAGES.c.digest != "",
)  # fmt: skip


def held_texts(
    connection: Connection, place: Place, seqs: Sequence[int]
) -> dict[tuple[str, int], str]:
    """See `acc.journal.journal.Journal.held_texts`."""
    names = places.branch_names(connection, place.thread_id) if place.ancestry else {}
    found: dict[tuple[str, int], str] = {}
    for branch_id, last in ((place.branch_id, 1 << 62), *place.ancestry):
        given = {"branch_id": branch_id, "last": last, "seqs": seqs}
        name = names.get(branch_id, place.head.branch)
        found |= {(name, r.seq): r.text for r in connection.execute(_HELD, given)}
    return found
