"""A state for the experiment, and a compressor by rule for it, which stands where a model would."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, ClassVar

from acc import CompressedCognitiveState, Item, Slot
from acc.state import Example, Line
from acc.state.proposal import Proposal, ProposedItem, Retirement
from acc.turn.observations import Channel, Evidence, Observation
from acc.turn.turn import Turn

from .language import Literal
from .tasks import Task


class Law(Item):
    """A sentence on the world that no action changes."""

    key = ("law",)
    head = "law"
    law: Line


class Holds(Item):
    """A sentence on the world that holds now."""

    key = ("literal",)
    head = "literal"
    literal: Line


class WorldState(CompressedCognitiveState):
    """What holds in a world that shows only news, beside the user's goal."""

    max_tokens: ClassVar[int] = 800

    laws: Annotated[
        tuple[Law, ...],
        Slot(
            max_items=40,
            eviction_priority=80,
            id_prefix="l",
            guidance="sentences of the world that no action changes, such as recipes and what a place dispenses",
            examples=(Example("Jar2 is stocked with sage", law="Jar2 is stocked with sage"),),
        ),
    ]
    world: Annotated[
        tuple[Holds, ...],
        Slot(
            max_items=80,
            eviction_priority=70,
            id_prefix="w",
            guidance="sentences of the world that hold now; drop those that the last action ended",
            cues=("is", "are", "on", "in"),
            examples=(
                Example("Vial1 stands on the bench", literal="Vial1 stands on the bench"),
                Example("Press2 is running", literal="Press2 is running"),
            ),
        ),
    ]


class WorldCompressor:
    """Keeps the sentences of the world as a careful reader would.

    It reads what the observations say. What an action ends, which no observation tells, it takes from the domain,
    which an agent knows too; without ``knows_effects`` it does not.
    """

    def __init__(self, task: Task, *, knows_effects: bool = True) -> None:
        """Compress the turns of ``task``."""
        self._reader = task.reader
        self._wording = task.wording
        self._knows_effects = knows_effects
        changed = {one[0] for each in task.actions for one in (*each.adds, *each.removes)}
        self._fixed = set(task.wording.literals) - changed

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Propose what holds after the turn: news with the observation that says so, and what has ended."""
        assert isinstance(state, WorldState)
        held = {self._literal(item.law): item.id for item in state.laws}
        held |= {self._literal(item.literal): item.id for item in state.world}
        said = [o for o in turn.readable if o is not turn.reply and o.channel is not Channel.USER]
        told = {one: o.ref for o in said for _, one in self._reader.literals(o.text)}
        after = self._after(held, said)
        new = sorted((after & set(told)) - set(held))
        return Proposal(
            items=(
                *goals(turn),
                *(self._item(one, told[one]) for one in new),
            ),
            retire=tuple(Retirement(id=ref) for one, ref in held.items() if one not in after),
            author="world",
        )

    def _literal(self, sentence: str) -> Literal:
        return self._reader.literals(sentence)[0][1]

    def _after(self, held: Collection[Literal], said: Sequence[Observation]) -> frozenset[Literal]:
        before = self._wording.sentences(held)
        if self._knows_effects:
            return self._reader.believed("\n".join([before, *(o.text for o in said)]))
        news = [o.text for o in said if o.channel is not Channel.AGENT]
        return self._reader.believed("\n".join([before, *news]))

    def _item(self, one: Literal, ref: str) -> ProposedItem:
        slot, field = ("laws", "law") if one[0] in self._fixed else ("world", "literal")
        text = self._wording.sentences([one]).rstrip(".")
        return ProposedItem(slot=slot, fields={field: text}, cites=(ref,))


def goals(turn: Turn) -> Iterator[ProposedItem]:
    """The user's task, a goal for each line."""
    for wish in turn.readable:
        for line in wish.text.splitlines() if wish.channel is Channel.USER else ():
            fields = {"text": line, "quote": line, "done": False}
            yield ProposedItem(slot="goal_orientation", fields=fields, cites=(wish.ref,))
