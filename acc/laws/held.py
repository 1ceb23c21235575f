"""Law 9: a failed compression commits the same items, and lists what nobody has read."""

from __future__ import annotations

from collections.abc import Iterable

from acc.items import one_line
from acc.laws.draft import Draft
from acc.laws.reasons import Reason
from acc.policy import Policy
from acc.turn import Channel, Observation, Trust, Turn

MOST_PENDING = 12
"""Observations listed as unread at the most."""

_FIRST = (Channel.OPERATOR, Channel.USER, Channel.AGENT, Channel.TOOL, Channel.DOCUMENT)


def hold(draft: Draft, policy: Policy) -> None:
    """Keep every item as it is and list this turn's observations as pending.

    The list is bounded by `Policy.pending_tokens`: texts are cut at words, the user's
    words last. What is cut stands whole in the store.
    """
    unread = [o for o in (*draft.turn.pending, *draft.turn.observations) if not o.is_call]
    draft.pending = _bounded(unread, policy)
    draft.note(Reason.HELD, detail=f"{len(draft.pending)} observations unread")
    kept = {o.ref: o.left_out for o in draft.pending}
    cut = [o.ref for o in unread if kept.get(o.ref, -1) != o.left_out]
    if cut:
        draft.note(Reason.PENDING_CUT, detail=" ".join(cut))


def pending_is_full(turn: Turn, policy: Policy) -> bool:
    """Whether holding ``turn`` too would exceed the bound: then the rules fold it (law 9)."""
    unread = [o for o in (*turn.pending, *turn.observations) if o.channel is not Channel.TOOL]
    words = sum(policy.counter(o.text) for o in unread if o.trust >= Trust.USER)
    return bool(turn.pending) and (len(unread) > MOST_PENDING or words > policy.pending_tokens)


def _bounded(unread: Iterable[Observation], policy: Policy) -> tuple[Observation, ...]:
    ranked = sorted(unread, key=lambda o: _FIRST.index(o.channel))[:MOST_PENDING]
    room = policy.pending_tokens
    kept: dict[str, Observation] = {}
    for observation in ranked:
        text = one_line(observation.text)
        words = text.split(" ")
        cost = policy.counter(text) + 8
        if cost > room:
            share = max(0, room - 8) / max(1, cost)
            words = words[: int(len(words) * share)]
            text = " ".join(words)
            cost = policy.counter(text) + 8
        if not text or cost > room:
            continue
        room -= cost
        left_out = observation.left_out + max(0, len(observation.text) - len(text))
        kept[observation.ref] = observation.model_copy(update={"text": text, "left_out": left_out})
    return tuple(kept.values())
