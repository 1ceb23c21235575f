"""The messages of ``sentences/*.lifts.jsonl``: each beside the rules that stand, and what it does to them.

Those of ``sentences/held`` no classifier was trained on.

{"trade", "held": [rule, ...], "reply": what the agent had said, "message",
 "effects": [{"rule": its place in held, "op": "lift" or "change", "quote": words of the message}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acc.keyless.bearing import Heard
from acc.keyless.reading import Spoken
from acc.keyless.sentences import clauses, plain, sentences

SENTENCES = Path(__file__).parent / "sentences"
UNSEEN = SENTENCES / "held"


def lifting_files(folder: Path = SENTENCES) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The messages of each file of ``folder``, with the name of its writer."""
    for path in sorted(folder.glob("*.lifts.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        yield path.name.partition(".")[0], [json.loads(line) for line in lines]


def heard(case: Mapping[str, Any]) -> Iterator[Heard]:
    """The message clause by clause."""
    said = [plain(c) for s in sentences(case["message"], 200) for c in clauses(s.text)]
    around = ["", *said, ""]
    for at, words in enumerate(said):
        spoken = Spoken(words, around[at], around[at + 2])
        yield Heard(spoken, plain(case["message"]), plain(case["reply"]))


def is_by(effect: Mapping[str, Any], words: str) -> bool:
    """Whether a clause has the words of the effect, or is a part of them."""
    quote = plain(effect["quote"])
    return quote in words or words in quote
