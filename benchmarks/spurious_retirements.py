"""Retirements that quote real words of the user: how many lawful ones are doubted, how many others.

`acc.commit.lifting` decides by law whether they are done, asked about or refused (``lifting="confirm"``).

    python benchmarks/spurious_retirements.py [--examples]

`acc.compress.lifting_quotes` doubts the end of a rule where the quoted words cannot be meant
for it. Measured on four sets:

- lawful: the labelled liftings and changes of ``rule_liftings``, split ``train``, each with the
  words that lift or change a rule, beside all rules that stand;
- recorded: what a strong model retired in two conversations of 50 turns;
- unrelated: every sentence of the users in ``scenarios``, quoted for every rule that
  stood and went on standing;
- another's: the words of the lawful set, quoted for each rule that they do not touch.

Its thresholds were chosen on the lawful set, beside ordinary sentences of ``clause_acts`` with
the classifier's weights trained without their file; not on the scenarios.
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
from acc.compress.lifting_quotes import Passage, doubt_about, passage_of
from acc.keyless.sentences import sentences
from acc.state.items import Constraint, Goal, Item

RECORDED = Path(__file__).parents[1] / "tests" / "fixtures" / "recorded_retirements.jsonl"


class Case(NamedTuple):
    """Words quoted for the end of an item, beside the others that stand."""

    passage: Passage
    item: Item
    others: list[Item]

    @property
    def doubt(self) -> str:
        """Why they cannot be meant; or empty."""
        return doubt_about(self.passage, self.item, self.others)

    @property
    def bearing(self) -> Bearing:
        """How far they bear out that the item ends."""
        quoted, message, reply = self.passage
        return bearing(Said(" ".join(quoted), message, reply), self.item, self.others)


def _rules(texts: list[str]) -> list[Item]:
    return [Constraint(text=t, quote=t, id=f"c{n}") for n, t in enumerate(texts)]


def _case(passage: Passage, rules: list[Item], at: int) -> Case:
    return Case(passage, rules[at], [*rules[:at], *rules[at + 1 :]])


def labelled() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Messages that lift or change a rule, with one of the rules each."""
    for _, said in read("rule_liftings", "train"):
        yield from ((said, effect) for effect in said["effects"])


def lawful() -> Iterator[Case]:
    """What lifts or changes a rule."""
    for said, effect in labelled():
        passage = passage_of(effect["quote"], said["message"], said["reply"])
        yield _case(passage, _rules(said["held"]), effect["rule"])


def of_another() -> Iterator[Case]:
    """The same words, for the rules that the message leaves alone."""
    for said, effect in labelled():
        touched = {e["rule"] for e in said["effects"]}
        passage = passage_of(effect["quote"], said["message"], said["reply"])
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
                passage = passage_of(sentence.text, turn["user"], before)
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
        passage = passage_of(said["quote"], said["user"], said["reply"])
        item, *others = (_written(n, w) for n, w in enumerate([said["item"], *said["others"]]))
        yield Case(passage, item, others)


def _written(number: int, item: dict[str, str]) -> Item:
    kind = Goal if item["slot"] == "goal_orientation" else Constraint
    return kind(text=item["text"], quote=item["quote"], id=f"i{number}")


def main() -> None:
    """Print the shares that are doubted; with ``--examples`` the lawful ones among them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--examples", action="store_true")
    options = parser.parse_args()
    sets = {
        "lawful": list(lawful()),
        "recorded": list(recorded()),
        "unrelated": list(unrelated()),
        "another's": list(of_another()),
    }
    print("| quoted words | retirements | doubted | share | by law done | asked about | refused |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, cases in sets.items():
        doubts = [case for case in cases if case.doubt]
        found = [case.bearing for case in cases]
        shares = " | ".join(f"{found.count(each) / len(found):.3f}" for each in reversed(Bearing))
        print(
            f"| {name} | {len(cases)} | {len(doubts)} | {len(doubts) / len(cases):.3f} | {shares} |"
        )
        if options.examples and name in ("lawful", "recorded"):
            for case in doubts:
                print(f"    {' '.join(case.passage.sentences)!r} for {case.item.words!r}")


if __name__ == "__main__":
    main()
