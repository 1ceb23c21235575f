"""Questions to a whole memory. Each is one statement, however many threads there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, case, func, select

from acc.errors import InputError
from acc.journal.names import MAIN, Head, ThreadKey
from acc.journal.opened import Key, key_of, reads
from acc.journal.places import Places
from acc.journal.reading import PAGE
from acc.journal.recompute import policy_body
from acc.journal.tables import BRANCHES, COMMITS, HEADS, MESSAGES, POLICIES, THREADS, message_of
from acc.state.tail import Message
from acc.turn.observations import Channel

_NAMES = THREADS.c.thread, THREADS.c.tenant, THREADS.c.user, THREADS.c.agent

_SPEAK = [Channel.USER.value, Channel.DOCUMENT.value]
"""A document's: `speakers` does not name who speaks."""


class Size(NamedTuple):
    """How much a branch itself holds.

    Attributes:
        commits: Number of its commits.
        messages: Number of its messages.
        taken: Those that commits took, without blanked ones.
        open: Those of a turn after its head, without blanked ones.
    """

    commits: int
    messages: int
    taken: int
    open: int


def _of_branches(*columns: Any) -> Select[Any]:
    """Return a query of branches, each with the names of its thread, and its head."""
    return (
        select(*_NAMES, *columns)
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
    .group_by(*_NAMES, BRANCHES.c.name, BRANCHES.c.id)
)  # fmt: skip
_SPOKEN = (
    select(THREADS.c.id, *_NAMES)
    .distinct()
    .join(BRANCHES, BRANCHES.c.thread_id == THREADS.c.id)
    .join(MESSAGES, MESSAGES.c.branch_id == BRANCHES.c.id)
    .where(MESSAGES.c.channel.in_(_SPEAK), MESSAGES.c.name == bindparam("speaker"))
    .order_by(THREADS.c.id)
)
_HEADS = _of_branches(BRANCHES.c.id.label("branch_id"), BRANCHES.c.name, HEADS)
_IN_SCOPE = select(THREADS.c.user, THREADS.c.agent).where(
    THREADS.c.tenant == bindparam("tenant"), THREADS.c.thread == bindparam("name"),
    THREADS.c.user.in_(["", bindparam("user")]), THREADS.c.agent.in_(["", bindparam("agent")]),
)  # fmt: skip


class Survey(Places):
    """Ask a whole memory."""

    def heads(self, /, **prefixes: str) -> Iterator[Head]:
        """Yield the heads of all branches, in the order of their making; to be kept outside, for `verify`.

        ``prefixes``: how thread, tenant, user and agent begin.
        """
        after, size = 0, PAGE
        while size == PAGE:
            page = self._head_page(after, prefixes)
            yield from (head for _, head in page)
            after, size = page[-1][0] if page else after, len(page)

    @reads
    def _head_page(self, after: int, prefixes: Mapping[str, str]) -> list[tuple[int, Head]]:
        statement = _HEADS.where(BRANCHES.c.id > after).limit(PAGE)
        for name, prefix in prefixes.items():
            if name not in vars(ThreadKey("")):
                hint = "thread, tenant, user or agent"
                raise InputError(f"threads have no {name!r}", where="filter", hint=hint)
            start = func.substr(THREADS.c[name], 1, len(prefix))
            statement = statement.where(start == prefix)
        found = []
        for row in self._execute(statement):
            at = row.hash or "", row.version or 0, row.epoch or 0, row.seq or 0
            found.append((row.branch_id, Head(ThreadKey(*row[:4]), row.name, *at)))
        return found

    def threads(self, /, **prefixes: str) -> Iterator[ThreadKey]:
        """Yield the threads whose names begin so."""
        return (head.thread for head in self.heads(**prefixes) if head.branch == MAIN)

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
        rows = self._execute(select(POLICIES))
        found = {row.fingerprint: policy_body(row.body) for row in rows}
        return {name: body for name, body in found.items() if body}

    @reads
    def in_scope(self, name: str, thread: Key) -> tuple[Head, ...]:
        """Return the heads of the threads of a name that are the same user's and agent's, or nobody's in particular."""
        key = key_of(thread)
        given = {"tenant": key.tenant, "name": name, "user": key.user, "agent": key.agent}
        rows = self._execute(_IN_SCOPE, given).all()
        keys = [ThreadKey(name, key.tenant, row.user, row.agent) for row in rows]
        found = [self._find(each) for each in keys]
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
            select(*_NAMES, BRANCHES.c.name.label("branch"), MESSAGES)
            .join(BRANCHES, BRANCHES.c.id == MESSAGES.c.branch_id)
            .join(THREADS, THREADS.c.id == BRANCHES.c.thread_id)
            .where(*(holds(word, autoescape=True) for word in words))
            .where(*(THREADS.c[name] == value for name, value in wanted.items()))
            .order_by(MESSAGES.c.id.desc())
            .limit(limit)
        )
        rows = self._execute(statement)
        return [(ThreadKey(*row[:4]), row.branch, message_of(row)) for row in rows]
