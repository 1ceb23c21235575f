"""What an erasure is of, and which rows that means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from acc.errors import InputError
from acc.evidence.base import rows_of
from acc.evidence.traces import ErasedTraces, Wanted
from acc.journal import Hold, Journal, StoredMessage, ThreadKey
from acc.journal.boards import AGENT, Origin
from acc.journal.names import MAIN, Key, is_home, key_of, may_read, whole_of
from acc.turn.observations import Channel, is_ingested

_DERIVED = (Channel.AGENT, Channel.TOOL, Channel.DOCUMENT)
_SAY = (Channel.USER, Channel.DOCUMENT)


@dataclass(frozen=True)
class Target:
    """What to erase: messages, words, a document, a thread, or everything of a user, an agent or a tenant.

    Attributes:
        thread: The thread; None for all of the scope.
        refs: Messages of ``thread``, such as ``u7``.
        words: Words; every message that holds them, or whose speaker's name does, is erased whole.
        document: Ref of a document, such as ``doc.8f1c22ab90``.
        tenant: The tenant; None for any. So are ``user`` and ``agent``.
        user: The user: the threads of it, and what it said in those of others.
        agent: The agent.
        branch: The branch whose refs are meant.

    Raises:
        InputError: It names nothing, or refs without a thread.
    """

    thread: Key | None = None
    refs: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    document: str = ""
    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    branch: str = MAIN

    def __post_init__(self) -> None:
        for name in ("refs", "words"):
            given: tuple[str, ...] | str = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        is_nothing = self.thread is None and not any(
            (self.words, self.document, self.tenant, self.user, self.agent)
        )
        if is_nothing or (self.refs and self.thread is None) or not all(map(str.strip, self.words)):
            raise InputError(
                "nothing is named to erase",
                where="erase",
                hint="name a thread, refs of a thread, words, a document, a user, an agent or a tenant",
            )

    @property
    def is_whole(self) -> bool:
        """Whether threads go whole."""
        return not (self.refs or self.words or self.document)

    def has(self, key: ThreadKey) -> bool:
        """Whether a thread is in the scope."""
        if self.thread is not None:
            return key == key_of(self.thread)
        wanted = ((self.tenant, key.tenant), (self.user, key.user), (self.agent, key.agent))
        return all(want is None or want == name for want, name in wanted)


@dataclass(frozen=True)
class TargetRow:
    """A message that goes, or that an earlier erasure or a prune has blanked: its commits may go.

    Attributes:
        version: The commit that took it; 0 if none did.
        is_echo: Whether it goes because it repeats words of another one.
        is_blank: Whether it was blanked before.
    """

    thread: ThreadKey
    branch: str
    seq: int
    ref: str
    channel: Channel
    text: str = field(repr=False)
    version: int = 0
    is_echo: bool = False
    is_blank: bool = False

    @property
    def place(self) -> tuple[ThreadKey, str, int]:
        """Where it lies in the journal."""
        return self.thread, self.branch, self.seq


class Targeted:
    """The rows that a target means, with what agents and tools repeated of them, read from the journal."""

    def __init__(self, journal: Journal, target: Target) -> None:
        self._journal, self.target = journal, target
        self._words = Wanted(target.words)
        self._all = tuple(journal.threads())
        self.scope = tuple(key for key in self._all if target.has(key))

    @cached_property
    def deleted(self) -> tuple[ThreadKey, ...]:
        """The threads that go whole. Documents that others may have read go message by message."""
        others = [key for key in self._all if key not in self.scope and not is_home(key)]
        return tuple(
            key for key in (self.scope if self.target.is_whole else ())
            if not (is_home(key) and any(may_read(other, key) for other in others))
        )  # fmt: skip

    @cached_property
    def rows(self) -> tuple[TargetRow, ...]:
        """The messages that go from threads that stay."""
        own = tuple(self._own())
        if not own and not self.deleted and not self._may_be_gone:
            raise InputError(
                "the memory holds nothing of it",
                where=str(self.target.thread or self.target.document or "the scope"),
                hint="acc search and acc threads show what there is",
            )
        return (*own, *self._repeated(own))

    @property
    def _may_be_gone(self) -> bool:
        """Whether an erasure before may have taken it, so that this one does what that one left undone."""
        target = self.target
        if target.thread is not None and not self.scope:
            return self._journal.was_deleted(target.thread)
        if target.refs or target.document:  # what was blanked is among the rows
            return False
        return self._journal.was_deleted() or any(map(self._journal.tombstones, self.scope))

    @cached_property
    def earlier(self) -> tuple[ThreadKey, ...]:
        """The threads in which an erasure before, that may have been cut short, took some of it."""
        notes = (note.thread for note in self._journal.unindexed())
        found = [key for key in notes if self.target.has(key) or key.agent == AGENT]
        if not self.rows and not self.deleted:
            found += filter(self._journal.tombstones, self.scope)
            found += [key_of(self.target.thread)] if self.target.thread is not None else []
        return tuple(dict.fromkeys(found))

    @property
    def is_guess(self) -> bool:
        """Whether commits that were made of what was blanked before stay: a prune left them."""
        known = {row.place for row in self.rows}
        return any(
            (key, each.branch, each.seq) not in known and not each.digest and each.version
            for key in self.earlier
            for each in rows_of(self._journal, key, also_blanked=True)
        )

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The words that go."""
        return tuple(dict.fromkeys(self._said(self.rows)))

    def _said(self, rows: Iterable[TargetRow]) -> Iterator[str]:
        yield from (row.text for row in rows if row.text)
        for key in self.deleted:
            yield from (each.message.text for each in rows_of(self._journal, key))

    def _guests(self) -> Iterator[TargetRow]:
        """Yield what a user said in threads of others."""
        target = self.target
        if not target.user or target.thread is not None or not target.is_whole:
            return
        anybody = replace(target, user=None) if target.tenant or target.agent else None
        for key in self._journal.spoken_by(target.user):
            if key in self.scope or is_home(key) or not (anybody is None or anybody.has(key)):
                continue
            said: dict[str, list[StoredMessage]] = {}
            for each in rows_of(self._journal, key):
                if each.message.channel in _SAY:
                    said.setdefault(each.message.observation.name, []).append(each)
            if not key.user and "" in said:
                raise InputError(
                    f"whose words those before {target.user!r} joined are is not known",
                    where=str(key),
                    hint="erase the thread, or name its messages (refs), then erase the user again",
                )
            yield from (_row(key, each) for each in said.get(target.user, ()))

    def _own(self) -> Iterator[TargetRow]:
        yield from self._guests()
        target, journal = self.target, self._journal
        for key in (key for key in self.scope if key not in self.deleted):
            if target.refs:
                seen = journal.messages(key, branch=target.branch, also_open=True)
            else:
                seen = rows_of(journal, key, also_blanked=bool(target.document))
            yield from (_row(key, each) for each in seen if self._is_meant(key, each))

    def _is_meant(self, key: ThreadKey, each: StoredMessage) -> bool:
        target, ref = self.target, each.message.ref
        if target.document and is_home(key):
            return target.document in _names(ref)
        said = each.message.observation.model_dump(mode="json")
        return ref in target.refs or target.is_whole or self._words.are_in(said)

    def _repeated(self, own: Sequence[TargetRow]) -> Iterator[TargetRow]:
        """Yield what agents and tools repeated of the rows, and what boards hold of them or of threads that go."""
        gone, deleted = {row.place for row in own}, set(self.deleted)
        traces, refs = ErasedTraces(self._said(own)), {(row.thread, row.ref) for row in own}
        documents = {ref for _, ref in refs if is_ingested(ref)}

        def is_copy(each: StoredMessage) -> bool:
            origin = Origin.of(each.message)
            if origin is None:
                return False
            is_of_row = (origin.thread, origin.ref) in refs or origin.ref in documents
            return is_of_row or origin.thread in deleted

        for key in self.readers(own):
            is_board = key.agent == AGENT
            for each in rows_of(self._journal, key):
                row = _row(key, each, is_echo=True)
                if row.place in gone or not (is_board or row.channel in _DERIVED):
                    continue
                is_echo = traces.occur_in(row.text, or_part=is_board)
                if is_echo or (is_board and is_copy(each)):
                    yield row

    def readers(self, own: Sequence[TargetRow]) -> tuple[ThreadKey, ...]:
        """Return the threads that stay and may have read the rows, boards last."""
        tenants = {key.tenant for key in (*self.deleted, *(row.thread for row in own))}
        threads = {row.thread for row in own}
        documents = [key for key in threads if is_home(key)]
        found = [
            key for key in self._all
            if key not in self.deleted and not is_home(key)
            and (key in threads or (key.agent == AGENT and key.tenant in tenants)
                 or any(may_read(key, home) for home in documents))
        ]  # fmt: skip
        return tuple(sorted(found, key=lambda key: key.agent == AGENT))

    @property
    def held(self) -> Hold | None:
        """The first hold that forbids the erasure, if there is one."""
        rows = {(row.thread, ref) for row in self.rows for ref in ("", *_names(row.ref))}
        for hold in self._journal.held():
            if hold.thread in self.deleted or (hold.thread, hold.ref) in rows:
                return hold
        return None


def _names(ref: str) -> tuple[str, ...]:
    return (ref, whole_of(ref)) if is_ingested(ref) else (ref,)


def _row(key: ThreadKey, each: StoredMessage, *, is_echo: bool = False) -> TargetRow:
    message = each.message
    return TargetRow(
        key, each.branch, each.seq, message.ref, message.channel, message.text, each.version, is_echo,
        is_blank=not each.digest,
    )  # fmt: skip
