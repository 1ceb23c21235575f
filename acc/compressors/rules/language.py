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
    r"(?<![\w.@/-])" + one_of(
        """und, der, das, ist, nicht, ein, eine, einen, mit, für, auf, den, dem, ich, wir, sie,
        bitte, bevor, de, la, le, les, el, los, las, que, et, est, pas, une, du, dans, vous, nous,
        sur, por, para, con, una, del, se, favor, antes, não, uma, em, os, het, een, niet, voor,
        och, att, det, som, på, är, il, che, di, è, gli, nie, jest, się, im, zum, zur, vor, nach, war,
        alle, ne, un, mon, au, aux, en, mi, al, op, ja, si, sin, danke, merci, bonjour, gracias,
        grazie, hola, guten, morgen"""
    ) + r"(?![\w@/-])",
    re.I,
)  # fmt: skip
"""Function words that English lacks; a name may bring along one or two."""

_SURELY_THEIRS = re.compile(
    r"(?<![\w.@/-])" + one_of(
        """nicht, kein, keine, keinen, niemals, immer, ohne, mein, meine, dein, unser, über, zeiten,
        vor, uhr, auf, mach, warten, brauchen, (?:mon|diens|donners|frei|sams|sonn)tags?, mittwochs?, deutsch,
        jamais, toujours, sans, avec, pas, votre, notre, aucun, aucune, avant, c'est, s'il, n'envoie,
        lundi, mardi, mercredi, jeudi, vendredi, samedi, dimanche, français, nunca, siempre,
        hasta, pero, también, lunes, martes, miércoles, jueves, viernes, sábado, domingo, español, ningún,
        senza, sempre, venerdì, nooit, altijd, zonder, geen, nigdy, zawsze, bez, aldrig"""
    ) + r"(?![\w@/-])",
    re.I,
)  # fmt: skip
"""Words of other languages that are hardly ever part of a name: one tells, where nothing is English."""


def is_foreign(words: str) -> bool:
    """Whether ``words`` are in another script, or have more of other languages' function words.

    What has no words of any language, as code and identifiers, is not foreign.
    """
    head = words[:HEAD]
    letters = [] if head.isascii() else _LETTER.findall(head)
    if 2 * sum(letter.isascii() for letter in letters) < len(letters):
        return True
    theirs, ours = len(_THEIRS.findall(head)), len(_OURS.findall(head))
    if not ours and _SURELY_THEIRS.search(head):
        return True
    return theirs >= 2 and theirs > ours
