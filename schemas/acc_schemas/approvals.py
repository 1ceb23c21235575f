"""What the user has agreed to: no tool and no document can write it (`Slot.least`).

A standing permission or prohibition is a rule, in the user's own sentence. An approval is the answer to one request.
"""

from __future__ import annotations

from typing import Literal

from acc.state.items import Name, Record, Text
from acc.state.slots import Slot
from acc.turn.observations import Trust


class Approval(Record):
    """An answer of the user to a request, with its terms; a later answer replaces an earlier one."""

    key = ("subject",)
    subject: Name
    answer: Literal["given", "refused", "withdrawn"]
    terms: Text = ""


def approval_slot(prefix: str, guidance: str, places: int = 6) -> Slot:
    """Return the slot of approvals: the user's word alone, by ``guidance``."""
    return Slot(
        "approvals", prefix, "Approvals", places, share=0.3, lesser="beside", least=Trust.USER,
        guidance=guidance,
    )  # fmt: skip
