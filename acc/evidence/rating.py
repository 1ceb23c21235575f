"""What a rating of evidence is about."""

from __future__ import annotations

import math
from typing import Any

from acc.controller.documents import document
from acc.errors import InputError
from acc.evidence.usage import admitted_in
from acc.journal import Feedback, Journal, ThreadKey
from acc.step import Step
from acc.turn.observations import is_ingested


def rated(
    journal: Journal, key: ThreadKey, target: int | str | Step[Any], utility: float, branch: str
) -> tuple[Feedback, int]:
    """Return a rating, and for how many pieces of evidence it counts.

    Raises:
        InputError: There is no such turn or ref, or the utility is no finite number.
    """
    is_number = isinstance(utility, int | float) and not isinstance(utility, bool)
    if not is_number or not math.isfinite(utility):
        raise InputError(
            f"a utility is a finite number, not {utility!r}",
            where="feedback",
            hint="such as 0 to 1",
        )
    if isinstance(target, Step):
        return rated(journal, key, target.state.turn, utility, target.state.branch)
    if isinstance(target, str):
        is_there = journal.texts(key, [target], branch=branch) or (
            is_ingested(target) and document(journal, key, target)
        )
        if not is_there:
            raise _nothing(f"evidence {target!r}", key)
        return Feedback(branch, 0, target, float(utility)), 1
    found = [each for each in journal.commits(key, branch) if each.turn == target and each.span[1]]
    if not found:
        raise _nothing(f"turn {target}", key)
    admitted = {ref for each in found for ref in admitted_in(each.record)}
    return Feedback(branch, target, "", float(utility)), len(admitted)


def _nothing(what: str, key: ThreadKey) -> InputError:
    return InputError(
        f"there is no {what}", where=str(key), hint="acc show and acc search list them"
    )
