"""Evidence against a lifting: negation, doubt, irony, report, a later time, another thing."""

from __future__ import annotations

import re

from acc.keyless.lookalikes import JOKE, concluded, is_hearsay, is_past
from acc.keyless.words import NUMBER, any_of, one_of
from acc.text.wording import stems

_NEGATED_LIFTING = any_of(
    r"\bno longer " + one_of(
        """applies, apply, needed, necessary, holds, hold, required, valid, in force, an issue,
        have to, has to, need to, needs to, needs?, matters?, a problem, secret, confidential,
        frozen, binding"""
    ),
    r"\bno (?:problem|issue|trouble|secret|matter)\b(?=.*\b(?:any ?more|any longer|now)\b)|"
    r"\bneeds? no\b(?=.*\b(?:any ?more|any longer|now)\b)|\b(?:don't|do not|doesn't) (?:mind|insist|care)\b",
    r"\bno need (?:to|for)\b|\bneed(?:n't| not)\b|\bno (?:[\w-]+ ){1,3}?(?:needed|required|necessary)\b",
    r"\b(?:don't|doesn't|do not|does not|won't|didn't) " + one_of(
        "have, need, apply, hold, count, matter"
    ),
    r"\b(?:isn't|aren't|is not|are not) (?:\w+ ){0,3}?(?:any ?more|any longer)\b",
    r"\b(?:isn't|aren't|is not|are not) " + one_of(
        "needed, necessary, required, valid, in force, frozen, binding, secret, confidential"
    ),
    r"\b(?:nobody|no one) (?:needs?|has) to\b(?=.*\bany ?more\b)",
    r"\bnever ?mind\b|\bnot (?:just|only)\b|^\W*no,",
)  # fmt: skip
"""Negations that lift something."""

_NEGATION = re.compile(
    r"n't\b|\b" + one_of(
        """not, never, no, hardly, scarcely, barely, cannot, cant, dont, nobody, nothing, none,
        nor, neither, nowhere, unable, forbidden, far from"""
    ),
    re.I,
)  # fmt: skip
_DOUBT = any_of(
    r"\b" + one_of(
        """doubt\\w*, (?:un)?sure, think, thinks, thought, guess, suppose, assume, wonder\\w*,
        believe, maybe, perhaps, possibly, probably, presumably, might, seems?, unclear, hopefully,
        hope, wish, would, should, as if, as though, like hell, yeah right, yeah, sure thing,
        supposedly, allegedly, apparently, dream on, in your dreams, when pigs fly,
        nice try, my foot, lie, false, untrue, wrong, nonsense, as soon as,
        once, unless, provided, providing, assuming, only if, in case, depending"""
    ),
    r"\b(?:if|when)\b(?! (?:you|they|we) " + one_of("like, want, wish, please, need") + ")",
    r"\byeah,? right\b|(?:^|\s)/s\b|^\W*(?:oh|ha)\b|"
    r"^\W*right, (?:and|as if|because|like|sure)\b",
)  # fmt: skip
"""Doubt, irony and conditions."""

_REPORT = any_of(
    r"\b" + one_of(
        """reads?(?=:| [\"'“„]), quotes?, quoted, quoting, is what, that's what, pretend\\w*, reported,
        stating, states, the words, the wording, rumou?r\\w*"""
    ),
    r"\b" + one_of(
        """e-?mails?, messages?, notes?, letters?, posts?, tickets?, docs?, wiki, runbook, logs?,
        memo, banner, chat, subject, headline, comment, answer, reply"""
    ) + r"[^:,]{0,30}: ",
    r"\bclaim(?:ed|ing|s)?(?=,? (?:that|to|the|it|it's|we|they|he|she|you|there|all|no|nobody)\b)",
)  # fmt: skip
_QUOTATION = re.compile(r"\"[^\"]{3,}\"?|[“”„«][^“”«»]{3,}[”“»]?|(?<![\w'])'[^\"]{3,}?'(?!\w)")

