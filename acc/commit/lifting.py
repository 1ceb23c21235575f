"""Law 7: whether somebody's words end a rule or goal, or only might.

A lifting is borne out where the sentence reads as one and names what the item is about, no less than
any other's, or points back at what is named around it; where it is plainly about it; or where the
whole message is a yes to a question of the agent's that does so. Where only one of the two holds it is
doubtful: nothing is lifted, and the agent is told to ask. Where neither does, it is unrelated. Content
words are compared in English; in other languages they are the words as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from acc.state.items import Goal, Item
from acc.text.clauses import sentences
from acc.text.wording import is_assent, marks, stems


class Bearing(StrEnum):
    """How far words bear out that an item ends."""

    UNRELATED = "unrelated"
    DOUBTFUL = "doubtful"
    ENDS = "ends"


class Said(NamedTuple):
    """The words that are quoted for the end of an item.

    Attributes:
        quote: As they stand in the message.
        message: All that was said.
        reply: What the agent had said before; or empty.
    """

    quote: str
    message: str
    reply: str = ""


_ENDS = re.compile(
    r"\b(?:no (?:longer|need)|any ?more|any longer|need(?:n['’]t| not)|(?:don['’]?t|doesn['’]?t|"
    r"do not|does not) "
    r"(?:have|need|apply|hold|count|matter)|won['’]t (?:apply|matter|be needed)|never ?mind|"
    r"(?:lift|waive|withdraw|revoke|remove|scrap|forget|drop|ditch|ignore|cancel|disregard|retire|"
    r"suspend|undo|skip)"
    r"(?:l?ed|d|s|ped|ing)?|withdrawn|forgotten|over|void|obsolete|moot|history|off the table|"
    r"back to normal|fair game|"
    r"out of date|expired|ended|ends|settled|resolved|called off|signed off|cleared|unfrozen|free to|"
    r"(?:can|may|could|allowed to|are to|is to) (?:\w+ ){0,8}?(?:again|now|after all|freely|anyway|"
    r"anyhow|directly)|"
    r"(?:now|again|from now on) (?:you |we )?(?:can|may)|(?:you|we|they|he|she|anyone|everyone|"
    r"everybody) (?:can|may)|"
    r"(?:fine|ok|okay|allowed|permitted|welcome|possible) (?:again|now|after all|too)|(?:is|"
    r"are) (?:now )?(?:fine|ok|okay|"
    r"allowed|permitted)|again|instead|rather than|change (?:of|that|it|the)|changed?|correction|scratch|"
    r"(?:make|call) (?:it|that|the|them)|go (?:up|down) to|up to|raised?|lower(?:ed)?|extend(?:ed)?|"
    r"moved?|moves|"
    r"push(?:ed)?|shift(?:ed)?|switch(?:ed)?|relax(?:ed)?|from (?:today|now|tomorrow|here)|as of|"
    r"starting|new (?:limit|"
    r"rule|budget|deadline|date|cap)|(?:is|are|['’]s) now|now (?:it|is|he|she|they)|until now|not .{0,30}but|"
    # German, French, Spanish, Portuguese
    r"nicht mehr|gilt nicht|hinfällig|aufgehoben|hebe\w*|vergiss|vergesst|egal|erledigt|darfst|dürft|"
    r"ab (?:jetzt|heute|"
    r"sofort)|stattdessen|doch|ne .{0,30}plus|plus besoin|oublie\w*|annul\w*|lève\w*|levé\w*|"
    r"désormais|dorénavant|peux|"
    r"pouvez|à la place|ya no|olvida\w*|cancela\w*|levanta\w*|anula\w*|puedes?|podéis|a partir de|"
    r"en (?:lugar|vez)|"
    r"já não|não precisa|esquece\w*|agora)\b|解除|撤回|取り消|忘れて|不要|必要(?:は|が)?(?:ない|"
    r"ありません)|てもいい|ても良い|"
    r"構いません|変更|もう|取消|不再|可以",
    re.IGNORECASE,
)
_REACHED = re.compile(
    r"\b(?:done|finished|complete[d]?|reached|achieved|closed?|tick(?:ed)?|sorted|solved|fixed|found|"
    r"shipped|sent|"
    r"through|(?:have|has|['’]ve) (?:been |now |just )?(?:\w+ed|\w+en|run|set|put|cut)|"
    r"erledigt|fertig|terminé|fini|hecho|listo|concluído)\b|完了|終わ|済",
    re.IGNORECASE,
)
_NOT_MEANT = re.compile(
    r"\b(?:don['’]?t|do not|never|didn['’]?t|did not|haven['’]?t|have not|won['’]?t|will not|can['’]?t|cannot|"
    r"mustn['’]?t|must not|nobody|no one) (?:\w+ ){0,2}?(?:lift|waive|withdraw|revoke|remove|scrap|"
    r"forget|drop|ditch|"
    r"ignore|cancel|disregard|retire|suspend|change|skip|relax|undo|raise|extend|move)|"
    r"(?<!no need to )(?<!have to )(?<!need to )\b(?:still|keep|stays|remains?|remember|reminder|"
    r"what if|if (?:we|you|i)|whether|suppose|would it)\b|\?",
    re.IGNORECASE,
)
_COMMON = stems(
    """fine okay ok allowed need lifted cancelled over forget rule instead today again longer said say get go make use
    tell please thing want also here let idea may one can now know look ask new way time day work take give put keep
    goal limit thank yes no good first last next still just like"""
)
"""Stems that say nothing on which rule is meant."""


def bearing(said: Said, item: Item, others: Sequence[Item] = ()) -> Bearing:
    """How far ``said`` bears out that ``item`` ends.

    Args:
        said: What is quoted.
        item: The rule or goal.
        others: The other rules and goals that stand: one of which the words say more is meant.
    """
    if is_assent(said.message):
        asked = [s for s in sentences(said.reply) if s.rstrip().endswith("?")]
        found = [_of(s.rstrip(" ?"), s, item, others) for s in asked]
        return max(found, key=_RANK.index, default=Bearing.UNRELATED)
    quoted = [s for s in sentences(said.message) if _shares(s, said.quote)]
    found = [_of(s, f"{said.message}\n{said.reply}", item, others) for s in quoted]
    return max(found, key=_RANK.index, default=Bearing.UNRELATED)


_RANK = tuple(Bearing)


def _of(sentence: str, around: str, item: Item, others: Sequence[Item]) -> Bearing:
    own = about(item)
    here, near = len(_content(sentence) & own), len(_content(around) & own)
    rival = max((len(_content(sentence) & about(other)) for other in others), default=0)
    ends = _ENDS.search(sentence) or (_REACHED.search(sentence) if isinstance(item, Goal) else None)
    plain, figures = _apart(sentence)
    held, former = _apart(f"{getattr(item, item.head)} {getattr(item, 'quote', '')}")
    again = plain <= held
    if again and figures - former and former:
        return Bearing.ENDS  # the same rule with another figure
    meant = not _NOT_MEANT.search(sentence) and not (again and ends is None)
    names, plainly = here >= max(1, rival), here > max(1, rival)
    back = not here and not rival and near > 0 and _POINTS.search(sentence) is not None
    points = back or _sets_another(sentence, item, others)
    if meant and ((ends and (names or points)) or plainly):
        return Bearing.ENDS
    return Bearing.DOUBTFUL if here or (meant and ends) else Bearing.UNRELATED


def _apart(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The content words of ``text``, and its figures."""
    words = (stems(text) - _COMMON) | marks(text)
    figures = frozenset(word for word in words if any(map(str.isdigit, word)))
    return words - figures, figures


