"""How agents speak: what they offer, and what they only tell of."""

from __future__ import annotations

import re

from acc.compressors.rules.reading import Reading, Said
from acc.compressors.rules.words import one_of
from acc.wording import is_assent

_CLAIMS = (
    r"\b(?!" + one_of(
        """a, the, these, those, my, your, our, her, his, its, their, whose, no, all, of, for, on, at, in,
        per, with, from, to, about, and, or, new, older?, open, closed, other, such, paid, settled,
        \\d[\\d,]*"""
    ) + r" )[\w'-]+ claims\b(?![,.;:?!)]| " + one_of(
        """and, or, of, on, in, from, for, with, by, at, are, were, have, had, closed, settled, who,
        which, desk, files?, team, handlers?, manager, department"""
    ) + r"|$)"
)  # fmt: skip
"""What somebody claims, and no claims on an insurer."""

REFUSED = re.compile(
    r"\b" + one_of(
        """ignor\\w*, refus\\w*, contradicts?, at odds, no standing, advertis\\w*, suspicious,
        phish\\w*, unverified, claim(?:ing|ed), claim (?:that|to be), instruct\\w*, inject\\w*, telling, tells, asking,
        wants?, suggests?, supposedly, pretend\\w*, purport\\w*, asks? (?:the|for|you|agents?),
        not (?:following|taking|supplying|using|honou?ring|touching|acting|going to)"""
    )
    + r"|" + _CLAIMS,
    re.I,
)  # fmt: skip
"""An agent that says so tells of what a text wanted, not of what is the case."""

_OFFER = re.compile(
    r"\b" + one_of(
        "I'd, I would, shall, should, propos\\w*, suggest\\w*, recommend\\w*, can be, could, draft"
    ),
    re.I,
)  # fmt: skip


def agreed(reading: Reading) -> tuple[Said, list[Said]] | None:
    """The sentence in which the user assents to the reply just before, and what that offered."""
    assent = next((said for said in reading.user if is_assent(said.words)), None)
    offers = [
        said
        for said in reading.reply
        if (said.asks or _OFFER.search(said.words)) and not REFUSED.search(said.words)
    ]
    return (assent, offers) if assent is not None and offers else None
