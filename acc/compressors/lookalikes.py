"""What sounds like a standing rule and is none: questions, hearsay, the past, fancy, jokes.

Sentences are matched with straight apostrophes (`acc.compressors.sentences.plain`).
"""

from __future__ import annotations

import re

from acc.compressors.words import any_of

_SAYING = (
    r"(?:says?|said|saying|states?|stated|claims?|claimed|insists?|insisted|writes|wrote|tells?|"
    r"told|thinks?|"
    r"thought|reckons?|suggests?|suggested|argues?|argued|demands?|demanded|wants?|wanted|wishes|"
    r"asks?|asked|mentions?|"
    r"mentioned|recommends?|recommended|warns?|warned|announced|jokes?|joked|joking|believes?|"
    r"hints?|hinted|"
    r"complains?|complained|proposes|proposed|keeps (?:saying|asking|telling)|would like|would "
    r"love|lobbies|lobbying|"
    r"is asking|are asking|is pushing|are pushing|requires us|expects us)\b"
)
HEARSAY = any_of(
    r"(?<![\w'])(?!(?:i|we|you|please|who|to|no|any|all|every|the|these|our|my|of|for|a|just|and|"
    r"or|not|don't|never|"
    r"always|nobody|please|then|only|first|before|without|it's|can|could|may|might|should|must|"
    r"shall|will|would|let|to|be|been|being)\b)[\w'.-]+(?: (?:also|just|now|always|already|even|"
    rf"then|still|never))? {_SAYING}",
    r"\b(?:according to|apparently|supposedly|allegedly|reportedly|rumou?rs?|word is|the word "
    r"is)\b",
    r"\bI(?:'ve| have)? (?:heard|hear|read|was told|been told|got told|keep hearing)\b",
    r"\b(?:he|she|they)'(?:d|s) (?:like|love|prefer|rather|asking)\b",
)
"""Somebody else's words. They govern what follows them."""

_STILL_OURS = re.compile(
    r"\b(?:whatever|what|regardless of what|no matter what|if|when|whenever|unless|until|till|"
    r"once|before|after|"
    r"even if|because|since|as|so that|in case|where|wherever)\s(?:\w+\s){0,4}$",
    re.I,
)
"""Before hearsay: a condition or reason within a rule of the speaker's own."""

PAST = any_of(
    r"\blast (?:year|month|week|quarter|time|summer|spring|autumn|winter|night|term|season|"
    r"release|sprint)\b",
    r"\byesterday\b(?!'s)|\b(?:years?|months?|weeks?|days?|ages) ago\b|\bback (?:then|in the|"
    r"when|at)\b|\bused to\b",
    r"\b(?:in the past|previously|formerly|historically|in the old days|those days|at the time)\b",
    r"\b(?:my|our|the|her|his|their) (?:last|old|previous|former) (?:job|company|team|employer|"
    r"firm|boss|place|"
    r"school|manager|client|project|landlord|doctor|teacher|policy|system|rule)\b",
    r"\bwhen I (?:was|worked|started|joined)\b|\b(?:in|since|until) (?:19|20)\d\d\b",
    r"\b(?:was|were)(?:n't| not| never)? (?:always |only |never )?(?:allowed|permitted|supposed|"
    r"forbidden|expected|"
    r"told|required|obliged|banned|meant)\b",
    r"\b(?:couldn't|didn't|wasn't|weren't|hadn't|had to|had been|would always|must have|was "
    r"never|were never)\b",
)
OUR_WORD = re.compile(r"\bI(?:'d| would) rather\b|\b(?:as|like) (?:I|we) (?:said|told|agreed|discussed|mentioned)|\bas (?:agreed|discussed)\b", re.I)
"""The past that holds: what the speaker said or agreed before, and "I'd rather you didn't"."""

FANCY = any_of(
    r"\bif (?:it|we|I|you|they|he|she|this|that|there) (?:were|was|had|did|ran|owned|got)\b",
    r"\bif (?!you could)(?:\w+ ){1,4}?(?:were|had|could|would)\b|\bif only\b",
    r"\b(?:imagine|suppose|supposing|hypothetically|in theory|what if|I wish|wouldn't it|let's "
    r"pretend|pretend|"
    r"in an ideal world|in a perfect world|ideally|one day we|some ?day|in my dreams|up to me)\b",
    r"\b(?:we|they|he|she|you|it|that|nobody|everyone|everybody)(?:'d| would)(?:n't)? "
    r"(?:have|not|never|need|be|all|always|probably|only|just|get|still)\b",
    r"\bI (?:think|guess|suppose|believe|fear|hope|reckon)\b|,\s(?:says|said|claims|it seems)\b",
    r"\b(?:might|may|could) (?:have to|need to|want to|be (?:forced|told|asked))\b|\bmaybe (?:we|"
    r"you|they) should\b",
)
JOKE = any_of(
    r"\bha(?:ha)+h?\b|\b(?:lol|lmao|rofl)\b|[😂🤣😜😉]|;-?\)",
    r"\b(?:just |only |am |I'm )(?:kidding|joking|teasing|messing)\b|\bjk\b|\bfor a laugh\b",
)
DISCLAIMER = any_of(
    r"^\W*(?:just |only )?(?:kidding|joking|teasing)\b|^\W*(?:I'm )?(?:just|only) (?:kidding|"
    r"joking|teasing|thinking "
    r"(?:aloud|out loud)|musing|venting|ranting)\b",
    r"\bnot an? (?:instruction|order|rule|request|requirement)\b|\b(?:thinking|wondering) "
    r"(?:aloud|out loud)\b",
    r"^\W*(?:please )?(?:ignore|disregard) (?:that|this|him|her|them|me|it)\b|\bwhatever\b\W*$|"
    r"\bscratch that\b",
    r"\bdon't take (?:that|this|it|me|him|her) (?:too )?seriously\b",
)
"""Said right after (or within) a sentence, it takes the sentence back."""

