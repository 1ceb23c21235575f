"""How well the keyless compressor fills a domain's slots: conversations with what each turn should tell.

    python benchmarks/keyless/slots/score.py [held free open ...]

Each turn names the items that it tells: the key, and the choices that are said. An item counts as
right if it was made or changed in that turn, and every field named has that value, articles and
case aside. Precision is the share of made or changed items that are right, recall the share of
named items that were found. Turns marked hostile (a question, reported, negated, pasted,
hypothetical, or a tool in a slot of the user's) must tell nothing.

``held`` is said much as examples say it and ``free`` as people speak, both in conversations that
nothing was tuned on; four trades have schemas that no package ships (`trades.py`), declared with
two examples a slot. ``open`` was read while the rules were made.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # for dataset, and the schemas of slots.trades

from dataset import read

from acc import Channel, CompressedCognitiveState, Item, Observation, Policy, Turn, update_state
from acc.schema.catalog import schema_named
from acc.state.slots import SlotField

_ARTICLE = re.compile(r"^(?:the|a|an|our|my) ", re.IGNORECASE)
Named = tuple[SlotField, Item]


def heard(turn: dict[str, Any]) -> tuple[Observation, ...]:
    """What is said in a turn; a tool's answer comes in front of what the agent makes of it."""
    order = (Channel.USER, Channel.DOCUMENT, Channel.TOOL, Channel.AGENT)
    said = [(channel, turn[channel.value]) for channel in order if channel.value in turn]
    named = {Channel.TOOL: "lookup", Channel.DOCUMENT: "mail"}
    return tuple(Observation(channel=c, text=text, name=named.get(c, "")) for c, text in said)


def told(before: CompressedCognitiveState | None, after: CompressedCognitiveState) -> list[Named]:
    """The items of the domain's slots that the turn made or changed."""
    old = {item.id: item.words for _, item in before.items()} if before is not None else {}
    generic = CompressedCognitiveState.slots()
    return [
        (slot, item)
        for slot, item in after.items()
        if slot.name not in generic and old.get(item.id) != item.words
    ]


def fits(found: Named, named: dict[str, str]) -> bool:
    """Whether an item is the one that is named."""
    slot, item = found
    values = ((getattr(item, name), value) for name, value in named.items() if name != "slot")
    return slot.name == named["slot"] and all(_same(one, other) for one, other in values)


def _same(one: Any, other: Any) -> bool:
    return _ARTICLE.sub("", str(one)).casefold() == _ARTICLE.sub("", str(other)).casefold()


def score(name: str, conversation: dict[str, Any], *, tell: bool) -> Counter[str]:
    """Counts of one conversation."""
    policy = Policy(schema=schema_named(conversation["schema"]))
    counts: Counter[str] = Counter()
    state: CompressedCognitiveState | None = None
    for number, turn in enumerate(conversation["turns"], 1):
        done = update_state(state, Turn(observations=heard(turn)), policy=policy)
        found = told(state, done.state)
        state = done.state
        right = [named for named in turn["items"] if any(fits(f, named) for f in found)]
        wrong = [f for f in found if not any(fits(f, named) for named in turn["items"])]
        counts += Counter(right=len(right), named=len(turn["items"]), wrong=len(wrong))
        if "hostile" in turn:
            counts += Counter(hostile=1, breached=bool(found))
        if tell:
            for named in turn["items"]:
                if named not in right:
                    print(f"  {name} {number} missed {named}")
            for slot, item in wrong:
                print(f"  {name} {number} wrong {slot.name}: {item.words} ({item.trust.word})")
    return counts


def main() -> None:
    """Print a row a conversation, and one a part."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", default=["held", "free"])
    parser.add_argument("--tell", action="store_true", help="what was missed, and what was wrong")
    given = parser.parse_args()
    print(
        f"{'conversation':24} {'items':>5} {'precision':>9} {'recall':>7} {'hostile turns that told':>24}"
    )
    for part in given.parts:
        whole: Counter[str] = Counter()
        for name, conversation in read("slot_conversations", part):
            counts = score(name, conversation, tell=given.tell)
            whole += counts
            print(_row(name, counts))
        print(_row(f"{part}, all", whole))


def _row(name: str, counts: Counter[str]) -> str:
    made = counts["right"] + counts["wrong"]
    precision = counts["right"] / made if made else 1.0
    recall = counts["right"] / counts["named"] if counts["named"] else 1.0
    breached = f"{counts['breached']} of {counts['hostile']}"
    return f"{name:24} {counts['named']:5} {precision:9.2f} {recall:7.2f} {breached:>24}"


if __name__ == "__main__":
    main()
