"""Erasure: plan it, see what it takes and costs, and carry it out.

A thread that stays is committed anew from before the erased words (`acc.evidence.replay`). One that goes whole leaves
nothing. Then every file is searched for the words.

It may be repeated after a kill at any point. Each thread is one transaction of the journal, and the target's own comes
last. A message that was blanked is found again by its tombstone, and the journal knows what the index has yet to lose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from uuid import uuid4

from acc.compress.compressor import AskingCompressor
from acc.driving import perform
from acc.errors import ConflictError, InputError, StoreError
from acc.evidence.base import Base, refs_in
from acc.evidence.losses import Line, Loss, own_policy, price_of, read_lines
from acc.evidence.replay import Replay
from acc.evidence.target import Target, Targeted, TargetRow
from acc.evidence.traces import ErasedTraces, Searched, Trace
from acc.journal import Head, ThreadKey
from acc.journal.boards import BoardState
from acc.journal.erasing import Anew
from acc.journal.names import is_home
from acc.models.protocol import Usage
from acc.state.items import Pinned
from acc.state.policy import Policy
from acc.turn.observations import is_ingested


@dataclass(frozen=True)
class Leaving:
    """An item of a current state that rests on what goes. What is committed anew may hold another in its place."""

    thread: ThreadKey
    branch: str
    id: str
    slot: str
    text: str
    is_pinned: bool


@dataclass(frozen=True)
class Receipt:
    """What an erasure did. It holds none of the words.

    Attributes:
        deleted: Threads that went whole.
        messages: Messages that were blanked or deleted.
        commits: Commits that were made anew.
        heads: The heads now: anchor them again.
        requests: Requests to a model, with their ``tokens``.
        threads: Threads whose checkpoints are to be deleted.
        searched: What was searched afterwards.
        traces: Where the words still are.
        foreign: What could not be searched, such as a server's files.
        is_exact: Whether nothing rests on a guess about what derives from the words.
    """

    id: str
    deleted: int
    messages: int
    commits: int
    heads: tuple[Head, ...]
    requests: int
    tokens: int
    threads: tuple[ThreadKey, ...]
    searched: Searched
    traces: tuple[Trace, ...]
    foreign: tuple[str, ...]
    is_exact: bool

    @property
    def proved(self) -> bool:
        """Whether nothing can be left: all is exact, everything was searched, and nothing was found."""
        return self.is_exact and not self.traces and not self.foreign


@dataclass(frozen=True)
class ErasurePlan:
    """What an erasure takes, before anything is done.

    Attributes:
        deleted: Threads that go whole.
        messages: Messages that go from other threads, without their texts.
        commits: Commits that are made anew.
        leaving: Items of current states that rest on them.
        requests: Requests to a model, at most; the keyless compressor asks for none.
        tokens: Their tokens, by what the same turns cost before.
        threads: The threads whose checkpoints hold the words.
    """

    target: Target
    deleted: tuple[ThreadKey, ...]
    messages: tuple[TargetRow, ...]
    commits: int
    leaving: tuple[Leaving, ...]
    requests: int
    tokens: int
    threads: tuple[ThreadKey, ...]
    act: Callable[[ErasurePlan], Receipt] = field(repr=False, compare=False)

    def apply(self) -> Receipt:
        """Carry it out.

        Raises:
            ConflictError: The memory has changed since. Nothing was erased, or a part; plan again.
            CompressionError: The model failed. Nothing was erased.
            StoreError: The journal cannot be used. Erase again.
        """
        return self.act(self)


class Erasure:
    """An erasure on its way."""

    def __init__(self, base: Base, target: Target) -> None:
        self.base, self.memory, self.journal = base, base.memory, base.journal
        self.words = target.words
        self.policies = (base.memory.core.policy, Policy(schema=BoardState), *base.policies)
        self.found = Targeted(self.journal, target)
        self.traces = ErasedTraces(self.found.texts, self.words)
        self.losses = tuple(self._losses())

    def _losses(self) -> Iterator[Loss]:
        """Yield what each thread loses, those last that the target names itself."""
        rows = self.found.rows
        refs = frozenset(row.ref for row in rows if is_home(row.thread) and is_ingested(row.ref))
        named = {row.thread for row in rows if not row.is_echo}
        keys = {row.thread for row in rows} | set(self.found.readers(rows) if refs else ())
        for key in sorted(keys, key=lambda key: (key in named, str(key))):
            own = frozenset((row.branch, row.seq) for row in rows if row.thread == key)
            lines = () if is_home(key) else tuple(read_lines(self.journal, key, own, refs))
            if own or any(line.anew for line in lines):
                yield Loss(key, own, lines)

    def plan(self) -> ErasurePlan:
        """Return what goes and what it costs."""
        found = self.found
        if (hold := found.held) is not None:
            where = f"{hold.thread} {hold.ref}".strip()
            hint = "release the hold: Evidence.release, acc hold --release"
            raise InputError(f"a hold protects it: {hold.reason}", where=where, hint=hint)
        lines = [line for loss in self.losses for line in loss.lines]
        is_asking = isinstance(self.memory.core.compressor, AskingCompressor)
        usage = price_of(lines) if is_asking else Usage()
        touched = (
            *found.deleted, *(row.thread for row in found.rows),
            *(loss.thread for loss in self.losses), *found.earlier,
        )  # fmt: skip
        return ErasurePlan(
            found.target, found.deleted, found.rows,
            sum(len(line.anew) for line in lines),
            tuple(leaving for line in lines for leaving in self._leaving(line)),
            usage.requests, usage.input + usage.output,
            tuple(key for key in dict.fromkeys(touched) if not is_home(key)), self.done,
        )  # fmt: skip

    def _leaving(self, line: Line) -> Iterator[Leaving]:
        key, branch = line.head.thread, line.head.branch
        last = line.commits[-1].state if line.anew else None
        schema = own_policy(line, self.policies).schema
        for slot, item in schema.load(dict(last)).items() if last else ():
            if not line.gone.isdisjoint(refs_in(item.model_dump(mode="json"))):
                pinned = isinstance(item, Pinned)
                yield Leaving(key, branch, item.id, slot.name, item.text_of, pinned)

    def done(self, plan: ErasurePlan) -> Receipt:
        """Carry out a plan: ask the model first, then write, then search."""
        anew, usage = self._replayed()
        self._check(plan)
        is_exact = not self.found.is_guess
        for loss in self.losses:
            self.journal.commit_anew(loss.thread, anew.get(loss.thread, []), sorted(loss.rows))
        commits = sum(len(a.made) for each in anew.values() for a in each)
        deleted = [self.journal.delete_thread(key) for key in plan.deleted]
        self._tell_readers()
        foreign = [*self.memory.index.clean(), *self._cleaned(), *self._unknown(plan)]
        changed = (*(loss.thread for loss in self.losses), *plan.threads)
        searched, traces = self.traces.left_in(self.journal, self.base.files, changed)
        heads = tuple(h for loss in self.losses for h in self.journal.branches(loss.thread))
        return Receipt(
            uuid4().hex[:16], len(deleted), len(plan.messages) + sum(deleted), commits, heads,
            usage.requests, usage.input + usage.output, plan.threads, searched, traces,
            tuple(foreign), is_exact,
        )  # fmt: skip

    def _replayed(self) -> tuple[dict[ThreadKey, list[Anew]], Usage]:
        bodies = self.journal.policies()
        replay = Replay(self.memory.core, self.policies, bodies, self.traces.occur_in)
        found = {loss.thread: perform(replay.running(loss.lines)) for loss in self.losses}
        return found, replay.usage

    def _check(self, plan: ErasurePlan) -> None:
        """Raise if something was said or committed since the plan that it would have to take, too."""
        now = Targeted(self.journal, plan.target)
        if now.rows != self.found.rows or now.deleted != plan.deleted:
            raise ConflictError(
                "the memory has changed since the erasure was planned; nothing was erased",
                where="apply",
                hint="plan the erasure again",
            )

    def _cleaned(self) -> Iterator[str]:
        """Let the files of index and journal lose what was deleted; yield what could not be reached."""
        index = self.memory.index
        try:
            if index.store is not None and not index.store.compact():
                yield "the index is a server's: its files were not searched"
        except StoreError as error:
            yield f"the index: {error}"
        if left := self.journal.scrub():
            yield left

    def _unknown(self, plan: ErasurePlan) -> Iterator[str]:
        """Say if words of an erasure before are not known any more: then no file can be searched for them."""
        is_blank = any(row.is_blank for row in self.found.rows)
        if not self.words and (self.found.earlier or is_blank):
            yield "what an erasure before has taken (its words are not known any more: name them)"

    def _tell_readers(self) -> None:
        """Let nobody commit what was made of a document before: its readers may have recalled it just now."""
        if any(is_home(loss.thread) for loss in self.losses):
            told = {loss.thread for loss in self.losses}
            for key in set(self.found.readers(self.found.rows)) - told:
                self.journal.commit_anew(key, (), ())
