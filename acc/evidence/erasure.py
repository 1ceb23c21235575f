"""Erasure: plan it, see what it takes and costs, and carry it out.

``proof="replay"`` commits what is left anew from before the erased words (`acc.evidence.replay`) and is the only
one that is proved. ``proof="fast"`` blanks what cites them, derives from it or shares words with them
(`acc.journal.erasing`): a model may have put them in other words. Threads that go whole leave nothing either way.

It is safe to repeat after a kill: each thread is one transaction of the journal, the target's own comes last, and what
is erased already is not found again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from acc.artifacts.protocol import Artifact
from acc.board.board import BoardState
from acc.compress.protocol import AskingCompressor
from acc.controller.documents import is_home
from acc.controller.parts import Parts
from acc.driving import perform
from acc.errors import ConflictError, InputError, StoreError
from acc.evidence.replay import Line, Loss, Replay, lines_of, own_policy, price_of
from acc.evidence.searching import Searched, Trace, searched
from acc.evidence.target import Found, Target, branches_of, rows_of
from acc.evidence.traces import Traces
from acc.journal import Head, Hold, ThreadKey
from acc.journal.names import MAIN
from acc.journal.rewriting import Anew
from acc.journal.wording import Wanted, words_of
from acc.models.protocol import Usage
from acc.state.items import Pinned
from acc.state.policy import Policy
from acc.turn.observations import is_ingested

Proof = Literal["replay", "fast"]


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
class Gone:
    """A message that goes; ``is_echo``: since it repeats another one."""

    thread: ThreadKey
    branch: str
    ref: str
    channel: str
    is_echo: bool


@dataclass(frozen=True)
class Receipt:
    """What an erasure did. It holds none of the words.

    Attributes:
        id: Its id.
        proof: How it was done.
        deleted: Threads that went whole.
        messages: Messages that were blanked or deleted.
        commits: Commits that were made anew or blanked.
        heads: The heads now: anchor them again.
        requests: Requests to a model.
        tokens: Their tokens.
        threads: Threads whose checkpoints are to be deleted.
        searched: What was searched afterwards.
        traces: Where the words still are.
        exports: Copies that were made before: files that the memory does not reach.
        foreign: What could not be searched, such as a server's files.
        is_exact: Whether nothing rests on a guess about what derives from the words.
    """

    id: str
    proof: Proof
    deleted: int
    messages: int
    commits: int
    heads: tuple[Head, ...]
    requests: int
    tokens: int
    threads: tuple[ThreadKey, ...]
    searched: Searched
    traces: tuple[Trace, ...]
    exports: tuple[str, ...]
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
        target: What was asked for.
        proof: How.
        deleted: Threads that go whole.
        messages: Messages that go from other threads.
        commits: Commits that are made anew, or that may be blanked.
        leaving: Items of current states that rest on them.
        recompressed: Steps that are compressed anew, at most.
        by: Who compresses them: ``keyless`` or ``model``; empty if nobody does.
        requests: Requests to a model, at most.
        tokens: Their tokens, by what the same turns cost before.
        held: Holds that it breaks (``despite_holds``).
        why: Stands in the tombstones.
    """

    target: Target
    proof: Proof
    deleted: tuple[ThreadKey, ...]
    messages: tuple[Gone, ...]
    commits: int
    leaving: tuple[Leaving, ...]
    recompressed: int
    by: str
    requests: int
    tokens: int
    held: tuple[Hold, ...] = ()
    why: str = ""
    work: _Work | None = field(default=None, repr=False, compare=False)

    @property
    def threads(self) -> tuple[ThreadKey, ...]:
        """The threads that change, whose checkpoints are to be deleted."""
        changed = (each.thread for each in self.messages)
        read = (loss.thread for loss in self.work.losses) if self.work else ()
        every = dict.fromkeys((*self.deleted, *changed, *read))
        return tuple(key for key in every if not is_home(key))

    def apply(self) -> Receipt:
        """Carry it out.

        Raises:
            ConflictError: The memory has changed since. Nothing was erased, or a part; plan again.
            CompressionError: The model failed. Nothing was erased.
            StoreError: Journal or index cannot be used. Erase again.
        """
        if self.work is None:
            raise InputError("the plan is no plan of a memory", where="apply", hint="plan again")
        return self.work.done(self)


