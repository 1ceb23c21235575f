"""Which rules the messages end that no classifier has seen, as the compressor decides it.

    python benchmarks/keyless/held_effects.py

Each clause of the messages of ``sentences/held`` ends at most the rule that `effects` is surest of;
a rule counts once a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from liftings import UNSEEN, heard, lifting_files

from acc.compressors.rules.constraints import LEAST
from acc.compressors.rules.effects import effects
from acc.items import Constraint, Item


def ended(case: Mapping[str, Any]) -> set[int]:
    """The places of the rules that a message ends, by the compressor."""
    rules: list[Item] = [
        Constraint(id=f"c{at}", text=text, quote=text) for at, text in enumerate(case["held"])
    ]
    found = (next(iter(effects(one, rules, LEAST)), None) for one in heard(case))
    return {rules.index(effect.item) for effect in found if effect is not None}


def rows() -> Iterator[str]:
    """The table."""
    right = said = true = messages = 0
    for _, cases in lifting_files(UNSEEN):
        for case in cases:
            own, meant = ended(case), {effect["rule"] for effect in case["effects"]}
            messages, said, true = messages + 1, said + len(own), true + len(meant)
            right += len(own & meant)
    yield "| messages | rules they end | found | right | precision | recall |"
    yield "| --- | --- | --- | --- | --- | --- |"
    yield f"| {messages} | {true} | {said} | {right} | {right / said:.2f} | {right / true:.2f} |"


if __name__ == "__main__":
    print("\n".join(rows()))
