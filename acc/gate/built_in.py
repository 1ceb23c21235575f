"""The built-in gates and the default gate of the controller."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from acc.gate.protocol import READ_CHARS, RELEVANCE, Context, Gate, Verdict
from acc.recall.candidates import Candidate
from acc.state.items import Item, Relation
from acc.stores.protocol import Artifact
from acc.text.caching import cached_by_text
from acc.text.wording import is_alike, is_negative, marks, only_repeats, stems
from acc.thread.branch import OVERTAKEN
from acc.turn.observations import Channel, Trust


@dataclass(frozen=True)
class Contradiction(Gate):
    """Refuses a candidate that contradicts a pinned rule of a more trusted source.

    A sentence contradicts a rule if it shares ``share`` of the rule's content words, at least two, has a
    directive word (must, now, may, lifted, approved ...), and lifts the rule or has the opposite polarity.
    """

    share: float = 0.5

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Compare each directive sentence with each rule that is more trusted than the candidate."""
        trust = candidate.trust
        rules = [rule for rule in context.quoted if rule.trust > trust]
        if rules:
            for sentence in _directives(candidate.artifact.text):
                for rule in rules:
                    if self._against(sentence, rule):
                        return self.verdict(
                            False, candidate, f"contradicts {rule.id}: {sentence[:80]}"
                        )
        return self.verdict(True, candidate, "contradicts no rule")

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


@dataclass(frozen=True)
class Relevance(Gate):
    """Refuses a candidate that the turn does not ask for.

    The score must reach ``threshold``, for documents 1.5 times that, and the candidate must contain ``words`` of
    the user's content words. When `qualify` asks again to reach its floor, only the score counts, against
    ``relaxed``.
    """

    threshold: float = 0.45
    relaxed: float = 0.1
    words: int = 1

    @property
    def name(self) -> str:
        """The name by which `qualify` finds refusals that the floor may lift."""
        return RELEVANCE

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Compare the score with the threshold, then count shared words."""
        needed = self.relaxed if context.relaxed else self.threshold
        if candidate.trust is Trust.DOCUMENT:
            needed *= 1.5
        if candidate.score < needed:
            return self.verdict(
                False, candidate, f"score {candidate.score:.2f} is below {needed:.2f}"
            )
        if not context.relaxed and not self._shares(candidate, context):
            return self.verdict(
                False, candidate, f"has fewer than {self.words} of the turn's words"
            )
        floor = "; floor: threshold lowered" if context.relaxed else ""
        return self.verdict(True, candidate, f"score {candidate.score:.2f}{floor}")

    def _shares(self, candidate: Candidate, context: Context) -> bool:
        if self.words <= 1:
            return candidate.by_turn > 0 or not context.about
        shared = len(stems(candidate.artifact.text) & context.about)
        return shared >= min(self.words, len(context.about))


LEAST_LEFT = 100
"""Tokens. With less budget left than this, cutting a long text to fit is not worth it."""

SHORT = 400
"""Characters. A longer candidate states more than one fact, so a replaced fact does not refuse it."""

LONGEST_ITEM = 1_000
"""Characters. Every item of a state is shorter than this."""


@dataclass(frozen=True)
class Novelty(Gate):
    """Refuses a candidate that adds nothing to the turn or the state.

    It adds nothing if one item of the state contains all its stems and marks, or if it only repeats the user's
    words. For a candidate from outside the thread, items that the next commit drops do not count.
    """

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Compare with the user's words of this turn, then with each item of the state."""
        if only_repeats(candidate.artifact.text, context.turn.user_words):
            return self.verdict(False, candidate, "only repeats the user's words")
        if len(candidate.artifact.text) > LONGEST_ITEM:
            return self.verdict(True, candidate, "is longer than any item")
        words = stems(candidate.artifact.text)
        is_beyond = candidate.artifact.turn == 0  # from a document or another thread
        for item, held in zip(context.items, context.held, strict=True):
            if is_beyond and item.id in context.leaving:
                continue
            if words and words <= held and marks(candidate.artifact.text) <= marks(item.words):
                return self.verdict(False, candidate, f"{item.id} already states it")
        return self.verdict(True, candidate, "is not in the state")


