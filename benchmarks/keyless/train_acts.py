"""Train the classifier of what a sentence does, and say how good it is on trades it has not seen.

    python benchmarks/keyless/train_acts.py [--write]

The messages of ``clause_acts`` and ``rule_liftings`` and the labelled conversations (`conversations.py`)
were written for many trades. Each file is held out once: the figures are of sentences whose trade
and writer no weight has seen.
``--write`` trains on all of them and writes the weights into ``trained``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from conversations import OPEN, labelled
from dataset import read
from liftings import SEEN, heard, is_by, lifting_files
from numpy.typing import NDArray
from softmax import Softmax, fit
from stored import TRAINED, asked_to_write, write

from acc.compress.keyless.acts import ACTS, features
from acc.compress.keyless.words import Clause, plain

WEIGHTS = TRAINED / "acts.npz"


class Example(NamedTuple):
    """A labelled sentence; ``source`` is held out as a whole."""

    source: str
    clause: Clause
    act: int


def examples() -> Iterator[Example]:
    """All labelled sentences, and those of messages about rules whose act is known."""
    yield from in_messages()
    yield from of_liftings()


def in_messages() -> Iterator[Example]:
    """The labelled sentences, each with its neighbours in the message."""
    yield from of_messages(SEEN)
    yield from of_conversations(OPEN)


def of_messages(split: str) -> Iterator[Example]:
    """The clauses of the labelled messages of ``split``."""
    for writer, message in read("clause_acts", split):
        parts = [(part["text"], part["label"]) for part in message["parts"]]
        yield from _of_message(writer, parts)


def of_liftings() -> Iterator[Example]:
    """What ends a rule in the messages of ``rule_liftings``, and the rules that stand beside them."""
    for writer, cases in lifting_files():
        for rule in dict.fromkeys(rule for case in cases for rule in case["held"]):
            yield Example(writer, Clause(plain(rule)), ACTS.index("rule"))
        for case in cases:
            for one in heard(case):
                ops = [e["op"] for e in case["effects"] if is_by(e, one.clause.words)]
                yield from (Example(writer, one.clause, ACTS.index(op)) for op in ops[:1])


def of_conversations(split: str) -> Iterator[Example]:
    """The clauses of the labelled conversations of ``split``."""
    for conversation in labelled(split):
        for turn in conversation.turns:
            yield from _of_message(conversation.name, conversation.parts(turn))


def _of_message(source: str, parts: Sequence[tuple[str, str]]) -> Iterator[Example]:
    words = ["", *(plain(text) for text, _ in parts), ""]
    for at, (_, act) in enumerate(parts):
        yield Example(source, Clause(words[at + 1], words[at], words[at + 2]), ACTS.index(act))


def held_out(found: list[Example]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Odds and labels of every example, by a model that has not seen its file."""
    odds, labels = [], []
    for source in sorted({e.source for e in found}):
        seen = [e for e in found if e.source != source]
        rest = [e for e in found if e.source == source]
        odds.append(trained(seen).odds([features(e.clause) for e in rest]))
        labels += [e.act for e in rest]
    return np.vstack(odds), np.array(labels)


def trained(found: list[Example]) -> Softmax:
    """A model of ``found``."""
    return fit([features(e.clause) for e in found], [e.act for e in found], len(ACTS))


def recall_at(precision: float, odds: NDArray[Any], true: NDArray[np.bool_]) -> float:
    """The greatest share of what is ``true`` that some threshold finds at that precision."""
    order = np.argsort(-odds)
    right = np.cumsum(true[order])
    fine = right / np.arange(1, len(order) + 1) >= precision
    return float((right / true.sum())[fine].max(initial=0.0))


def main() -> None:
    """Print the table; write the weights if asked to."""
    writes = asked_to_write(__doc__)
    found = list(examples())
    odds, labels = held_out(found)
    best = odds.argmax(axis=1)
    print(f"{len(found)} sentences; held out by file: {(best == labels).mean():.3f} right\n")
    print("| act | sentences | precision | recall |\n| --- | --- | --- | --- |")
    for at, act in enumerate(ACTS):
        said, true = best == at, labels == at
        both = (said & true).sum()
        print(
            f"| {act} | {true.sum()} | {both / max(1, said.sum()):.2f} | {both / max(1, true.sum()):.2f} |"
        )
    if writes:
        write(trained(found), WEIGHTS)


if __name__ == "__main__":
    main()
