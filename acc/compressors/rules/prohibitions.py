"""Cues for what must not be.

Each table maps an example to the pattern that finds it; the tests hold every pattern to its
example.
"""

from __future__ import annotations

from acc.compressors.rules.words import MY, SECRET, START, YES, one_of

_IDIOMS = one_of(
    """I, we, they, worry, mind, know, think, forget, hesitate, ask me, get me, you, believe, remember, care,
    understand, see, seem, want, like, have, need, say, feel, mean, even, really, ever, heard, seen,
    had, give up, let (?:it|that|this|them), stop, lose, been, used, better, got, a, an, the, saw,
    tried, knew, thought, happened, ending, quite, yet, again\\s*$"""
)
_YOU_NOT = r"\byou " + one_of(
    """do not, don't, never, must not, mustn't, may not, cannot, can't, shouldn't, should not,
    are not to, aren't to, are not allowed, aren't allowed"""
)
_YOU_TOLD = one_of(
    """have, need, know, think, seem, look, see, want, mind, say, said, care, believe, told,
    usually, get, got, understand, like, mean, sound, \\w+ed"""
)
_TELLING = one_of(
    """is, was, has, seems, works, happens, helps, matters, knows, cares, answers, looks, comes,
    makes, beats, replies, responds, stands, needs, likes, remembers, wants, thinks, says,
    understands, changes"""
)
_NOTHING_NEW = one_of(
    """news, luck, idea, problem, issue, worries, rush, hurry, doubt, answer, reply, sign, trace,
    response, one, need, errors?, results?, change, wonder, matter, reason, way, point, longer,
    hard, big, such"""
)
_WHERE = one_of(
    """please, on, in, for, at, before, after, during, until, unless, without, anywhere, at all,
    outside, between, from, to, with, of any"""
)
_ABROAD = one_of(
    "anywhere, any, anyone, outside, before, until, without, above, over, beyond, below, public"
)
_EVER_DONE = one_of("had, got, saw, been, knew, met, heard, found, made, did, went, \\w+ed")

