"""Retirements that quote real words of the user: how many the law does, asks about and refuses.

    python benchmarks/spurious_retirements.py

`acc.commit.lifting` decides. With ``lifting="confirm"`` what is in doubt is asked about, with "accept" it is done.
Words about one case are refused with a reason of their own.
Measured on four sets:

- lawful: the labelled liftings and changes of ``rule_liftings``, split ``train``, each with the
  words that lift or change a rule, beside all rules that stand;
- recorded: what a strong model retired in two conversations of 50 turns;
- unrelated: every sentence of the users in ``scenarios``, quoted for every rule that
  stood and went on standing;
- another's: the words of the lawful set, quoted for each rule that they do not touch.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent / "keyless"))

from dataset import read

from acc.commit.lifting import Bearing, Said, bearing
from acc.keyless.sentences import sentences
from acc.state.items import Constraint, Goal, Item

RECORDED = Path(__file__).parents[1] / "tests" / "fixtures" / "recorded_retirements.jsonl"


class Case(NamedTuple):
    """Words quoted for the end of an item, beside the others that stand."""

    said: Said
    item: Item
    others: list[Item]

    @property
    def bearing(self) -> Bearing:
        """How far they bear out that the item ends."""
        return bearing(self.said, self.item, self.others)


def _rules(texts: list[str]) -> list[Item]:
    return [Constraint(text=t, quote=t, id=f"c{n}") for n, t in enumerate(texts)]


def _case(passage: Said, rules: list[Item], at: int) -> Case:
    return Case(passage, rules[at], [*rules[:at], *rules[at + 1 :]])


def labelled() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Messages that lift or change a rule, with one of the rules each."""
    for _, said in read("rule_liftings", "train"):
        yield from ((said, effect) for effect in said["effects"])


def lawful() -> Iterator[Case]:
    """What lifts or changes a rule."""
    for said, effect in labelled():
        passage = Said(effect["quote"], said["message"], said["reply"])
        yield _case(passage, _rules(said["held"]), effect["rule"])


def of_another() -> Iterator[Case]:
    """The same words, for the rules that the message leaves alone."""
    for said, effect in labelled():
        touched = {e["rule"] for e in said["effects"]}
        passage = Said(effect["quote"], said["message"], said["reply"])
        rules = _rules(said["held"])
        yield from (_case(passage, rules, n) for n in range(len(rules)) if n not in touched)


def unrelated() -> Iterator[Case]:
    """What users say while rules stand, for the rules that go on standing."""
    for _, scenario in read("scenarios"):
        before = ""
        for turn in scenario["turns"]:
            stood = [c for c in scenario["constraints"] if _stands(c, turn["t"] - 1)]
            rules = _rules([c["text"] for c in stood])
            for sentence in sentences(turn["user"], 200):
                passage = Said(sentence.text, turn["user"], before)
                for at, rule in enumerate(stood):
                    if _stands(rule, turn["t"]):
                        yield _case(passage, rules, at)
            before = turn["assistant"]


def _stands(rule: dict[str, Any], turn: int) -> bool:
    return rule["introduced"] <= turn and (rule["retired"] is None or rule["retired"] > turn)


def recorded() -> Iterator[Case]:
    """What a strong model retired, of the rules and goals that it had written."""
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        said = json.loads(line)
        passage = Said(said["quote"], said["user"], said["reply"])
        item, *others = (_written(n, w) for n, w in enumerate([said["item"], *said["others"]]))
        yield Case(passage, item, others)


def _written(number: int, item: dict[str, str]) -> Item:
    kind = Goal if item["slot"] == "goal_orientation" else Constraint
    return kind(text=item["text"], quote=item["quote"], id=f"i{number}")


def main() -> None:
    """Print the shares."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    ).parse_args()
    sets = {
        "lawful": lawful(),
        "recorded": recorded(),
        "unrelated": unrelated(),
        "another's": of_another(),
    }
    print("| quoted words | retirements | done | in doubt | one case | refused |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, cases in sets.items():
        found = [case.bearing for case in cases]
        shares = " | ".join(f"{found.count(each) / len(found):.4f}" for each in reversed(Bearing))
        print(f"| {name} | {len(found)} | {shares} |")


if __name__ == "__main__":
    main()
