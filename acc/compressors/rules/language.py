"""Whether a text is in another language than English, for which alone there are cues."""

from __future__ import annotations

import re

from acc.compressors.rules.words import one_of

HEAD = 2_000
"""Characters that are looked at."""

_LETTER = re.compile(r"[^\W\d_]")
_OURS = re.compile(
    r"\b" + one_of(
        """the, and, of, is, it, you, we, for, that, with, have, this, my, your, please, to, are,
        will, be, if, what, can, don't, not, it's, they, from, by, at, has, but, all, our, how,
        when, should, must, only, any, every, never, always, i'm, i'd, i'll, i've"""
    ),
    re.I,
)  # fmt: skip
_THEIRS = re.compile(
    r"\b" + one_of(
        """und, der, das, ist, nicht, ein, eine, einen, mit, für, auf, den, dem, ich, wir, sie,
        bitte, bevor, de, la, le, les, el, los, las, que, et, est, pas, une, du, dans, vous, nous,
        sur, por, para, con, una, del, se, favor, antes, não, uma, em, os, het, een, niet, voor,
        och, att, det, som, på, är, il, che, di, è, gli, nie, jest, się"""
    ),
    re.I,
)  # fmt: skip
"""Function words that English lacks; a name may bring along one or two."""


def is_foreign(words: str) -> bool:
    """Whether ``words`` are in another script, or have more of other languages' function words."""
    head = words[:HEAD]
    letters = [] if head.isascii() else _LETTER.findall(head)
    if 2 * sum(letter.isascii() for letter in letters) < len(letters):
        return True
    theirs = len(_THEIRS.findall(head))
    return theirs >= 2 and theirs > len(_OURS.findall(head))
