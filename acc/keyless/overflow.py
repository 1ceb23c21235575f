"""Leaves out new goals that do not fit, and remarks on each.

Commit never evicts a goal: if the goals do not fit, it raises `PinnedOverflow`, which ends the step. The
keyless compressor takes many sentences for goals, so it leaves out the newest and goes on. It never
leaves out a rule: the caller has to learn of a rule that does not fit, and `PinnedOverflow` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from acc.commit.commit import commit
from acc.errors import ConfigurationError, PinnedOverflow
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedItem, Remark
from acc.text.tokens import TokenCounter
from acc.turn.observations import Evidence
from acc.turn.turn import Turn

RULES = "constraints"

ROW, HEADINGS = 10, 40
"""More tokens than a row and all headings of the rendered state take beside the words."""


class Bounds(Protocol):
    """The limits of a commit."""

    max_tokens: int
    counter: TokenCounter

    def policy(self, schema: type[CompressedCognitiveState]) -> Policy:
        """The policy that the proposal will be committed under."""


def remark_on(item: ProposedItem, head: str) -> Remark:
    """The remark that a new goal was left out. ``head`` is the field that names it."""
    text = str(item.fields.get(head, ""))
    return Remark(code="no_room", ref=next(iter(item.cites), ""), slot=item.slot, text=text)


def without_overflow(
    proposal: Proposal,
    turn: Turn,
    state: CompressedCognitiveState,
    evidence: Sequence[Evidence],
    bounds: Bounds,
) -> Proposal:
    """The proposal without the newest goals for which there is no room.

    It tries a commit, because only commit knows which liftings it accepts and which items it merges.
    """
    while (new := _new(proposal, state)) and _may_overflow(proposal, state, bounds):
        try:
            commit(state, proposal, turn, evidence, bounds.policy(type(state)))
        except PinnedOverflow as overflow:
            newest = next((i for i in reversed(new) if overflow.slot in ("", i.slot)), None)
            if newest is None:
                return proposal
            remark = remark_on(newest, type(state).slots()[newest.slot].item.head)
            items = tuple(item for item in proposal.items if item is not newest)
            remarks = (*proposal.remarks, remark)
            proposal = proposal.model_copy(update={"items": items, "remarks": remarks})
        except ConfigurationError:
            return proposal  # no commit of this turn is possible; the caller's own commit says why
        else:
            return proposal
    return proposal


def _new(proposal: Proposal, state: CompressedCognitiveState) -> list[ProposedItem]:
    """The new items that could be left out: all pinned ones but rules."""
    pinned = {n for n, s in type(state).slots().items() if s.rules.pinned and n != RULES}
    return [item for item in proposal.items if item.slot in pinned and not item.id]


def _may_overflow(proposal: Proposal, state: CompressedCognitiveState, bounds: Bounds) -> bool:
    """A cheap check that is true for every proposal that overflows."""
    tokens = HEADINGS
    for name, slot in type(state).slots().items():
        if slot.rules.pinned:
            held = [item.words for item in getattr(state, name) if item.is_open]
            added = [i for i in proposal.items if i.slot == name and not i.id]
            if len(held) + len(added) > slot.rules.max_items:
                return True
            words = (*held, *(" ".join(map(str, item.fields.values())) for item in added))
            tokens += sum(bounds.counter(text) + ROW for text in words)
    return tokens > bounds.max_tokens
