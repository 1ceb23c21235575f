"""Properties of speech: offers and assent, reports of refusals, and courtesies."""

from __future__ import annotations

import re

from acc.keyless.acts import acts
from acc.keyless.reading import Reading, Said
from acc.keyless.words import any_of, one_of
from acc.text.wording import is_assent, marks

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
"""Claims of a person, as opposed to insurance claims."""

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
"""An agent with these words reports the demands of a text, not facts."""

_OFFER = re.compile(
    r"\b" + one_of(
        "I'd, I would, shall, should, propos\\w*, suggest\\w*, recommend\\w*, can be, could, draft"
    ),
    re.I,
)  # fmt: skip


def agreed(reading: Reading) -> tuple[Said, list[Said]] | None:
    """The user's assent to the agent's last reply, and the offers in that reply, if any."""
    assent = next((said for said in reading.user if is_assent(said.words)), None)
    offers = [
        said
        for said in reading.reply
        if (said.asks or _OFFER.search(said.words)) and not REFUSED.search(said.words)
    ]
    return (assent, offers) if assent is not None and offers else None


_COURTESY = any_of(
    r"^\W*" + one_of(
        """thanks, thank you, cheers, ta, good (?:morning|afternoon|evening|night), morning, hello, hi, hey,
        sounds good, looks good, great(?: job| work| stuff)?, nice(?: one| job| work)?, well done, perfect, lovely,
        brilliant, excellent, awesome, wonderful, you're (?:a star|welcome|the best|great), you rock, no worries,
        no problem, my pleasure, congrat\\w*, bravo, bye, goodbye, take care, sleep well, see you, enjoy,
        have a (?:good|nice|great|lovely)"""
    ) + r"\b(?!,? (?:but|and|so|now|can|could|please|then)\b)[^\d?]{0,60}$",
    r"^\W*(?:how are you|how's (?:it going|life)|any plans|what about you|and you|did you sleep)\b[^\d]{0,40}$",
)  # fmt: skip
"""A sentence that only greets, thanks, praises or chats."""

CHATTER = 0.75
"""Minimum probability of acts without request, statement or rule for a sentence to be chatter."""


def is_courtesy(said: Said) -> bool:
    """Whether a sentence only greets, thanks, praises or chats."""
    if _COURTESY.search(said.words):
        return True
    odds = acts(said.spoken)
    return not said.asks and not marks(said.words) and odds["other"] + odds["joke"] >= CHATTER


def is_chatter(reading: Reading) -> bool:
    """Whether a turn consists of courtesies and nothing is done in it."""
    spoken = bool(reading.user) and not (reading.tools or reading.pasted or reading.foreign)
    return spoken and all(map(is_courtesy, reading.user)) and agreed(reading) is None
