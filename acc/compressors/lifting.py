"""Which standing rule or goal a user's words lift or change; none where it is not clear."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from acc.compressors.words import NUMBER_WORD, any_of
from acc.items import Item
from acc.wording import stems

LIFTED = any_of(
    r"\bno longer (?:applies|needed|necessary|holds|required|valid|in force|an issue|have to|has "
    r"to|need to|needs to|"
    r"needs?|matters?|a problem|secret|confidential|frozen|binding)\b",
    r"\b(?:any ?more|any longer)\b",
    r"\b(?:is|are|was|were|has been|have been|been|gets?) (?:now |finally |hereby )?(?:lifted|"
    r"dropped|waived|withdrawn|"
    r"revoked|removed|gone|history|off the table|moot|obsolete|void)\b",
    r"\b(?:you|we|they|everyone|everybody|anyone|anybody|people|\w+s) (?:can|may|could|are free "
    r"to|are allowed to)\b"
    r".{0,60}\b(?:again|now|after all|directly|freely|as (?:you|they) (?:like|please|wish)|like "
    r"any other)\b",
    r"\b(?:you|we|everyone) (?:can|may) (?:now|again)\b|\b(?:feel )?free to\b",
    r"\b(?:scrap|forget|drop|ditch|lift|ignore|cancel|skip|disregard) (?:the|that|my|our|what I "
    r"said|about the|all)\b",
    r"\bno need (?:to|for)\b|\bneed(?:n't| not)\b|\b(?:don't|doesn't|do not|does not) (?:have|"
    r"need) to\b",
    r"\b(?:doesn't|does not|don't|do not|won't) (?:apply|hold|count|matter)\b",
    r"\b(?:is|are|'s|'re) (?:fine|ok|okay|allowed|permitted|possible|open|welcome) (?:again|now|"
    r"after all|too)\b|\bback in (?:scope|play)\b",
    r"\bback to normal\b|\bfair game\b|\bis yours again\b|\bgo ahead (?:and|with)\b|\bfrom now "
    r"on you (?:can|may)\b",
)
"""Says that something which held does not hold any longer."""

ENDED = any_of(
    r"\b(?:is|are|was|'s|has been|have been|been|got) (?:now |finally |all )?(?:cancelled|"
    r"canceled|called off|over|settled|"
    r"resolved|finished|done|through|signed|decided|cleared|approved|out of the way|unfrozen)\b",
    r"\b(?:has|have) (?:now |finally )?(?:ended|expired|finished|passed|decided|agreed|signed|"
    r"approved)\b",
    r"\bnever ?mind\b|\bchanged (?:my|our|her|his|their) mind\b|\bcalled off\b",
)
"""Says that something is over: it ends a rule that was tied to it."""

SWAPPED = any_of(
    r"\binstead\b|\bchange of plans?\b|\bcorrection\b|\bscratch that\b|\bon second thoughts?\b|"
    r"\bnew rule\b",
)
"""Says that one thing takes another's place."""

CHANGED = any_of(
    SWAPPED.pattern,
    r"\brather than\b|\b(?:make|call) (?:that|it|the|them|those)\b|\bgo (?:up|down) to\b|\bup to\b",
    r"\b(?:raise|raised|lower|lowered|increase|increased|extend|extended|reduce|reduced|bump|"
    r"bumped|relax|relaxed|tighten|"
    r"tightened|loosen|loosened)\b|\b(?:cut|moved?|moves|shift(?:ed)?|push(?:ed)?|changed?|"
    r"changes|switch(?:ed)?) (?:\w+ ){0,4}?to\b|"
    r"\b(?:has|have|is|was) (?:been )?(?:changed|moved|shifted|pushed)\b",
    r"\b(?:from|as of|starting|effective) (?:today|now|tomorrow|monday|tuesday|wednesday|"
    r"thursday|friday|next week)\b",
    r"\b(?:new|updated|revised) (?:limit|budget|cap|ceiling|deadline|threshold|rule|maximum|"
    r"minimum|target|quota|date)\b",
    r"\b(?:you|we) (?:can|may|could|have|'ve got|got) (?:now )?(?:plan|go|spend|use|work|"
    r"calculate|reckon|have|take|until|till)\b",
    r"\bis now\b|\bare now\b|\bnow (?:is|it's|we're at)\b|\bmore generous\b|\bstricter\b",
)
"""Says so of a figure."""