PASSING = any_of(
    r"\b(?:yet|this once|just this (?:time|once)|for this one|right now|at this very "
    r"moment)\b[^,:;]*$",
    r"\b(?:don't|do not|never) (?:worry|mind|hesitate|rush|panic|sweat)\b|\bno (?:worries|"
    r"problem|rush|hurry)\b",
    r"^\W*(?:no|nope|nothing|none|never)\W*$|\bnothing (?:new|yet|else|more)\b|\bas always\b|"
    r"\bas usual\b",
)
"""Said in passing: for this moment, or an idiom."""

HAPPENED = re.compile(
    r"\b(?:was|were|took|came|went|got|saw|found|failed|answered|reported|replied|dropped|rose|"
    r"fell|returned|finished|"
    r"ended|started|crashed|happened|stayed|looked|showed|hit|lost|ran|spent|used|reached|joined|"
    r"stopped|has|have been)\b",
    re.I,
)
"""Something that took place: figures beside it describe, and limit nothing."""

_ASKING = re.compile(
    r"^\W*(?:and |but |so |or |well,? |hm+,? )?(?:do|does|did|is|are|am|was|were|has|have|had|"
    r"should|shouldn't|"
    r"would|wouldn't|could|couldn't|may|might|must|what|why|how|who|whom|whose|which|when (?:do|"
    r"does|is|are|did)|"
    r"where (?:do|does|is|are|did)|isn't|aren't|don't (?:we|you|they)|doesn't|didn't)\s+"
    r"(?:(?:I|we|you|they|he|she|it|there|the|a|an|that|this|these|those|somebody|anyone|anybody|"
    r"someone|my|our|your)\b|\w+)",
    re.I,
)
_TAG = re.compile(
    r"[,–-]?\s*\b(?:ok|okay|please|alright|all right|right|yes|yeah|got it|understood|clear|deal|"
    r"agreed|fine)\s*\?+\s*$",
    re.I,
)
_POLITE = re.compile(r"^\W*(?:can|could|would|will) you (?:please )?(?:\w+ ){0,4}?(?:always|never|from now on|every time|whenever)\b|"
                     r"^\W*(?:can|could|would|will) you\b.*\b(?:from now on|in future|going forward|each time|every time|from today)\b", re.I)


def is_question(words: str, asks: bool) -> bool:
    """Whether a sentence asks. ", ok?" after a statement and "could you always ...?" do not."""
    if asks:
        return not (_TAG.search(words) and not _ASKING.match(words)) and not _POLITE.match(words)
    return bool(re.match(r"^\W*(?:do|does|did|should|shouldn't|isn't|aren't) (?:we|I|you|they|it|he|she|somebody)\b", words, re.I))


def is_hearsay(words: str, before: int) -> bool:
    """Whether somebody else's words govern what stands at ``before`` in a sentence."""
    for match in HEARSAY.finditer(words):
        if match.start() >= before:
            return False
        if not _STILL_OURS.search(words[: match.start()]):
            return True
    return False


def is_told(words: str) -> bool:
    """Whether a sentence tells of the past, of fancy, or in jest."""
    past = PAST.search(words) and not OUR_WORD.search(words)
    return bool(past or FANCY.search(words) or JOKE.search(words) or DISCLAIMER.search(words))


SELF = re.compile(
    r"\W*(?:let me|let's)\b|\W*(?:it|there|that|this) (?:takes?|took|weighs|costs|lasts|has|is|"
    r"was|are)\b|"
    r"\W*(?:and |but |so )?(?:I|he|she|they)(?:'ve|'m)?\b(?! (?:want|need|expect|insist|don't|do "
    r"not|won't|would|am allergic))",
    re.I,
)
"""Somebody telling what they do themselves."""


def tells_of_self(words: str, before: int) -> bool:
    """Whether the cue at ``before`` is what the speaker or a third person does or is."""
    lead = re.split(r"[,:;–—]|\bso\b|\bunless\b|\buntil\b|\bbefore\b", words[:before])[-1]
    return bool(SELF.match(lead))
