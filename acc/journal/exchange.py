"""Export and import of a thread as JSON lines, which `jq` and another memory read.

The first line names format and thread. Each further line is a ``row``: policy, branch, turn, message, commit, head,
tombstone, hold, feedback.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.exc import CompileError, DataError, IntegrityError

from acc.errors import ConflictError, InputError
from acc.journal.committing import ADD_COMMIT, KEEP_POLICY, commit_row
from acc.journal.database import damaged
from acc.journal.listing import PAGE, Listing
from acc.journal.names import MAIN, Head, Key, Place, ThreadKey, key_of
from acc.journal.tables import (
    FEEDBACK,
    FORMAT_NUMBER,
    HEADS,
    HOLDS,
    MESSAGES,
    POLICIES,
    TOMBSTONES,
    TURNS,
)
from acc.text.lines import sha256_of

_DAMAGED = (
    KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError,
    CompileError, DataError, IntegrityError,
)  # fmt: skip

_OF_BRANCH: dict[str, Table] = {
    "turn": TURNS, "message": MESSAGES, "tombstone": TOMBSTONES, "head": HEADS,
}  # fmt: skip
_OF_THREAD: dict[str, Table] = {"hold": HOLDS, "feedback": FEEDBACK}
_IDS = ("id", "branch_id", "thread_id")
"""Columns that the database numbers."""


class Exchange(Listing):
    """Export and import threads."""

    def export(self, thread: Key) -> Iterator[str]:
        """Yield a thread as JSON lines. Each table is read by itself, so that writers go on."""
        key = key_of(thread)
        main = self._read(lambda journal: journal._found(key))
        places = self._read(lambda journal: journal._places(key))
        names = {place.branch_id: place.head.branch for place in places}
        yield _line({"acc": "journal", "format": FORMAT_NUMBER, **vars(key)})
        for place in places:
            name = place.head.branch
            ancestry = [[names[branch], up_to] for branch, up_to in place.ancestry]
            yield _line({"row": "branch", "branch": name, "ancestry": ancestry})
            for kind, table in _OF_BRANCH.items():
                own = select(table).where(table.c.branch_id == place.branch_id)
                yield from self._rows(own.order_by(*table.primary_key), row=kind, branch=name)
            for stored in self.commits(key, name, page=PAGE):
                if stored.problem:
                    raise damaged(stored.problem, f"branch row {place.branch_id}")
                body = {k: v for k, v in vars(stored).items() if k not in ("id", "problem")}
                yield _line({"row": "commit", **body})
        for kind, table in _OF_THREAD.items():
            own = select(table).where(table.c.thread_id == main.thread_id)
            yield from self._rows(own.order_by(table.c.id), row=kind)
        yield from self._rows(select(POLICIES), row="policy")

    def _rows(self, statement: Any, **begin: str) -> Iterator[str]:
        for row in self._read(lambda journal: journal._execute(statement).mappings().all()):
            plain = _without_ids(dict(row))
            if "identity" in plain:
                plain["identity"] = plain["identity"].hex()
            yield _line({**begin, **plain})

    def import_(self, lines: Iterable[str]) -> tuple[ThreadKey, ...]:
        """Write the threads that `export` yielded one after the other, all or nothing.

        Raises:
            InputError: A line is malformed, or the chain of hashes is broken.
            ConflictError: A thread is in the journal already.
        """
        given = tuple(lines)
        return self._write(None, lambda journal: _imported(journal, given))


def _line(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True)


def _without_ids(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in _IDS}


def _imported(journal: Exchange, lines: Iterable[str]) -> tuple[ThreadKey, ...]:
    found: list[_Imported] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
            if not found or "acc" in body:
                found.append(_Imported(journal, body))
            else:
                found[-1].take(body)
        except _DAMAGED as error:
            raise InputError(
                f"the line is no line of a journal: {type(error).__name__}: {error}",
                where=f"line {number}",
                hint="give what acc export wrote",
            ) from error
    if not found:
        raise InputError("there are no lines", where="import", hint="give what acc export wrote")
    return tuple(each.key for each in found)


class _Imported:
    """A thread whose lines are written one after the other."""

    def __init__(self, journal: Exchange, first: Mapping[str, Any]) -> None:
        if first["acc"] != "journal" or first["format"] != FORMAT_NUMBER:
            raise ValueError(f"its format is {first['format']}")
        self.key = key_of(ThreadKey(**{name: first[name] for name in vars(ThreadKey(""))}))
        if journal._find(self.key) is not None:
            raise ConflictError(
                "the thread is in the journal already", where=str(self.key),
                hint="delete it first, or import under another name",
            )  # fmt: skip
        self._journal = journal
        self._places: dict[str, Place] = {}
        self._hashes: dict[str, str] = {}

    def take(self, body: dict[str, Any]) -> None:
        """Write one line."""
        kind = body.pop("row")
        if kind == "policy":
            self._journal._execute(KEEP_POLICY, body)
        elif kind == "branch":
            self._places[body["branch"]] = self._begun(body)
        elif kind == "commit":
            self._commit(body)
        elif kind in _OF_THREAD:
            row = {**_without_ids(body), "thread_id": self._places[MAIN].thread_id}
            self._journal._execute(_OF_THREAD[kind].insert(), row)
        else:
            place = self._places[body.pop("branch")]
            row = {**_without_ids(body), "branch_id": place.branch_id}
            if kind == "turn":
                row["identity"] = bytes.fromhex(row["identity"])
            self._journal._execute(_OF_BRANCH[kind].insert(), row)

    def _begun(self, body: Mapping[str, Any]) -> Place:
        if body["branch"] == MAIN:
            return self._journal._create(self.key)
        ancestry = tuple((self._places[n].branch_id, int(seq)) for n, seq in body["ancestry"])
        head = Head(self.key, body["branch"])
        return self._journal._add_branch(self._places[MAIN].thread_id, head, ancestry)

    def _commit(self, body: dict[str, Any]) -> None:
        name, version, state = body["branch"], body["version"], body["state"]
        before = self._hashes.get(name, body["parent"])
        if body["parent"] != before and body["kind"] != "taken":
            raise ValueError(f"version {version} does not follow the one before it")
        self._hashes[name] = body["hash"]
        sealed = sha256_of({k: v for k, v in state.items() if k != "hash"})
        if not sealed == state["hash"] == body["hash"]:
            raise ValueError(f"the state of version {version} was changed")
        how = {key: body[key] for key in ("at", "span", "seq")}
        row = commit_row(self._places[name], state, body["kind"], body["record"], **how)
        self._journal._execute(ADD_COMMIT, row)
