"""What stands beside the steps: holds, feedback, copies, tombstones, documents, and what an erasure commits anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, select

from acc.errors import InputError
from acc.journal import ingesting, places, rewriting, survey
from acc.journal.appending import Desk
from acc.journal.names import MAIN, Appended, Head, ThreadKey
from acc.journal.opened import Key, key_of
from acc.journal.rewriting import Anew
from acc.journal.stepping import Stepping
from acc.journal.tables import COMMITS, COPIES, FEEDBACK, HOLDS, MESSAGES, THREADS, TOMBSTONES
from acc.tail import Message
from acc.turn.observations import storable


@dataclass(frozen=True)
class Hold:
    """What no deletion may touch.

    Attributes:
        thread: The thread.
        ref: A message of it; empty for the whole thread.
        reason: Who asks for it, and why.
        at: Since when.
    """

    thread: ThreadKey
    ref: str
    reason: str
    at: str


@dataclass(frozen=True)
class Feedback:
    """How useful evidence was; without a ref, everything that the turn admitted."""

    branch: str
    turn: int
    ref: str
    utility: float


@dataclass(frozen=True)
class Tombstone:
    """A message that an erasure blanked.

    Attributes:
        ref: Its ref.
        message_id: Id of the chat message that it came from.
        digest: Its keyed digest (`acc.tail.digest_of`).
        at: When it was erased.
        why: Why.
        branch: Its branch.
    """

    ref: str
    message_id: str
    digest: str
    at: str
    why: str
    branch: str = MAIN


class Keeping(Stepping):
    """Hold, rate, note, ingest, commit anew."""

    def hold(self, thread: Key, ref: str = "", *, reason: str) -> Hold:
        """Protect a message, or a whole thread, from deletion. A second hold changes the reason.

        Raises:
            StateError: There is no such thread.
        """
        key, reason = key_of(thread), storable(reason)

        def job(c: Connection, d: Desk) -> Hold:
            place = places.found(c, key, MAIN, d.digest_key)
            _unhold(c, place.thread_id, ref)
            row = {"thread_id": place.thread_id, "ref": ref, "reason": reason, "at": d.now}
            c.execute(HOLDS.insert(), row)
            return Hold(key, ref, reason, d.now)

        return self._write(key, job)

    def release(self, thread: Key, ref: str = "") -> None:
        """End a hold.

        Raises:
            InputError: There is none.
        """
        key = key_of(thread)

        def job(c: Connection, _: Desk) -> int:
            place = places.find(c, key)
            return _unhold(c, place.thread_id, ref) if place else 0

        if not self._write(key, job):
            raise InputError(
                "there is no such hold", where=f"{key} {ref}".strip(), hint="see acc hold"
            )

    def held(self) -> tuple[Hold, ...]:
        """Return all holds."""
        statement = select(
            HOLDS, THREADS.c.thread, THREADS.c.tenant, THREADS.c.user, THREADS.c.agent
        ).join(THREADS, THREADS.c.id == HOLDS.c.thread_id)
        rows = self._database.read(lambda c: c.execute(statement.order_by(HOLDS.c.id)).all())
        return tuple(
            Hold(ThreadKey(r.thread, r.tenant, r.user, r.agent), r.ref, r.reason, r.at)
            for r in rows
        )

    def rate(self, thread: Key, given: Feedback) -> None:
        """Keep how useful evidence was.

        Raises:
            StateError: There is no such thread.
        """
        key = key_of(thread)

        def job(c: Connection, d: Desk) -> None:
            place = places.found(c, key, MAIN, d.digest_key)
            c.execute(FEEDBACK.insert(), {**vars(given), "thread_id": place.thread_id, "at": d.now})

        self._write(key, job)

    def feedback(self, thread: Key) -> tuple[Feedback, ...]:
        """Return what was said of a thread's evidence, in order."""
        key = key_of(thread)

        def job(c: Connection) -> Sequence[Any]:
            place = places.find(c, key)
            if place is None:
                return ()
            own = select(FEEDBACK).where(FEEDBACK.c.thread_id == place.thread_id)
            return c.execute(own.order_by(FEEDBACK.c.id)).all()

        rows = self._database.read(job)
        return tuple(Feedback(r.branch, r.turn, r.ref, r.utility) for r in rows)

    def note_copy(self, path: str, what: str) -> None:
        """Note that the journal, or a part of it, was copied to a file."""
        row = {"path": storable(path), "what": storable(what)}
        self._write(None, lambda c, d: c.execute(COPIES.insert(), {**row, "at": d.now}) and None)

    def copies(self) -> tuple[str, ...]:
        """Return the files to which the journal, or parts of it, were copied."""
        rows = self._database.read(lambda c: c.execute(select(COPIES.c.path)).all())
        return tuple(dict.fromkeys(row.path for row in rows))

    def tombstones(self, thread: Key) -> tuple[Tombstone, ...]:
        """Return the messages of a thread that were erased, on all branches."""
        key = key_of(thread)

        def job(c: Connection) -> list[Tombstone]:
            place = places.find(c, key)
            if place is None:
                return []
            names = places.branch_names(c, place.thread_id)
            own = select(TOMBSTONES).where(
                TOMBSTONES.c.branch_id.in_(list(names)), TOMBSTONES.c.ref != ""
            )
            return [
                Tombstone(r.ref, r.message_id, r.digest, r.at, r.why, names[r.branch_id])
                for r in c.execute(own.order_by(TOMBSTONES.c.id))
            ]

        return tuple(self._database.read(job))

    def was_erased(self, thread: Key, digest: str) -> bool:
        """Whether an erasure took the state with this hash away, or the thread that it was of."""
        key = key_of(thread)

        def job(c: Connection) -> bool:
            if places.was_deleted(c, key, self._digest_key):
                place = places.find(c, key)
                return place is None or places.commit_with(c, _all(c, place), digest) is None
            place = places.find(c, key)
            return place is not None and rewriting.is_gone(c, _all(c, place), digest)

        return self._database.read(job)

    def in_scope(self, name: str, thread: Key) -> tuple[Head, ...]:
        """Return the heads of the threads of a name that are the same user's and agent's, or nobody's in particular."""
        key = key_of(thread)
        where = THREADS.c.tenant == key.tenant, THREADS.c.thread == name
        statement = select(THREADS.c.user, THREADS.c.agent).where(
            *where, THREADS.c.user.in_({"", key.user}), THREADS.c.agent.in_({"", key.agent})
        )

        def job(c: Connection) -> list[Head]:
            keys = [ThreadKey(name, key.tenant, r.user, r.agent) for r in c.execute(statement)]
            found = [places.find(c, each) for each in keys]
            return [place.head for place in found if place is not None and place.is_begun]

        return tuple(self._database.read(job))

    def ingest(self, thread: Key, messages: Sequence[Message]) -> Appended:
        """Append documents to a thread that only holds documents, and commit them, in one transaction.

        Ingesting the same again finds what is there.

        Raises:
            InputError: There are no messages, or they carry no refs.
        """
        key = key_of(thread)
        return self._write(key, lambda c, d: ingesting.ingest(c, d, key, messages))

    def prune(self, thread: Key, rows: Sequence[tuple[str, int]], why: str = "") -> None:
        """Forget the texts of messages, by branch and number; states and records stay, with a tombstone of each."""
        key = key_of(thread)
        self._write(key, lambda c, d: rewriting.forget(c, d, key, rows, why))
        self._forget()

    def commit_anew(
        self, thread: Key, anew: Sequence[Anew], erased: Sequence[tuple[str, int]], why: str = ""
    ) -> tuple[Head, ...]:
        """Blank messages, and let new commits take the place of those that came after them, in one transaction.

        Workers that began before are told when they commit. Of each commit that goes, the hash stays.

        Args:
            thread: The thread.
            anew: What takes the place of which commits, for each branch.
            erased: Branch and number of each message.
            why: Stands in the tombstones.

        Returns:
            The new heads.

        Raises:
            ConflictError: Somebody committed meanwhile. Nothing was done.
        """
        key = key_of(thread)
        return self._write(key, lambda c, d: rewriting.commit_anew(c, d, key, anew, erased, why))

    def counts(self) -> dict[str, int]:
        """Return how many ``messages`` and ``commits`` there are, and how many bytes of the file are ``free``."""

        def job(c: Connection) -> dict[str, int]:
            tables = {"messages": MESSAGES, "commits": COMMITS}
            found = {n: c.execute(select(func.count()).select_from(t)) for n, t in tables.items()}
            return {name: int(each.scalar() or 0) for name, each in found.items()}

        return {**self._database.read(job), "free": self._database.free_bytes()}

    def holding(
        self, words: Sequence[str], limit: int, thread: Key | None, names: Mapping[str, str]
    ) -> list[tuple[ThreadKey, str, Message]]:
        """Return the newest messages that hold all the words, with thread and branch.

        Args:
            words: Words or parts of words. Letters of ASCII count in any case.
            limit: How many at most.
            thread: A thread; None for all.
            names: Exact tenant, user and agent.
        """
        wanted = names if thread is None else places.names_of(key_of(thread))
        return self._database.read(lambda c: survey.holding(c, words, limit, wanted))

    def scrub(self) -> str:
        """Remove what was erased from where the database keeps it besides; return where it is left, or nothing."""
        return self._forget()


def _unhold(connection: Connection, thread_id: int, ref: str) -> int:
    statement = delete(HOLDS).where(HOLDS.c.thread_id == thread_id, HOLDS.c.ref == ref)
    return connection.execute(statement).rowcount


def _all(connection: Connection, place: places.Place) -> list[int]:
    return list(places.branch_names(connection, place.thread_id))