class _Work:
    """An erasure on its way."""

    def __init__(
        self,
        parts: Parts[Any],
        folder: Path | None,
        found: Found,
        words: Sequence[str],
        policies: Sequence[Policy],
    ) -> None:
        self.parts, self.folder, self.found = parts, folder, found
        self.policies = (Policy(schema=BoardState), *policies)
        self.journal = parts.journal
        self.traces = Traces(found.texts, words)
        self.words = tuple(words)
        self.losses = tuple(self._losses())
        self.lines: dict[ThreadKey, list[Line]] = {}

    def _losses(self) -> Iterator[Loss]:
        """Yield what each thread loses, those last that the target names itself."""
        rows = self.found.rows
        refs = frozenset(row.ref for row in rows if is_home(row.thread) and is_ingested(row.ref))
        named = {row.thread for row in rows if not row.is_echo}
        readers = set(self.found.readers(rows)) if refs else set()
        for key in sorted(
            {row.thread for row in rows} | readers, key=lambda k: (k in named, str(k))
        ):
            own = frozenset((row.branch, row.seq) for row in rows if row.thread == key)
            if is_home(key):
                yield Loss(key, own)
            elif own or self._reads(key, refs):
                yield Loss(key, own, refs)

    def _reads(self, key: ThreadKey, refs: frozenset[str]) -> bool:
        lines = lines_of(self.journal, Loss(key, frozenset(), refs))
        return any(line.first is not None for line in lines)

    def plan(self, target: Target, proof: Proof, held: tuple[Hold, ...], why: str) -> ErasurePlan:
        usage = Usage()
        for loss in self.losses:
            self.lines[loss.thread] = [] if is_home(loss.thread) else lines_of(self.journal, loss)
            usage += price_of(self.lines[loss.thread])
        lines = [line for each in self.lines.values() for line in each]
        usage = usage if proof == "replay" else Usage()
        is_asking = isinstance(self.parts.memory.compressor, AskingCompressor)
        by = ("model" if is_asking else "keyless") if usage.requests else ""
        gone = tuple(
            Gone(row.thread, row.branch, row.ref, row.channel.value, row.is_echo)
            for row in self.found.rows
        )
        return ErasurePlan(
            target, proof, self.found.deleted, gone,
            sum(len(line.commits) - line.first for line in lines if line.first is not None),
            tuple(leaving for line in lines for leaving in self._leaving(line)),
            usage.requests, by,
            usage.requests if is_asking else 0, usage.input + usage.output if is_asking else 0,
            held, why, self,
        )  # fmt: skip

    def _leaving(self, line: Line) -> Iterator[Leaving]:
        key, branch = line.head.thread, line.head.branch
        if line.first is None or line.commits[-1].state is None:
            return
        schema = own_policy(line, [self.parts.memory.policy, *self.policies]).schema
        for slot, item in schema.load(dict(line.commits[-1].state)).items():
            body = item.model_dump(mode="json")
            texts = [body.get("ref"), *body.get("sources", ()), *_refs_in(body)]
            if not line.gone.isdisjoint(filter(None, texts)):
                pinned = isinstance(item, Pinned)
                yield Leaving(key, branch, item.id, slot.name, item.text_of, pinned)

    def done(self, plan: ErasurePlan) -> Receipt:
        """Carry out a plan: ask the model first, then write, then search."""
        anew: dict[ThreadKey, list[Anew]] = {}
        usage = Usage()
        if plan.proof == "replay":
            anew, usage = self._replayed()
        self._check(plan)
        commits = sum(self._erase(loss, anew.get(loss.thread), plan) for loss in self.losses)
        messages = len(plan.messages)
        for key in plan.deleted:
            messages += self.journal.delete_thread(key, plan.why)
        foreign = [*self._forgotten(plan), *self._scrubbed()]
        self._tell_readers()
        files, traces = searched(
            self.journal, self.folder, self.traces, Wanted(self.words), self._changed(plan)
        )
        heads = tuple(h for loss in self.losses for h in self.journal.branches(loss.thread))
        return Receipt(
            uuid4().hex[:16], plan.proof, len(plan.deleted), messages, commits, heads,
            usage.requests, usage.input + usage.output, plan.threads, files, traces,
            self.journal.copies(), tuple(foreign), plan.proof == "replay" or not self.losses,
        )  # fmt: skip

    def _replayed(self) -> tuple[dict[ThreadKey, list[Anew]], Usage]:
        memory, bodies = self.parts.memory, self.journal.policies()
        replay = Replay(memory, self.policies, bodies, self._is_tainted)
        losses = [loss for loss in self.losses if not is_home(loss.thread)]
        found = {loss.thread: perform(replay.running(self.lines[loss.thread])) for loss in losses}
        return found, replay.usage

    def _is_tainted(self, text: str) -> bool:
        return self.traces.occur_in(text) or Wanted(self.words).are_in(text)

    def _check(self, plan: ErasurePlan) -> None:
        """Raise if something was said or committed since the plan that it would have to take, too."""
        now = Found(self.journal, plan.target, echoes=self.found.is_wide)
        if now.rows != self.found.rows or now.deleted != plan.deleted:
            raise ConflictError(
                "the memory has changed since the erasure was planned; nothing was erased",
                where="apply",
                hint="plan the erasure again",
            )

    def _erase(self, loss: Loss, anew: list[Anew] | None, plan: ErasurePlan) -> int:
        if plan.proof == "replay" or is_home(loss.thread):
            made = anew or []
            self.journal.commit_anew(loss.thread, made, sorted(loss.rows), plan.why)
            return sum(len(each.made) for each in made)
        return self._blanked(loss, plan.why)

    def _blanked(self, loss: Loss, why: str) -> int:
        words, count = (*self.words, *self._only_there(loss)), 0
        for branch in branches_of(self.journal, loss.thread):
            own = {seq for name, seq in loss.rows if name == branch}
            refs = [m.message.ref for b, m in rows_of(self.journal, loss.thread)
                    if b == branch and m.seq in own]  # fmt: skip
            if refs or (branch == MAIN and loss.refs):
                asked = (*refs, *loss.refs)
                done = self.journal.blank(loss.thread, asked, words=words, why=why, branch=branch)
                count += done.commits
        return count

    def _only_there(self, loss: Loss) -> set[str]:
        """Return the words that only what goes holds, among the messages of the thread."""
        kept = [m.message.text for branch, m in rows_of(self.journal, loss.thread)
                if (branch, m.seq) not in loss.rows]  # fmt: skip
        return words_of(self.found.texts) - words_of(kept)

    def _forgotten(self, plan: ErasurePlan) -> Iterator[str]:
        """Delete from the index; yield what could not be reached."""
        index = self.parts.index
        try:
            for key in plan.deleted:
                index.erase(key, None)
            for loss in self.losses:
                refs = {row.ref for row in self.found.rows if row.thread == loss.thread}
                index.erase(loss.thread, sorted(refs), self._kept(loss.thread, refs))
            if index.store is not None and not index.store.compact():
                yield "the index is a server's: its files were not searched"
        except StoreError as error:
            yield f"the index: {error}"
        yield from index.warnings

    def _kept(self, key: ThreadKey, refs: Iterable[str]) -> Iterator[Artifact]:
        """Yield the messages with such a ref that stay, as on another branch."""
        wanted = set(refs)
        for branch, each in rows_of(self.journal, key):
            if each.message.ref in wanted and each.version:
                yield Artifact(each.message, branch, each.seq)

    def _scrubbed(self) -> Iterator[str]:
        if left := self.journal.scrub():
            yield left

    def _tell_readers(self) -> None:
        """Let nobody commit what was made of a document before: its readers may have recalled it just now."""
        if any(is_home(loss.thread) for loss in self.losses):
            told = {loss.thread for loss in self.losses}
            for key in self.found.readers(self.found.rows):
                for branch in branches_of(self.journal, key) if key not in told else ():
                    self.journal.take_over(key, branch)

    def _changed(self, plan: ErasurePlan) -> Iterator[ThreadKey]:
        yield from (loss.thread for loss in self.losses)
        yield from (key for key in plan.threads if key not in plan.deleted)


