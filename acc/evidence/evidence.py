"""`Evidence`: what happens to a memory's evidence beside its steps."""

from __future__ import annotations

from typing import Any

from acc.evidence.documents import Documents
from acc.evidence.erasure import Erasure
from acc.evidence.heads import Heads
from acc.evidence.health import Upkeep
from acc.evidence.marks import Marks
from acc.evidence.moving import Moving
from acc.evidence.receipt import ErasurePlan, Proof, Receipt
from acc.evidence.retention import Retention
from acc.evidence.target import Target
from acc.journal import Tombstone
from acc.journal.opened import Key


class Evidence(Documents, Marks, Retention, Moving, Heads, Upkeep):
    """Erasure, retention, documents, moving and upkeep of a memory. It works while agents run.

    Its methods block; beside an event loop: ``await memory.beside(evidence.erase, target)``.

    Args:
        memory: The open memory.
        policies: Policies of threads that have another schema, as of roles. Boards need none.
    """

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
        erasure = Erasure(self, target, proof, echoes=echoes)
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
