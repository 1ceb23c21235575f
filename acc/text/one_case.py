"""Tells words about one case under a rule from words about the rule itself.

"Page the doctor now" and "you may, just this once" concern one case. So does "a life is in danger, so you may page
him" under a rule that says "unless a life is in danger": it follows the rule. Only English is read.
"""

from __future__ import annotations

import re

from acc.text.clauses import ENGLISH
from acc.text.figures import figures
from acc.text.wording import polarity, stems

_FOR_ONCE = re.compile(
    r"(?<!from )(?<!starting )(?<!as of )\b(?:(?:just |only )?(?:this|that|the) once|"
    r"(?:just |only )?this (?:one )?time|for once|one last time|just once|once only|only once|as an exception|"
    r"(?:just|only) (?:for )?(?:now|this|today|tonight)|tonight|today only|for (?:today|tonight|the moment))\b",
    re.IGNORECASE,
)
_FOR_GOOD = re.compile(
    r"\b(?:from (?:now|here|then|today|tonight|this \w+|(?:mon|tues|wednes|thurs|fri|satur|sun)day)(?: on(?:wards?)?)?|"
    r"as of|starting|henceforth|in future|always|whenever|every|each|(?:at )?any ?(?:time|hour|day|moment|more|longer)|"
    r"at all (?:times|hours)|as (?:usual|normal)|like (?:any|every|the|all)|no longer|no need|for good|permanently|"
    r"back to normal|instead|until further notice|any(?:where|body|one)|wherever|you (?:like|want|please|wish)|"
    r"as before|after all|too\W*$|no restrictions?|in general|generally|never ?mind)\b",
    re.IGNORECASE,
)

RULE_NOUN = r"(?:rule|ban|limit|freeze|restriction|embargo|cap|instruction|prohibition|policy)"
"""What people call a rule."""

NOUN = re.compile(rf"\b{RULE_NOUN}s?\b", re.IGNORECASE)

_OF_THE_RULE = re.compile(
    rf"\b{RULE_NOUN}s?\b.*\b(?:lifted|withdrawn|revoked|removed|dropped|cancel+ed|over|off|gone|void|obsolete|ended|"
    rf"expired|scrapped|retired)\b|\b(?:lift|withdraw|revoke|remove|scrap|forget|drop|ditch|ignore|cancel|disregard|"
    rf"retire|undo)\b (?:\w+ ){{0,4}}?{RULE_NOUN}",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:.!?()]+(?=\s|$)|\s[-–—]+\s|…|\b(?:so|and|then|but)\b", re.IGNORECASE)
_LEAD = re.compile(
    r"^\W*(?:(?:please|ok|okay|yes|alright|right|now|just|quick(?:ly)?|do|go ahead|go|(?:can|could|will|would) you|"
    r"you (?:must|have to|need to|should)|I (?:need|want) you to)\b\W*)*",
    re.IGNORECASE,
)
_AT_ONCE = re.compile(
    r"\b(?:now|immediately|at once|right away|straight away|asap|quick(?:ly)?|urgent(?:ly)?|today|tonight)\b|!",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"\bagain\b", re.IGNORECASE)
_OBJECT = re.compile(
    r"(?:(?:up|on|off|out|in|down|back) )?(?:(?:the|an?|this|that|these|those|my|our|your|his|her|its|their|it|him|"
    r"them|me|us)\b|(?-i:(?!I\b)[A-Z0-9]))",
    re.IGNORECASE,
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|does|did|can|could|may|might|must|shall|should|will|would|gets?|goes|needs?|"
    r"\w+n['’]t|\w+['’](?:s|ll|re|ve) \w+(?:ed|en|ing))\b",
    re.IGNORECASE,
)
_NO_VERB = re.compile(rf"^\w+['’]|{_FINITE.pattern}|^\w+ away\W*$", re.IGNORECASE)
_NO_ORDER = re.compile(
    r"(?:keep|leave|let|stay|hold|remain|(?:make|call) (?:it|that|them|this)|raise|lower|extend|relax|change|replace|"
    r"lift|waive|withdraw|revoke|scrap|forget|ditch|ignore|disregard|suspend|undo|skip|its?|they|there|these|those|he|"
    r"she|sorry|thanks?|during|within|under|over|above|below|between|into|also|even|instead|maybe|perhaps|\w+ly|\w+ing|\w+ed)\b",
    re.IGNORECASE,
)
"""Words that begin no order for one case: they tell how things stay, set a figure, end a rule, or give news."""

_FORBIDDEN = re.compile(
    r"\b(?:never|not|n['’]t|don['’]?t|nobody|no one|to be|before (?:you|we|anyone)|without|avoid) (?:\w+ly )?(\w+)",
    re.IGNORECASE,
)

_EVENT = r"unless|except (?:if|when|after|once)|only (?:[\w'’-]+ ){0,5}?(?:if|when|after|once)"
_EXCEPTION = re.compile(
    rf"\b(?:(?P<event>{_EVENT})|except(?:ing)?(?: for| to)?|excluding|other than|apart from|but for|"
    r"only (?:with|for|to|by)|without|needs?|requires?|"
    r"(?:ask|check with|consult|tell) (?:\w+ ){0,3}?before)\b(?P<what>[^.;]+)",
    re.IGNORECASE,
)
_WAIVED = re.compile(
    r"\b(?:skip|waive|drop|forget|scrap|strike|optional|enough|needed|necessary|required|also|too\W*$|as well|even|"
    r"or not)\b",
    re.IGNORECASE,
)
_PERMITS = re.compile(
    r"\b(?:you|we|they|he|she) (?:can|may)\b|\b(?:go ahead|fine|ok|okay|allowed)\b", re.IGNORECASE
)

