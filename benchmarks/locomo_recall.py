"""Evidence recall of `acc.ranking` on LoCoMo: how many of the turns that answer are found.

    python benchmarks/locomo_recall.py PATH_TO_locomo10.json [--json] [--folds]

The data (snap-research/LoCoMo, ``data/locomo10.json``) is CC BY-NC 4.0: fetch it yourself; it is
for measuring only and no part of this project.

Method: one index per conversation; a document is ``Speaker: text [image: caption]``, added with
the document before it; the query is the question and nothing else. Counted are the questions of
categories 1 to 4 with at least one evidence turn that exists (1,536 of 1,540). The recall of a
question is the share of its evidence among the first 5, 10 or 16 documents, and the figures are
means over questions. ``hit@16`` is the share of questions with any evidence among the first 16.

``--folds`` chooses the weights of the thread's context anew on each half of the conversations,
by recall at 16, and measures the choice on the other half (about a minute).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from acc.ranking import LexicalIndex, Weights

CUTS = (5, 10, 16)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
VARIANTS = {"default": Weights(), "no context": Weights(predecessor=0.0, share=0.0)}
"""What is measured: the defaults, and beside them each document by its own words alone."""

GRID = tuple(
    Weights(predecessor=predecessor, share=share, decay=decay)
    for predecessor, share, decay in product(
        (0.0, 0.15, 0.3, 0.5), (0.0, 0.15, 0.3, 0.45), (0.6, 0.7, 0.8, 0.9)
    )
)
"""What ``--folds`` chooses from."""

_EVIDENCE = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True)
class Question:
    """A question with the positions of the documents that answer it."""

    text: str
    category: int
    evidence: frozenset[int]


@dataclass(frozen=True)
class Conversation:
    """The documents of one conversation, in order, and what is asked about it."""

    documents: tuple[str, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Outcome:
    """What the ranking found for one question: its recall at each of `CUTS`."""

    category: int
    recall: tuple[float, ...]


def load(path: Path) -> list[Conversation]:
    """The conversations of a file in LoCoMo's own format.

    Raises:
        OSError: The file cannot be read.
        KeyError, TypeError, ValueError: It is not in that format.
    """
    return [_conversation(sample) for sample in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(sample: dict[str, Any]) -> Conversation:
    turns = list(_turns(sample["conversation"]))
    positions = {_ids(turn["dia_id"])[0]: at for at, turn in enumerate(turns)}
    questions = []
    for entry in sample["qa"]:
        named = _ids(" ".join(entry["evidence"]))
        evidence = frozenset(positions[turn] for turn in named if turn in positions)
        if evidence and entry["category"] in CATEGORIES:
            questions.append(Question(entry["question"], entry["category"], evidence))
    return Conversation(tuple(map(_document, turns)), tuple(questions))


def _turns(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sessions = (key for key in conversation if re.fullmatch(r"session_\d+", key))
    for session in sorted(sessions, key=lambda key: int(key.removeprefix("session_"))):
        yield from conversation[session]


def _ids(text: str) -> list[tuple[int, int]]:
    # As numbers: the data has several ids in one string, and "D30:05" for "D30:5".
    return [(int(session), int(turn)) for session, turn in _EVIDENCE.findall(text)]


def _document(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [image: {caption}]" if caption else "")


def measure(conversation: Conversation, weights: Weights) -> list[Outcome]:
    """Rank for every question of ``conversation``."""
    index, previous = LexicalIndex(weights), ""
    for document in conversation.documents:
        index.add(document, previous)
        previous = document
    outcomes = []
    for question in conversation.questions:
        found = [position for position, _ in index.best(question.text, max(CUTS))]
        recall = (len(question.evidence & set(found[:cut])) for cut in CUTS)
        shares = tuple(hits / len(question.evidence) for hits in recall)
        outcomes.append(Outcome(question.category, shares))
    return outcomes


def summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Each figure by its name; a category that is not asked about is left out."""
    figures = {f"R@{cut}": fmean(o.recall[i] for o in outcomes) for i, cut in enumerate(CUTS)}
    figures["hit@16"] = fmean(o.recall[-1] > 0 for o in outcomes)
    for category, name in CATEGORIES.items():
        if recalls := [o.recall[-1] for o in outcomes if o.category == category]:
            figures[f"R@16 {name}"] = fmean(recalls)
    return figures


def cross_validate(conversations: Sequence[Conversation]) -> list[dict[str, Any]]:
    """For each half of the conversations: the weights it prefers, and R@16 on the other half."""
    recalls = {
        weights: [[o.recall[-1] for o in measure(c, weights)] for c in conversations]
        for weights in GRID
    }

    def pooled(weights: Weights, half: int) -> float:
        return fmean(recall for part in recalls[weights][half::2] for recall in part)

    folds = []
    for half in (0, 1):
        best = max(GRID, key=lambda weights: pooled(weights, half))
        chosen = {name: getattr(best, name) for name in ("predecessor", "share", "decay")}
        figures = {"chosen on": pooled(best, half), "held out": pooled(best, 1 - half)}
        folds.append({**chosen, **figures, "default": pooled(Weights(), 1 - half)})
    return folds


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A Markdown table; its columns are the keys of the first row."""
    lines = [[*rows[0]], ["---"] * len(rows[0])]
    lines += [[f"{v:.3f}" if isinstance(v, float) else v for v in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Evidence recall of acc.ranking on LoCoMo.")
    parser.add_argument("path", type=Path, help="locomo10.json, in LoCoMo's own format")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--folds", action="store_true", help="cross-validate the weights")
    args = parser.parse_args()
    conversations = load(args.path)
    outcomes = {
        name: [o for c in conversations for o in measure(c, weights)]
        for name, weights in VARIANTS.items()
    }
    documents = sum(len(c.documents) for c in conversations)
    questions = sum(len(c.questions) for c in conversations)
    report: dict[str, Any] = {
        "conversations": len(conversations),
        "documents": documents,
        "questions": questions,
        "weights": {name: asdict(weights) for name, weights in VARIANTS.items()},
        "figures": {name: summary(found) for name, found in outcomes.items()},
    }
    if args.folds:
        report["folds"] = cross_validate(conversations)
    if args.json:
        print(json.dumps(report))
        return
    print(f"{len(conversations)} conversations, {documents} documents, {questions} questions\n")
    print(table([{"weights": name, **row} for name, row in report["figures"].items()]))
    if args.folds:
        print(f"\n{table(report['folds'])}")


if __name__ == "__main__":
    main()
