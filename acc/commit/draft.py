"""The next state during a commit: mutable slots, and a note for every change."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from acc.state.items import Item, one_line
from acc.state.model import CompressedCognitiveState, Doubted, Evicted, Pending, RetiredRule
from acc.state.policy import Lifting, Policy
from acc.state.reasons import EVICTIONS, REFUSALS, EvictedItem, Note, Reason
from acc.state.slots import SlotField
from acc.text.wording import split_line
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.turn import Turn

MOST_SOURCES = 8
"""Maximum number of refs on one item: the first one and the latest ones are kept."""


MOST_FEEDBACK = 8
"""Maximum number of entries of `CompressedCognitiveState.feedback`."""

LONGEST_FEEDBACK = 240

DOUBT_TURNS = 3
"""Turns for which a doubt is shown, so that the agent can ask: its words take room from other items."""

MOST_DOUBTED = 3
"""Maximum number of rules that the state asks about; the oldest doubts give way, and their rules bind as before."""

LONGEST_DOUBT = 80
"""Maximum length in characters of the words that raise a doubt."""

TOLD = REFUSALS | {
    Reason.USERS_WORDS, Reason.PIN_RESTORED, Reason.CITE_UNKNOWN, Reason.READING_DROPPED,
}  # fmt: skip
"""Reasons of the notes that a model is told, with its next request."""


class Saved(NamedTuple):
    """A slot's items, and what a retirement changes beside them."""

    items: dict[str, list[Item]]
    set_aside: int
    lifted: list[RetiredRule]
    doubted: list[Doubted]


