"""What a compressor sees of a board beside the agent's own state, and whose half each part of its proposal is.

The view is the agent's state with the board's items in the shared slots. Their ids and refs begin with `MARK`, which no
id of an agent's state does: `acc.state.declaration` allows lower-case letters only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any

from pydantic import create_model

from acc.board.board import Board
from acc.board.half import HERE
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedItem, Retirement
from acc.state.reasons import Note, Reason
from acc.state.slots import SlotField
from acc.turn.observations import Channel, Evidence, Trust

MARK = "B"
"""First letter of the ids and refs of a board's items in the view."""

_BEFORE_ID = re.compile(
    r"^(held: |retire |kept beside as a hypothesis: |not written: )(?=[a-z]+\d)"
)
"""What stands before an item's id in the detail of a note."""

_FOR_ONE = re.compile(
    r"\b(?:(?:just|only) (?:for )?you|you (?:alone|only)|you(?:rself| yourself)|for this agent|"
    r"(?:this|just|only) once|this (?:one )?time|in this (?:one )?case|for now|"
    r"for this (?:one )?(?:call|case|incident|job|run|step|task|ticket))\b|"
    r"(?:^|[.;:!]\s*)for you\b(?! all)|\bfor you\W*$",
    re.IGNORECASE,
)
"""Words that permit something to one agent or once. They end no rule that binds all agents."""

_GUIDANCE = """\
You keep the memory of the agent named {agent}. Other agents read every item of these shared slots: {slots}. Ids and \
refs of shared items begin with {mark}. Write there only what other agents need, so that they understand it without \
this conversation. What concerns this agent alone, such as its own task or what was told in confidence, belongs in no \
shared slot. A rule that ends there ends for all of them."""


@dataclass(frozen=True)
class ViewPolicy(Policy):
    """The bounds of a view: those of the agent, and in a shared slot the board's, where new items go."""

    own: Policy = field(default_factory=Policy)
    shared: tuple[tuple[str, int], ...] = ()

    def places(self, slot: SlotField) -> int:
        """Return the places of a slot; a shared one has room for the agent's items and the board's places."""
        return dict(self.shared).get(slot.name) or self.own.places(slot)


@lru_cache(maxsize=64)
def view_schema(
    own: type[CompressedCognitiveState],
    board: type[CompressedCognitiveState],
    added: tuple[str, ...],
) -> type[CompressedCognitiveState]:
    """Return the agent's state class with the board's slots ``added``."""
    if not added:
        return own
    slots = board.slots()
    fields: dict[str, Any] = {
        name: (Annotated[board.model_fields[name].annotation, slots[name].rules], ())
        for name in added
    }
    return create_model(own.__name__, __base__=own, __module__=own.__module__, **fields)


