"""`Evidence`: what happens to a memory's evidence beside its steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from acc.clock import SystemClock
from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.controller.documents import document, home, is_home
from acc.errors import InputError
from acc.evidence import moving
from acc.evidence.documents import Document, Ingested, documents, files_of, ingest, parts_of
from acc.evidence.erasure import Erasure
from acc.evidence.heads import check_heads, write_heads
from acc.evidence.health import Health, Reindexed, health, reindex
from acc.evidence.moving import Exported
from acc.evidence.parsing import Section, sections
from acc.evidence.policies import Deletion
from acc.evidence.rating import rated
from acc.evidence.receipt import ErasurePlan, Proof, Receipt
from acc.evidence.retention import (
    ExpiryPlan,
    Kind,
    Pruned,
    PrunePlan,
    Pruning,
    plan_expiry,
)
from acc.evidence.search import Hit, search
from acc.evidence.target import Target
from acc.folders import expanded
from acc.journal import Feedback, Head, Hold, ThreadKey, Tombstone
from acc.journal.names import MAIN
from acc.journal.opened import Key, key_of
from acc.state.policy import Policy
from acc.step import Step
from acc.tail import Message


class Evidence:
    """Erasure, retention, documents, moving and upkeep of a memory. It works while agents run.

    Its methods block; beside an event loop: ``await memory.beside(evidence.erase, target)``.

    Args:
        memory: The open memory.
        policies: Policies of threads that have another schema, as of roles. Boards need none.
    """

    def __init__(
        self,
        memory: MemoryController[Any] | AsyncMemoryController[Any],
        policies: Sequence[Policy] = (),
    ) -> None:
        self.memory, self.policies = memory, tuple(policies)
        self.journal, self.parts = memory.journal, memory.parts
        self.folder: Path | None = memory.folder
        self._clock = memory.settings.clock or SystemClock()

    def threads(
        self,
        thread: Key | None = None,
        *,
        tenant: str | None = None,
        user: str | None = None,
        agent: str | None = None,
    ) -> Iterator[ThreadKey]:
        """Yield the threads of a scope, those of documents, too. None stands for any name."""
        if thread is not None:
            yield from (key for key in (key_of(thread),) if self.journal.branches(key))
            return
        names = {"tenant": tenant, "user": user, "agent": agent}
        wanted = {name: value for name, value in names.items() if value is not None}
        for key in self.journal.threads(**wanted):
            if all(getattr(key, name) == value for name, value in wanted.items()):
                yield key

    def plan_erasure(
        self,
        target: Target,
        *,
        proof: Proof = "replay",
        echoes: bool = True,
        despite_holds: bool = False,
        why: str = "",
    ) -> ErasurePlan:
        """Plan an erasure: what goes, and what the model costs that makes the rest anew. Nothing is erased.

        Args:
            target: What to erase.
            proof: ``replay``: commit what is left anew, the only one that is proved. ``fast``: blank what cites the
                words, derives from them or shares words with them.
            echoes: Whether what agents and tools repeated of it goes, too.
            despite_holds: Whether to erase what a hold protects.
            why: Stands in the tombstones.

        Raises:
            InputError: The memory holds nothing of it, or a hold protects it.
            StateError: A commit of the thread is damaged.
        """
        erasure = Erasure(self.parts, self.folder, target, self.policies, proof, echoes=echoes)
        return erasure.plan(despite_holds=despite_holds, why=why)

    def erase(self, target: Target, **how: Any) -> Receipt:
        """Plan an erasure and carry it out; arguments and errors are those of `plan_erasure` and its ``apply``."""
        return self.plan_erasure(target, **how).apply()

    def tombstones(self, thread: Key) -> tuple[Tombstone, ...]:
        """Return what was erased of a thread, so that live checkpoints can be rid of it before a model reads them."""
        return self.journal.tombstones(thread)

    def was_erased(self, thread: Key, state_hash: str) -> bool:
        """Whether an erasure took a checkpoint's state away: delete the thread's checkpoints."""
        return self.journal.was_erased(thread, state_hash)

    def plan_prune(
        self,
        policy: Deletion,
        *,
        kinds: Sequence[Kind] = ("documents",),
        thread: Key | None = None,
        **scope: str | None,
    ) -> PrunePlan:
        """Return what a policy deletes of documents or messages, and what is protected. Nothing is deleted.

        Args:
            policy: The policy (`acc.evidence.policies`).
            kinds: ``documents``, ``messages``.
            thread: A thread; None for all of the scope.
            scope: Names of tenant, user and agent, as in `threads`.
        """
        pruning = Pruning(self.parts, self.threads(thread, **scope), kinds, self._clock.now())
        return pruning.plan(policy)

    def prune(self, policy: Deletion, **how: Any) -> Pruned:
        """Delete what a policy deletes; arguments are those of `plan_prune`."""
        return self.plan_prune(policy, **how).apply()

    def plan_expiry(self, older_than: timedelta, **scope: str | None) -> ExpiryPlan:
        """Return the threads of a scope that nobody committed to for so long. Nothing is deleted."""
        return plan_expiry(self.parts, self.threads(**scope), older_than, self._clock.now())

    def expire(self, older_than: timedelta, **scope: str | None) -> Pruned:
        """Delete the threads of a scope that nobody committed to for so long, but for those that are held."""
        return self.plan_expiry(older_than, **scope).apply()

    def hold(self, thread: Key, ref: str = "", *, reason: str) -> Hold:
        """Protect a message, a document or a whole thread from deletion.

        Raises:
            InputError: There is no such message, or no reason.
            StateError: There is no such thread.
        """
        if not reason.strip():
            raise InputError("a hold needs a reason", where=ref, hint="say who asks, and why")
        key = key_of(thread)
        if ref and not self._has(key, ref):
            raise InputError(
                f"there is no evidence {ref!r}", where=str(key), hint="acc search shows the refs"
            )
        return self.journal.hold(key, ref, reason=reason)

    def _has(self, key: ThreadKey, ref: str) -> bool:
        whole = (each.message.ref.rpartition(".")[0] for each in parts_of(self.journal, key))
        return bool(self.journal.texts(key, [ref])) or (is_home(key) and ref in whole)

    def release(self, thread: Key, ref: str = "") -> None:
        """End a hold.

        Raises:
            InputError: There is none.
        """
        self.journal.release(thread, ref)

    def held(self, **scope: str | None) -> tuple[Hold, ...]:
        """Return the holds of a scope."""
        keys = set(self.threads(**scope))
        return tuple(hold for hold in self.journal.held() if hold.thread in keys)

    def feedback(
        self, target: int | str | Step[Any], utility: float, *, thread: Key, branch: str = MAIN
    ) -> int:
        """Keep how useful evidence was; return for how many pieces of it this counts.

        Args:
            target: A turn's number or step, for everything that it admitted; or a ref.
            utility: Any finite number; higher is better.
            thread: The thread.
            branch: Its branch.

        Raises:
            InputError: There is no such turn or ref, or the utility is no finite number.
        """
        given, count = rated(self.journal, key_of(thread), target, utility, branch)
        self.journal.rate(thread, Feedback(given.branch, given.turn, given.ref, given.utility))
        return count

    def ingest(
        self,
        paths: Path | str | Iterable[Path | str],
        *,
        name: str = "",
        replace: bool = False,
        tenant: str = "",
        user: str = "",
        agent: str = "",
    ) -> tuple[Ingested, ...]:
        """Ingest files, or the documents below folders: text, Markdown, HTML, PDF (the extra ``pdf``).

        Recall finds them in every thread of the scope from its next turn on. The same again writes nothing.

        Args:
            paths: The files.
            name: Name of the document, if it is one file; by default its path.
            replace: Whether earlier documents of the same name are deleted.
            tenant: Whose it is.
            user: Whose it is; empty for every user's.
            agent: Whose it is; empty for every agent's.

        Raises:
            InputError: A file cannot be read, or ``name`` is given for several.
        """
        files = files_of(paths)
        if name and len(files) > 1:
            raise InputError("one name for several files", where=name, hint="leave it out")
        key = home(tenant, user, agent)
        read = [(name or path.as_posix(), sections(path)) for path in files]
        return tuple(ingest(self.parts, key, each, found, replace=replace) for each, found in read)

    def ingest_text(
        self,
        name: str,
        text: str,
        *,
        replace: bool = False,
        tenant: str = "",
        user: str = "",
        agent: str = "",
    ) -> Ingested:
        """Ingest a text; arguments are those of `ingest`."""
        key = home(tenant, user, agent)
        return ingest(self.parts, key, name, [Section(text)], replace=replace)

    def documents(self, **scope: str | None) -> tuple[Document, ...]:
        """Return the documents of a scope."""
        return tuple(documents(self.journal, self.threads(**scope)))

    def open(self, ref: str, *, thread: Key) -> Message:
        """Return a document that a thread may read, or a part of it.

        Raises:
            InputError: There is none.
        """
        key = key_of(thread)
        own = self.journal.texts(key, [ref])
        found = own[0] if own else document(self.journal, key, ref)
        if found is None:
            raise InputError(
                f"there is no evidence {ref!r}", where=str(key), hint="acc search shows the refs"
            )
        return found

    def search(
        self, words: str, *, thread: Key | None = None, limit: int = 20, **scope: str | None
    ) -> tuple[Hit, ...]:
        """Return the newest messages and passages of documents that hold all the words, in any case.

        Raises:
            InputError: There are no words.
        """
        key = key_of(thread) if thread is not None else None
        names = {name: value for name, value in scope.items() if value is not None}
        return tuple(search(self.journal, words, limit, key, names))

    def lines(self, *, thread: Key | None = None, **scope: str | None) -> Iterator[str]:
        """Yield threads as JSON lines, with the chain (`acc.journal.exchange`)."""
        return chain.from_iterable(map(self.journal.export, self.threads(thread, **scope)))

    def export(self, to: Path | str, *, thread: Key | None = None, **scope: str | None) -> Exported:
        """Write threads to a new file of JSON lines, compressed if its name ends with ``.gz``.

        Raises:
            InputError: There is no such thread, or the file is there.
        """
        return moving.export(self.journal, self.threads(thread, **scope), expanded(to))

    def import_(self, source: Path | str | Iterable[str]) -> tuple[ThreadKey, ...]:
        """Write the threads of an export, a file or lines, all or nothing.

        Raises:
            InputError: It is no export, or it was changed.
            ConflictError: A thread is in the memory already.
        """
        given = expanded(source) if isinstance(source, str | Path) else source
        return moving.import_(self.parts, given)

    def backup(self, to: Path | str) -> Path:
        """Copy the journal to a new file while others write, and note where: an erasure names it.

        Raises:
            InputError: There is such a file.
        """
        path = self.journal.backup(to)
        self.journal.note_copy(str(path.absolute()), "a backup")
        return path

    def health(self, *, pages: bool = True) -> Health:
        """Look at the memory: sizes, free pages, what the index lacks, turns that no commit took; writes nothing."""
        return health(self.parts, self.folder, pages=pages)

    def reindex(self) -> Reindexed:
        """Make the index what the journal says.

        Raises:
            InputError: The memory has no index.
        """
        return reindex(self.parts)

    def write_heads(self, out: Path | str, **scope: str | None) -> int:
        """Write the heads of a scope to a file, to be kept elsewhere; return how many."""
        keys = set(self.threads(**scope))
        heads = (head for head in self.journal.heads() if head.thread in keys)
        return write_heads(heads, expanded(out))

    def check_heads(self, heads: Iterable[Head]) -> tuple[str, ...]:
        """Return what is wrong with heads that were kept elsewhere (`acc.evidence.heads.read_heads`)."""
        return tuple(check_heads(self.journal, heads))
