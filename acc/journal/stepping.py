"""What a step does with the journal, and what it reads of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection

from acc.errors import StateError
from acc.journal import appending, branching, committing, places, reading
from acc.journal.appending import Desk
from acc.journal.names import MAIN, Appended, Head
from acc.journal.opened import Key, Opened, key_of
from acc.journal.places import Place
from acc.journal.record import Entry
from acc.journal.states import body_of
from acc.state.model import CompressedCognitiveState
from acc.tail import Message

MOST_WAITING = 10_000
"""Messages of an uncommitted turn that are read at most."""

T = TypeVar("T")
S = TypeVar("S", bound=CompressedCognitiveState)


@dataclass(frozen=True)
class Latest(Generic[S]):
    """What a step begins from.

    Attributes:
        head: The head of the branch.
        state: Its state; None if nothing was committed.
        tail: The messages of the state's tail, as far as they are there.
    """

    head: Head
    state: S | None
    tail: tuple[Message, ...]


class Stepping(Opened):
    """Append, commit, fork; head, state, tail."""

    def append(
        self,
        thread: Key,
        messages: Sequence[Message],
        *,
        follows: str = "",
        branch: str = MAIN,
        is_record: bool = False,
    ) -> Appended:
        """Write a turn. It is on the disk when this returns.

        A repeated step finds its turn, whoever wrote it, and what was committed for it.

        Args:
            thread: The thread; a new one is begun.
            messages: The numbered messages of the turn.
            follows: Hash of the branch's head; empty while it has none.
            branch: The branch.
            is_record: The words belong to the next step, whoever makes it: no commit may leave them behind.

        Raises:
            ConflictError: The head is another one: somebody committed since ``follows``. Nothing was written.
            StateError: The journal does not hold ``follows``, or the thread was deleted.
            InputError: There are no messages, or they carry no refs.
        """
        key = key_of(thread)
        return self._write(
            key,
            lambda c, d: appending.append(
                c, d, key, branch, messages, follows, is_record=is_record
            )[0],
        )

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
            epoch: Epoch of that head; None does not ask whether somebody took the branch over.
            turn: The turn that the first commit took, as `append` returned it.

        Returns:
            The new head. Commits that are there already are not written again.

        Raises:
            ConflictError: Another commit or somebody's `take_over` came first, or the turn was erased.
            StateError: The commits do not follow each other, or do not belong to ``turn``.
        """
        key = key_of(thread)
        return self._write(
            key,
            lambda c, d: committing.commit(
                c, d, key, branch, entries, follows, epoch=epoch, turn=turn
            ),
        )

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

        ``waiting``: messages that were appended before (`waiting_turn`), which the first commit takes, too.

        Returns:
            The turn, committed. ``head`` is the new head. Of a repeated step it is what was committed before, which
            may be another worker's.
        """
        key = key_of(thread)
        if not entries:
            raise StateError(
                "there is no commit", where=str(key), hint="use append for a turn alone"
            )
        version = entries[0].commit.state.version

        def job(c: Connection, d: Desk) -> Appended:
            turn, place = appending.append(c, d, key, branch, messages, follows, version=version)
            if turn.is_committed:
                return turn
            # a new turn's rows name their commit already
            taken = replace(turn, is_committed=turn.is_new)
            if waiting is not None:
                committing.take(c, place, waiting, entries[0].turn, version)
                taken = waiting.and_then(taken)
            head = committing.commit(
                c, d, key, branch, entries, follows, epoch=epoch, turn=taken, place=place
            )
            return replace(turn, head=head, is_committed=True)

        return self._write(key, job)

    def fork(self, thread: Key, at: str, branch: str) -> Head:
        """Begin ``branch`` after the commit whose hash is ``at``. It sees nothing that came later.

        Its first commit is that state under the branch's name.

        Raises:
            StateError: The journal does not hold ``at``, or an erasure blanked it.
            ConflictError: There is a branch of this name.
        """
        key = key_of(thread)
        return self._write(key, lambda c, d: branching.fork(c, d, key, at, branch))

    def take_over(self, thread: Key, branch: str = MAIN) -> Head:
        """Raise the branch's epoch: a worker that began before is told when it commits."""
        key = key_of(thread)
        return self._write(key, lambda c, d: branching.take_over(c, d, key, branch))

    def head(self, thread: Key, branch: str = MAIN) -> Head:
        """Return the head of a branch; one without a hash if there is none."""
        key = key_of(thread)
        place = self._database.read(lambda c: places.find(c, key, branch))
        return place.head if place else Head(key, branch)

    def state(
        self,
        thread: Key,
        at: str | int | None = None,
        *,
        branch: str = MAIN,
        schema: type[S] = CompressedCognitiveState,  # type: ignore[assignment]
    ) -> S | None:
        """Return a state: the head's, that with the hash ``at``, or that of the version ``at`` of the branch.

        None if there is none, or if an erasure blanked it.

        Raises:
            StateError: It is not of ``schema``, or it was changed.
        """
        key = key_of(thread)

        def job(c: Connection) -> S | None:
            place = places.find(c, key, branch)
            return self._state(c, place, at, schema) if place else None

        return self._database.read(job)

    def _state(
        self, c: Connection, place: Place, at: str | int | None, schema: type[S]
    ) -> S | None:
        if at is None or at == place.head.hash:
            held = self._recent.value(place.head.hash, schema)
            if held is not None:
                return held
        data = reading.state_at(c, place, self._recent, at)
        return schema.load(body_of(data)) if data else None

    def latest(
        self,
        thread: Key,
        *,
        branch: str = MAIN,
        schema: type[S] = CompressedCognitiveState,  # type: ignore[assignment]
    ) -> Latest[S]:
        """Return what a step begins from: head, state and the texts of its tail, all of one moment."""
        key = key_of(thread)

        def job(c: Connection) -> Latest[S]:
            place = places.find(c, key, branch)
            if place is None:
                return Latest(Head(key, branch), None, ())
            state = self._state(c, place, None, schema)
            refs = [entry.ref for entry in state.unread] if state else []
            return Latest(place.head, state, reading.texts(c, place, refs) if refs else ())

        return self._database.read(job)

    def waiting_turn(
        self, thread: Key, branch: str = MAIN
    ) -> tuple[Appended, tuple[Message, ...]] | None:
        """Return what was appended after the head and no commit took, with its messages; None if there is nothing.

        It is a turn that was recorded, or one whose step failed, was killed, or is being made by another worker.
        """
        key = key_of(thread)

        def job(c: Connection) -> tuple[Appended, tuple[Message, ...]] | None:
            place = places.find(c, key, branch)
            if place is None:
                return None
            after = reading.message_page(c, place, place.head.seq, MOST_WAITING, also_open=True)
            open_ = [each for each in after if not each.version and each.digest]
            if not open_:
                return None
            refs = tuple(each.message.ref for each in open_)
            first, last = open_[0].seq, open_[-1].seq
            turn = Appended(place.head, first, last, refs, False, False, b"")
            return turn, tuple(each.message for each in open_)

        return self._database.read(job)

    def commit_with(self, thread: Key, digest: str) -> Head | None:
        """Return branch, version and last message of the commit with a hash; None if the journal lacks it."""
        key = key_of(thread)

        def job(c: Connection) -> Head | None:
            place = places.find(c, key)
            if place is None:
                return None
            names = places.branch_names(c, place.thread_id)
            row = places.commit_with(c, names, digest)
            if row is None:
                return None
            return Head(key, names[row.branch_id], digest, row.version, seq=row.seq)

        return self._database.read(job)

    def turn_of(self, held: Head, messages: Sequence[Message]) -> Appended | None:
        """Return the turn of these messages that was appended on a branch after ``held``, with what took it.

        None if there is none. Nothing is written.
        """

        def job(c: Connection) -> Appended | None:
            place = places.find(c, held.thread, held.branch)
            return appending.turn_of(c, place, messages, held.hash) if place else None

        return self._database.read(job)

    def said_after(self, held: Head, said: Sequence[str]) -> Appended | None:
        """Return what was committed on a branch after ``held`` if it begins with these words.

        ``said``: the identities of the observations. A step is repeated whose first words were recorded before it.
        """

        def job(c: Connection) -> Appended | None:
            place = places.find(c, held.thread, held.branch)
            return appending.said_after(c, place, held.seq, said) if place else None

        return self._database.read(job)

    def branches(self, thread: Key) -> tuple[Head, ...]:
        """Return the heads of a thread's branches that have begun, the main one first."""
        key = key_of(thread)

        def job(c: Connection) -> tuple[Head, ...]:
            main = places.find(c, key)
            names = places.branch_names(c, main.thread_id).values() if main else ()
            found = [places.find(c, key, name) for name in names]
            return tuple(place.head for place in found if place is not None and place.is_begun)

        return self._database.read(job)

    def without_news(self, held: Head) -> Head:
        """Return the last commit after ``held`` on its branch that had taken no message since; ``held`` if none."""

        def job(c: Connection) -> Head:
            place = places.find(c, held.thread, held.branch)
            row = place and places.last_at(c, place.branch_id, held.seq)
            if not row or row.version <= held.version:
                return held
            return replace(held, hash=row.hash, version=row.version)

        return self._database.read(job)

    def texts(self, thread: Key, refs: Iterable[Any], *, branch: str = MAIN) -> tuple[Message, ...]:
        """Return the messages that a branch sees under these refs, or entries of a tail, in their order.

        Those that are missing or were erased are left out.
        """
        key, wanted = key_of(thread), reading.flat(refs)

        def job(c: Connection) -> tuple[Message, ...]:
            place = places.find(c, key, branch)
            return reading.texts(c, place, wanted) if place and wanted else ()

        return self._database.read(job)