@dataclass(frozen=True)
class View:
    """An agent's state and a board's, as one.

    Attributes:
        own: The agent's state.
        shared: The board's state.
        slots: The board's slots by the view's slots.
        prefix: What stands before the board's refs among the agent's (`acc.board.board.ref_prefix`).
    """

    own: CompressedCognitiveState
    shared: CompressedCognitiveState
    slots: Mapping[str, str]
    prefix: str

    @classmethod
    def of(
        cls,
        board: Board,
        own: CompressedCognitiveState,
        shared: CompressedCognitiveState,
        prefix: str,
    ) -> View:
        """Return the view of ``own`` and ``shared``; see `Board.shared` for the errors."""
        added = board.added(type(own))
        return cls(
            own, shared, {**board.shared(type(own)), **{name: name for name in added}}, prefix
        )

    def state(self) -> CompressedCognitiveState:
        """Return the state that a compressor sees. No commit makes or continues it."""
        added = tuple(name for name in self.slots if name not in type(self.own).slots())
        schema = view_schema(type(self.own), type(self.shared), added)
        fields: dict[str, Any] = {n: getattr(self.own, n) for n in type(self.own).model_fields}
        for name, theirs in self.slots.items():
            items: Iterable[Item] = getattr(self.shared, theirs)
            fields[name] = (*fields.get(name, ()), *map(_marked, items))
        doubted = (
            d.model_copy(update={"id": MARK + d.id, "turn": self.own.turn})
            for d in self.shared.doubted
        )
        fields["doubted"] = (*self.own.doubted, *doubted)
        return schema.model_construct(**fields)

    def guidance(self, agent: str) -> str:
        """Return what a model that keeps ``agent``'s memory has to know of the board."""
        return _GUIDANCE.format(
            agent=json.dumps(agent, ensure_ascii=False),
            slots=", ".join(sorted(self.slots)),
            mark=MARK,
        )

    def policy(self, state: CompressedCognitiveState, own: Policy, board: Policy) -> Policy:
        """Return the policy of the view's ``state``: the agent's bound, and room for what the board holds."""
        beside = own.counter(own.rendered(state)) - own.counter(own.rendered(self.own))
        theirs = type(self.shared).slots()
        shared = tuple(
            (name, len(getattr(self.own, name, ())) + board.places(theirs[other]))
            for name, other in self.slots.items()
        )
        return ViewPolicy(
            schema=type(state), max_tokens=own.max_tokens + max(0, beside), counter=own.counter,
            style=own.style, lifting=own.lifting, own=own, shared=shared,
        )  # fmt: skip

    def evidence(self, cited: Iterable[str] = ()) -> list[Evidence]:
        """Return the board's items with the ids or refs ``cited``, and those of low trust, as the agent's evidence.

        The agent has read all of them: words of a tool on the board stay a tool's words (law 6).
        """
        wanted = set(cited)
        found: dict[str, Evidence] = {}
        for _, item in self.shared.items():
            if wanted.intersection((item.id, *item.sources)) or item.trust < Trust.AGENT:
                ref = self.ref_of(item)
                before = f"{found[ref].text}; " if ref in found else ""
                channel = Channel(item.trust.word)
                found[ref] = Evidence(channel=channel, text=before + item.words, ref=ref)
        return list(found.values())

    def ref_of(self, item: Item) -> str:
        """Return the ref by which the agent's items cite an item of the board."""
        return f"{self.prefix}{next(iter(item.sources), item.id)}"

    def split(self, proposal: Proposal) -> tuple[Proposal, Proposal]:
        """Return the agent's half and the board's half of a proposal.

        The board's half names the board's ids and slots, and the agent's refs after `HERE`. It never rewrites:
        what it does not mention stays.
        """
        mine: list[ProposedItem] = []
        theirs: list[ProposedItem] = []
        for item in proposal.items:
            if item.slot in self.slots and not self._is_own(item):
                theirs.append(self._theirs(item))
            else:
                mine.append(self._mine(item))
        is_empty = proposal.mode == "rewrite" and not mine
        own = proposal.model_copy(
            update={
                "mode": "revise" if is_empty else proposal.mode,
                "items": tuple(mine),
                "retire": tuple(r for r in proposal.retire if not is_shared(r.id)),
                "keep": tuple(i for i in proposal.keep if not is_shared(i)),
                "confirmed": tuple(i for i in proposal.confirmed if not is_shared(i)),
            }
        )
        board = Proposal(
            items=tuple(theirs),
            retire=tuple(
                r.model_copy(
                    update={
                        "id": bare(r.id),
                        "cites": tuple(self._refs(r.cites)),
                        "doubt": "it permits one agent, or one time"
                        if _FOR_ONE.search(r.quote)
                        else r.doubt,
                    }
                )
                for r in proposal.retire
                if self._may_retire(r)
            ),
            confirmed=tuple(bare(i) for i in proposal.confirmed if is_shared(i)),
            author=proposal.author,
        )
        return own, board

    def refused(self, proposal: Proposal) -> Iterator[Note]:
        """Yield a note for each item of the board that ``proposal`` ends without anybody's words."""
        for gone in proposal.retire:
            found = self.shared.find(bare(gone.id)) if is_shared(gone.id) else None
            if found is not None and not self._may_retire(gone):
                slot, item = found
                yield Note(
                    reason=Reason.UNCITED, slot=slot.name, item=item.id, text=item.words[:400],
                    detail="an item of all agents ends by cited words",
                )  # fmt: skip

    def told(self, notes: Iterable[Note]) -> tuple[Note, ...]:
        """Return a board's ``notes`` with the slots and ids by which the compressor knows its items."""
        slots = {theirs: name for name, theirs in self.slots.items()}
        return tuple(
            note.model_copy(
                update={
                    "slot": slots.get(note.slot, note.slot),
                    "item": MARK + note.item if self.shared.find(note.item) else "",
                    "detail": _BEFORE_ID.sub(rf"\1{MARK}", note.detail),
                }
            )
            for note in notes
        )

    def cited_by(self, proposal: Proposal) -> set[str]:
        """Return the board's ids and refs that the agent's half of ``proposal`` cites."""
        cites = (
            c
            for i in proposal.items
            if i.slot not in self.slots or self._is_own(i)
            for c in i.cites
        )
        return {bare(c) for c in cites if is_shared(c)}

    def _may_retire(self, wanted: Retirement) -> bool:
        """Return whether it names an item of the board and cites words; housekeeping is the board's alone."""
        return is_shared(wanted.id) and any(not is_shared(c) for c in wanted.cites)

    def _is_own(self, item: ProposedItem) -> bool:
        """Return whether a proposal in a shared slot changes or carries on an item of the agent's own."""
        if item.id:
            return not is_shared(item.id)
        held = {i.id for i in getattr(self.own, item.slot, ())}
        return any(c in held for c in item.cites)

    def _mine(self, item: ProposedItem) -> ProposedItem:
        refs = (self._ref(c) if is_shared(c) else c for c in item.cites)
        return item.model_copy(
            update={
                "cites": tuple(dict.fromkeys(refs)),
                "id": "" if is_shared(item.id) else item.id,
                "amends": "" if is_shared(item.amends) else item.amends,
            }
        )

    def _theirs(self, item: ProposedItem) -> ProposedItem:
        return item.model_copy(
            update={
                "slot": self.slots[item.slot],
                "id": bare(item.id),
                "amends": bare(item.amends),
                "cites": tuple(self._refs(item.cites)),
            }
        )

    def _refs(self, cites: Iterable[str]) -> Iterator[str]:
        """Yield what a board's half cites: its own ids, and observations, also instead of the agent's items."""
        for cite in dict.fromkeys(cites):
            found = None if is_shared(cite) else self.own.find(cite)
            if is_shared(cite):
                yield bare(cite)
            else:
                yield from (HERE + ref for ref in (found[1].sources if found else (cite,)))

    def _ref(self, cite: str) -> str:
        """Return the agent's ref for what ``cite`` names in the view: an item of the board, or one of its refs."""
        named = (i for _, i in self.shared.items() if bare(cite) in (i.id, *i.sources))
        found = next(named, None)
        return self.ref_of(found) if found is not None else cite


def _marked(item: Item) -> Item:
    """Return an item of the board as the view has it: its refs are not the agent's, which have the same form."""
    sources = tuple(MARK + ref for ref in item.sources)
    return item.model_copy(update={"id": MARK + item.id, "sources": sources})


def is_shared(item_id: str) -> bool:
    """Return whether an id or a ref of the view is the board's."""
    return item_id.startswith(MARK)


def bare(item_id: str) -> str:
    """Return an id of the view as the board has it."""
    return item_id.removeprefix(MARK)
