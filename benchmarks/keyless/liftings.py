"""The messages of ``rule_liftings``: each beside the rules that stand, and what it does to them.

Those of the split ``held`` no classifier was trained on.

{"trade", "held": [rule, ...], "reply": what the agent had said, "message",
 "effects": [{"rule": its place in held, "op": "lift" or "change", "quote": words of the message}]}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dataset import read_files

from acc.compress.keyless.lifting import EndingClause
from acc.compress.keyless.words import Clause, clauses, plain
from acc.text.sentences import sentences

SEEN, UNSEEN = "train", "held"


def lifting_files(split: str = SEEN) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The messages of each file of ``split``, with the name of its writer."""
    return read_files("rule_liftings", split)


def heard(case: Mapping[str, Any]) -> Iterator[EndingClause]:
    """The message clause by clause."""
    said = [plain(c) for s in sentences(case["message"]) for c in clauses(s.text)]
    around = ["", *said, ""]
    for at, words in enumerate(said):
        clause = Clause(words, around[at], around[at + 2])
        yield EndingClause(clause, plain(case["message"]), plain(case["reply"]))


def is_by(effect: Mapping[str, Any], words: str) -> bool:
    """Whether a clause has the words of the effect, or is a part of them."""
    quote = plain(effect["quote"])
    return quote in words or words in quote
