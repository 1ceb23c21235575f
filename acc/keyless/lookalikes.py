"""Recognises sentences that sound like a standing rule but are none.

These are questions, hearsay, the past, hypotheses and jokes. The patterns match text with straight
apostrophes (`acc.keyless.sentences.plain`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from acc.text.patterns import any_of, one_of

_SAYING = one_of(
    """says?, said, saying, stated, claimed, insists?, insisted, writes, wrote, tells?, told,
    thinks?, thought, reckons?, suggests?, suggested, argues?, argued, demanded, wants?, wanted,
    wishes, asked(?! for (?:it|this|that|them)\\b\\W*$), mentioned, recommends?, recommended,
    warns?, warned, announced, joked, joking, believes?, hinted, complains?, complained, proposes, proposed, keeps
    (?:saying|asking|telling), would (?:like|love), lobbies, lobbying, is asking, are asking, is
    pushing, are pushing, requires us, expects us"""
)
_SAYING_THAT = one_of("states?, claims?, demands?, asks?, mentions?, jokes?, hints?") + (
    r"(?=[,:]| [\"'“]| (?:that|we|you|I|it|the|they|he|she|there|all|no|nobody|to|for|us|me|our)\b)"
)
"""Some of these words are also nouns. They report speech only if such a word follows."""

_NOT_OTHERS = one_of(
    """i, we, you, please, who, to, no, any, all, every, each, the, these, our, my, of, for, a,
    just, and, or, not, don't, never, always, nobody, then, only, first, before, without, it's, can,
    could, may, might, should, must, shall, will, would, let, be, been, being, whatever, whoever,
    whichever, what, that, this, which, it"""
)
QUOTED = re.compile(r"\b(?:put|puts|typed|posted|added|scribbled|left|noted) (?=[\"'“])", re.I)
"""Introduces the verbatim words of another person."""

HEARSAY = any_of(
    rf"(?<![\w'])(?!{_NOT_OTHERS})[\w'.-]+"
    rf"(?: (?:also|just|now|always|already|even|then|still|never))? "
    rf"(?:{_SAYING}|{_SAYING_THAT})",
    r"\b(?:according to|apparently|supposedly|allegedly|reportedly|rumou?rs?|(?:the )?word is)\b",
    r"\bI(?:'ve| have)? (?:heard|hear|read|was told|been told|got told|keep hearing)\b",
    r"\b(?:he|she|they)'(?:d|s) (?:like|love|prefer|rather|asking)\b",
    QUOTED.pattern,
)
"""Reporting verbs of other people. They govern the words after them."""

_STILL_OURS = re.compile(
    r"\b(?:whatever|what|regardless of what|no matter what|if|when|whenever|unless|until|till|once|"
    r"before|after|even if|because|since|as|so that|in case|where|wherever)\s(?:\w+\s){0,4}$",
    re.I,
)
"""Before hearsay: a condition or reason within the speaker's own rule."""

PAST = any_of(
    r"\blast " + one_of(
        """year, month, week, quarter, time, summer, spring, autumn, winter, night, term, season,
        release, sprint"""
    ),
    r"\byesterday\b(?!'s)|\b(?:years?|months?|weeks?|days?|ages) ago\b|\bused to\b",
    r"(?<!\bis )(?<!\bare )(?<!'s )(?<!'re )(?<!'m )(?<!\bbe )(?<!\bgo )(?<!\bput )"
    r"\bback (?:then|in the|when|at)\b|\bwhen I (?:was|worked|started|joined)\b",
    r"\b" + one_of("in the past, previously, formerly, historically, those days, at the time"),
    r"\b(?:my|our|the|her|his|their) (?:last|old|previous|former) " + one_of(
        """job, company, team, employer, firm, boss, place, school, manager, client, project,
        landlord, doctor, teacher, policy, system, rule"""
    ),
    r"\b(?:in|since|until) (?:19|20)\d\d\b",
    r"\b(?:was|were)(?:n't| not| never)? (?:always |only |never )?" + one_of(
        "allowed, permitted, supposed, forbidden, expected, told, required, obliged, banned, meant"
    ),
    r"\b" + one_of(
        """couldn't, didn't, wasn't, weren't, hadn't, had to, had been, would always, must have,
        was never, were never"""
    ),
)  # fmt: skip
OUR_WORD = re.compile(
    r"\bI(?:'d| would) rather\b|\b(?:as|like) (?:I|we) (?:said|told|agreed|discussed|mentioned)\b|"
    r"\bas (?:agreed|discussed)\b",
    re.I,
)
"""Past statements that still hold: what the speaker said or agreed before, and "I'd rather you
didn't".
"""

