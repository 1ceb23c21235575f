"""Which rules the messages are about that no classifier has seen, as the keyless compressor decides it.

    python benchmarks/keyless/held_lifting.py

The messages are those of ``rule_liftings``, split ``held``. Words that are about a rule stand beside it; some of them
end it, once the judge agrees. A rule counts once a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from liftings import UNSEEN, lifting_files

from acc.compress.keyless.hearing import heard
from acc.compress.keyless.lifting import Standing, later_in
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.reading import Reading
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation

Case = Mapping[str, Any]


def decided(case: Case) -> tuple[set[int], set[int]]:
    """The places of the rules beside which words of a message stand, and of those that they end."""
    said = ((Channel.AGENT, "a1", case["reply"]), (Channel.USER, "u2", case["message"]))
    messages = [
        Message(Observation(channel=channel, text=text, ref=ref), int(ref[1:]))
        for channel, ref, text in said
        if text
    ]
    state = CompressedCognitiveState.empty()
    reading = Reading(tuple(messages), state, (), Policy(), 2)
    rules = [Standing(str(at), text) for at, text in enumerate(case["held"])]
    found = [later for later, _ in later_in(heard(reading), rules, frozenset())]
    return {int(later.id) for later in found}, {int(later.id) for later in found if later.ends}


def rows() -> Iterator[str]:
    """The table: messages of people at work, and short ones that use a rule's words for something else."""
    yield "| messages | | rules they end | | found | right | precision | recall |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    told = dict(lifting_files(UNSEEN))
    alike = told.pop(LOOK_ALIKES)
    yield from _rows("plain", [case for own in told.values() for case in own])
    yield from _rows("look-alikes", alike)


def _rows(name: str, cases: Sequence[Case]) -> Iterator[str]:
    meant = [{effect["rule"] for effect in case["effects"]} for case in cases]
    found = list(zip(*map(decided, cases), strict=True))
    true = sum(map(len, meant))
    for kind, own in zip(("beside", "ended"), found, strict=True):
        said, right = sum(map(len, own)), sum(len(a & b) for a, b in zip(own, meant, strict=True))
        yield (
            f"| {len(cases)} | {name} | {true} | {kind} | {said} | {right} "
            f"| {right / said:.2f} | {right / true:.2f} |"
        )


LOOK_ALIKES = "lapis"
"""The file of messages three in four of which only sound as if they ended a rule."""


if __name__ == "__main__":
    print("\n".join(rows()))
