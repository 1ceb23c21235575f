"""Erasure: plan it, see what it takes and costs, and carry it out.

``proof="replay"`` commits what is left anew from before the erased words (`acc.evidence.replay`) and is the only
one that is proved. ``proof="fast"`` blanks what cites them, derives from it or shares words with them
(`acc.journal.erasing`): a model may have put them in other words. Threads that go whole leave nothing either way.

It may be repeated after a kill at any point. Each thread is one transaction of the journal, and the target's own comes
last. A message that was blanked is found again by its tombstone, and the journal knows what the index has yet to lose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args
from uuid import uuid4

from acc.board.board import BoardState
from acc.compress.protocol import AskingCompressor
from acc.controller.documents import is_home
from acc.driving import perform
from acc.errors import ConflictError, InputError, StoreError
from acc.evidence.base import Base
from acc.evidence.losses import Line, Loss, own_policy, price_of, read_lines
from acc.evidence.receipt import ErasurePlan, Leaving, Proof, Receipt
from acc.evidence.replay import Replay
from acc.evidence.searching import searched
from acc.evidence.target import Found, Target, branches_of, rows_of
from acc.evidence.traces import Traces
from acc.evidence.usage import refs_in
from acc.journal import ThreadKey
from acc.journal.names import MAIN
from acc.journal.rewriting import Anew
from acc.journal.wording import Wanted, words_of
from acc.models.protocol import Usage
from acc.state.items import Pinned
from acc.state.policy import Policy
from acc.turn.observations import is_ingested


class Erasure:
    """An erasure on its way.

    Args:
        base: The memory with its policies.
        target: What to erase.
        proof: ``replay`` or ``fast``.
        echoes: Whether what agents and tools repeated of it goes, too.

    Raises:
        InputError: The memory holds nothing of it, or ``proof`` is neither.
    """

    def __init__(self, base: Base, target: Target, proof: Proof, *, echoes: bool) -> None:
        if proof not in get_args(Proof):
            raise InputError(f"there is no proof {proof!r}", where="erase", hint="replay or fast")
        self.base, self.parts, self.journal = base, base.parts, base.journal
        self.proof, self.words = proof, target.words
        self.policies = (base.parts.memory.policy, Policy(schema=BoardState), *base.policies)
        self.found = Found(self.journal, target, echoes=echoes)
        self.earlier = self.parts.index.unindexed()
        texts = (*self.found.texts, *filter(None, self.earlier.values()))
        self.traces = Traces(texts, self.words)
        self.losses = tuple(self._losses())

    def _losses(self) -> Iterator[Loss]:
        """Yield what each thread loses, those last that the target names itself."""
        rows = self.found.rows
        refs = frozenset(row.ref for row in rows if is_home(row.thread) and is_ingested(row.ref))
        named = {row.thread for row in rows if not row.is_echo}
        keys = {row.thread for row in rows} | set(self.found.readers(rows) if refs else ())
        for key in sorted(keys, key=lambda key: (key in named, str(key))):
            own = frozenset((row.branch, row.seq) for row in rows if row.thread == key)
            loss = Loss(key, own, frozenset() if is_home(key) else refs)
            if not is_home(key):
                read_lines(self.journal, loss)
            if own or any(line.anew for line in loss.lines):
                yield loss

    def plan(self, *, despite_holds: bool, why: str) -> ErasurePlan:
        """Return what goes and what it costs.

        Raises:
            InputError: A hold protects it.
        """
        if (held := self.found.held) and not despite_holds:
            raise InputError(
                f"a hold protects it: {held[0].reason}",
                where=f"{held[0].thread} {held[0].ref}".strip(),
                hint="release the hold, or erase despite it",
            )
        found, lines = self.found, [line for loss in self.losses for line in loss.lines]
        usage = price_of(lines) if self.proof == "replay" else Usage()
        is_asking = isinstance(self.parts.memory.compressor, AskingCompressor)
        by = ("model" if is_asking else "keyless") if usage.requests else ""
        touched = (
            *found.deleted, *(row.thread for row in found.rows),
            *(loss.thread for loss in self.losses), *found.earlier,
        )  # fmt: skip
        return ErasurePlan(
            found.target, self.proof, found.deleted, found.rows,
            sum(len(line.anew) for line in lines),
            tuple(leaving for line in lines for leaving in self._leaving(line)),
            usage.requests, by,
            usage.requests if is_asking else 0, usage.input + usage.output if is_asking else 0,
            tuple(key for key in dict.fromkeys(touched) if not is_home(key)), held, why, self.done,
        )  # fmt: skip

    def _leaving(self, line: Line) -> Iterator[Leaving]:
        key, branch = line.head.thread, line.head.branch
        if not line.anew or line.commits[-1].state is None:
            return
        schema = own_policy(line, self.policies).schema
        for slot, item in schema.load(dict(line.commits[-1].state)).items():
            if not line.gone.isdisjoint(refs_in(item.model_dump(mode="json"))):
                pinned = isinstance(item, Pinned)
                yield Leaving(key, branch, item.id, slot.name, item.text_of, pinned)

    def done(self, plan: ErasurePlan) -> Receipt:
        """Carry out a plan: ask the model first, then write, then search."""
        anew: dict[ThreadKey, list[Anew]] = {}
        usage = Usage()
        if self.proof == "replay":
            anew, usage = self._replayed()
        self._check(plan)
        is_exact = (self.proof == "replay" or not self.losses) and not self.found.is_guess
        commits = sum(self._erase(loss, anew.get(loss.thread), plan) for loss in self.losses)
        messages = len(plan.messages)
        for key in plan.deleted:
            messages += self.journal.delete_thread(key, plan.why)
        self._tell_readers()
        foreign = [*self._cleaned(), *self._unknown(plan)]
        changed = (*(loss.thread for loss in self.losses), *plan.threads)
        files, traces = searched(
            self.journal, self.base.files, self.traces, Wanted(self.words), changed
        )
        heads = tuple(h for loss in self.losses for h in self.journal.branches(loss.thread))
        return Receipt(
            uuid4().hex[:16], self.proof, len(plan.deleted), messages, commits, heads,
            usage.requests, usage.input + usage.output, plan.threads, files, traces,
            self.journal.copies(), tuple(foreign), is_exact,
        )  # fmt: skip

    def _replayed(self) -> tuple[dict[ThreadKey, list[Anew]], Usage]:
        memory, bodies = self.parts.memory, self.journal.policies()
        replay = Replay(memory, self.policies, bodies, self._is_tainted)
        losses = [loss for loss in self.losses if not is_home(loss.thread)]
        found = {loss.thread: perform(replay.running(loss.lines)) for loss in losses}
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
        if self.proof == "replay" or is_home(loss.thread):
            made = anew or []
            self.journal.commit_anew(loss.thread, made, sorted(loss.rows), plan.why)
            return sum(len(each.made) for each in made)
        return self._blanked(loss, plan.why)

    def _blanked(self, loss: Loss, why: str) -> int:
        words, count = (*self.words, *self._only_there(loss)), 0
        own = [r for r in self.found.rows if r.thread == loss.thread and not r.is_blank]
        for branch in branches_of(self.journal, loss.thread):
            refs = [row.ref for row in own if row.branch == branch]
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

    def _cleaned(self) -> Iterator[str]:
        """Let index and log lose what the journal has lost; yield what could not be reached."""
        index = self.parts.index
        yield from index.clean()
        try:
            if index.store is not None and not index.store.compact():
                yield "the index is a server's: its files were not searched"
        except StoreError as error:
            yield f"the index: {error}"
        if left := self.journal.scrub():
            yield left

    def _unknown(self, plan: ErasurePlan) -> Iterator[str]:
        """Say if words of an erasure before are not known any more: then no file can be searched for them."""
        rows = self.found.rows
        lost = {(row.thread, row.ref): "" for row in rows if row.is_blank} | self.earlier
        is_nothing = not rows and not plan.deleted
        if not self.words and (is_nothing or not all(lost.values())):
            yield "what an erasure before has taken (its words are not known any more: name them)"

    def _tell_readers(self) -> None:
        """Let nobody commit what was made of a document before: its readers may have recalled it just now."""
        if any(is_home(loss.thread) for loss in self.losses):
            told = {loss.thread for loss in self.losses}
            for key in self.found.readers(self.found.rows):
                for branch in branches_of(self.journal, key) if key not in told else ():
                    self.journal.take_over(key, branch)
