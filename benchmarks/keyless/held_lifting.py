"""Which rules the messages end that no classifier has seen, as the compressor decides it.

    python benchmarks/keyless/held_lifting.py

Each clause of the messages of ``rule_liftings``, split ``held``, ends at most the rule that `effects` is surest of;
a rule counts once a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from liftings import UNSEEN, heard, lifting_files

from acc.keyless.lifting import effects
from acc.state.items import Constraint, Item


def ended(case: Mapping[str, Any]) -> set[int]:
    """The places of the rules that a message ends, by the compressor."""
    rules: list[Item] = [
        Constraint(id=f"c{at}", text=text, quote=text) for at, text in enumerate(case["held"])
    ]
    found = effects(list(heard(case)), rules)
    return {rules.index(effect.item) for of_clause in found for effect in of_clause[:1]}


def rows() -> Iterator[str]:
    """The table: messages of people at work, and short ones that use a rule's words for something else."""
    yield "| messages | | rules they end | found | right | precision | recall |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    told = dict(lifting_files(UNSEEN))
    alike = told.pop(LOOK_ALIKES)
    for name, cases in (
        ("plain", [c for own in told.values() for c in own]),
        ("look-alikes", alike),
    ):
        found = [(ended(case), {effect["rule"] for effect in case["effects"]}) for case in cases]
        said, true = (sum(len(pair[at]) for pair in found) for at in (0, 1))
        right = sum(len(own & meant) for own, meant in found)
        yield (
            f"| {len(cases)} | {name} | {true} | {said} | {right} "
            f"| {right / said:.2f} | {right / true:.2f} |"
        )


LOOK_ALIKES = "lapis"
"""The file of messages three in four of which only sound as if they ended a rule."""


if __name__ == "__main__":
    print("\n".join(rows()))
