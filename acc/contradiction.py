"""A gate: what a less trusted source directs against a rule of the state is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from acc.gate import Gate
from acc.items import Item
from acc.recall import Candidate
from acc.verdict import Context, Verdict
from acc.wording import is_negative, stems


@dataclass(frozen=True)
class Contradiction(Gate):
    """Refuses what a less trusted source says against a pinned rule.

    Rule: a sentence that shares half of the rule's content words, directs (must, now, may,
    lifted, approved ...), and does not forbid what the rule forbids. Reports are not
    directives, and what supports the rule is not against it.
    """

    share: float = 0.5

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Compare each directing sentence with each rule."""
        trust = candidate.trust
        rules = [rule for rule in context.quoted if rule.trust > trust]
        if rules:
            for sentence in _directives(candidate.artifact.text):
                for rule in rules:
                    if self._against(sentence, rule):
                        return self.verdict(False, candidate, f"against {rule.id}: {sentence[:80]}")
        return self.verdict(True, candidate, "against no rule")

    def _against(self, sentence: str, rule: Item) -> bool:
        words = stems(rule.words)
        shared = len(words & stems(sentence))
        if shared < max(2, self.share * len(words)):
            return False
        lifts = _LIFTS.search(sentence) is not None
        if not is_negative(rule.words):
            return lifts or is_negative(sentence)
        return lifts or not is_negative(sentence)


_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_DIRECTS = re.compile(
    r"\b(?:must|should|shall|may|can|now|please|go ahead|proceed|always|immediately|at once|"
    r"lifted|approved|allowed|permitted|waived|removed|cancell?ed|ignore|disregard|run|execute|send|do)\b",
    re.IGNORECASE,
)
_LIFTS = re.compile(
    r"\b(?:lifted|waived|removed|no longer|cancell?ed|void|suspended|ignore|disregard|overrid\w+|"
    r"does not apply|doesn['’]t apply|pre-?approved|approved)\b",
    re.IGNORECASE,
)


def _directives(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        if _DIRECTS.search(sentence):
            yield sentence