def _refs_in(body: Any) -> Iterator[str]:
    """Yield the refs of words in an item."""
    if isinstance(body, dict):
        if isinstance(body.get("ref"), str):
            yield body["ref"]
        for each in body.values():
            yield from _refs_in(each)
    elif isinstance(body, list):
        for each in body:
            yield from _refs_in(each)


def plan_erasure(
    parts: Parts[Any],
    folder: Path | None,
    target: Target,
    *,
    policies: Sequence[Policy] = (),
    proof: Proof = "replay",
    echoes: bool = True,
    despite_holds: bool = False,
    why: str = "",
) -> ErasurePlan:
    """Plan an erasure. Nothing is erased.

    Raises:
        InputError: The memory holds nothing of it, a hold protects it, or ``proof`` is neither.
    """
    if proof not in ("replay", "fast"):
        raise InputError(f"there is no proof {proof!r}", where="erase", hint="replay or fast")
    found = Found(parts.journal, target, echoes=echoes)
    work = _Work(parts, folder, found, target.words, policies)
    if (held := found.held) and not despite_holds:
        first = held[0]
        raise InputError(
            f"a hold protects it: {first.reason}",
            where=f"{first.thread} {first.ref}".strip(),
            hint="release the hold, or erase despite it",
        )
    return work.plan(target, proof, held, why)