_CLOCK = (
    r"(?:[01]?\d|2[0-4])(?:[:.][0-5]\d)?(?: ?[ap]m| o['’]clock)?"
    r"(?![\d:]|\s?(?:%|euros?|k\b|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b))|noon|midnight"
)
_HOUR = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b"
_BOUND = re.compile(rf"\b(before|until|till|after|past|from) ({_CLOCK})", re.IGNORECASE)
_TELLS_TIME = re.compile(
    rf"\bit(?:['’]s| is) (?:\w+ ){{0,2}}?(?:{_CLOCK}|{_HOUR})(?! \w+s\b)", re.IGNORECASE
)
_EARLY = ("before", "until", "till")


def is_one_case(sentence: str, rule: str) -> bool:
    """Whether ``sentence`` orders or permits one case that ``rule`` forbids, or uses an exception that it states."""
    if _FOR_ONCE.search(sentence) and not _FOR_ONCE.search(rule):
        return not _FOR_GOOD.search(sentence)
    if _FOR_GOOD.search(sentence) or is_of_the_rule(sentence, rule):
        return False
    return uses_exception(sentence, rule) or is_order(sentence, rule)


def is_of_the_rule(sentence: str, rule: str) -> bool:
    """Whether ``sentence`` says in so many words that ``rule`` ends, and not a thing of which it speaks."""
    found = _OF_THE_RULE.search(sentence)
    return found is not None and not names_its_thing(found[0], rule)


def names_its_thing(words: str, rule: str) -> bool:
    """Whether the rule noun in ``words`` is a thing that ``rule`` protects, as in "Never raise the limit"."""
    nouns = stems(" ".join(NOUN.findall(words)))
    return bool(nouns) and polarity(rule)["forbids"] > 0 and nouns <= stems(rule)


def is_for_once(text: str) -> bool:
    """Whether ``text`` limits what it says to one time."""
    return _FOR_ONCE.search(text) is not None


def is_for_good(text: str) -> bool:
    """Whether ``text`` says that something holds from now on."""
    return _FOR_GOOD.search(text) is not None


def uses_exception(sentence: str, rule: str) -> bool:
    """Whether ``sentence`` states that an exception of ``rule`` applies, or that its time is over."""
    bounds = {(word.lower() in _EARLY, time.lower()) for word, time in _BOUND.findall(rule)}
    told = {(word.lower() in _EARLY, time.lower()) for word, time in _BOUND.findall(sentence)}
    if any((not is_early, time) in told for is_early, time in bounds):
        return True
    if bounds and not told & bounds and _TELLS_TIME.search(sentence):
        return True
    if polarity(sentence)["forbids"] or _WAIVED.search(sentence):
        return False
    words, permits = stems(sentence), _PERMITS.search(sentence) is not None
    for found in _EXCEPTION.finditer(rule):
        own = stems(found["what"]) - stems(rule[: found.start()])
        least = (len(own) + 1) // 2 if found["event"] else len(own)
        if own and len(own & words) >= least and (found["event"] or permits):
            return True
    return False


def hours(text: str) -> list[str]:
    """Return the hours that ``text`` sets as bounds: the 6 of "before 6"."""
    return [time for _, time in _BOUND.findall(text)]


def is_order(sentence: str, rule: str) -> bool:
    """Whether a clause of ``sentence`` orders an act of which ``rule`` speaks and which it does not order itself."""
    if figures(sentence) and polarity(sentence).keys() & {"most", "least"}:
        return False  # it sets a bound
    about = stems(rule)
    forbidden = stems(" ".join(_FORBIDDEN.findall(rule)))
    ordered = _first(rule).lower()
    at_once = _AT_ONCE.search(sentence) is not None
    if not at_once and _AGAIN.search(sentence):
        return False
    for clause in _CLAUSE.split(sentence):
        order = _LEAD.sub("", clause).strip()
        first, _, rest = order.partition(" ")
        verb = stems(first)
        if (
            not stems(order) & about
            or first.lower() in {ordered, *ENGLISH}
            or _NO_VERB.search(order)
        ):
            continue
        if verb & forbidden:
            if at_once or not rest or _OBJECT.match(rest) or not _is_general(rest):
                return True
        elif at_once and not _NO_ORDER.match(order) and _OBJECT.match(rest):
            return True
    return False


def _first(rule: str) -> str:
    """Return the first word of ``rule`` that is no politeness or emphasis."""
    words = re.sub(r"^\W*(?:(?:please|always|only|just)\W+)*", "", rule, flags=re.IGNORECASE)
    return words.split(" ", 1)[0]


def _is_general(rest: str) -> bool:
    """Whether an order's object is a bare plural, or a preposition follows: it may be meant for good."""
    word = rest.split()[0].strip(".,!")
    return re.fullmatch(r"[a-z-]+[^\Ws]s", word) is not None or word in _PREPOSITIONS


_PREPOSITIONS = frozenset(("in", "to", "on", "by", "with", "for", "at", "as"))
