"""Which sentences are English. The others stand in the tail alone, and the step says so."""

from __future__ import annotations

import re
from functools import lru_cache

from acc.keyless.words import one_of
from acc.text.language import sure_identifier

HEAD = 600
"""Characters at the head of a text that tell its language."""

SURE, LIKELY = 0.9, 0.5
"""Probability of another language from which a text with few English words, or with none, is not English."""

_LETTERS = re.compile(r"[^\W\d_]+")
_FUNCTION_WORDS = re.compile(
    r"\b" + one_of(
        """the,and,of,is,it,you,we,for,that,with,have,this,my,your,please,to,are,will,be,if,what,can,don't,not,it's,
        they,from,by,at,has,but,our,how,when,should,must,only,any,every,never,always,i,i'm,i'd,i'll,on,still,now,keep,
        let,us,back,up,out,about,than,more,before,until,do,who,which,without,their,there,last,next"""
    ),
    re.I,
)  # fmt: skip


@lru_cache(maxsize=2048)
def is_english(text: str) -> bool:
    """Return whether ``text`` may be English. Names, numbers and code are taken for it."""
    head = text[:HEAD]
    words = _LETTERS.findall(head)
    letters = sum(map(len, words))
    if 2 * sum(len(word) for word in words if word.isascii()) < letters:
        return False
    own = len(_FUNCTION_WORDS.findall(head))
    if len(words) < 3 or own >= 1 + len(words) // 8:
        return True
    found, sure = sure_identifier().classify(head.encode("utf-8", "replace").decode())
    least = LIKELY if not own and len(words) > 3 else SURE
    return bool(found == "en" or sure < least)