@dataclass(frozen=True)
class NotStale(Gate):
    """Refuses a candidate that later information has replaced.

    It is stale if a later turn retired what the user asked for in it; if it is a replaced item; if the same
    tool later returned nearly the same words with other numbers; or if the state holds a later value of its fact.
    """

    alike: float = 0.8

    @property
    def name(self) -> str:
        """The name that persisted verdicts use."""
        return "fresh"

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Look for later information that replaces the candidate."""
        artifact = candidate.artifact
        if artifact.kind == "set_aside" and artifact.reason in OVERTAKEN:
            return self.verdict(False, candidate, f"{artifact.reason} in turn {artifact.turn}")
        retired = context.retired.get(artifact.ref, 0)
        overtaken = artifact.turn < retired <= context.state.turn
        if overtaken and artifact.channel is Channel.USER:
            return self.verdict(False, candidate, f"its request was retired in turn {retired}")
        if later := self._later(candidate, context):
            return self.verdict(False, candidate, f"replaced by {later}")
        return self.verdict(True, candidate, "nothing later replaces it")

    def _later(self, candidate: Candidate, context: Context) -> str:
        artifact = candidate.artifact
        for other in context.candidates if artifact.channel is Channel.TOOL else ():
            again = other.artifact
            if again.turn <= artifact.turn or again.channel is not Channel.TOOL:
                continue
            if again.name == artifact.name and self._reads_alike(artifact, again):
                return again.ref
        return next((item.id for item in _replaced_facts(candidate, context)), "")

    def _reads_alike(self, one: Artifact, again: Artifact) -> bool:
        near = is_alike(_plain_words(one.text), _plain_words(again.text), self.alike)
        return near and marks(again.text) != marks(one.text)


@dataclass(frozen=True)
class Trusted(Gate):
    """Refuses a candidate with less trust than ``least``."""

    least: Trust = Trust.DOCUMENT

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Compare the candidate's trust with ``least``."""
        trust = candidate.trust
        word = f"trust is {trust.word}, required is {self.least.word}"
        return self.verdict(trust >= self.least, candidate, word)


@dataclass(frozen=True)
class Distinct(Gate):
    """Refuses near-duplicates of admitted evidence. The gate sees the best score first, so the best stays."""

    alike: float = 0.85

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Compare with the evidence admitted so far."""
        words = stems(context.read(candidate).text) if context.admitted else frozenset[str]()
        for other in context.admitted:
            if is_alike(words, stems(other.text), self.alike):
                return self.verdict(False, candidate, f"nearly the same as {other.ref}")
        return self.verdict(True, candidate, "differs from the other evidence")


@dataclass(frozen=True)
class Budget(Gate):
    """Refuses a candidate that would take the evidence of the turn over ``tokens`` in total."""

    tokens: int = 1_200

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Count the candidate's tokens and add them to those of the admitted evidence."""
        used = context.spent
        left = self.tokens - used
        if used and left < LEAST_LEFT and len(candidate.artifact.text) >= READ_CHARS:
            return self.verdict(False, candidate, f"{used} of {self.tokens} tokens used")
        cost = context.counter(context.read(candidate).text)
        return self.verdict(
            used + cost <= self.tokens, candidate, f"{used} + {cost} of {self.tokens} tokens"
        )


def default_gate(tokens: int = 1_200) -> Gate:
    """Trust, relevance, budget, staleness, contradiction, novelty, near-duplicates, in this order.

    The cheap gates run first. ``tokens`` is the budget for the evidence of one turn.
    """
    cheap = Trusted() & Relevance() & Budget(tokens)
    return cheap & NotStale() & Contradiction() & Novelty() & Distinct()


_LETTERS = re.compile(r"[^\W\d_]+")
_SPACED = "".join(chr(c).lower() if chr(c).isalpha() else " " for c in range(128))
"""Translation table: ASCII letters in lower case, every other ASCII character as a space."""


@cached_by_text
def _plain_words(text: str) -> frozenset[str]:
    if text.isascii():  # five times as fast; nearly all tool output is ASCII
        return frozenset(text.translate(_SPACED).split())
    return frozenset(_LETTERS.findall(text.lower()))


def _replaced_facts(candidate: Candidate, context: Context) -> Iterator[Relation]:
    """Yield later facts of the state that contradict the value a short candidate gives."""
    artifact = candidate.artifact
    if len(artifact.text) > SHORT:
        return
    words = stems(artifact.text)
    for item in context.relations:
        if item.touched <= artifact.turn or item.turn <= artifact.turn:
            continue
        about = stems(f"{item.subject} {item.predicate}")
        value = marks(item.object)
        given = marks(artifact.text)
        if len(about) > 1 and about <= words and value and given and not value & given:
            yield item