_TIED = re.compile(r"\b(?:until|till|while|as long as|for now|for the moment|during|since|because|unless|that's|is in)\b", re.I)
_NAME = re.compile(r"(?<=\s)[A-Z][\w-]{2,}|\b\w*\d[\w.,-]*")
_DIGITS = re.compile(rf"(?P<money>[£€$]\s?)?(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<k>\s?k\b)?|\b(?P<word>{NUMBER_WORD})\b", re.I)
_UNIT = re.compile(
    r"\W{0,2}(?:a |per |an )?(?P<unit>euros?|pounds?|dollars?|eur|gbp|usd|chf|%|percent|words?|"
    r"pages?|lines?|minutes?|hours?|days?|weeks?|"
    r"months?|nights?|people|persons|january|february|march|april|may|june|july|august|september|"
    r"october|november|december|am|"
    r"pm|kb|mb|gb|tb|kg|ms|(?!(?:is|was|has|goes|needs|gets|as|this|plus)\b)[a-z]{2,}[^\Ws]s\b)?",
    re.I,
)
_VALUES = {
    word: value
    for value, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
} | {
    "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "hundred": 100, "a hundred": 100, "thousand": 1000, "a thousand": 1000, "a dozen": 12, "half": 0.5,
}  # fmt: skip
_MONEY = frozenset("£ € $ euro euros pound pounds dollar dollars eur gbp usd chf".split())


class Amount(NamedTuple):
    """A number in a text: its value, and its unit where one stands there."""

    value: float
    unit: str


def amounts(words: str) -> list[Amount]:
    """The numbers in ``words``, in figures or words, with their units; clock times are left out."""
    found = []
    for match in _DIGITS.finditer(words):
        if words[match.end() : match.end() + 1] == ":" or words[match.start() - 1 : match.start()] == ":":
            continue
        unit = _UNIT.match(words, match.end())
        named = (unit["unit"] or "").lower() if unit else ""
        kind = "money" if match["money"] or named in _MONEY else named.rstrip("s")
        if (match["word"] or "").lower() in ("one", "half"):
            continue
        if match["word"]:
            value = float(_VALUES.get(match["word"].lower(), 0))
        else:
            value = float(match["digits"].replace(",", "")) * (1000 if match["k"] else 1)
        found.append(Amount(value, kind))
    return found


def is_lifting(words: str) -> bool:
    """Whether ``words`` say that something ended or no longer holds."""
    return bool(LIFTED.search(words) or ENDED.search(words))


def lifted_by(words: str, around: str, items: Sequence[Item]) -> Item | None:
    """The one among ``items`` that ``words`` lift, or None.

    Args:
        words: The clause with the cue.
        around: The clause with what it refers back to.
        items: Open rules or goals.
    """
    if not is_lifting(words):
        return None
    found = _clearest(around, items)
    if found is None or LIFTED.search(words) or _TIED.search(_text(found)):
        return found
    return None


def changed_by(words: str, around: str, items: Sequence[Item]) -> Item | None:
    """The one among ``items`` that ``words`` put another figure or wording in the place of."""
    new = amounts(words) if CHANGED.search(words) else []
    near = [i for i in items if any(_near(a, b) for a in new for b in amounts(_text(i)))]
    if not near:
        return _clearest(around, items, least=3, share=0.5) if SWAPPED.search(words) else None
    found = _clearest(around, near, least=1)
    if found is None and len(near) == 1 and any(a.unit or a.value > _DAYS for a in new):
        return near[0]
    return found


_DAYS = 31
"""Bare figures up to here are as often a day or an hour: they need a word in common."""


def _near(new: Amount, old: Amount) -> bool:
    """Whether one figure could stand in the other's place: of like size, and of no other unit.

    Who changes a figure may leave out its unit, and seldom adds one.
    """
    if new.value == old.value or not new.value or not old.value:
        return False
    return new.unit in ("", old.unit) and 1 / 3 <= new.value / old.value <= 3


def _clearest(words: str, items: Sequence[Item], least: float = 2, share: float = 0.3) -> Item | None:
    """The item that shares most with ``words``, if it shares enough and more than any other.

    A shared stem counts the less, the more items have it; a name or figure counts double.
    """
    said = _content(words)
    has = [_content(_text(item)) for item in items]
    common = Counter(stem for stems_ in has for stem in stems_)
    ranked = []
    for item, own in zip(items, has, strict=True):
        named = stems(" ".join(_NAME.findall(_text(item))))
        shared = said & own
        score = sum((2 if stem in named else 1) / common[stem] for stem in shared)
        most = score >= least and len(shared) >= min(least, 2)
        enough = most or len(shared) / max(1, len(own)) >= share
        ranked.append((score if enough else 0.0, item))
    ranked.sort(key=lambda pair: -pair[0])
    best, second = [*ranked, (0.0, None), (0.0, None)][:2]
    return best[1] if best[0] > 0 and best[0] - second[0] >= 0.5 else None


def _content(words: str) -> frozenset[str]:
    return frozenset(stem for stem in stems(words) if not stem.isdigit())


def _text(item: Item) -> str:
    return str(getattr(item, "text", ""))
