"""A board's half that was proposed on an older state of the board: what of it still applies."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from acc.board.half import Half
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import ProposedItem
from acc.state.reasons import Note, Reason


class Rebased(NamedTuple):
    """A half for a newer state of the board, and the conflicts with what others did meanwhile."""

    half: Half
    conflicts: tuple[Note, ...]


def rebased(half: Half, read: CompressedCognitiveState, head: CompressedCognitiveState) -> Rebased:
    """Return ``half``, which was proposed on ``read``, for the board's state ``head``.

    What others have changed or ended meanwhile is left as it is. A new item on a subject that another agent has
    settled meanwhile stands beside it as a hypothesis, if its type has a status. Each conflict has a note.
    """
    if read.hash == head.hash:
        return Rebased(half, ())
    conflicts: list[Note] = []

    def still(item_id: str) -> bool:
        old, new = read.find(item_id), head.find(item_id)
        if old is None or (new is not None and new[1].words == old[1].words):
            return True
        detail = f"now: {new[1].words}" if new else "another agent ended it meanwhile"
        conflicts.append(_conflict(old[0].name, old[1].words, detail, item_id))
        return False

    items = []
    for item in (i for i in half.proposal.items if not i.id or still(i.id)):
        rival = _rival(item, read, head)
        if rival is None:
            items.append(item)
            continue
        is_kept = "status" in type(rival).own_fields()
        beside = "kept beside as a hypothesis" if is_kept else "not written"
        text = " ".join(map(str, item.fields.values()))
        conflicts.append(_conflict(item.slot, text, f"{beside}: {rival.id} {rival.words}"))
        if is_kept:
            fields = {**item.fields, "status": "hypothesis"}
            items.append(item.model_copy(update={"fields": fields}))
    retire = tuple(r for r in half.proposal.retire if still(r.id))
    proposal = half.proposal.model_copy(update={"items": tuple(items), "retire": retire})
    return Rebased(replace(half, proposal=proposal), tuple(conflicts))


def _rival(
    item: ProposedItem, read: CompressedCognitiveState, head: CompressedCognitiveState
) -> Item | None:
    """Return the item on the same subject that another agent has written since ``read``, or None."""
    slot = type(head).slots().get(item.slot)
    if item.id or slot is None or slot.rules.quote:
        return None  # of rules and goals commit knows which say the same
    about = tuple(str(item.fields.get(name, "")).casefold() for name in slot.item.key)
    names = [n for n in slot.item.shown_fields() if n != "status"]
    for other in getattr(head, slot.name):
        old = read.find(other.id)
        is_new = old is None or old[1].words != other.words
        says_it = all(getattr(other, n) == item.fields.get(n, getattr(other, n)) for n in names)
        if is_new and other.about[: len(about)] == about and not says_it:
            return other  # type: ignore[no-any-return]
    return None


def _conflict(slot: str, text: str, detail: str, item_id: str = "") -> Note:
    return Note(
        reason=Reason.BOARD_CONFLICT, slot=slot, item=item_id, text=text[:400], detail=detail[:400]
    )
