"""A state for the experiment, and a compressor by rule for it, which stands where a model would."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, ClassVar

from acc.state.reading import Reading

from acc.state.items import Name, Record
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal, ProposedPin, ProposedRecord
from acc.state.slots import Slot
from acc.state.tail import Message
from acc.turn.observations import Channel

from .language import Literal
from .tasks import Task


class Law(Record):
    """A sentence on the world that no action changes."""

    key = ("law",)
    law: Name


class Holds(Record):
    """A sentence on the world that holds now."""

    key = ("literal",)
    literal: Name


class WorldState(CompressedCognitiveState):
    """What holds in a world that shows only news, beside the user's goal."""

    max_tokens: ClassVar[int] = 800

    laws: Annotated[
        tuple[Law, ...],
        Slot(
            "laws",
            "l",
            "Laws",
            40,
            guidance="sentences of the world that no action changes, such as recipes and what a place dispenses",
        ),
    ] = ()
    world: Annotated[
        tuple[Holds, ...],
        Slot(
            "world",
            "w",
            "World",
            80,
            guidance="sentences of the world that hold now; drop those that the last action ended",
        ),
    ] = ()


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

    def __call__(self, reading: Reading) -> Proposal:
        """Propose what holds after the turn: news with the observation that says so, and what has ended."""
        state = reading.state
        assert isinstance(state, WorldState)
        held = {self._literal(item.law): item.id for item in state.laws}
        held |= {self._literal(item.literal): item.id for item in state.world}
        said = seen(reading)
        told = {one: m.ref for m in said for _, one in self._reader.literals(m.text)}
        after = self._after(held, said)
        new = sorted((after & set(told)) - set(held))
        return Proposal(
            goals=tuple(goals(reading)),
            records=tuple(self._record(one, told[one]) for one in new),
            drop=tuple(ref for one, ref in held.items() if one not in after),
        )

    def _literal(self, sentence: str) -> Literal:
        return self._reader.literals(sentence)[0][1]

    def _after(self, held: Collection[Literal], said: Sequence[Message]) -> frozenset[Literal]:
        before = self._wording.sentences(held)
        if self._knows_effects:
            return self._reader.believed("\n".join([before, *(m.text for m in said)]))
        news = [m.text for m in said if m.channel is not Channel.AGENT]
        return self._reader.believed("\n".join([before, *news]))

    def _record(self, one: Literal, ref: str) -> ProposedRecord:
        slot, field = ("laws", "law") if one[0] in self._fixed else ("world", "literal")
        text = self._wording.sentences([one]).rstrip(".")
        return ProposedRecord(slot, {field: text}, (ref,))


def seen(reading: Reading) -> list[Message]:
    """The agent's actions and their answers that no compression has read."""
    unread = (m for m in reading.messages if m.status != "read")
    return [message for message in unread if message.channel is not Channel.USER]


def goals(reading: Reading) -> Iterator[ProposedPin]:
    """The user's task, a goal for each line."""
    for wish in reading.messages:
        if wish.channel is Channel.USER and wish.status != "read":
            yield from (ProposedPin(line, wish.ref) for line in wish.text.splitlines())
