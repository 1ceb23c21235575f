"""Law 7: decides what a plain yes to the agent's last words says of a rule or goal.

Only a yes to one question about the rule itself counts: whether it ends, or whether it still holds. A yes to a
question about an act ("Shall I page the doctor now?"), to two questions or to none says nothing of any rule.
"""

from __future__ import annotations

import re
from enum import StrEnum

from acc.text.clauses import sentences
from acc.text.one_case import (
    NOUN,
    RULE_NOUN,
    is_for_good,
    is_for_once,
    names_its_thing,
    uses_exception,
)
from acc.text.wording import stems


class Asked(StrEnum):
    """What a plain yes to a question says of a rule."""

    NOTHING = "nothing"
    ACT = "act"
    KEEPS = "keeps"
    ENDS = "ends"


_DETERMINER = r"(?:the|this|that|these|those|your|our|my)"
_HEAD = (
    r"(?=\W*(?:$|[?,:;.\"'”’]|(?:about|on|of|for|never|not|no|to|against|that|in|with|from|now|then|and|or|is|was|still|"
    r"over|gone|be|been|lifted|withdrawn|removed|holds?|stands?|appl\w+)\b))"
)
_IT = rf"(?:{_DETERMINER}\s+(?:[\w'’-]+\s+){{0,3}}?{RULE_NOUN}s?\b{_HEAD}|it\b|that\b(?!\s\w)|this\b(?!\s\w))"
_END = (
    r"(?:lift|withdraw|revoke|remove|scrap|forget|drop|ditch|cancel|retire|delete|end|undo|abolish|change|replace|"
    r"amend|adjust|update|raise|lower|extend|relax)(?:l?ed|d|ped)?"
)
_ENDED = (
    r"(?:lifted|withdrawn|revoked|removed|scrapped|dropped|cancel+ed|retired|deleted|ended|expired|void|obsolete|over|"
    r"gone|history|off the table|no longer (?:in )?\w+)"
)
_BEGINS = r"(?:^|[,:;–—]\s*|\s-\s|\b(?:so|then|but)\s+)\W*"
_OFFER = (
    r"(?:(?:shall|should|may|can|could|do|did|have|had) (?:i|we|you)|(?:do|did|would) you (?:want|like|wish|mean)"
    r"(?: me| us)? to|(?:want|like) me to|am i (?:free|allowed|supposed|right) to|"
    r"is it (?:ok|okay|fine|right) (?:to|if i)|ok(?:ay)? (?:to|if i))"
)
_OFFERS = rf"{_BEGINS}{_OFFER}\s+(?:(?:now|then|also|really|therefore|just)\s+)?"
_OFFERS_END = re.compile(rf"{_OFFERS}(?:{_END}|withdrawn)\b\W*{_IT}", re.IGNORECASE)
_OFFERS_GOALS_END = re.compile(rf"{_OFFERS}(?:{_END}|close|skip)\b", re.IGNORECASE)
_ASKS_ENDED = re.compile(
    rf"{_BEGINS}(?:(?:is|was|has|does|did|should|so|and|ok|is it (?:right|true|correct) that|"
    r"do you (?:confirm|mean) that|(?:can|may|do) i take it that|"
    rf"did i understand (?:you )?(?:right|correctly)?\W*that)\W+)*{_IT}"
    rf"(?:(?!\b(?:that|which|who|if|when|means?|says?|not)\b|n['’]t\b).)*?\b{_ENDED}(?: now| then| for good)?\W*"
    r"(?:\b(?:right|correct|yes|is it)\W*)?$",
    re.IGNORECASE,
)
_KEEPS = re.compile(
    r"\b(?<!no longer )(?:still|keep|stays?|stands?|holds?|remains?|continues?|in force|in place|valid|binding|"
    r"appl(?:y|ies)|uphold)\b",
    re.IGNORECASE,
)
_NOT_ONLY = re.compile(
    rf"\b(?:or|if(?! i\b)|when|once|whether|unless)\b|n['’]t\b|\bnot (?:\w+ )?{_ENDED}|"
    rf"\band (?!(?:that|this|the|your|our|my|its?|never|no|not)\b)\w+",
    re.IGNORECASE,
)
"""An alternative, a condition, the contrary, or an act beside the end of the rule."""

_TELLS = re.compile(
    r"\b(?:tell|say|note|know|remind|ask|mention|record|write|remember|inform|hear|think)s?\b",
    re.IGNORECASE,
)
_PERMISSION = re.compile(
    rf"{_BEGINS}(?:may|can|could|(?:am|are) (?:i|we) (?:now )?(?:free|allowed) to)\s+(.*)",
    re.IGNORECASE,
)
_TIMES = stems(
    "now at any time hour day moment whenever I we like want always from on in general again every"
)


def asked_about(reply: str, rule: str, content: frozenset[str], *, is_goal: bool) -> Asked:
    """Return what a plain yes to ``reply`` says of ``rule``, whose content words are ``content``.

    The caller checks that the reply names this rule rather than another one.
    """
    asked = [s for s in sentences(reply) if s.rstrip(" \"'”’)]*_").endswith(("?", "？"))]
    if len(asked) != 1 or reply.count("?") > 1:
        return Asked.NOTHING
    said, before = _without(asked[0], rule), _without(reply[: reply.find(asked[0])], rule)
    is_about = NOUN.search(said) or (NOUN.search(before) and _POINTS.search(said))
    if is_for_once(said):
        return Asked.ACT
    if is_about or is_goal:
        return _about_rule(said, rule, is_goal=is_goal)
    return Asked.ENDS if _permits_for_good(said, rule, content) else Asked.ACT


_POINTS = re.compile(r"\b(?:it|that|this)\b", re.IGNORECASE)


def _about_rule(said: str, rule: str, *, is_goal: bool) -> Asked:
    offers = _OFFERS_END.search(said) or (is_goal and _OFFERS_GOALS_END.search(said))
    ends = offers or _ASKS_ENDED.search(said)
    if offers and names_its_thing(offers[0], rule):
        return Asked.ACT
    if _NOT_ONLY.search(said[offers.start() :] if offers else said):
        return Asked.ACT
    if _KEEPS.search(said):
        return Asked.ACT if ends or _TELLS.search(said) else Asked.KEEPS
    return Asked.ENDS if ends else Asked.ACT


def _without(text: str, rule: str) -> str:
    """Return ``text`` with "this rule" in the place of the words of ``rule``."""
    words = re.escape(rule.strip(" .!")).replace(r"\ ", r"\s+")
    return re.sub(rf"[\"'“‘(]?{words}[.!]?[\"'”’)]?", "this rule", text, flags=re.IGNORECASE)


def _permits_for_good(question: str, rule: str, content: frozenset[str]) -> bool:
    """Whether the agent asks for a permission that would hold at all times."""
    found = _PERMISSION.search(question)
    if found is None or not is_for_good(question) or uses_exception(question, rule):
        return False
    words = frozenset(word for word in stems(found[1]) if not word.isdigit())
    return len(words & content) > 1 and words <= content | _TIMES
