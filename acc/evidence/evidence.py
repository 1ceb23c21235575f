"""`Evidence`: what happens to a memory's evidence beside its steps."""

from __future__ import annotations

import math
from typing import Any

from acc.controller.documents import document, is_home, whole_of
from acc.errors import InputError
from acc.evidence.base import missing
from acc.evidence.documents import Documents, parts_of
from acc.evidence.erasure import Erasure, ErasurePlan, Proof, Receipt
from acc.evidence.health import Upkeep
from acc.evidence.moving import Moving
from acc.evidence.retention import Retention, admitted_in
from acc.evidence.target import Target
from acc.journal import Feedback, Hold, ThreadKey
from acc.journal.names import MAIN
from acc.journal.opened import Key, key_of
from acc.step import Step
from acc.turn.observations import is_ingested


class Evidence(Documents, Retention, Moving, Upkeep):
    """Erasure, holds, retention, documents, moving and upkeep of a memory. It works while agents run.

    Its methods block; beside an event loop: ``await memory.beside(evidence.erase, target)``.

    Args:
        memory: The open memory.
        policies: Policies of threads that have another schema, as of roles. Boards need none.
    """

    def plan_erasure(self, target: Target, *, proof: Proof = "replay") -> ErasurePlan:
        """Plan an erasure: what goes, and what the model costs that makes the rest anew. Nothing is erased.

        Args:
            target: What to erase. What agents and tools repeated of it goes, too.
            proof: ``replay``: commit what is left anew, the only one that is proved. ``fast``: blank what cites the
                words, derives from them or shares words with them.

        Raises:
            InputError: The memory holds nothing of it, or a hold protects it.
            StateError: A commit of the thread is damaged.
        """
        return Erasure(self, target, proof).plan()

    def erase(self, target: Target, *, proof: Proof = "replay") -> Receipt:
        """Plan an erasure and carry it out; arguments and errors are those of `plan_erasure` and its ``apply``."""
        return self.plan_erasure(target, proof=proof).apply()

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
            raise missing(f"evidence {ref!r}", key)
        return self.journal.hold(key, ref, reason=reason)

    def _has(self, key: ThreadKey, ref: str) -> bool:
        documents = (whole_of(each.message.ref) for each in parts_of(self.journal, key))
        return bool(self.journal.texts(key, [ref])) or (is_home(key) and ref in documents)

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
            branch: Its branch; that of a step is known.

        Raises:
            InputError: There is no such turn or ref, or the utility is no finite number.
        """
        key, journal = key_of(thread), self.journal
        if not math.isfinite(utility):
            what = f"a utility is a finite number, not {utility!r}"
            raise InputError(what, where="feedback", hint="such as 0 to 1")
        turn: int | str
        if isinstance(target, Step):
            turn, branch = target.state.turn, target.state.branch
        else:
            turn = target
        if isinstance(turn, str):
            is_there = journal.texts(key, [turn], branch=branch) or (
                is_ingested(turn) and document(journal, key, turn)
            )
            if not is_there:
                raise missing(f"evidence {turn!r}", key)
            journal.rate(key, Feedback(branch, 0, turn, float(utility)))
            return 1
        commits = (each for each in journal.commits(key, branch) if each.turn == turn)
        if not (found := [each for each in commits if each.span[1]]):
            raise missing(f"turn {turn}", key)
        journal.rate(key, Feedback(branch, turn, "", float(utility)))
        return len({ref for each in found for ref in admitted_in(each.record)})