def _sets_another(sentence: str, item: Item, others: Sequence[Item]) -> bool:
    """Whether a short ``sentence`` sets a figure, and ``item`` alone has one that it could replace."""
    short = len(sentence.split()) <= SHORT and any(map(str.isdigit, sentence))
    figured = [i for i in (item, *others) if any(map(str.isdigit, str(getattr(i, i.head))))]
    return short and figured == [item]


SHORT = 8
"""Words up to which a change may say no more than its figure: "make that 300"."""

_POINTS = re.compile(
    r"\b(?:it|that|this|those|these|them|they|him|her|he|she|so|one)\b", re.IGNORECASE
)


_NOT_YET = re.compile(
    r"\b(?:not|n['’]t|never|cannot|no|nothing|almost|nearly|half|partly|if|when|once|until|before|unless|will|would|"
    r"should|must|to be|nicht|pas|sin|kein\w*)\b|\w+n['’]t\b|['’]ll\b|\?",
    re.IGNORECASE,
)


_CLOSES = re.compile(r"\b(?:mark|close|tick|check|strike|cross|count|consider)\b", re.IGNORECASE)


def reaches(said: str, reply: str, goal: Item, *, is_users: bool) -> bool:
    """Whether ``said`` tells that ``goal`` was reached: it names what the goal is about, and says so.

    Of the user's words it is enough that they are plainly about it; or that they are a yes to the question in
    the agent's ``reply`` whether to close it.
    """
    own = about(goal)
    if is_users and is_assent(said):
        asked = [s for s in sentences(reply) if s.rstrip().endswith("?") and _CLOSES.search(s)]
        return any(_content(s) & own for s in (*asked, reply)) if asked else False
    told = [s for s in sentences(said) if not _NOT_YET.search(s)]
    return any(
        (_REACHED.search(s) and _content(said) & own) or (is_users and len(_content(s) & own) > 1)
        for s in told
    )


def about(item: Item) -> frozenset[str]:
    """What an item is about: the content words and marks of its text and quote."""
    return _content(f"{getattr(item, item.head)} {getattr(item, 'quote', '')}")


def _content(text: str) -> frozenset[str]:
    words = (stems(text) - _COMMON) | marks(text)
    return frozenset(word for word in words if not word.isdigit())


def _shares(sentence: str, quote: str) -> bool:
    one, other = " ".join(sentence.split()).casefold(), " ".join(quote.split()).casefold()
    one, other = one.strip(" .!?"), other.strip(" .!?")
    return bool(one) and (one in other or other in one)