PROHIBITIONS: dict[str, str] = {
    "please don't call the tenants": rf"{START}(?:do not|don'?t|never)\s(?!{_IDIOMS})\w",
    "you can't send from it": rf"{_YOU_NOT}(?! {_YOU_TOLD})",
    "we're not to name the buyer": r"\b(?:you|we)'re not to\b",
    "that must never leave the lab": r"\b" + one_of(
        """must not, mustn't, must never, should never, are not to, is not to, isn't to, aren't to,
        not to be, is never to, are never to, (?:shouldn't|should not) (?:be )?\\w+,
        (?:is not|isn't|are not|aren't) (?:to be )?(?:allowed|permitted|acceptable),
        may (?:not|never) be, off[- ]limits, out of bounds, forbidden, prohibited, taboo,
        is out of the question, not an option"""
    ),
    "it can't be sold": r"\b(?:cannot|can't) be (?!" + one_of(
        "right, true, serious, sure, the, that, bothered, happy, good, far"
    ) + r")\w",
    "nobody but me talks to the press":
        r"\b(?:nobody|no[ -]one|nothing|none of \w+)"
        r"(?: (?:but|except|other than|outside|else)(?: \w+){0,3}?)? "
        r"(?:is to|are to|may|can|should|must|shall|will|gets? \w+(?:ed|t|n)|"
        rf"(?!{_TELLING})\w+[^s\W]s)\b(?! it\b)",
    "nothing with gelatine":
        rf"{START}nothing (?:with|containing|over|above|after|before|outside)\b(?! the)",
    "nothing is sent before I've read it":
        r"\bnothing (?:is|gets?|goes)\b.{0,60}?\b(?:until|till|before|without|unless)\b",
    "until they answer, nobody is enrolled": r"\buntil\b.*\b(?:nobody|nothing|no one)\b",
    "not a word to the press": r"\bnot (?:a|one|any) (?:single )?" + one_of(
        "word, hint, peep, penny, cent, soul"
    ),
    "not a single line of it goes out":
        r"\bnot a single \w+\b.{0,30}\b(?:goes|leaves|gets|to|before|until|without)\b",
    "not a figure leaves the house before May":
        r"\bnot (?:a|one|any) \w+ (?:leaves|goes|gets|is|may|moves|enters)\b.{0,40}?"
        r"\b(?:before|until|till|without|unless)\b",
    "no initials, no birth dates": r"\bno \w+(?: \w+)?, (?:and )?no \w+",
    "nothing fancy in the slides please":
        rf"{START}nothing \w+ (?:in|on|with|for)\b.{{0,30}}\bplease\b",
    "code freeze until Monday":
        r"\b(?:\w+ )?(?:freeze|blackout|moratorium|embargo) (?:on |in |for )?(?:\w+ ){0,3}?"
        r"(?:until|till|through)\b",
    "let the sequencer be": r"\blet (?:\w+ ){1,3}be\b(?=[,.!]|$)",
    "Tuesdays are out": r"\b\w+days? (?:is|are) (?:out|off|taken|blocked|sacred|no good)\b",
    "no netting of balances": rf"{START}no (?!\w*thing\b)\w+ing\b",
    "no changes on Fridays":
        rf"{START}no (?:more )?(?!{_NOTHING_NEW})(?:[\w-]+ ){{1,3}}?{_WHERE}"
        r"(?! (?:the (?:logs?|list|file|inbox|system|table|folder)|sight|it|there|here|far)\b)",
    "no shop names on it, ever": r"\bno \w+.{0,40}, (?:ever|period|full stop)\b",
    "avoid the ring road": START + one_of(
        """avoid, refrain from, steer clear, stay (?:away|clear|off|out), hands off, hold off,
        keep (?:away|off|out|clear), keep your hands"""
    ),
    "leave the cron jobs as they are":
        rf"(?:{START}|\b(?:should|must|to) )(?:leave|keep)\b.{{1,40}}?\b" + one_of(
            """alone, out of, out, off, untouched, unchanged, closed, away from,
            as (?:it|they) (?:is|are), where (?:it|they) (?:is|are)"""
        ),
    "nothing goes without Petra's signature": rf"\bwithout (?:{MY} ){{1,3}}{YES}",
    "no orders without asking": r"\bwithout (?:asking|checking|telling|consulting)\b",
    "under no circumstances": r"\b" + one_of(
        """under no circumstances, in no case, on no account, no exceptions, or not at all,
        whatever you do"""
    ),
    "the name doesn't appear anywhere":
        r"\b(?:does|do)(?:n't| not) (?:leave|appear|go|enter|cross|reach|show up|belong)\b.{0,50}?"
        rf"\b(?:{_ABROAD}|writing\b)",
    "photos aren't posted anywhere":
        rf"\b(?:isn't|aren't|is not|are not) \w+(?:ed|en|nt)\b.{{0,20}}?\b{_ABROAD}",
    "surnames never appear in the calendar":
        r"\bnever (?:appears?|leaves?|goes|enters?|shows?)\b|\b\w+s' \w+ never \w+",
    "we never promise dates": rf"\bwe never (?!{_EVER_DONE})\w",
    "I don't want any photos in it": r"\bI (?:do not|don't|won't) " + one_of(
        "want, wish, accept, tolerate"
    ) + " " + one_of(
        """any, anyone, anybody, you, them, him, her, us, it, this, that, the, to see, to find,
        to read, to be (?:paged|called|copied|bothered|woken)"""
    ),
    "keep the name under wraps": rf"{START}keep\b.{{0,50}}?\b{SECRET}",
    "keep her name to yourself": rf"{START}keep (?:[\w']+ ){{1,4}}to yourself",
    "it's strictly confidential":
        rf"(?:\b(?:stays?|remains?|is|are)|'s) (?:strictly )?{SECRET}",
    "treat the folder as private": rf"\btreat\b.{{1,50}}? as {SECRET}",
}  # fmt: skip
"""What must not be."""
