"""What people say of evidence: that it is to be kept, and of what use it was."""

from __future__ import annotations

import math
from typing import Any

from acc.controller.documents import document, is_home
from acc.errors import InputError
from acc.evidence.base import Base, missing
from acc.evidence.documents import parts_of, whole_of
from acc.evidence.usage import admitted_in
from acc.journal import Feedback, Hold, ThreadKey
from acc.journal.names import MAIN
from acc.journal.opened import Key, key_of
from acc.step import Step
from acc.turn.observations import is_ingested


class Marks(Base):
    """Holds and ratings."""

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
            branch: Its branch.

        Raises:
            InputError: There is no such turn or ref, or the utility is no finite number.
        """
        key, journal = key_of(thread), self.journal
        is_number = isinstance(utility, int | float) and not isinstance(utility, bool)
        if not is_number or not math.isfinite(utility):
            raise InputError(
                f"a utility is a finite number, not {utility!r}",
                where="feedback",
                hint="such as 0 to 1",
            )
        if isinstance(target, Step):
            return self.feedback(target.state.turn, utility, thread=key, branch=target.state.branch)
        if isinstance(target, str):
            is_there = journal.texts(key, [target], branch=branch) or (
                is_ingested(target) and document(journal, key, target)
            )
            if not is_there:
                raise missing(f"evidence {target!r}", key)
            journal.rate(key, Feedback(branch, 0, target, float(utility)))
            return 1
        found = [
            each for each in journal.commits(key, branch) if each.turn == target and each.span[1]
        ]
        if not found:
            raise missing(f"turn {target}", key)
        journal.rate(key, Feedback(branch, target, "", float(utility)))
        return len({ref for each in found for ref in admitted_in(each.record)})
