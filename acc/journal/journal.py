"""The journal: what happened is a row, and a commit is a transaction.

A step appends its turn before anything can fail, and commits by compare-and-swap on the branch's head::

    with Journal.open(folder) as journal:
        head = journal.head("ticket-7")
        turn = journal.append("ticket-7", messages, follows=head.hash)
        ...                                                       # the compressor runs outside any transaction
        journal.commit("ticket-7", entries, follows=head.hash, epoch=head.epoch, turn=turn)

Where nothing has to be compressed, `Journal.append_and_commit` does both in one transaction.

**Conflict or fork.** A commit whose ``follows`` is not the head raises `ConflictError`: somebody committed since. The
same holds for a turn that is appended to an older state. Who wants to go on from an older state all the same, as
after a resumed checkpoint, forks the branch first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from acc.errors import InputError
from acc.folders import expanded, opened_private, private_folder
from acc.journal.database import told
from acc.journal.erasing import Erasing
from acc.journal.exchange import Exchange
from acc.journal.keeping import Keeping
from acc.journal.names import Head, Report
from acc.journal.opened import FILE, Key, key_of
from acc.journal.reading import Latest
from acc.journal.survey import Survey
from acc.journal.verify import verify
from acc.state.policy import Policy


class Journal(Erasing, Keeping, Survey, Exchange):
    """A memory's journal. Threads, event loops and processes may share it; a forked child may go on using it.

    Every method may raise `StoreError`, `StoreUnavailableError` if another process writes for too long, and
    `AuditError` if rows are damaged. After each of them the step may be repeated.
    """

    def backup(self, path: str | Path) -> Path:
        """Copy the journal to a new file while it is used, by SQLite's online backup.

        Raises:
            InputError: There is such a file.
            ConfigurationError: It lies in PostgreSQL, which has means of its own.
        """
        copy = expanded(path)
        with told(copy):
            private_folder(copy.parent)
            try:
                opened_private(copy, "xb").close()
            except FileExistsError as error:
                raise InputError(
                    "the file is there already", where=str(copy), hint="name a new one"
                ) from error
        try:
            with told(copy):
                self.database.back_up(copy)
        except BaseException:
            with suppress(OSError):
                copy.unlink()
            raise
        return copy

    def verify(
        self,
        policies: Sequence[Policy],
        *,
        threads: Iterable[Key] | None = None,
        anchors: Iterable[Head] = (),
    ) -> Report:
        """Recompute every commit, and check chain, digests and heads.

        Args:
            policies: Schema, counter and digest key of each policy in use. The numbers of older ones are stored.
            threads: The threads; None for all.
            anchors: Heads that were kept outside: each has to be a commit still.
        """
        heads = self.heads() if threads is None else (Head(key_of(each)) for each in threads)
        return verify(self, heads, anchors, policies)


__all__ = ["FILE", "Journal", "Key", "Latest"]
