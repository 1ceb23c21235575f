"""Commits of states that no compressor made: the first one of a branch, and those of documents.

A document is no turn of a conversation: no compressor reads it, and it stands in no tail. It lies in a thread of its
own, whose states say nothing. Its commits only number its parts, so that a branch's chain, digests and index hold for
it as for everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acc.errors import ConflictError, InputError, StateError
from acc.journal.committing import ADD_COMMIT, Committing, commit_row
from acc.journal.names import MAIN, Appended, Head, Place
from acc.journal.opened import Key, key_of, writes
from acc.journal.rows import read_state
from acc.state.model import CompressedCognitiveState
from acc.state.tail import Message
from acc.text.lines import sha256_of


class Branching(Committing):
    """Begin branches, take documents in."""

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
        names = self._branch_names(main)
        row = self._commit_with(names, at)
        if row is None:
            raise StateError(
                f"the journal does not hold the state {at[:16]}", where=str(key),
                hint="fork from a commit that acc show lists",
            )  # fmt: skip
        body = read_state(self._sql, row.branch_id, row.version)
        parent = self._found(key, names[row.branch_id])
        ancestry = ((row.branch_id, row.seq), *parent.ancestry)
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
        held = self._texts(place, [m.ref for m in messages]) if place else ()
        there = {message.ref for message in held}
        new = [message for message in messages if message.ref not in there]
        head = place.head if place else None
        if head is not None and messages and not new:
            refs = tuple(message.ref for message in messages)
            return Appended(head, 0, 0, refs, is_committed=True)
        if not new:
            raise InputError(
                "there is nothing to ingest", where=str(thread), hint="give parts with refs"
            )
        version = (head.version if head else 0) + 1
        turn, place = self._append(thread, MAIN, new, head.hash if head else "", version=version)
        body = CompressedCognitiveState.empty().canonical()
        made = {**body, "hash": place.head.hash or body["hash"], "version": version - 1}
        made = successor(made, turn=version)
        done = self._append_body(place, made, "ingest", turn)
        return replace(turn, head=done, is_committed=True)

    def _append_body(
        self, place: Place, body: Mapping[str, Any], kind: str, turn: Appended | None = None
    ) -> Head:
        """Append a state that was made without its class."""
        span, seq = ((turn.first, turn.last), turn.last) if turn else ((0, 0), place.head.seq)
        row = commit_row(place, body, kind, {}, at=self._now(), span=span, seq=seq)
        self._execute(ADD_COMMIT, row)
        return self._move_head(place, body["hash"], body["version"], seq)


def successor(body: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the state after ``body`` with some fields changed, sealed."""
    made = {k: v for k, v in body.items() if k != "hash"}
    made |= {"version": body.get("version", 0) + 1, "parent": body["hash"], **changes}
    made = {key: value for key, value in made.items() if value not in ([], "", 0, None)}
    return {"hash": sha256_of(made), **made}
