"""What the user has agreed to: the one thing that no tool and no document may ever write."""

from __future__ import annotations

from typing import Literal

from acc import Item
from acc.state import Example, Name, OptionalLine


class Approval(Item):
    """An answer of the user to a request, with its terms; a later answer replaces an earlier one."""

    key = ("subject",)
    head = "subject"
    subject: Name
    answer: Literal["given", "refused", "withdrawn"]
    terms: OptionalLine = ""


APPROVAL_CUES = ("approve", "approval", "go ahead", "you may", "sign off")
"""Words of an approval, whatever the domain."""

APPROVAL_EXAMPLES = (
    Example(
        "The restart is approved after 22:00",
        subject="restart",
        answer="given",
        terms="after 22:00",
    ),
    Example(
        "The restart is approved, one node at a time",
        subject="restart",
        answer="given",
        terms="one node at a time",
    ),
    Example(
        "Go ahead with the restart, one node at a time",
        subject="restart",
        answer="given",
        terms="one node at a time",
    ),
    Example(
        "Go ahead and drain node-7, after 22:00",
        subject="drain node-7",
        answer="given",
        terms="after 22:00",
    ),
    Example(
        "You may drain node-7 after 22:00",
        subject="drain node-7",
        answer="given",
        terms="after 22:00",
    ),
    Example(
        "I approve the restart, one node at a time",
        subject="restart",
        answer="given",
        terms="one node at a time",
    ),
    Example(
        "I sign off the restart, one node at a time",
        subject="restart",
        answer="given",
        terms="one node at a time",
    ),
    Example(
        "You have my approval for the restart, one node at a time",
        subject="restart",
        answer="given",
        terms="one node at a time",
    ),
    Example(
        "I do not approve the restart, not before Monday",
        subject="restart",
        answer="refused",
        terms="not before Monday",
    ),
    Example("I don't approve the restart", subject="restart", answer="refused"),
    Example("I withdraw my approval for the restart", subject="restart", answer="withdrawn"),
    Example("The restart is no longer approved", subject="restart", answer="withdrawn"),
)
"""How people approve, refuse and withdraw, whatever the domain."""
