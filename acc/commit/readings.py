"""Asides of a rule: what the compressor takes the rule's pronoun to refer to.

An aside is stored beside the rule's text and rendered as the compressor's reading. It makes, changes and
lifts no rule (law 6).
"""

from __future__ import annotations

import re

from acc.commit.draft import Draft
from acc.commit.integrity import Sources
from acc.state.items import one_line
from acc.state.proposal import ProposedItem
from acc.state.reasons import Reason
from acc.state.slots import SlotField
from acc.text.lines import LONGEST_REFERENT
from acc.text.wording import marks, stems

_PRONOUN = re.compile(
    r"\b(?:it|its|that|this|those|these|them|they|their|him|his|her|he|she|one|there|"
    r"es|sie|ihn|ihm|ihr|das|dies\w*|dort|le|la|les|lui|leur|ça|cela|y|lo|los|las|eso|esto|ahí)\b|"
    r"['’]em\b|[それこあ]れ|そこ|彼|它|[这那]",
    re.IGNORECASE,
)


def readings(
    draft: Draft, slot: SlotField, proposed: ProposedItem, text: str, sources: Sources
) -> dict[str, str]:
    """Return the accepted asides of a proposed rule; a refused aside is empty and gets a note.

    An aside is accepted if the rule's ``text`` has a pronoun, and if a single text of the turn, the recalled
    evidence or the state contains all content words, names and numbers of the aside.
    """
    found = {}
    for name in slot.item.asides:
        value = proposed.fields.get(name)
        said = one_line(value) if isinstance(value, str) else ""
        why = _refused(said, text, sources) if said else ""
        found[name] = "" if why else said
        if why:
            draft.note(Reason.READING_DROPPED, slot.name, text=text, detail=f"{said[:200]}: {why}")
    return found


def _refused(said: str, text: str, sources: Sources) -> str:
    if len(said) > LONGEST_REFERENT:
        return f"longer than {LONGEST_REFERENT} characters"
    if not _PRONOUN.search(text):
        return "the rule has no pronoun"
    words = stems(said) | marks(said)
    if not words or not any(words <= stems(told) | marks(told) for told in sources.texts):
        return "nobody named it"
    return ""


def drop_readings(draft: Draft) -> bool:
    """Remove the asides of all rules to make room. Return whether there were any."""
    found = [
        (slot, item, name)
        for slot in draft.slots.values()
        for item in draft.items[slot.name]
        for name in item.asides
        if getattr(item, name)
    ]
    for slot, item, name in found:
        detail = f"{getattr(item, name)}: no room"
        items = draft.items[slot.name]
        items[items.index(item)] = item.model_copy(update={name: ""})
        draft.note(Reason.READING_DROPPED, slot.name, item, detail=detail)
    return bool(found)
