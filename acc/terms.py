"""The terms of a text: what lexical ranking counts, and what two texts are compared by.

English only: stopwords, stems and irregular forms.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from threading import local

from Stemmer import Stemmer

LONGEST = 128
"""Characters of the longest term: longer words are cut, longer identifiers found by part."""

_NAME = re.compile(r"[^\W_]+(?:[-._:/@][^\W_]+)*")
_WORD = re.compile(r"[^\W_]+")

_FUNCTION_WORDS = """
    a about above after again against ain all am an and any are aren as at be because been before
    being below between both but by can could couldn d did didn do does doesn doing don down during
    each few for from further had hadn has hasn have haven having he her here hers herself him
    himself his how i if in into is isn it its itself just ll m me more most mustn my myself no nor
    not now of off on once only or other our ours ourselves out over own re s same shan she should
    shouldn so some such t than that the their theirs them themselves then there these they this
    those through to too under until up ve very was wasn we were weren what when where which while
    who whom why will with would wouldn you your yours yourself yourselves
"""
_STOPWORDS = frozenset(_FUNCTION_WORDS.split())

# The stemmer cuts endings, so it cannot see that "went" is "go". First form: the base.
_IRREGULAR = """
    become became, begin began begun, break broke broken, bring brought, build built, burn burnt,
    buy bought, catch caught, choose chose chosen, come came, deal dealt, draw drew drawn,
    drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt,
    fight fought, find found, fly flew flown, forbid forbade forbidden, forget forgot forgotten,
    freeze froze frozen, get got gotten, give gave given, go goes went gone, grow grew grown,
    hear heard, hide hid hidden, hold held, keep kept, know knew known, lead led, learn learnt,
    leave left, light lit, lose lost, make made, mean meant, meet met, pay paid, prove proven,
    ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen,
    seek sought, sell sold, send sent, shoot shot, show shown, sing sang sung, sit sat,
    sleep slept, speak spoke spoken, spend spent, stand stood, strike struck, swim swam swum,
    take took taken, teach taught, tell told, think thought, throw threw thrown,
    understand understood, wake woke woken, wear wore worn, win won, withdraw withdrew withdrawn,
    write wrote written, child children, foot feet, man men, person people, woman women
"""
_FAMILIES = [family.split() for family in _IRREGULAR.split(",")]
_BASE = {form: base for base, *forms in _FAMILIES for form in forms}


@lru_cache(maxsize=1 << 15)
def _stem(word: str) -> str:
    stem: str = _own.stemmer.stemWord(word)
    base = _BASE.get(word) or _BASE.get(stem)  # the latter so that "thoughts" stays with "thought"
    return _own.stemmer.stemWord(base) if base else stem


class _OfThread(local):
    """A stemmer for each thread: it keeps the word in itself, so threads cannot share one."""

    def __init__(self) -> None:
        self.stemmer = Stemmer("english", 0)


_own = _OfThread()


@lru_cache(maxsize=2048)
def terms(text: str) -> tuple[str, ...]:
    """The terms of ``text``, in order and with repeats: lower case, stemmed, no stopwords.

    An identifier (words joined by ``- . _ : / @``) gives itself whole, then its parts:
    ``ORA-00942`` gives ``ora-00942``, ``ora``, ``00942``. Only words of letters are stemmed.
    Never raises; time is linear in the text.
    """
    names = _NAME.findall(text.lower())
    # Remembering a name of any length would hold on to whole documents.
    short = max(map(len, names), default=0) <= LONGEST
    each = map(_remembered if short else _terms_of, names)
    return tuple(chain.from_iterable(each))


def _terms_of(name: str) -> tuple[str, ...]:
    words = [name] if name.isalnum() else _WORD.findall(name)
    whole = [name] if len(words) > 1 and len(name) <= LONGEST else []
    kept = (word[:LONGEST] for word in words if word not in _STOPWORDS)
    return (*whole, *(_stem(word) if word.isalpha() else word for word in kept))


_remembered = lru_cache(maxsize=1 << 15)(_terms_of)
