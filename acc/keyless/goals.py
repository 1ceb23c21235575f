"""Which words of user or agent say that a goal is reached or given up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acc.keyless.acts import acts
from acc.keyless.reading import Heard, Said
from acc.keyless.words import one_of, stems
from acc.state.items import Goal
from acc.state.proposal import ProposedDone

_DONE = re.compile(
    r"(?:\b(?:is|are|that's|all|was|were|has been|have been|be|now)|'s) (?:now |all |finally )?" + one_of(
        """done,closed,completed?,finished,sorted,delivered,wrapped up,ticked off,accomplished,settled,off the list,
        fully \\w+ed"""
    )
    + r"|^\W*(?:all )?(?:(?:done|completed|finished|closed)\b|(?:complete|set)(?=\W*$|[,.;:!]))"
    r"|\b(?:close|tick off|wrap up) (?:it|that|this|the)\b"
    r"|\b(?:has|have) (?:all )?(?:been )?(?:completed|gone live|gone out|shipped|landed)\b",
    re.I,
)  # fmt: skip
_CANCELLED = re.compile(
    r"\b(?:scrap|forget|drop|cancel|ditch|never ?mind) (?:about )?(?:the|that|our|my|this)\b"
    r"|(?:\b(?:is|are|was|has been|have been)|'s) (?:cancelled|canceled|called off|off the table)\b"
    r"|\bno longer (?:needed|necessary|wanted)\b",
    re.I,
)
_UNDONE = re.compile(
    r"n't\b|\b" + one_of(
        "not,until,once,when,before,if,as soon as,almost,nearly,half,will be,to be,never"
    ),
    re.I,
)  # fmt: skip
_TASK = re.compile(r"\b(?:task|goal|job|item)\b", re.I)

ACHIEVED = 0.5
"""Minimum probability for a user's sentence to say that something was achieved."""


def done_in(heard: Heard, goals: Sequence[Goal]) -> list[ProposedDone]:
    """Return the open goals that the messages call reached or given up, each with the message."""
    found: dict[str, ProposedDone] = {}
    fresh = [said for said in heard.others if said.message.status != "read"]
    for said in sorted((*heard.user, *fresh), key=lambda s: s.place):
        is_user = said in heard.user
        left = [goal for goal in goals if goal.done is None and goal.id not in found]
        if said.asks or not left:
            continue
        least = 2 if is_user and _CANCELLED.search(said.words) else _least(said, is_user=is_user)
        around = said.words if not is_user else f"{said.words} {heard.reply_before(said)}"
        # An agent must name the goal; a user's "that is done" may be about what the agent said before.
        goal = _clearest(_DONE.sub(" ", said.words), left, least) if least else None
        if goal is None and least == 1 and len(said.words.split()) <= 6:
            goal = _clearest(around, left, 2)
        if goal is not None:
            found[goal.id] = ProposedDone(goal.id, said.ref)
    return list(found.values())


def _least(said: Said, *, is_user: bool) -> int:
    """Return how many words of a goal a sentence must share to close it; 0 if it closes none."""
    odds = acts(said.whole)
    found = _DONE.search(said.words)
    is_whole = found and not _UNDONE.search(said.words[max(0, found.start() - 40) : found.end()])
    is_done = bool(is_whole) and odds["lift"] < max(odds["done"], 0.5)
    if is_user and odds["done"] >= ACHIEVED and not _UNDONE.search(said.words):
        return 1
    if not is_done:
        return 0
    return 1 if is_user or _TASK.search(said.words) else 2


def _clearest(words: str, goals: Sequence[Goal], least: int) -> Goal | None:
    """Return the goal that shares most words with ``words``; None if there is no single best one."""
    said = stems(words)
    ranked = sorted(
        ((len(said & stems(goal.words.text)), n) for n, goal in enumerate(goals)), reverse=True
    )
    best, place = ranked[0]
    is_tied = len(ranked) > 1 and ranked[1][0] == best
    return goals[place] if best >= least and not is_tied else None
