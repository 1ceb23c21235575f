"""Law 9: a failed compression commits the same items, and lists what nobody has read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from acc.items import one_line
from acc.laws.draft import Draft
from acc.laws.reasons import Reason
from acc.policy import Policy
from acc.state import Pending
from acc.turn import Channel, Observation, Trust, Turn

MOST_PENDING = 12
"""Observations listed as unread at the most."""

_LONGEST_NAME = 120
_FIRST = (Channel.OPERATOR, Channel.USER, Channel.AGENT, Channel.TOOL, Channel.DOCUMENT)


def hold(draft: Draft, policy: Policy) -> None:
    """Keep every item as it is and list this turn's observations as pending.

    The list is bounded by `Policy.pending_tokens`: texts are cut at words, the user's
    words last. What is cut stands whole in the store. Of the list the agent reads what
    room the items leave, so that no item makes room for it.
    """
    unread = [o for o in (*draft.turn.pending, *draft.turn.observations) if not o.is_call]
    draft.pending = _bounded(unread, policy)
    draft.note(Reason.HELD, detail=f"{len(draft.pending)} observations unread")
    _note_cut(draft, unread)


def leave_unread(draft: Draft, policy: Policy, read: Collection[str]) -> None:
    """List what nobody has read as pending, but for the observations whose refs are ``read``."""
    said = (*draft.turn.pending, *draft.turn.observations)
    unread = [o for o in said if not o.is_call and o.ref not in read]
    draft.pending = _bounded(unread, policy)
    _note_cut(draft, unread)


def _note_cut(draft: Draft, unread: Sequence[Observation]) -> None:
    kept = {o.ref: o.left_out for o in draft.pending}
    if cut := [o.ref for o in unread if kept.get(o.ref, -1) != o.left_out]:
        draft.note(Reason.PENDING_CUT, detail=" ".join(cut)[:400])


def show_pending(draft: Draft, policy: Policy) -> None:
    """Show of the unread observations as many as fit beside the items, the user's first."""
    for place in _ranked(draft.pending):
        shown = draft.pending
        draft.pending = _with(shown, place, seen=True)
        if policy.tokens(draft.state()) > policy.max_tokens:
            draft.pending = shown


def pending_is_full(turn: Turn, policy: Policy) -> bool:
    """Whether holding ``turn`` too would cut what a user said: then the rules fold it (law 9)."""
    unread = [o for o in (*turn.pending, *turn.observations) if not o.is_call]
    said = sum(policy.counter(o.text) for o in unread if o.trust >= Trust.USER)
    return bool(turn.pending) and (len(unread) > MOST_PENDING or said > policy.pending_tokens)


def _bounded(unread: Sequence[Observation], policy: Policy) -> tuple[Pending, ...]:
    room = policy.pending_tokens
    kept: dict[int, Pending] = {}
    for place in _ranked(unread)[:MOST_PENDING]:
        observation = unread[place]
        text = _cut(one_line(observation.text), room, policy)
        if text:
            room -= policy.counter(text)
            kept[place] = _pending(observation, text)
    return tuple(kept[place] for place in sorted(kept))


def _pending(observation: Observation, text: str) -> Pending:
    left_out = observation.left_out + max(0, len(observation.text) - len(text))
    return Pending(
        channel=observation.channel, text=text, ref=observation.ref, left_out=left_out, shown=False,
        name=observation.name[:_LONGEST_NAME], call_id=observation.call_id[:_LONGEST_NAME],
    )  # fmt: skip


def _cut(text: str, room: int, policy: Policy) -> str:
    cost = policy.counter(text)
    if cost <= room:
        return text
    words = text.split(" ")
    while words and cost > room:
        words = words[: min(len(words) - 1, int(len(words) * room / cost))]
        cost = policy.counter(" ".join(words))
    return " ".join(words)


def _ranked(observations: Iterable[Observation]) -> list[int]:
    """Their places, by channel, the latest first within one."""
    numbered = list(enumerate(observations))
    return [i for i, o in sorted(numbered, key=lambda p: (_FIRST.index(p[1].channel), -p[0]))]


def _with(pending: tuple[Pending, ...], place: int, *, seen: bool) -> tuple[Pending, ...]:
    changed = pending[place].model_copy(update={"shown": seen})
    return (*pending[:place], changed, *pending[place + 1 :])
