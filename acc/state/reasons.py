"""Reason codes for everything that commit refuses, evicts, carries, lowers or repairs."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, SerializeAsAny

from acc.state.items import Item


class Reason(StrEnum):
    """Reason codes. They are stored: never rename one or change its meaning."""

    # refused: the proposal is in the audit record, and the state is unchanged by it
    UNKNOWN_SLOT = "unknown_slot"
    UNKNOWN_ITEM = "unknown_item"
    MALFORMED = "malformed"
    TOO_LONG = "too_long"
    UNCITED = "uncited"
    UNTRUSTED = "untrusted"
    NOT_THIS_TURN = "not_this_turn"
    QUOTE_MISSING = "quote_missing"
    QUOTE_NOT_FOUND = "quote_not_found"
    QUOTE_UNRELATED = "quote_unrelated"
    LIFTING_DOUBTED = "lifting_doubted"
    ONE_CASE = "one_case"
    EXPIRY_DOUBTED = "expiry_doubted"
    ENDORSES_LOWER = "endorses_lower"
    REPEATS_LOWER = "repeats_lower"
    OUTRANKED = "outranked"
    FLOOD = "flood"
    NO_ROOM = "no_room"
    # done
    ADDED = "added"
    UPDATED = "updated"
    RETIRED = "retired"
    DONE = "done"
    EXPIRED = "expired"
    # set aside: the item left the state and is in the store
    REPLACED = "replaced"
    SETTLED = "settled"
    LEFT_OUT = "left_out"
    MADE_ROOM = "made_room"
    EVICTED_PLACES = "evicted_places"
    EVICTED_TOKENS = "evicted_tokens"
    # lapsed with its turn
    LAPSED = "lapsed"
    # carried on
    CARRIED = "carried"
    DUPLICATE = "duplicate"
    # lowered
    CITE_UNKNOWN = "cite_unknown"
    CITES_NARROWED = "cites_narrowed"
    LOWERED = "lowered"
    BESIDE = "beside"
    # repaired
    USERS_WORDS = "users_words"
    READING_DROPPED = "reading_dropped"
    PIN_RESTORED = "pin_restored"
    SPLIT = "split"
    # about the whole turn
    ENDORSED = "endorsed"
    HELD = "held"
    FOLDED = "folded"
    PENDING_CUT = "pending_cut"
    LIFTED_CUT = "lifted_cut"
    POLICY_CHANGED = "policy_changed"
    LANGUAGE_NOT_READ = "language_not_read"
    # about a shared board (`acc.board`): no commit makes these notes
    BOARD_CONFLICT = "board_conflict"
    BOARD_PRIVATE = "board_private"


REFUSALS = frozenset(
    {
        Reason.UNKNOWN_SLOT, Reason.UNKNOWN_ITEM, Reason.MALFORMED, Reason.TOO_LONG, Reason.UNCITED,
        Reason.UNTRUSTED, Reason.NOT_THIS_TURN, Reason.QUOTE_MISSING, Reason.QUOTE_NOT_FOUND,
        Reason.QUOTE_UNRELATED, Reason.LIFTING_DOUBTED, Reason.ONE_CASE, Reason.ENDORSES_LOWER, Reason.REPEATS_LOWER,
        Reason.OUTRANKED, Reason.FLOOD, Reason.NO_ROOM,
    }
)  # fmt: skip
EVICTIONS = frozenset({Reason.EVICTED_PLACES, Reason.EVICTED_TOKENS})


class Note(BaseModel):
    """One action of a commit.

    Attributes:
        reason: The reason code.
        slot: The slot; empty if the note concerns the whole turn.
        item: Id of the item; empty if it never had one.
        text: The item's text.
        detail: Details of the reason.

    ``acc verify`` recomputes the notes of a record and compares all fields: a commit's texts are as fixed as
    its reason codes (`acc.commit.commit.LAWS`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: Reason
    slot: str = ""
    item: str = ""
    text: str = ""
    detail: str = ""

    def __str__(self) -> str:
        detail = f"({self.detail})" if self.detail else ""
        parts = (self.reason.value, self.slot, self.item, self.text, detail)
        return " ".join(part for part in parts if part)


class EvictedItem(BaseModel):
    """An item that left the state. The store keeps it, and recall can find it.

    Attributes:
        slot: The slot it left.
        reason: The reason code.
        item: The item.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    slot: str
    reason: Reason
    item: SerializeAsAny[Item]
