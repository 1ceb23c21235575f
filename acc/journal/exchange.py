"""Export and import of a thread as JSON lines, which `jq` and another memory read.

The first line names format and thread. Each further line is a ``row``: policy, branch, turn, message, commit, head,
tombstone. A commit's ``state`` is whole on a branch's first commit; after it, it holds what changed against the commit
before, and ``without`` names the fields that went.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.exc import CompileError, DataError, IntegrityError

from acc.errors import ConflictError, InputError
from acc.journal import places
from acc.journal.committing import ADD_COMMIT, commit_row
from acc.journal.faults import damaged
from acc.journal.listing import Listing
from acc.journal.migrate import FORMAT_NUMBER, written_by
from acc.journal.names import MAIN, StoredCommit, ThreadKey
from acc.journal.opened import Key, key_of
from acc.journal.places import Place, names_of
from acc.journal.reading import PAGE
from acc.journal.record import packed
from acc.journal.tables import FEEDBACK, HEADS, HOLDS, MESSAGES, POLICIES, TOMBSTONES, TURNS
from acc.text.lines import sha256_of

_DAMAGED = (
    KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError,
    CompileError, DataError, IntegrityError,
)  # fmt: skip

_ROWS: dict[str, Table] = {
    "turn": TURNS, "message": MESSAGES, "head": HEADS, "tombstone": TOMBSTONES,
}  # fmt: skip


_OF_THREAD: dict[str, Table] = {"hold": HOLDS, "feedback": FEEDBACK}


class Exchange(Listing):
    """Export and import threads."""

    def export(self, thread: Key) -> Iterator[str]:
        """Yield a thread as JSON lines (`acc.journal.exchange`). Each page is read by itself, so that writers go on."""
        key = key_of(thread)
        branches = self._read(lambda journal: journal._places(key))
        names = {place.branch_id: place.head.branch for place in branches}
        yield _line(
            {"acc": "journal", "format": FORMAT_NUMBER, "by": written_by(), **names_of(key)}
        )
        for place in branches:
            name = place.head.branch
            ancestry = [[names[branch], up_to] for branch, up_to in place.ancestry]
            yield _line({"row": "branch", "branch": name, "ancestry": ancestry})
            for kind, table in _ROWS.items():
                if kind != "head":
                    yield from self._rows({"row": kind, "branch": name}, table, place)
            yield from self._exported(place)
            yield from self._rows({"row": "head", "branch": name}, HEADS, place)
        for kind, table in _OF_THREAD.items():
            yield from self._rows({"row": kind}, table, branches[0])
        for row in self._read(lambda journal: journal._execute(select(POLICIES)).all()):
            yield _line({"row": "policy", "fingerprint": row.fingerprint, "body": row.body})

    def _rows(self, told: dict[str, str], table: Table, place: Place) -> Iterator[str]:
        """Yield a table's rows of a branch or, where it has no branches, of its thread; ``told`` begins each line."""
        owner = "branch_id" if "branch_id" in table.c else "thread_id"
        column = next((table.c[n] for n in ("id", "first_seq") if n in table.c), table.c[owner])
        last = -1
        while True:
            statement = (
                select(table)
                .where(table.c[owner] == getattr(place, owner), column > last)
                .order_by(column)
                .limit(PAGE)
            )
            rows = self._read(lambda j, s=statement: j._execute(s).mappings().all())  # type: ignore[misc]
            for row in rows:
                plain = {k: v for k, v in row.items() if k not in ("id", owner)}
                if "identity" in plain:
                    plain["identity"] = plain["identity"].hex()
                yield _line({**told, **plain})
            if len(rows) < PAGE:
                return
            last = rows[-1][column.name]

    def _exported(self, place: Place) -> Iterator[str]:
        held: Mapping[str, Any] = {}
        for stored in self.commits(place.head.thread, place.head.branch, page=PAGE):
            if stored.problem:
                raise damaged(stored.problem, f"branch row {place.branch_id}")
            yield _line(_commit_body(stored, held))
            held = stored.state or {}

    def import_(self, lines: Iterable[str]) -> ThreadKey:
        """Write the thread that `export` yielded, all or nothing.

        Raises:
            InputError: A line is malformed, or the chain of hashes is broken.
            ConflictError: The thread is in the journal already.
        """
        return self.import_all(lines)[0]

    def import_all(self, lines: Iterable[str]) -> tuple[ThreadKey, ...]:
        """Write the threads whose lines follow each other, all or nothing; errors are those of `import_`."""
        given = tuple(lines)
        return self._write(None, lambda journal: _imported(journal, given))


def _line(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True)


