"""A proposed item on its way into a draft: what it says, what it cites, and the items that its fields make."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from acc.commit.draft import Draft
from acc.commit.integrity import Cited, Provenance, Sources
from acc.state.items import Item, one_line, wire_field
from acc.state.proposal import ProposedItem
from acc.state.reasons import Reason
from acc.state.slots import SlotField
from acc.text.wording import split_line
from acc.turn.observations import Observation

_LONGEST = 4_000
"""Characters of a proposed text that are compared with its sources."""


class Attempt(NamedTuple):
    """A proposed item that is checked for a slot of a draft; ``cited`` is what it cites and the sources have."""

    draft: Draft
    slot: SlotField
    proposed: ProposedItem
    cited: Sequence[Cited]
    sources: Sources

    @property
    def said(self) -> str:
        """The words of the item, without fields that are not rendered."""
        fields = self.proposed.fields
        names = (n for n in self.slot.item.wire_fields() if n not in self.slot.item.unseen)
        return " ".join(str(fields[n]) for n in names if n in fields)

    def text(self, name: str) -> str:
        """Return a field's text on one line; empty if it has none."""
        value = self.proposed.fields.get(name)
        return one_line(value[:_LONGEST]) if isinstance(value, str) else ""

    def claim(self, fields: Mapping[str, Any], subject: Collection[str] = ()) -> str:
        """Return the words of ``fields`` without labels of a closed set and without those of the ``subject``."""
        item = self.slot.item
        apart = {*subject, *item.unseen}
        names = [n for n in fields if n in item.wire_fields() and n not in apart]
        return " ".join(str(fields[n]) for n in names if "enum" not in wire_field(item, n))

    def note(self, reason: Reason, detail: str = "", text: str | None = None) -> None:
        """Record what is done with the item, under its words or another ``text``."""
        text = self.said if text is None else text
        self.draft.note(reason, self.slot.name, text=text, detail=detail)

    def with_fields(self, kept: Mapping[str, Any]) -> Attempt:
        """Return the attempt with ``kept`` values for the fields that the proposal leaves out."""
        fields = {**kept, **self.proposed.fields}
        return self._replace(proposed=self.proposed.model_copy(update={"fields": fields}))

    def built(self, fields: Mapping[str, Any], source: Observation, by: Provenance) -> list[Item]:
        """Build the items from ``fields``: one, several if a text is split, none if malformed."""
        item = self.slot.item
        wire = {k: v for k, v in fields.items() if k in item.asked_fields()}
        settled = item.settled(wire, source, by.trust)
        for name in [n for n in wire if n in settled and n not in item.computed]:
            if settled[name] != wire[name]:
                detail = f"{name}: {wire[name]} becomes {settled[name]}, by {by.trust.word}"
                self.note(Reason.LOWERED, detail, str(wire.get(item.head, "")))
        standing = {"trust": by.trust, "sources": by.sources, "endorsed": by.endorsed}
        try:
            return [item(**settled, **standing)]
        except ValidationError as error:
            pieces = [] if self.slot.rules.quote else _split(self.slot, settled, error)
            if pieces:
                self.note(Reason.SPLIT, f"{len(pieces)} pieces", "")
                return [item(**piece, **standing) for piece in pieces]
            long = all(e["type"] == "string_too_long" for e in error.errors())
            first = error.errors()[0]
            detail = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            said = str(fields.get(item.head, ""))[:200]
            self.note(Reason.TOO_LONG if long else Reason.MALFORMED, detail, said)
            return []


def _split(slot: SlotField, fields: dict[str, Any], error: ValidationError) -> list[dict[str, Any]]:
    """Split an overlong text between words, if the field is part of the key.

    Quoted slots are not split: the second half of a prohibition could read as a permission.
    """
    problem, *more = error.errors()
    name = str(problem["loc"][0]) if problem["type"] == "string_too_long" else ""
    if more or name not in slot.item.key:
        return []
    limit = problem["ctx"]["max_length"]
    return [{**fields, name: piece} for piece in split_line(str(fields[name]), limit)]
