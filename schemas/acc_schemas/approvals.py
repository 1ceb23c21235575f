"""What the user has agreed to: the one thing that no tool and no document may ever write."""

from __future__ import annotations

from typing import Literal

from acc.items import Item, Name, OptionalLine


class Approval(Item):
    """An answer of the user to a request, with its terms; a later answer replaces an earlier one."""

    key = ("subject",)
    head = "subject"
    subject: Name
    answer: Literal["given", "refused", "withdrawn"]
    terms: OptionalLine = ""
