"""Commit by compare-and-swap on the head of a branch (law 2); begin branches, and take documents in.

A document is no turn of a conversation: no compressor reads it, and it stands in no tail. It lies in a thread of its
own, whose states say nothing. Its commits only number its parts, so that a branch's chain, digests and index hold for
it as for everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, select, text

from acc.errors import ConflictError, StateError
from acc.journal.appending import Appending
from acc.journal.names import MAIN, Appended, Head, Key, Place, key_of
from acc.journal.opened import writes
from acc.journal.record import Entry, record_of
from acc.journal.tables import COMMITS, HEADS, packed, read_state
from acc.state.model import CompressedCognitiveState
from acc.state.tail import Message
from acc.text.lines import canonical_json, sha256_of

ADD_COMMIT = COMMITS.insert()

EVERY = 16
"""Versions of which one is written whole: a state is read from two rows at most."""

MOST_RECENT = 64
"""States that a journal keeps, the last ones of all threads. A hash names its state: none is ever out of date."""

_LAST_WHOLE = select(COMMITS.c.version, COMMITS.c.state).where(
    COMMITS.c.branch_id == bindparam("branch_id"), COMMITS.c.base == 0,
    COMMITS.c.version.between(bindparam("after"), bindparam("version")),
).order_by(COMMITS.c.version.desc()).limit(1)  # fmt: skip
_HEAD = text(
    "UPDATE heads SET hash = :hash, version = :version, seq = :seq"
    " WHERE branch_id = :branch_id AND hash = :before"
)
KEEP_POLICY = text(
    "INSERT INTO policies (fingerprint, body) VALUES (:fingerprint, :body) ON CONFLICT DO NOTHING"
)
_POLICY = text("SELECT 1 FROM policies WHERE fingerprint = :fingerprint")


class Committing(Appending):
    """Commit, fork, ingest."""

    @writes
    def commit(
        self,
        thread: Key,
        entries: Sequence[Entry[Any]],
        *,
        follows: str,
        branch: str = MAIN,
        epoch: int | None = None,
        turn: Appended | None = None,
    ) -> Head:
        """Append the commits of a step, all or none, if the head is still ``follows``.

        Args:
            thread: The thread.
            entries: The commits in their order.
            follows: Hash of the head that the step began from; empty if there was none.
            branch: The branch.
            epoch: Epoch of that head; None does not ask whether an erasure came since.
            turn: The turn that the first commit took, as `append` returned it.

        Returns:
            The new head. Commits that are there already are not written again.

        Raises:
            ConflictError: Another commit or an erasure came first, or the turn was erased.
            StateError: The commits do not follow each other, or do not belong to ``turn``.
        """
        place = self._find(thread, branch)
        if place is None and entries and entries[0].kind == "taken" and not (turn or follows):
            place = self._create(key_of(thread))
        if place is None:
            raise self._missing(thread, branch)
        head = place.head
        if not entries or head.hash == entries[-1].commit.state.hash:  # repeated: it is there
            return head
        if head.hash != follows:
            raise self._conflict(place, follows)
        if epoch is not None and head.epoch != epoch:
            raise ConflictError(
                f"an erasure changed the thread: its epoch is {head.epoch}, not {epoch}",
                where=place.where,
                hint="read the head and step again from it",
            )
        _check(entries, place, turn)
        if turn is not None:
            self._take(place, turn, entries[0].turn, entries[0].commit.state.version)
            self._leave_no_record(place, turn)
        return self._add(place, entries, turn)

    @writes
    def append_and_commit(
        self,
        thread: Key,
        messages: Sequence[Message],
        entries: Sequence[Entry[Any]],
        *,
        follows: str = "",
        branch: str = MAIN,
        epoch: int | None = None,
        waiting: Appended | None = None,
    ) -> Appended:
        """Do what `append` and `commit` do, in one transaction, where nothing has to be asked in between.

        ``waiting``: messages that were appended before (`Latest.waiting`), which the first commit takes, too.

        Returns:
            The turn, committed. ``head`` is the new head. Of a repeated step it is what was committed before, which
            may be another worker's.
        """
        if not entries:
            raise StateError(
                "there is no commit", where=str(thread), hint="use append for a turn alone"
            )
        turn = self.append(thread, messages, follows=follows, branch=branch)
        if turn.is_committed:
            return turn
        taken = waiting.and_then(turn) if waiting is not None else turn
        head = self.commit(thread, entries, follows=follows, branch=branch, epoch=epoch, turn=taken)
        return replace(turn, head=head, is_committed=True)

    def _add(self, place: Place, entries: Sequence[Entry[Any]], turn: Appended | None) -> Head:
        head = place.head
        seq = head.seq if turn is None else turn.last
        rows = []
        base, whole = self._base(place)
        for number, entry in enumerate(entries):
            state = entry.commit.state
            span = (turn.first, turn.last) if turn is not None and number == 0 else (0, 0)
            made = state.canonical(), entry.kind, record_of(entry)
            row = commit_row(place, *made, at=self._now(), span=span, seq=seq)
            if base and row["version"] - base < EVERY:
                row |= {"base": base, "state": packed(made[0], whole)}
            else:
                base, whole = row["version"], row["state"]
            rows.append(row)
            self._keep_policy(entry)
            self._recent[state.hash] = state
        for oldest in list(self._recent)[:-MOST_RECENT]:
            self._recent.pop(oldest, None)
        self._execute(ADD_COMMIT, rows)
        last = entries[-1].commit.state
        return self._move_head(place, last.hash, last.version, seq)

    def _base(self, place: Place) -> tuple[int, bytes]:
        """Return the last version of a branch that is written whole, and its state; 0 if there is none."""
        version = place.head.version
        given = {"branch_id": place.branch_id, "after": version - EVERY, "version": version}
        row = self._execute(_LAST_WHOLE, given).first()
        return (row.version, row.state) if row is not None else (0, b"")

    def _keep_policy(self, entry: Entry[Any]) -> None:
        """Keep the numbers of a policy that is not known yet."""
        fingerprint = {"fingerprint": entry.policy.fingerprint}
        if self._execute(_POLICY, fingerprint).first() is None:
            self._execute(KEEP_POLICY, {**fingerprint, "body": canonical_json(entry.policy.body)})

    def _move_head(self, place: Place, to: str, version: int, seq: int) -> Head:
        head = place.head
        row = {"branch_id": place.branch_id, "hash": to, "version": version, "seq": seq}
        if not place.is_begun:
            self._execute(HEADS.insert(), {**row, "epoch": head.epoch})
        elif self._execute(_HEAD, {**row, "before": head.hash}).rowcount != 1:
            raise self._conflict(place, head.hash)  # on a database that locks rows only
        return Head(head.thread, head.branch, to, version, head.epoch, seq)

    @writes
    def fork(self, thread: Key, at: str, branch: str) -> Head:
        """Begin ``branch`` after the commit whose hash is ``at``. It sees nothing that came later.

        Its first commit is that state under the branch's name.

        Raises:
            StateError: The journal does not hold ``at``.
            ConflictError: There is a branch of this name.
        """
        key = key_of(thread)
        main = self._found(key)
        if self._find(key, branch) is not None:
            raise ConflictError(
                f"branch {branch} is there already", where=str(key), hint="give it another name"
            )
        places = {place.branch_id: place for place in self._places(key)}
        row = self._commit_with(places, at)
        if row is None:
            raise StateError(
                f"the journal does not hold the state {at[:16]}", where=str(key),
                hint="fork from a commit that acc show lists",
            )  # fmt: skip
        body = read_state(self._sql, row.branch_id, row.version)
        ancestry = ((row.branch_id, row.seq), *places[row.branch_id].ancestry)
        place = self._add_branch(main.thread_id, Head(key, branch, seq=row.seq), ancestry)
        return self._append_body(place, successor(body, branch=branch), "fork")

    @writes
    def ingest(self, thread: Key, messages: Sequence[Message]) -> Appended:
        """Append documents to a thread that only holds documents, and commit them, in one transaction.

        Ingesting the same again finds what is there.

        Raises:
            InputError: There are no messages, or they carry no refs.
        """
        place = self._find(thread)
        head = place.head if place else Head(key_of(thread))
        held = self._texts(place, [m.ref for m in messages]) if place else ()
        there = {message.ref for message in held}
        new = [message for message in messages if message.ref not in there]
        if messages and not new:
            return Appended(head, 0, 0, tuple(m.ref for m in messages), is_committed=True)
        turn = self.append(thread, new, follows=head.hash)
        place = self._found(thread)
        version = head.version + 1
        self._take(place, turn, new, version)
        empty = CompressedCognitiveState.empty().canonical()
        before = {**empty, "hash": head.hash or empty["hash"], "version": head.version}
        done = self._append_body(place, successor(before, turn=version), "ingest", turn)
        return replace(turn, head=done, is_committed=True)

    def _append_body(
        self, place: Place, body: Mapping[str, Any], kind: str, turn: Appended | None = None
    ) -> Head:
        """Append a state that was made without its class."""
        span, seq = ((turn.first, turn.last), turn.last) if turn else ((0, 0), place.head.seq)
        row = commit_row(place, body, kind, {}, at=self._now(), span=span, seq=seq)
        self._execute(ADD_COMMIT, row)
        return self._move_head(place, body["hash"], body["version"], seq)


def _check(entries: Sequence[Entry[Any]], place: Place, turn: Appended | None) -> None:
    """Raise `StateError` if the commits do not follow each other, or took another turn."""
    parent, version = place.head.hash, place.head.version
    for number, entry in enumerate(entries):
        state, what = entry.commit.state, ""
        is_next = state.version == version + 1 and (state.parent == parent or not parent)
        appended = turn.refs if turn is not None and number == 0 else ()
        if entry.kind == "step" and not is_next:
            what = f"version {state.version} does not follow version {version}"
        elif state.branch != place.head.branch:
            what = f"the state is of branch {state.branch}"
        elif tuple(message.ref for message in entry.turn) != appended:
            what = f"version {state.version} took other messages than were appended"
        if what:
            hint = "commit what one step made, in its order, with the turn that was appended for it"
            raise StateError(what, where=place.where, hint=hint)
        parent, version = state.hash, state.version


def commit_row(
    place: Place,
    body: Mapping[str, Any],
    kind: str,
    record: Mapping[str, Any],
    *,
    at: str,
    span: Sequence[int] = (0, 0),
    seq: int,
) -> dict[str, Any]:
    """Return a row of commits for a state."""
    return {
        "branch_id": place.branch_id, "version": body.get("version", 0), "kind": kind,
        "parent": body.get("parent", ""), "hash": body["hash"], "policy": body.get("policy", ""),
        "turn": body.get("turn", 0), "first_seq": span[0], "last_seq": span[1],
        "seq": seq, "at": at, "record": packed(record), "state": packed(body), "base": 0,
    }  # fmt: skip


def successor(body: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the state after ``body`` with some fields changed, sealed."""
    made = {k: v for k, v in body.items() if k != "hash"}
    made |= {"version": body.get("version", 0) + 1, "parent": body["hash"], **changes}
    made = {key: value for key, value in made.items() if value not in ([], "", 0, None)}
    return {"hash": sha256_of(made), **made}
