"""Text that a user hands over, or tells of: what it says, they do not say.

Only words that no mark sets apart come here; what is marked, `acc.paste` takes out.
"""

from __future__ import annotations

import re

from acc.compressors.rules.reading import Said
from acc.compressors.rules.words import one_of

_KINDLY = r"^\W*(?:(?:and|also|so|then|now|please|could you|can you|would you|just)\W+){0,3}"
_TO_BE_READ = re.compile(
    _KINDLY + one_of(
        """translate, summari[sz]e, proof-?read, paraphrase, rephrase, reword, rewrite, spell-?check,
        correct, shorten, transcribe, classify, categori[sz]e, fact-?check, simplify, analy[sz]e"""
    ) + r"[^:.!?]{0,60}:",
    re.I,
)  # fmt: skip
"""An order to work on the text behind the colon."""

_CAME = re.compile(
    r"^\W*(?:(?:an?|this|that|the|another|more|possible|got|see|again|new) ){0,3}"
    + one_of("fake news, phishing, spam, scam, hoax")
    + r"\b[^:.!?]{0,60}:|^[^:.!?]{0,40}\b(?:the following (?:came|arrived)"
    r"|(?:this|it|that|one) (?:just )?(?:came|arrived|got here|was sent))\b(?! up\b| of\b)[^:.!?]{0,60}:",
    re.I,
)
"""Says where the text behind the colon comes from."""

_OWN = re.compile(
    r"\b(?:" + one_of(
        """rules?, conditions?, limits?, reminders?, rider, proviso, exception, caveat, request, wish, mind,
        remember, as follows, things?, always, never, instructions?"""
    ) + r")\W*:",
    re.I,
)  # fmt: skip
"""Announces a rule of the user's behind the colon, whatever else is to be done."""

_TO_BE_SENT = re.compile(
    _KINDLY
    + r"(?:"
    + one_of("tell, mail, e-?mail, text, message, write, answer")
    + r" (?:him|her|them|(?-i:[A-Z])[\w'-]+|(?:the|my|our) (?!list|report|file|answer)[\w'-]+)|"
    + one_of("draft, write, reply, respond, answer, compose, post, send")
    + r" (?:[\w'-]+ ){0,5}(?:to|for) (?:him|her|them|(?-i:[A-Z])[\w'-]+|(?:the|my|our) [\w'-]+)"
    + r")[^:.!?]{0,60}:",
    re.I,
)
"""An order to send on what stands behind the colon."""

_WROTE = re.compile(
    r"(?<!was )(?<!were )(?<!been )\b(?:wrote|writes|e-?mailed|mailed|messaged|texted|pinged|posted|sent)"
    r"(?: (?:to )?(?:me|us|this|the following|a (?:mail|message|note|text|letter|ticket)))"
    r"(?: (?:today|yesterday|this \w+|last \w+|just now))?\W*$",
    re.I,
)
"""Ends a sentence; the next one is what was written."""

_OURS = re.compile(r"^\W*(?:and |so |but )?(?:my|our) (?:own )?[\w-]+\b(?!.*:\W*$)", re.I)
"""One of the user's own wrote it, and no colon says what: the next words may be the user's."""


def is_text_of_others(words: str) -> bool:
    """Whether a sentence hands over a text: what stands behind its colon, and the rest of the message."""
    return not _OWN.search(words) and bool(_TO_BE_READ.match(words) or _CAME.match(words))


def is_handed(said: Said) -> bool:
    """Whether a sentence is somebody's text: to be read, to be sent, or what was written to the user."""
    if is_text_of_others(said.words):
        return True
    if _TO_BE_SENT.match(said.words) and not _OWN.search(said.words):
        return True
    return bool(_WROTE.search(said.before)) and not _OURS.match(said.before)
