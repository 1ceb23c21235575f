"""Whole statements as facts, if no finder knows their form: subject, verb, and the rest.

"The drive-end bearing has failed" gives ("drive-end bearing", "has", "failed"). The fact keeps the
speaker's own words. Its subject is the key, which lets a later statement replace it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.keyless.acts import acts
from acc.keyless.entities import PROPER, SO, Named, named_in, surely_named
from acc.keyless.reading import Spoken
from acc.keyless.sentences import fit, tidy
from acc.keyless.values import phrase_before, values_in
from acc.keyless.words import one_of

LONGEST_SUBJECT = 60
LONGEST_OBJECT = 100
ENOUGH = 30
LEAST_WORDS = 3

_VERB = re.compile(
    r"(?:\s|'s\s)(?P<verb>" + one_of(
        """is, are, was, were, has, have, had, isn't, aren't, wasn't, can't, cannot, can, will,
        won't, must, needs?, comes?, came, goes, went, takes?, took, gives?, gave, gets?, got, makes?,
        made, says?, shows?, showed, holds?, held, leads?, led, covers?, owns?, runs?, ran, stands?,
        stood, stays?, sits, lives?, starts?, ends?, opens?, closes?, costs?, weighs?, reads?,
        carries, carried, signed, sent, arrived, arrives?, leaves?, left, lost, found, failed, broke,
        [a-z]\\w{2,}(?:ed|ks|ts|ns|ws|ses|res)"""
    ) + r")\s"
)  # fmt: skip
_PRONOUN = re.compile(
    r"^\W*(?:(?:and|but|so|that|which|also|now)\s+)?(?:it|they|he|she|this|that|there|these|those|one|we|i|you)\b",
    re.I,
)
_CLAUSE_END = re.compile(
    r"[,;:–—(]\s|\s(?:and|but|so|which|because|with|after|before)\s|[.!?]+(?:\s|$)"
)
_LETTERS = re.compile(r"[^\W\d]{2}")
_OPENER = re.compile(r"^[^,;:–—]{1,24}[,;:–—]\s+(?=\S)")


def statement(words: str, before: str = "") -> Iterator[tuple[str, str, str]]:
    """A sentence as one fact, if it names something or contains a value; otherwise nothing.

    Args:
        words: The sentence.
        before: The sentence before, which a pronoun may refer to.
    """
    words = tidy(words)
    if len(words.split()) < LEAST_WORDS or not (any(values_in(words)) or _named(words)):
        return
    verb = _VERB.search(words, 0, 110)
    head = words[: verb.start()] if verb else ""
    subject = _subject(head, before)
    if verb is None or not subject:
        topic, rest = _topic(words, before)
        if topic:
            yield topic, "notes", _rest(_without(topic, rest))
        return
    yield subject, verb["verb"], _rest(words[verb.end() :])


def _without(topic: str, words: str) -> str:
    """``words`` without a leading topic, because the subject already has it."""
    rest = words[len(topic) :].lstrip(" ,;:–—'")
    return rest if words.startswith(topic) and len(rest) >= LEAST_WORDS else words


def _rest(words: str) -> str:
    """The words up to the end of the first clause with content."""
    for end in _CLAUSE_END.finditer(words):
        said = words[: end.start()]
        if len(said) >= ENOUGH and (any(values_in(said)) or _named(said)):
            return fit(said, LONGEST_OBJECT)
    return fit(words, LONGEST_OBJECT)


def _subject(head: str, before: str) -> str:
    if not head.strip():
        return ""
    if _PRONOUN.match(head):
        return _last_named(before)
    opener = _OPENER.match(head)
    head = head[opener.end() :] if opener else head
    phrase = phrase_before(head) or head
    return fit(phrase, LONGEST_SUBJECT) if _LETTERS.search(phrase) else ""


def _topic(words: str, before: str) -> tuple[str, str]:
    """The topic of a sentence without a verb: the words before its colon, or a name in it."""
    opener = _OPENER.match(words)
    if opener and _is_aside(opener.group()):
        words, opener = words[opener.end() :], None
    if opener and named_in(f"{SO}{opener.group()}") and not _PRONOUN.match(words):
        return words[: opener.end()].rstrip(" ,;:–—"), words[opener.end() :]
    named = _named(words)
    return (named[0].name, words) if named else (_last_named(before), words)


def _is_aside(opener: str) -> bool:
    """Whether the words before a comma only greet, thank or agree: "Lovely, ..." """
    odds = acts(Spoken(opener.rstrip(" ,;:–—")))
    return odds["other"] + odds["assent"] >= 0.5


def _last_named(text: str) -> str:
    named = _named(text)
    return max(named, key=lambda n: n.start).name if named else ""


def _named(text: str) -> list[Named]:
    """The names in a text: identifiers, then certain proper names."""
    return [*(n for n in named_in(text) if n.type not in PROPER), *surely_named(text)]