class Draft:
    """The mutable working copy of a state; it never leaves the commit."""

    def __init__(
        self,
        state: CompressedCognitiveState,
        turn: Turn,
        bound_to: str = "",
        lifting: Lifting = "confirm",
    ) -> None:
        self.before = state
        self.turn = turn
        self.bound_to = bound_to or state.bound_to
        self.slots = state.slots()
        self.items: dict[str, list[Item]] = {n: list(getattr(state, n)) for n in self.slots}
        self.notes: list[Note] = []
        self.set_aside: list[EvictedItem] = []
        self.carried = _notices_still_due(state, turn)
        self.lifted: list[RetiredRule] = list(self.carried)
        # Doubts of earlier releases have no turn.
        since = turn.number - DOUBT_TURNS if _begins(turn) else -1
        self.doubted: list[Doubted] = [each for each in state.doubted if each.turn > since]
        self.lifting: Lifting = lifting
        self.pending: tuple[Pending, ...] = ()
        self.evicted: tuple[Evicted, ...] = state.evicted
        self.is_models = False
        self.board_notes: Sequence[Note] = ()
        self.confirmed: frozenset[str] = frozenset()
        self.unjoined: set[str] = set()
        self.replaced: dict[str, Item] = {}
        self.counter = state.counter

    def note(self, reason: Reason, slot: str = "", item: Item | None = None, **said: str) -> None:
        """Record a change or a refusal; ``said`` may hold ``text``, by default the item's, and ``detail``."""
        item_id, words = (item.id, item.words) if item is not None else ("", "")
        text, detail = (said.get("text") or words)[:400], said.get("detail", "")
        self.notes.append(Note(reason=reason, slot=slot, item=item_id, text=text, detail=detail))

    def placed(self, slots: Iterable[SlotField] | None = None) -> Iterator[tuple[SlotField, Item]]:
        """Yield the items of ``slots``, by default of all, each with its slot."""
        for slot in self.slots.values() if slots is None else slots:
            for item in self.items[slot.name]:
                yield slot, item

    def find(self, item_id: str) -> tuple[SlotField, Item] | None:
        """Return the slot and current value of the item with this id, or None."""
        return next((each for each in self.placed() if each[1].id == item_id), None)

    def add(
        self, slot: SlotField, item: Item, reason: Reason = Reason.ADDED, detail: str = ""
    ) -> Item:
        """Add ``item`` to its slot under a new id, and return the added item."""
        self.counter += 1
        now, item_id = self.turn.number, f"{slot.rules.id_prefix}{self.counter}"
        standing = {"id": item_id, "turn": now, "touched": now, "sources": _bounded(item.sources)}
        fresh = item.model_copy(update=standing)
        self.items[slot.name].append(fresh)
        self.note(reason, slot.name, fresh, detail=detail)
        return fresh

    def change(self, slot: SlotField, item: Item, **fields: Any) -> Item:
        """Replace ``item`` with a changed copy, touched in this turn, and return the copy."""
        if "sources" in fields:
            fields["sources"] = _bounded((*item.sources, *fields["sources"]))
        changed = item.model_copy(update={**fields, "touched": self.turn.number})
        items = self.items[slot.name]
        items[next(i for i, other in enumerate(items) if other.id == item.id)] = changed
        return changed

    def remove(self, slot: SlotField, item: Item, reason: Reason, detail: str = "") -> None:
        """Remove ``item`` and set it aside for the store, unless it only lapsed with its turn."""
        self.items[slot.name] = [i for i in self.items[slot.name] if i.id != item.id]
        self.note(reason, slot.name, item, detail=detail)
        if reason is not Reason.LAPSED:
            self.set_aside.append(EvictedItem(slot=slot.name, reason=reason, item=item))

    def doubt(self, item: Item, because: str) -> None:
        """List a rule that the user perhaps lifted; it binds until the user confirms or repeats it."""
        self.settle(item)
        said = (split_line(because, LONGEST_DOUBT) or [because[:LONGEST_DOUBT]])[0]
        doubted = Doubted(id=item.id, text=item.head_text, because=said, turn=self.turn.number)
        self.doubted.append(doubted)
        if len(self.doubted) > MOST_DOUBTED:
            self.note(Reason.LIFTED_CUT, detail=f"the doubt of {self.doubted.pop(0).id} not shown")

    def settle(self, item: Item) -> None:
        """Remove the doubt about a rule, because it was lifted or the user said it again."""
        self.doubted = [doubted for doubted in self.doubted if doubted.id != item.id]

    def refuse(self, slot: SlotField, item: Item, reason: Reason) -> None:
        """Undo the addition of ``item`` in this commit, and record a refusal instead."""
        self.items[slot.name] = [i for i in self.items[slot.name] if i.id != item.id]
        self.notes = [note for note in self.notes if note.item != item.id]
        self.note(reason, slot.name, text=item.words)
        old = self.replaced.pop(item.id, None)
        if old is not None and self.find(old.id) is None:
            self.items[slot.name].append(old)
            self.set_aside = [gone for gone in self.set_aside if gone.item.id != old.id]
            self.lifted = [gone for gone in self.lifted if gone.text != old.head_text]
            self._withdraw(old.id)

    def saved(self, slot: SlotField) -> Saved:
        """Return what `restore` needs to undo changes to the items of ``slot``."""
        items = {slot.name: list(self.items[slot.name])}
        return Saved(items, len(self.set_aside), list(self.lifted), list(self.doubted))

    def _withdraw(self, item_id: str) -> None:
        """Drop the note that the item left."""
        left = (Reason.RETIRED, Reason.MADE_ROOM)
        self.notes = [n for n in self.notes if not (n.item == item_id and n.reason in left)]

    def restore(self, saved: Saved) -> None:
        """Undo the changes since `saved`. Only the notes of refusals stay: they say what was tried."""
        self.items.update(saved.items)
        for gone in self.set_aside[saved.set_aside :]:
            self._withdraw(gone.item.id)
        del self.set_aside[saved.set_aside :]
        self.lifted, self.doubted = saved.lifted, saved.doubted

    def lapse(self) -> None:
        """When a new user turn begins, remove ephemeral items and goals marked done before."""
        if not _begins(self.turn):
            return
        for slot in self.slots.values():
            if slot.rules.ephemeral:
                for item in self.items[slot.name]:
                    self.remove(slot, item, Reason.LAPSED)
            elif slot.rules.pinned:
                closed = [each for each in self.items[slot.name] if not each.is_open]
                for item in [each for each in closed if not each.is_expired]:
                    self.remove(slot, item, Reason.MADE_ROOM, detail="done")

    def _binds(self, item_id: str) -> bool:
        found = self.find(item_id)
        return found is not None and found[1].is_open

    def _feedback(self) -> tuple[str, ...]:
        """Return what a model should know of this commit and of a board's, each at most `LONGEST_FEEDBACK` characters.

        Texts and details may be a tool's words: they are quoted.
        """
        gone = [f"{n.item} {_quoted(n.text[:40])}" for n in self.notes if n.reason in EVICTIONS]
        notes = (n for n in self.notes if n.reason in TOLD)
        told = [
            f"{n.reason.value}: {n.item or n.slot} {_quoted(n.text[:80])} {_quoted(n.detail[:80])}".strip()
            for n in (*notes, *self.board_notes)
        ]
        if gone:
            told.insert(0, f"set aside for want of room: {'; '.join(gone[:MOST_FEEDBACK])}")
        return tuple(one_line(each)[:LONGEST_FEEDBACK] for each in told[:MOST_FEEDBACK])

    def state(self, policy: str = "") -> CompressedCognitiveState:
        """Return the drafted state, without its hash."""
        slots = {name: tuple(items) for name, items in self.items.items()}
        return self.before.model_copy(
            update={
                **slots,
                "version": self.before.version + 1,
                "turn": self.turn.number,
                "counter": self.counter,
                "bound_to": self.bound_to,
                "policy": policy,
                "parent": self.before.hash,
                "lifted": tuple(each for each in self.lifted if not self._stands_again(each)),
                "doubted": tuple(d for d in self.doubted if self._binds(d.id)),
                "pending": self.pending,
                "evicted": self.evicted,
                "feedback": self._feedback() if self.is_models else (),
                "hash": "",
            }
        )

    def _stands_again(self, notice: RetiredRule) -> bool:
        """Return whether the rule of an earlier turn's notice is in force again."""
        pinned = self.placed(slot for slot in self.slots.values() if slot.rules.pinned)
        return notice in self.carried and any(i.head_text == notice.text for _, i in pinned)


