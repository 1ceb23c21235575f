"""Train the model of which rule a message lifts or changes; figures on writers it has not seen.

    python benchmarks/keyless/train_lifting.py [--write]

What the clauses do is told by models that have not seen them either (`unseen_acts.py`): what the
classifier of the package says of its own training sentences is more than can be hoped for of others.
A quarter of an hour; needs torch and scikit-learn.

The messages of ``rule_liftings`` each come with the rules that stand
and what the message does to them; a third do nothing although they sound like it. Ordinary
messages of ``clause_acts`` beside rules of their trade teach that most talk does nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from boosting import grown
from conversations import labelled, messages_with_rules
from dataset import read, read_files
from liftings import SEEN, heard, is_by, lifting_files
from numpy.typing import NDArray
from stored import TRAINED, asked_to_write, folds
from threadpoolctl import threadpool_limits
from unseen_acts import Does, unseen_acts

from acc.compress.keyless.acts import Trees
from acc.compress.keyless.lifting import EndingClause, features_of
from acc.compress.keyless.words import stems

Floats = NDArray[np.float64]
Row = Mapping[str, float]
FOLDS = 7
WEIGHTS = TRAINED / "lifting.npz"


class Judged(NamedTuple):
    """A message beside the rules that stand.

    Attributes:
        source: Its file or conversation.
        pairs: The features of each pair, clauses by rules.
        by: Clauses by rules: 1 where the clause lifts or changes the rule.
        ended: 1 for each rule that the message lifts or changes.
    """

    source: str
    pairs: list[list[Row]]
    by: Floats
    ended: Floats


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
    for writer, messages in read_files("clause_acts", SEEN):
        rules: dict[str, list[str]] = {}
        for case in messages:
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
    for _, case in read("told_facts"):
        if case["speaker"] == "agent":
            told.setdefault(case["trade"], []).append(case["text"])
    return told


def judged(found: Sequence[tuple[str, dict[str, Any]]]) -> list[Judged]:
    """The figures of every message: what its clauses do, models say that have not seen its file."""
    does = unseen_acts()
    said = [(source, case, list(heard(case))) for source, case in found]
    return [
        _judged(source, case, message, does[source]) for source, case, message in said if message
    ]


def _judged(
    source: str, case: Mapping[str, Any], message: Sequence[EndingClause], does: Does
) -> Judged:
    rules = case["held"]
    pairs: list[list[Row]] = [list(features_of(one, rules, does)) for one in message]
    by = np.zeros((len(message), len(rules)))
    for effect in case["effects"]:
        for at, one in enumerate(message):
            by[at, effect["rule"]] = max(by[at, effect["rule"]], is_by(effect, one.clause.words))
    ended = np.zeros(len(rules))
    ended[[effect["rule"] for effect in case["effects"]]] = 1
    return Judged(source, pairs, by, ended)


def trained(found: Sequence[Judged]) -> Trees:
    """The trees of a clause beside a rule, grown on ``found``."""
    rows = [list(row.values()) for judged in found for clause in judged.pairs for row in clause]
    return grown(np.array(rows), np.concatenate([judged.by.ravel() for judged in found]))


def unseen_odds(found: Sequence[Judged]) -> list[Floats]:
    """The odds of every clause beside every rule, by trees that have not seen the file."""
    odds: dict[int, Floats] = {}
    for out in folds((judged.source for judged in found), FOLDS):
        trees = trained([judged for judged in found if judged.source not in out])
        for at, judged in enumerate(found):
            if judged.source in out:
                rows = np.array([list(row.values()) for own in judged.pairs for row in own])
                odds[at] = trees.odds(rows).reshape(len(judged.pairs), -1)
    return [odds[at] for at in range(len(found))]


def table(found: Sequence[Judged], odds: Sequence[Floats]) -> Iterator[str]:
    """Precision and recall of the rules affected."""
    sure, ended = np.concatenate(odds), np.concatenate([judged.ended for judged in found])
    yield "| odds at least | precision | recall |\n| --- | --- | --- |"
    for least in (0.2, 0.3, 0.4, 0.5, 0.6):
        right = ended[sure >= least]
        yield f"| {least} | {right.mean():.2f} | {right.sum() / ended.sum():.2f} |"


def main() -> None:
    """Print precision and recall of the rules affected; write the weights if asked to."""
    writes = asked_to_write(__doc__)
    with threadpool_limits(1):  # so that sums come out the same everywhere, to the last bit
        learnt(writes)


def learnt(writes: bool) -> None:
    """Train the trees, and print their figures."""
    told = list(cases())
    found = judged([*told, *without(told), *ordinary(), *alone(told)])
    some, whole = sum(j.ended.any() for j in found), sum(j.ended.sum() for j in found)
    print(
        f"{len(found)} messages, {some} of them with effects, {whole:.0f} rules affected; held out by file"
    )
    print(*table(found, [own.max(axis=0) for own in unseen_odds(found)]), sep="\n")
    if writes:
        np.savez_compressed(WEIGHTS, **asdict(trained(found)))
        print(f"\nwritten: {WEIGHTS.name}")


if __name__ == "__main__":
    main()
