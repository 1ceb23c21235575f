"""The same world in fewer tokens: one item for what several things have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from acc import CompressedCognitiveState, Item, Slot
from acc.state import Line
from acc.state.proposal import Proposal, ProposedItem, Retirement
from acc.turn.observations import Channel, Evidence
from acc.turn.turn import Turn

from .language import Literal
from .schema import WorldCompressor, goals


class Common(Item):
    """Things, and what is so of each: "Press1, press2: is running"; or a whole sentence."""

    key = ("says",)
    head = "text"
    unseen = ("says",)
    text: Line
    says: Line


class JoinedState(CompressedCognitiveState):
    """What holds in a world that shows only news, joined by what is said of the things."""

    max_tokens: ClassVar[int] = 800

    world: Annotated[
        tuple[Common, ...],
        Slot(
            max_items=80,
            eviction_priority=70,
            id_prefix="w",
            guidance="what holds now, things before a colon and what is so of each after it",
        ),
    ]


class JoiningCompressor(WorldCompressor):
    """Keeps what `WorldCompressor` keeps, in joined items."""

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Propose the items that the turn changes, each with the turn's last observation as its source."""
        assert isinstance(state, JoinedState)
        held = {item.says: item for item in state.world}
        before = [one for item in state.world for _, one in self._reader.literals(item.text)]
        said = [o for o in turn.readable if o is not turn.reply and o.channel is not Channel.USER]
        wanted = self._joined(self._after(before, said))
        seen = [o.ref for o in said if o.channel is Channel.TOOL][-1:]
        changed = [
            ProposedItem(
                slot="world",
                fields={"text": text, "says": says},
                cites=tuple(seen),
                id=held[says].id if says in held else "",
            )
            for says, text in wanted.items()
            if says not in held or held[says].text != text
        ]
        gone = [Retirement(id=item.id) for says, item in held.items() if says not in wanted]
        return Proposal(items=(*goals(turn), *changed), retire=tuple(gone), author="world, joined")

    def _joined(self, literals: frozenset[Literal]) -> dict[str, str]:
        """The text of each item by what it says."""
        things: dict[str, list[str]] = {}
        for one in sorted(literals):
            says = self._wording.literal(one).removeprefix(one[1] if one[1:] else "\n")
            starts = says.startswith(" ")
            things.setdefault(says.strip(), []).extend([one[1]] if starts else [])
        return {
            says: f"{', '.join(named)}: {says}" if named else says for says, named in things.items()
        }