def _notices_still_due(state: CompressedCognitiveState, turn: Turn) -> list[RetiredRule]:
    """Return the notices of ``state`` that the agent reads in ``turn`` too, or still has to read after it."""
    if is_operators(turn):
        return [notice for notice in state.lifted if notice.owed]
    shown = [notice.model_copy(update={"owed": False}) for notice in state.lifted]
    if not _begins(turn):
        return shown
    return [now for now, before in zip(shown, state.lifted, strict=True) if before.owed]


def is_operators(turn: Turn) -> bool:
    """Return whether ``turn`` is an operator's act between two turns of the conversation."""
    return bool(turn.observations) and turn.observations[-1].channel is Channel.OPERATOR


def _begins(turn: Turn) -> bool:
    """Return whether a user or operator speaks in ``turn``; otherwise it is a step of a tool loop."""
    return any(o.channel in (Channel.USER, Channel.OPERATOR) for o in turn.observations)


def _quoted(text: str) -> str:
    return json.dumps(one_line(text), ensure_ascii=False) if text.strip() else ""


def _bounded(sources: tuple[str, ...]) -> tuple[str, ...]:
    unique = tuple(dict.fromkeys(sources))
    return unique if len(unique) <= MOST_SOURCES else (unique[0], *unique[1 - MOST_SOURCES :])


MOST_PENDING = 12
"""Maximum number of pending observations."""

_LONGEST_NAME = 120
_FIRST = (Channel.OPERATOR, Channel.USER, Channel.AGENT, Channel.TOOL, Channel.DOCUMENT)


def commit_unchanged(draft: Draft, policy: Policy) -> None:
    """Keep every item and list this turn's observations as pending.

    `Policy.pending_tokens` bounds the list: texts are cut at word boundaries, the user's last. The store
    has the full texts. The agent reads only the pending observations that fit next to the items; no item
    is evicted for them.
    """
    unread = [o for o in draft.turn.unread if not o.is_call]
    draft.pending = _bounded_pending(unread, policy)
    draft.note(Reason.HELD, detail=f"{len(draft.pending)} observations unread")
    _note_cut(draft, unread)


def leave_unread(draft: Draft, policy: Policy, read: Collection[str]) -> None:
    """List observations as pending, except those with a ref in ``read``."""
    unread = [o for o in draft.turn.unread if not o.is_call and o.ref not in read]
    draft.pending = _bounded_pending(unread, policy)
    _note_cut(draft, unread)


def _note_cut(draft: Draft, unread: Sequence[Observation]) -> None:
    kept = {o.ref: o.left_out for o in draft.pending}
    if cut := [o.ref for o in unread if kept.get(o.ref, -1) != o.left_out]:
        draft.note(Reason.PENDING_CUT, detail=" ".join(cut)[:400])


def show_pending(draft: Draft, policy: Policy) -> None:
    """Show as many pending observations as fit after the items, by channel rank, the newest first."""
    for place in _ranked(draft.pending):
        before = draft.pending
        shown = before[place].model_copy(update={"shown": True})
        draft.pending = (*before[:place], shown, *before[place + 1 :])
        if policy.tokens(draft.state()) > policy.max_tokens:
            draft.pending = before


def pending_is_full(turn: Turn, policy: Policy) -> bool:
    """Return whether keeping ``turn`` as pending too would cut a user's words (law 9)."""
    unread = [o for o in turn.unread if not o.is_call]
    said = sum(policy.counter(o.text) for o in unread if o.trust >= Trust.USER)
    return bool(turn.pending) and (len(unread) > MOST_PENDING or said > policy.pending_tokens)


def _bounded_pending(unread: Sequence[Observation], policy: Policy) -> tuple[Pending, ...]:
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
    """Return the positions by channel, the latest first within a channel."""
    numbered = list(enumerate(observations))
    return [i for i, o in sorted(numbered, key=lambda p: (_FIRST.index(p[1].channel), -p[0]))]
