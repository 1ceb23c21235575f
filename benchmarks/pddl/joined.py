"""The same world in fewer tokens: one item for what several things have in common."""

from __future__ import annotations

from typing import Annotated, ClassVar

from acc.state.reading import Reading

from acc.state.items import Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal, ProposedRecord
from acc.state.slots import Slot
from acc.turn.observations import Channel

from .language import Literal
from .schema import WorldCompressor, goals, seen


class Common(Record):
    """Things, and what is so of each: "Press1, press2: is running"; or a whole sentence."""

    text: Text

    @property
    def says(self) -> str:
        """What is so of each thing."""
        things, colon, rest = self.text.partition(": ")
        return rest if colon else things


class JoinedState(CompressedCognitiveState):
    """What holds in a world that shows only news, joined by what is said of the things."""

    max_tokens: ClassVar[int] = 800

    world: Annotated[
        tuple[Common, ...],
        Slot(
            "world",
            "w",
            "World",
            80,
            guidance="what holds now, things before a colon and what is so of each after it",
        ),
    ] = ()


class JoiningCompressor(WorldCompressor):
    """Keeps what `WorldCompressor` keeps, in joined items."""

    def __call__(self, reading: Reading) -> Proposal:
        """Propose the items that the turn changes, each with the turn's last observation as its source."""
        state = reading.state
        assert isinstance(state, JoinedState)
        held = {item.says: item for item in state.world}
        before = [one for item in state.world for _, one in self._reader.literals(item.text)]
        said = seen(reading)
        wanted = self._joined(self._after(before, said))
        last = [m.ref for m in said if m.channel is Channel.TOOL][-1:]
        changed = [
            ProposedRecord(
                "world", {"text": text}, tuple(last), held[says].id if says in held else ""
            )
            for says, text in wanted.items()
            if says not in held or held[says].text != text
        ]
        gone = tuple(item.id for says, item in held.items() if says not in wanted)
        return Proposal(goals=tuple(goals(reading)), records=tuple(changed), drop=gone)

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
