"""Why commit added, changed, refused or let go of something: one note for each."""

from __future__ import annotations

from enum import StrEnum

from acc.state.items import Part


class Reason(StrEnum):
    """Reason codes."""

    # done
    ADDED = "added"
    UPDATED = "updated"
    LATER = "later"
    ENDING = "ending"
    ENDED = "ended"
    DEMOTED = "demoted"
    DONE = "done"
    REOPENED = "reopened"
    # left the state
    DROPPED = "dropped"
    EVICTED = "evicted"
    # as it was
    KNOWN = "known"
    STAYS = "stays"
    # refused for its form: one repair, and the message stays unread (law 9)
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    CUT_EDGE = "cut_edge"
    UNKNOWN_ID = "unknown_id"
    # refused for its channel (law 6)
    UNTRUSTED = "untrusted"
    NO_OFFER = "no_offer"
    # something else happened to it
    MALFORMED = "malformed"
    SHORTENED = "shortened"
    UNCITED = "uncited"
    NO_ROOM = "no_room"
    GIVEN_UP = "given_up"
    MISSING = "missing"
    UNREAD = "unread"


REPAIRABLE = frozenset({Reason.NOT_FOUND, Reason.AMBIGUOUS, Reason.UNKNOWN_ID})
"""Slips of form that one more answer can correct."""

REFUSED = frozenset(
    {
        Reason.NOT_FOUND, Reason.AMBIGUOUS, Reason.CUT_EDGE, Reason.UNKNOWN_ID, Reason.UNTRUSTED,
        Reason.NO_OFFER, Reason.MALFORMED, Reason.UNCITED, Reason.NO_ROOM,
    }
)  # fmt: skip
"""Why something that was proposed did not come in."""

LEFT = frozenset({Reason.EVICTED, Reason.DROPPED, Reason.ENDED, Reason.DEMOTED})
"""Why something left the state."""


class Note(Part):
    """What became of one element of a proposal, or of one item.

    Attributes:
        reason: What happened.
        item: Id of the item that it happened to; may be empty.
        ref: Ref of the message in question, as the proposal wrote it; may be empty.
        text: The words in question, cut.
        detail: What a reader needs to act on it; may be empty.
        of: The proposal's list that the element stood in; empty for what commit does by itself.
    """

    reason: Reason
    item: str = ""
    ref: str = ""
    text: str = ""
    detail: str = ""
    of: str = ""

    def __str__(self) -> str:
        where = "".join(f" {each}" for each in (self.item, self.ref) if each)
        said = f': "{self.text}"' if self.text else ""
        more = f" ({self.detail})" if self.detail else ""
        return f"{self.reason.value}{where}{said}{more}"