_SPAN = one_of("minutes?, hours?, days?, weeks?, months?, moment, time, while, night, shift, run")
_LIMITED = any_of(
    r"\b" + one_of(
        """tomorrow, tonight, later, soon, this (?:evening|afternoon|weekend|week|once|one time),
        next \\w+, the day after, eventually, only today, just today, today only, for today,
        for now, for the moment, for this one, just once, only once, one last time"""
    ),
    r"\b(?:from|starting|as of|effective|on|by|until|till|before|after|during|between|except|this) "
    r"(?:the )?(?:(?!today)\w+day|weekends?|noon|midnight|lunch|evenings?|mornings?|nights?|hours|january|"
    r"february|march|april|may|june|july|august|september|october|november|december|"
    rf"{NUMBER}(?! words| lines| pages))\w*",
    r"\b\w+day (?:evening|night|morning|afternoon|noon)s?\b",
    rf"\b(?:for|in|within) (?:an?|one|the next|{NUMBER})\b ?(?:\w+ )?{_SPAN}",
    r"\b(?:until|(?<!the )till|after|before|except|only (?:at|on|in|for|between|during|after))\b",
)  # fmt: skip
"""A permission for a limited time, or from a later time on."""


def is_denied(words: str) -> bool:
    """Whether a clause negates something, apart from negations that lift."""
    return bool(_NEGATION.search(_NEGATED_LIFTING.sub(" ", words)))


def is_doubted(words: str, cue: re.Match[str]) -> bool:
    """Whether a clause doubts, mocks, only reports or makes conditional what its ``cue`` says."""
    if JOKE.search(words) or _DOUBT.search(words) or _REPORT.search(words):
        return True
    return any(q.start() <= cue.start() < q.end() for q in _QUOTATION.finditer(words))


def is_barred(words: str) -> bool:
    """Whether a clause asks, doubts, mocks, reports or forbids. Such a clause ends nothing."""
    return is_told(words) or bool(_DOUBT.search(words)) or is_denied(words)


def is_told(words: str) -> bool:
    """Whether a clause asks, jokes, or gives words of others or of the past."""
    told = JOKE.search(words) or _REPORT.search(words) or _QUOTATION.search(words)
    return bool(told) or is_of_others(words) or words.rstrip().endswith("?")


def is_of_others(words: str) -> bool:
    """Whether a clause gives another person's words, or reports the past."""
    return is_hearsay(words) or is_past(concluded(words)) or bool(_NEEDED_THEN.search(words))


_NEEDED_THEN = re.compile(r"\b(?:was|were) (?:needed|required|necessary)\b", re.I)
"""Sounds like a lifting but reports the past: "no calls were needed"."""


def is_limited(words: str, rule: str) -> bool:
    """Whether a permission is limited to a time, or starts later, that ``rule`` does not name."""
    own = stems(rule)
    return any(
        not stems(m.group()) or not stems(m.group()) <= own for m in _LIMITED.finditer(words)
    )


def happened_again(words: str) -> bool:
    """Whether a clause reports that something happened again ("The restart failed again.")."""
    return any(
        _AGAIN.search(part) and _HAPPENED.search(part) and not _STANDS.search(part)
        for part in re.split(r"[,;:–—]", words)
    )


_AGAIN = re.compile(r"\bagain\b", re.I)
_HAPPENED = re.compile(
    r"\b(?:(?!need|speed|feed)\w{2,}ed|" + one_of(
        """was, were, had, did, got, went, came, ran, rang, took, broke, sold, sent, made, found,
        lost, fell, hung, told, said, left, hit, saw, gave, wrote, rose, shut itself, paid, bought,
        began, drove, flew, forgot, threw, wore"""
    ) + r")\b",
    re.I,
)  # fmt: skip
_STANDS = re.compile(r"(?:\b(?:is|are|be|gets?|being)|'s|'re) (?:\w+ )?\w+ed\b", re.I)
"""A participle that describes a state: "Vendors are paid on Thursdays again"."""