def _commit_body(stored: StoredCommit, held: Mapping[str, Any]) -> dict[str, Any]:
    body = {k: v for k, v in vars(stored).items() if k not in ("id", "problem")}
    if stored.state is not None:
        body["state"] = {k: v for k, v in stored.state.items() if k not in held or held[k] != v}
        body["without"] = [k for k in held if k not in stored.state]
    return {"row": "commit", **body}


def _imported(journal: Exchange, lines: Iterable[str]) -> tuple[ThreadKey, ...]:
    """Write the threads that `Exchange.export` read, one after the other."""
    importer: _Importer | None = None
    keys: list[ThreadKey] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
            if importer is None or "acc" in body:
                importer = _Importer(journal, body)
                keys.append(importer.key)
            else:
                importer.take(body)
        except _DAMAGED as error:
            raise InputError(
                f"the line is no line of a journal: {type(error).__name__}: {error}",
                where=f"line {number}",
                hint="give what acc export wrote",
            ) from error
    if importer is None:
        raise InputError("there are no lines", where="import", hint="give what acc export wrote")
    return tuple(keys)


class _Importer:
    """Writes line after line."""

    def __init__(self, journal: Exchange, first: Mapping[str, Any]) -> None:
        if first["acc"] != "journal" or first["format"] != FORMAT_NUMBER:
            raise ValueError(f"its format is {first['format']}")
        self.key = key_of(ThreadKey(**{name: first[name] for name in names_of(ThreadKey(""))}))
        if journal._find(self.key) is not None:
            raise ConflictError(
                "the thread is in the journal already", where=str(self.key),
                hint="delete it first, or import under another name",
            )  # fmt: skip
        self._journal = journal
        self._places: dict[str, Place] = {}
        self._states: dict[str, Mapping[str, Any]] = {}
        self._hashes: dict[str, str] = {}

    def take(self, body: dict[str, Any]) -> None:
        """Write one line."""
        kind = body.pop("row")
        if kind == "policy":
            self._policy(body)
        elif kind == "branch":
            self._branch(body)
        elif kind == "commit":
            self._commit(body)
        elif kind in _OF_THREAD:
            row = {**_without_ids(body), "thread_id": self._places[MAIN].thread_id}
            self._journal._execute(_OF_THREAD[kind].insert(), row)
        else:
            place = self._places[body.pop("branch")]
            if kind == "turn":
                body["identity"] = bytes.fromhex(body["identity"])
            row = {**_without_ids(body), "branch_id": place.branch_id}
            self._journal._execute(_ROWS[kind].insert(), row)

    def _policy(self, body: Mapping[str, str]) -> None:
        known = select(POLICIES).where(POLICIES.c.fingerprint == body["fingerprint"])
        if self._journal._execute(known).first() is None:
            self._journal._execute(POLICIES.insert(), dict(body))

    def _branch(self, body: Mapping[str, Any]) -> None:
        name, now = body["branch"], self._journal._now()
        ancestry = tuple((self._places[n].branch_id, int(seq)) for n, seq in body["ancestry"])
        if name == MAIN:
            made = places.create(self._journal._sql, self.key, now)
        else:
            thread_id = self._places[MAIN].thread_id
            made = places.add_branch(self._journal._sql, self.key, thread_id, name, ancestry, now)
        self._places[name] = made

    def _commit(self, body: dict[str, Any]) -> None:
        place = self._places[body["branch"]]
        name, version = place.head.branch, body["version"]
        if (
            name in self._hashes
            and body["parent"] != self._hashes[name]
            and body["kind"] != "taken"
        ):
            raise ValueError(f"version {version} does not follow the one before it")
        self._hashes[name] = body["hash"]
        state = self._state(name, body)
        row = {
            **commit_row(place, {"hash": body["hash"]}, body["kind"], body["at"]),
            **{k: body[k] for k in ("version", "parent", "policy", "epoch", "turn", "seq")},
            "first_seq": body["span"][0], "last_seq": body["span"][1],
            "record": None if body["record"] is None else packed(body["record"]),
            "state": None if state is None else packed(state),
        }  # fmt: skip
        self._journal._execute(ADD_COMMIT, row)

    def _state(self, branch: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if body["state"] is None:
            self._states[branch] = {}
            return None
        kept = {k: v for k, v in self._states.get(branch, {}).items() if k not in body["without"]}
        state = {**kept, **body["state"]}
        found = sha256_of({k: v for k, v in state.items() if k != "hash"})
        if not found == state["hash"] == body["hash"]:
            raise ValueError(f"the state of version {body['version']} was changed")
        self._states[branch] = state
        return state


def _without_ids(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line's row; the database numbers it."""
    return {
        name: value for name, value in body.items() if name not in ("id", "branch_id", "thread_id")
    }
