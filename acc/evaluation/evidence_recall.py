"""Evidence recall: how many of the turns that answer a question are among the first recalled.

One index per conversation; a document is added with the document before it; the query is the
question and nothing else. The recall of a question is the share of its evidence among the first
k documents, and figures are means over questions. ``hit@16`` is the share of questions with any
evidence among the first 16.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from acc.evaluation.gate_scoring import LabelledCase, candidates_of, of_user
from acc.evaluation.locomo import CATEGORIES, LocomoConversation
from acc.ranking import LexicalIndex, Weights

CUTS = (5, 10, 16)
DEFAULT = Weights()


@dataclass(frozen=True)
class Outcome:
    """What the ranking found for one question: its recall at each of `CUTS`."""

    category: int
    recall: tuple[float, ...]


def indexed(conversation: LocomoConversation, weights: Weights = DEFAULT) -> LexicalIndex:
    """The documents of a conversation, each with the one before it."""
    index, previous = LexicalIndex(weights), ""
    for document in conversation.documents:
        index.add(document, previous)
        previous = document
    return index


def measure(conversation: LocomoConversation, weights: Weights = DEFAULT) -> list[Outcome]:
    """Rank for every question of ``conversation``."""
    index = indexed(conversation, weights)
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


def labelled_by_evidence(conversation: LocomoConversation) -> Iterator[LabelledCase]:
    """For each question its first 16 documents as candidates: wanted are those of its evidence.

    There is no state, and every document is a user's words.
    """
    index = indexed(conversation)
    artifacts = [of_user(text, at) for at, text in enumerate(conversation.documents)]
    for question in conversation.questions:
        candidates = candidates_of(index, artifacts, question.text)
        wanted = tuple(candidate.artifact.seq in question.evidence for candidate in candidates)
        yield LabelledCase(question.text, candidates, wanted, turn=len(artifacts))
