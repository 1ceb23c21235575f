"""Commit by compare-and-swap on the head of a branch (law 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, select, text

from acc.errors import ConflictError, StateError
from acc.journal.appending import RECORD, TAKEN, Appending
from acc.journal.names import MAIN, Appended, Head, Place
from acc.journal.opened import Key, key_of, writes
from acc.journal.record import Entry, record_of
from acc.journal.rows import packed
from acc.journal.tables import COMMITS, HEADS, TURNS
from acc.state.tail import Message
from acc.text.lines import canonical_json

ADD_COMMIT = COMMITS.insert()

EVERY = 16
"""Versions of which one is written whole: a state is read from two rows at most."""

_LAST_WHOLE = select(COMMITS.c.version, COMMITS.c.state).where(
    COMMITS.c.branch_id == bindparam("branch_id"), COMMITS.c.base == 0,
    COMMITS.c.version.between(bindparam("after"), bindparam("version")),
).order_by(COMMITS.c.version.desc()).limit(1)  # fmt: skip
_MOVE = text("UPDATE messages SET turn = :turn, ref = :ref WHERE id = :id")
_MARK = text(
    "UPDATE messages SET version = :version WHERE branch_id = :branch_id AND seq >= :first AND seq <= :last"
    " AND version = 0 AND digest <> ''"
)
_LEFT = text(
    "SELECT messages.id FROM messages JOIN turns ON turns.branch_id = messages.branch_id"
    " AND first_seq <= seq AND last_seq >= seq WHERE messages.branch_id = :branch_id AND seq > :after"
    " AND seq < :last AND version = 0 AND digest <> '' AND substr(identity, 1, :length) = :record LIMIT 1"
)
_HEAD = text(
    "UPDATE heads SET hash = :hash, version = :version, seq = :seq"
    " WHERE branch_id = :branch_id AND hash = :before"
)
_KEEP_POLICY = text(
    "INSERT INTO policies (fingerprint, body) VALUES (:fingerprint, :body) ON CONFLICT DO NOTHING"
)
_POLICY = text("SELECT 1 FROM policies WHERE fingerprint = :fingerprint")


class Committing(Appending):
    """Commit."""

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
        version = entries[0].commit.state.version
        turn, place = self._append(thread, branch, messages, follows, version=version)
        if turn.is_committed:
            return turn
        # a new turn's rows name their commit already
        taken = replace(turn, is_committed=turn.is_new)
        if waiting is not None:
            self._take(place, waiting, entries[0].turn, version)
            taken = waiting.and_then(taken)
        head = self.commit(thread, entries, follows=follows, branch=branch, epoch=epoch, turn=taken)
        return replace(turn, head=head, is_committed=True)

    def _take(
        self, place: Place, turn: Appended, messages: Sequence[Message], version: int
    ) -> None:
        """Mark the messages of a turn that was appended before as taken.

        If they waited for another turn than that which takes them, they get its number and refs: what was said has
        one row, whoever takes it.
        """
        if turn.is_committed:
            return
        span = {"branch_id": place.branch_id, "first": turn.first, "last": turn.last}
        rows = [row for row in self._execute(TAKEN, span) if not row.version and row.digest]
        both = zip(rows, messages, strict=False)
        moved = [(r, m) for r, m in both if r.turn != m.turn or r.ref != m.ref]
        for row, message in moved:
            self._execute(_MOVE, {"id": row.id, "turn": message.turn, "ref": message.ref})
        if moved:
            self._name_again(place, turn, moved[0][1].turn)
        done = self._execute(_MARK, {**span, "version": version})
        if done.rowcount != len(turn.refs):
            raise ConflictError(
                "the turn is not in the journal any more",
                where=place.where,
                hint="append it again",
            )

    def _name_again(self, place: Place, turn: Appended, number: int) -> None:
        """Let a span's turns be found by another number, too: refs name it, and a repeated step names the old one."""
        own = (
            (TURNS.c.branch_id == place.branch_id)
            & (TURNS.c.first_seq >= turn.first) & (TURNS.c.last_seq <= turn.last)
        )  # fmt: skip
        rows = self._execute(select(TURNS).where(own)).mappings().all()
        known = {row["identity"] for row in rows if row["number"] == number}
        new = {r["identity"]: {**r, "number": number} for r in rows if r["identity"] not in known}
        if new:
            self._execute(TURNS.insert(), list(new.values()))

    def _leave_no_record(self, place: Place, turn: Appended) -> None:
        """Raise `ConflictError` if recorded words lie before the end of a turn that does not hold them."""
        where = {"branch_id": place.branch_id, "after": place.head.seq, "last": turn.last}
        recorded = {"record": RECORD, "length": len(RECORD)}
        if self._execute(_LEFT, {**where, **recorded}).first() is not None:
            raise ConflictError(
                "words were recorded while the step was made",
                where=place.where,
                hint="repeat the step with the same state and turn: it takes them along",
            )

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
            self._recent.put(state)
            self._keep_policy(entry)
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
            self._execute(_KEEP_POLICY, {**fingerprint, "body": canonical_json(entry.policy.body)})

    def _move_head(self, place: Place, to: str, version: int, seq: int) -> Head:
        head = place.head
        row = {"branch_id": place.branch_id, "hash": to, "version": version, "seq": seq}
        if not place.is_begun:
            self._execute(HEADS.insert(), {**row, "epoch": head.epoch})
        elif self._execute(_HEAD, {**row, "before": head.hash}).rowcount != 1:
            raise self._conflict(place, head.hash)  # on a database that locks rows only
        return Head(head.thread, head.branch, to, version, head.epoch, seq)


def _check(entries: Sequence[Entry[Any]], place: Place, turn: Appended | None) -> None:
    """Raise `StateError` if the commits do not follow each other, or took another turn."""
    parent, version = place.head.hash, place.head.version
    for number, entry in enumerate(entries):
        state = entry.commit.state
        is_next = state.version == version + 1 and (state.parent == parent or not parent)
        if entry.kind == "step" and not is_next:
            raise _unfit(f"version {state.version} does not follow version {version}", place)
        if state.branch != place.head.branch:
            raise _unfit(f"the state is of branch {state.branch}", place)
        refs = tuple(message.ref for message in entry.turn)
        if refs != (turn.refs if turn is not None and number == 0 else ()):
            raise _unfit(f"version {state.version} took other messages than were appended", place)
        parent, version = state.hash, state.version


def _unfit(what: str, place: Place) -> StateError:
    return StateError(
        what,
        where=place.where,
        hint="commit what one step made, in its order, with the turn that was appended for it",
    )


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
