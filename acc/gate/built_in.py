"""The built-in gates and the default gate of the controller."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acc.gate.protocol import READ_CHARS, RELEVANCE, Context, Gate, Verdict
from acc.recall.candidates import Candidate
from acc.state.items import Item, Relation
from acc.stores.protocol import Artifact
from acc.text.caching import cached_by_text
from acc.text.wording import is_alike, is_negative, marks, only_repeats, stems, vocabulary
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
    re.I,
)
_LIFTS = re.compile(
    r"\b(?:lifted|waived|removed|no longer|cancell?ed|void|suspended|ignore|disregard|overrid\w+|"
    r"does not apply|doesn['’]t apply|pre-?approved|approved)\b",
    re.I,
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

    verdict_name = RELEVANCE  # `qualify` finds refusals that the floor may lift by it

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

    It adds nothing if it only repeats the user's words, or if the state states it: one item contains all its
    stems and marks, or the items that rest on it contain the share ``held`` of its stems, all its marks, and all
    that the turn asks of it. For a candidate from outside the thread, items that the next commit drops do not
    count.
    """

    held: float = 0.8

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Compare with the user's words of this turn, then with the items of the state."""
        artifact = candidate.artifact
        if only_repeats(artifact.text, context.turn.user_words):
            return self.verdict(False, candidate, "only repeats the user's words")
        if len(artifact.text) > LONGEST_ITEM:
            return self.verdict(True, candidate, "is longer than any item")
        words = stems(artifact.text)
        is_beyond = artifact.turn == 0  # from a document or another thread
        for item, held in zip(context.items, context.held, strict=True):
            if is_beyond and item.id in context.leaving:
                continue
            if words and words <= held and marks(artifact.text) <= marks(item.words):
                return self.verdict(False, candidate, f"{item.id} already states it")
        others = context.leaving.union(
            rule.id for rule in context.quoted
        )  # a rule's source: `InQuestion`
        resting = [i for i in context.items if artifact.ref in i.sources and i.id not in others]
        if resting and self._states(words, marks(artifact.text), resting, context):
            ids = ", ".join(item.id for item in resting)
            return self.verdict(False, candidate, f"{ids} already state it")
        return self.verdict(True, candidate, "is not in the state")

    def _states(
        self, words: frozenset[str], given: frozenset[str], items: Sequence[Item], context: Context
    ) -> bool:
        held, theirs = vocabulary(tuple(item.words for item in items))
        enough = len(words & held) >= self.held * len(words)
        return bool(words) and enough and given <= theirs and words & context.about <= held


@dataclass(frozen=True)
class InQuestion(Gate):
    """Refuses the user's words that made a rule or goal of the state while it is not in question.

    It is in question if the turn shares ``words`` content words with it, or if the user perhaps lifted it. A turn
    that asks for something else in the words reads them too.
    """

    words: int = 2

    verdict_name = "in_question"

    def __call__(self, candidate: Candidate, context: Context) -> Verdict:
        """Compare the turn with the rules and goals that rest on the candidate."""
        artifact = candidate.artifact
        rules = [rule for rule in context.quoted if artifact.ref in rule.sources]
        if not rules or artifact.channel is not Channel.USER:
            return self.verdict(True, candidate, "made no rule")
        if any(doubt.id == rule.id for doubt in context.state.doubted for rule in rules):
            return self.verdict(True, candidate, "the rule is in doubt")
        said = [vocabulary((rule.words, getattr(rule, "quote", ""))).stems for rule in rules]
        asked = stems(artifact.text) & context.about
        named = max(len(asked & words) for words in said)
        is_named = named >= min(self.words, len(context.about))
        if is_named or not asked <= frozenset().union(*said):
            return self.verdict(True, candidate, "the turn asks for it")
        ids = ", ".join(rule.id for rule in rules)
        return self.verdict(False, candidate, f"{ids} hold it, and the turn does not name them")


SUBJECT = 2
"""Words at the beginning of an item that two versions of it share."""


@dataclass(frozen=True)
class NotStale(Gate):
    """Refuses a candidate that later information has replaced.

    It is stale if a later turn retired what the user asked for in it; if it is a replaced item; if the same
    tool later returned nearly the same words with other numbers; if the state holds a later value of its fact; or
    if it left the state and the state or a candidate is a later version of it.
    """

    alike: float = 0.8
    version: float = 0.4

    verdict_name = "fresh"

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
        for other in context.candidates:
            again = other.artifact
            if other.turn <= candidate.turn or (again.kind, again.name) != (
                artifact.kind,
                artifact.name,
            ):
                continue
            if self._reads_alike(artifact, again) or self._is_version(artifact, again.text):
                return again.ref
        return next((item.id for item in self._later_items(candidate, context)), "")

    def _later_items(self, candidate: Candidate, context: Context) -> Iterator[Item]:
        """Yield the items of the state that give a later value than the candidate, or are a later version of it."""
        yield from _replaced_facts(candidate, context)
        artifact = candidate.artifact
        for slot, item in context.state.items():
            is_later = slot.name == artifact.name and item.touched > candidate.turn
            if is_later and self._is_version(artifact, item.words):
                yield item

    def _reads_alike(self, one: Artifact, again: Artifact) -> bool:
        """Whether two readings of a tool have nearly the same words and other numbers."""
        if not one.channel is again.channel is Channel.TOOL:
            return False
        near = is_alike(_plain_words(one.text), _plain_words(again.text), self.alike)
        return near and marks(again.text) != marks(one.text)

    def _is_version(self, former: Artifact, later: str) -> bool:
        """Whether a former item begins as ``later`` does, so has its subject, and says much the same."""
        if former.kind != "set_aside":
            return False
        begin = former.text.casefold().split()[:SUBJECT] == later.casefold().split()[:SUBJECT]
        return begin and is_alike(stems(former.text), stems(later), self.version)


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
    """Trust, relevance, budget, staleness, contradiction, novelty, rules in question, near-duplicates, in this order.

    The cheap gates run first. ``tokens`` is the budget for the evidence of one turn.
    """
    cheap = Trusted() & Relevance() & Budget(tokens)
    return cheap & NotStale() & Contradiction() & Novelty() & InQuestion() & Distinct()


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
        if item.touched <= candidate.turn or item.turn <= candidate.turn:
            continue
        subject = f"{item.subject} {item.predicate}"
        about = stems(subject)
        value = marks(item.object)
        given = marks(artifact.text) - marks(subject)
        if len(about) > 1 and about <= words and value and given and not value & given:
            yield item
