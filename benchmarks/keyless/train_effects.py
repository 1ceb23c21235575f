"""Train the model of which rule a message lifts or changes; figures on writers it has not seen.

    python benchmarks/keyless/train_effects.py [--write]

The messages of ``benchmarks/keyless/sentences/*.lifts.jsonl`` each come with the rules that stand
and what the message does to them; a third do nothing although they sound like it. Ordinary
messages of ``*.messages.jsonl`` beside rules of their trade teach that most talk does nothing.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from boosting import grown
from conversations import labelled, messages_with_rules
from liftings import SENTENCES, heard, is_by, lifting_files
from stored import asked_to_write, folds

from acc.compressors.rules import effects
from acc.compressors.rules.bearing import figures_of
from acc.compressors.rules.trees import Trees
from acc.items import Constraint
from acc.wording import stems

WEIGHTS = Path(effects.__file__).with_name(effects.WEIGHTS)


FOLDS = 7


class Pair(NamedTuple):
    """A clause and a rule; ``case`` is the message, ``rule`` the index of the rule."""

    source: str
    case: int
    rule: int
    figures: tuple[float, ...]
    affected: bool


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """The messages, with the writer of their file."""
    for writer, told in lifting_files():
        yield from ((writer, case) for case in told)
    for conversation in labelled():
        for case in messages_with_rules(conversation):
            yield conversation.name, case


def without(found: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same messages where the rule they end is not held: then they end none of the others."""
    for source, case in found:
        ended = {effect["rule"] for effect in case["effects"]}
        rest = [rule for at, rule in enumerate(case["held"]) if at not in ended]
        if ended and rest:
            yield source, {**case, "held": rest, "effects": []}


def alone(found: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same messages beside one rule: one that they end, or that shares most words with them."""
    rng = random.Random(11)
    for source, case in found:
        held, said = case["held"], stems(case["message"])
        if len(held) < 3:
            continue
        ended = [effect["rule"] for effect in case["effects"]]
        nearest = max(range(len(held)), key=lambda at: (len(stems(held[at]) & said), -at))
        kept = rng.choice(ended) if ended else nearest
        if ended or stems(held[kept]) & said:
            effects = [{**e, "rule": 0} for e in case["effects"] if e["rule"] == kept]
            yield source, {**case, "held": [held[kept]], "effects": effects}


def ordinary() -> Iterator[tuple[str, dict[str, Any]]]:
    """Messages that lift and change nothing, beside rules of their trade."""
    rng = random.Random(5)
    replies = _told()
    for path in sorted(SENTENCES.glob("*.messages.jsonl")):
        writer = path.name.partition(".")[0]
        rules: dict[str, list[str]] = {}
        for case in _read(path):
            held = rules.setdefault(case["trade"], [])
            if len(held) > MOST_RULES and not {"lift", "change"} & {
                p["label"] for p in case["parts"]
            }:
                some = rng.sample(held, rng.randint(1, MOST_RULES))
                reply = _reply(rng, replies.get(case["trade"], [""]), some)
                message = {"held": some, "reply": reply, "message": case["message"], "effects": []}
                yield writer, message
            held += [p["text"] for p in case["parts"] if p["label"] == "rule"]


MOST_RULES = 12


def _reply(rng: random.Random, told: Sequence[str], rules: Sequence[str]) -> str:
    """What an agent may have said before: something of the trade, often one of the rules again."""
    again = f"Understood: {rng.choice(rules)}." if rng.random() < 0.4 else ""
    return f"{again} {rng.choice(told) if rng.random() < 0.6 else ''}".strip()


def _told() -> dict[str, list[str]]:
    """Agents' words by trade."""
    told: dict[str, list[str]] = {}
    for path in sorted(SENTENCES.glob("*.facts.jsonl")):
        for case in _read(path):
            if case["speaker"] == "agent":
                told.setdefault(case["trade"], []).append(case["text"])
    return told


def _read(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def pairs(found: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[Pair]:
    """Every clause of every message beside every rule."""
    for number, (source, case) in enumerate(found):
        rules = [Constraint(text=t, quote=t) for t in case["held"]]
        for one in heard(case):
            touched = {e["rule"] for e in case["effects"] if is_by(e, one.spoken.words)}
            for at, row in enumerate(figures_of(one, rules)):
                yield Pair(source, number, at, tuple(row.values()), at in touched)


def model_of(found: Sequence[Pair]) -> Trees:
    """Trees grown on ``found``."""
    return grown(np.array([p.figures for p in found]), np.array([float(p.affected) for p in found]))


def main() -> None:
    """Print precision and recall of the rules affected; write the weights if asked to."""
    writes = asked_to_write(__doc__)
    told = list(cases())
    found = [*told, *without(told), *ordinary(), *alone(told)]
    every = list(pairs(found))
    odds: dict[tuple[int, int], float] = {}
    for out in folds((p.source for p in every), FOLDS):
        model = model_of([p for p in every if p.source not in out])
        rest = [p for p in every if p.source in out]
        for pair, sure in zip(rest, model.odds(np.array([p.figures for p in rest])), strict=True):
            at = pair.case, pair.rule
            odds[at] = max(odds.get(at, 0.0), float(sure))
    true = {(n, e["rule"]) for n, (_, case) in enumerate(found) for e in case["effects"]}
    affecting = sum(bool(case["effects"]) for _, case in found)
    print(
        f"{len(found)} messages, {affecting} of them with effects, {len(true)} rules affected; held out by file\n"
    )
    print("| odds at least | precision | recall |\n| --- | --- | --- |")
    for least in (0.2, 0.3, 0.4, 0.5, 0.6):
        said = {at for at, sure in odds.items() if sure >= least}
        print(
            f"| {least} | {len(said & true) / max(1, len(said)):.2f} | {len(said & true) / len(true):.2f} |"
        )
    if writes:
        np.savez_compressed(WEIGHTS, **model_of(every)._asdict())
        print(f"\nwritten: {WEIGHTS.name}")


if __name__ == "__main__":
    main()