FANCY = any_of(
    r"\bif (?:it|we|I|you|they|he|she|this|that|there) (?:were|was|had|did|ran|owned|got)\b",
    r"\bif (?!you could)(?:\w+ ){1,4}?(?:were|had|could|would)\b|\bif only\b",
    r"\b" + one_of(
        """imagine, suppose, supposing, hypothetically, in theory, what if, I wish, wouldn't it,
        pretend, in an ideal world, in a perfect world, ideally, one day we, some ?day,
        in my dreams, up to me"""
    ),
    r"\b(?:we|they|he|she|you|it|that|nobody|everyone|everybody)(?:'d| would)(?:n't)? " + one_of(
        "have, not, never, need, be, all, always, probably, only, just, get, still"
    ),
    r"\bI (?:think|guess|suppose|believe|fear|hope|reckon)\b|,\s(?:says|said|claims|it seems)\b",
    r"\b(?:might|may|could) (?:have to|need to|want to|be (?:forced|told|asked))\b",
    r"\bmaybe (?:we|you|they) should\b",
)  # fmt: skip
JOKE = any_of(
    r"\bha(?:ha)+h?\b|,\s+ha\W*$|\b(?:lol|lmao|rofl)\b|[😂🤣😜😉]|;-?\)",
    r"^\W*oh,? (?:brilliant|great|lovely|wonderful|fantastic|sure|joy)\b|\*\w+\*|🙄",
    r"\b(?:just |only |am |I'm )(?:kidding|joking|teasing|messing)\b|\bjk\b|\bfor a laugh\b",
)
DISCLAIMER = any_of(
    r"^\W*(?:I'm )?(?:just |only )?(?:kidding|joking|teasing|musing|venting|ranting)\b",
    r"\bnot an? (?:instruction|order|rule|request|requirement)\b",
    r"\b(?:thinking|wondering) (?:aloud|out loud)\b|\bscratch that\b|^\W*(?:no,? wait|wait,? no)\b",
    r"^\W*(?:please )?(?:ignore|disregard) (?:that|this|him|her|them|me|it)\b|^\W*whatever\W*$",
    r"\bdon't take (?:that|this|it|me|him|her) (?:too )?seriously\b",
)
"""Directly after (or within) a sentence, it takes the sentence back."""

FEELING = re.compile(
    r"^\W*(?:the|this|that|these|those|it|all|our|my|his|her|their)\b[^,;]*\b" + one_of(
        "worries, bothers, annoys, scares, puzzles, upsets, frightens, irritates, saddens"
    ) + r" (?:me|us|him|her|them|every(?:one|body))\W*$",
    re.I,
)  # fmt: skip
"""A feeling about a thing, which orders nothing."""

_ASKING = re.compile(
    r"^\W*(?:(?:and|but|so|or|well|hm+),? )?" + one_of(
        """do, does, did, is, are, am, was, were, has, have, had, should, shouldn't, would,
        wouldn't, could, couldn't, may, might, must, what, why, how, who, whom, whose, which,
        isn't, aren't, don't (?:we|you|they), doesn't, didn't, (?:when|where)
        (?:do|does|is|are|did)"""
    ),
    re.I,
)  # fmt: skip
_ASKING_UNMARKED = re.compile(
    r"^\W*(?:(?:and|but|so|or|well|hm+),? )?" + one_of(
        """(?:do|does|did|should|shouldn't|isn't|aren't) (?:we|I|you|they|it|he|she|somebody|anybody),
        (?:is|are|was|were) there, how (?:many|much|long|far|old|often) (?:is|are|was|were|do|does|did),
        (?:where|when|why|how) (?:is|are|was|were|do|does|did) (?:the|we|I|they|it|he|she)"""
    ),
    re.I,
)  # fmt: skip
_TAG = re.compile(
    r"[,–-]?\s*\b(?:ok|okay|please|alright|all right|right|yes|yeah|got it|understood|clear|deal|"
    r"agreed|fine)\s*\?+\s*$",
    re.I,
)
_POLITE = re.compile(
    r"^\W*(?:can|could|would|will) you\b.*\b(?:always|never|from now on|in future|going forward|"
    r"each time|every time|whenever|when you (?:give|write|quote|mention|show|list|name|report|refer)|"
    r"from today)\b",
    re.I,
)


def is_question(words: str, asks: bool) -> bool:
    """Whether a sentence asks. ", ok?" after a statement and "could you always ...?" do not ask."""
    if asks:
        tagged = _TAG.search(words) and not _ASKING.match(words)
        return not tagged and not _POLITE.match(words)
    return bool(_ASKING_UNMARKED.match(words))


_PERMITTED = r"that (?=[^,;]*\b(?:can|may)\b[^,;]*\b(?:again|now)\b)"
_SO = re.compile(
    rf"^.*[,;–—-] ?so,? (?:(?!that\b|far\b|much\b|many\b|long\b)|{_PERMITTED})(?=\w)", re.I | re.S
)
"""", so" introduces a conclusion; ", so that" introduces a purpose or a permission."""


def concluded(words: str) -> str:
    """The speaker's conclusion: the words after ", so", or the whole text."""
    return _SO.sub("", words)


@lru_cache(maxsize=512)
def is_hearsay(words: str) -> bool:
    """Whether another person's words govern a sentence or its conclusion."""
    words = concluded(words)
    return any(not _STILL_OURS.search(words[: m.start()]) for m in HEARSAY.finditer(words))


def is_past_or_fancy(words: str) -> bool:
    """Whether a sentence reports the past, is hypothetical, is a joke, or takes itself back."""
    return is_past(words) or is_fancy(words)


@lru_cache(maxsize=512)
def is_fancy(words: str) -> bool:
    """Whether a sentence is hypothetical, a joke, or takes itself back."""
    return is_imagined(words) or DISCLAIMER.search(words) is not None


@lru_cache(maxsize=512)
def is_imagined(words: str) -> bool:
    """Whether a sentence is hypothetical or a joke."""
    return FANCY.search(words) is not None or JOKE.search(words) is not None


@lru_cache(maxsize=512)
def is_past(words: str) -> bool:
    """Whether a sentence reports the past, except earlier statements that still hold."""
    return PAST.search(words) is not None and not OUR_WORD.search(words)


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
