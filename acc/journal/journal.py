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

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, case, func, select

from acc.errors import InputError
from acc.folders import expanded
from acc.journal.database import told
from acc.journal.erasing import Erasing
from acc.journal.exchange import Exchange
from acc.journal.keeping import Keeping
from acc.journal.listing import PAGE, head_of
from acc.journal.names import MAIN, Head, Key, Report, Size, ThreadKey, key_of
from acc.journal.opened import FILE, reads
from acc.journal.reading import Latest
from acc.journal.tables import (
    BRANCHES,
    COMMITS,
    HEADS,
    MESSAGES,
    NAMES,
    POLICIES,
    THREADS,
    message_of,
)
from acc.journal.verify import verify
from acc.state.policy import Policy
from acc.state.tail import Message
from acc.turn.observations import Channel

_SPEAK = [Channel.USER.value, Channel.DOCUMENT.value]
"""A document's: `speakers` does not name who speaks."""


def _of_branches(*columns: Any) -> Select[Any]:
    """Return a query of branches, each with the names of its thread, and its head."""
    return (
        select(*NAMES, *columns)
        .join(BRANCHES, BRANCHES.c.thread_id == THREADS.c.id)
        .outerjoin(HEADS, HEADS.c.branch_id == BRANCHES.c.id)
        .order_by(BRANCHES.c.id)
    )


_COMMITS = select(func.count()).where(COMMITS.c.branch_id == BRANCHES.c.id).scalar_subquery()
_IS_THERE = MESSAGES.c.digest != ""
_IS_OPEN = (MESSAGES.c.version == 0) & (MESSAGES.c.seq > func.coalesce(HEADS.c.seq, 0))
_SIZES = (
    _of_branches(
        BRANCHES.c.name, _COMMITS, func.count(MESSAGES.c.id),
        *(func.sum(case((_IS_THERE & each, 1), else_=0)) for each in (MESSAGES.c.version > 0, _IS_OPEN)),
    )
    .outerjoin(MESSAGES, MESSAGES.c.branch_id == BRANCHES.c.id)
    .group_by(*NAMES, BRANCHES.c.name, BRANCHES.c.id)
)  # fmt: skip
_SPOKEN = (
    select(THREADS.c.id, *NAMES)
    .distinct()
    .join(BRANCHES, BRANCHES.c.thread_id == THREADS.c.id)
    .join(MESSAGES, MESSAGES.c.branch_id == BRANCHES.c.id)
    .where(MESSAGES.c.channel.in_(_SPEAK), MESSAGES.c.name == bindparam("speaker"))
    .order_by(THREADS.c.id)
)
_HEADS = _of_branches(BRANCHES.c.id.label("branch_id"), BRANCHES.c.name, HEADS)


class Journal(Erasing, Keeping, Exchange):
    """A memory's journal. Threads, event loops and processes may share it; a forked child may go on using it.

    Every method may raise `StoreError`, `StoreUnavailableError` if another process writes for too long, and
    `AuditError` if rows are damaged. After each of them the step may be repeated.
    """

    def heads(self, /, **names: str) -> Iterator[Head]:
        """Yield the heads of all branches, in the order of their making; to be kept outside, for `verify`.

        ``names``: thread, tenant, user and agent, those that count.
        """
        after, size = 0, PAGE
        while size == PAGE:
            page = self._head_page(after, names)
            yield from (head for _, head in page)
            after, size = page[-1][0] if page else after, len(page)

    @reads
    def _head_page(self, after: int, names: Mapping[str, str]) -> list[tuple[int, Head]]:
        statement = _HEADS.where(BRANCHES.c.id > after).limit(PAGE)
        if unknown := names.keys() - vars(ThreadKey("")):
            hint = "thread, tenant, user or agent"
            raise InputError(f"threads have no {min(unknown)!r}", where="filter", hint=hint)
        rows = self._execute(statement.where(*_are(names)))
        return [(row.branch_id, head_of(row, ThreadKey(*row[:4]))) for row in rows]

    def threads(self, /, **names: str) -> Iterator[ThreadKey]:
        """Yield the threads with these names."""
        return (head.thread for head in self.heads(**names) if head.branch == MAIN)

    @reads
    def sizes(self) -> dict[tuple[ThreadKey, str], Size]:
        """Return how much each branch holds, by thread and branch."""
        rows = self._execute(_SIZES)
        return {(ThreadKey(*row[:4]), row[4]): Size(*map(int, row[5:])) for row in rows}

    @reads
    def spoken_by(self, speaker: str) -> list[ThreadKey]:
        """Return the threads with a message whose speaker has this name, whoever's threads they are."""
        rows = self._execute(_SPOKEN, {"speaker": speaker})
        return [ThreadKey(*names) for _, *names in rows]

    @reads
    def policies(self) -> dict[str, Mapping[str, Any]]:
        """Return the policies that commits name by fingerprint (`Policy.body`), without those whose row is damaged."""
        found = dict[str, Mapping[str, Any]]()
        for row in self._execute(select(POLICIES)):
            with suppress(ValueError):
                found[row.fingerprint] = json.loads(row.body)
        return found

    @reads
    def in_scope(self, name: str, thread: Key) -> tuple[Head, ...]:
        """Return the heads of the threads of a name that are the same user's and agent's, or nobody's in particular."""
        key = key_of(thread)
        pairs = product(dict.fromkeys(("", key.user)), dict.fromkeys(("", key.agent)))
        found = [self._find(ThreadKey(name, key.tenant, *pair)) for pair in pairs]
        return tuple(place.head for place in found if place is not None and place.is_begun)

    @reads
    def holding(
        self, words: Sequence[str], limit: int, thread: Key | None, names: Mapping[str, str]
    ) -> list[tuple[ThreadKey, str, Message]]:
        """Return the newest messages that hold all the words, with thread and branch. A rare word reads every text.

        Args:
            words: Words or parts of words. Letters of ASCII count in any case.
            limit: How many at most.
            thread: A thread; None for all.
            names: Exact tenant, user and agent.
        """
        wanted = names if thread is None else vars(key_of(thread))
        text = MESSAGES.c.text
        is_sqlite = self._sql.dialect.name == "sqlite"
        # SQLite's LIKE takes letters in any case by itself; lower() on each text takes twice as long.
        holds = text.contains if is_sqlite else text.icontains
        statement = (
            select(*NAMES, BRANCHES.c.name.label("branch"), MESSAGES)
            .join(BRANCHES, BRANCHES.c.id == MESSAGES.c.branch_id)
            .join(THREADS, THREADS.c.id == BRANCHES.c.thread_id)
            .where(*(holds(word, autoescape=True) for word in words))
            .where(*_are(wanted))
            .order_by(MESSAGES.c.id.desc())
            .limit(limit)
        )
        rows = self._execute(statement)
        return [(ThreadKey(*row[:4]), row.branch, message_of(row)) for row in rows]

    def backup(self, path: str | Path) -> Path:
        """Copy the journal to a new file while it is used, by SQLite's online backup.

        Raises:
            InputError: There is such a file.
            ConfigurationError: It lies in PostgreSQL, which has means of its own.
        """
        copy = expanded(path)
        if copy.exists():
            raise InputError("the file is there already", where=str(copy), hint="name a new one")
        with told(copy):
            self.database.back_up(copy)
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


def _are(names: Mapping[str, str]) -> Iterator[ColumnElement[bool]]:
    return (THREADS.c[name] == value for name, value in names.items())


__all__ = ["FILE", "Journal", "Key", "Latest"]
