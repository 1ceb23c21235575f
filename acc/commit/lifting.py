"""Law 7: decides whether a quoted sentence ends a rule or goal.

A sentence ends an item in one of these cases:

- It lifts or changes something, and it names the item: it shares two content words with the item (or the only
  content word that the sentence has), more than with any other item, and at least `NAMED` of both.
- It repeats the item with another figure, or it changes something and has a figure that could replace one of the
  item's and of no other item's.
- It states in full that the event has come for which the item waits.
- It lifts something and says for good that what was before holds again, and it shares two content words with the
  item, more than with any other item.
- The message is a plain yes to the agent's question whether the item ends (`acc.commit.asking`).

A sentence that orders or permits one case, or uses an exception that the rule states, ends and doubts no rule
(`acc.text.one_case`). A sentence that shares words with the item, or that only reads as a lifting, is doubtful:
nothing is lifted, and the state tells the agent to ask the user. Any other sentence is unrelated. English words are
compared by their stems, words of other languages as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from acc.commit.asking import Asked, asked_about
from acc.state.items import Goal, Item
from acc.text.clauses import sentences
from acc.text.figures import CURRENCIES, figures, is_near, quantities
from acc.text.one_case import is_for_once, is_of_the_rule, is_one_case
from acc.text.wording import is_assent, is_negative, marks, polarity, stems

NAMED = 1 / 3
"""Minimum share of content words that a lifting and the item have in common."""

MOSTLY = 1 / 2
"""The same for a change, which is a weaker sign that a rule ends."""


class Bearing(StrEnum):
    """Whether words end an item."""

    UNRELATED = "unrelated"
    ONE_CASE = "one case"
    DOUBTFUL = "doubtful"
    ENDS = "ends"


class Said(NamedTuple):
    """Words quoted for the end of an item, their whole message, and the agent's reply before it."""

    quote: str
    message: str
    reply: str = ""


_LIFTS = re.compile(
    r"\b(?:no (?:longer|need)|any ?more|any longer|need(?:n['’]t| not)|(?:don['’]?t|doesn['’]?t|do not|"
    r"does not) (?:have to|need|apply|hold|count|matter)|won['’]t (?:apply|matter|be needed)|never ?mind|"
    r"(?:lift|waive|withdraw|revoke|remove|scrap|forget|drop|ditch|ignore|cancel|disregard|retire|suspend|"
    r"undo|skip)(?:l?ed|d|s|ped|ing)?|withdrawn|forgotten|obsolete|moot|(?:is|are|was) (?:over|void|history)|"
    r"off the table|back to normal|fair game|out of date|expired|ended|ends|settled|resolved|called off|"
    r"signed off|cleared|unfrozen|free to|go ahead|optional|whenever|"
    r"(?:can|may|could|allowed to|are to|is to) (?:\w+ ){0,8}?(?:again|now|after all|freely|anyway|"
    r"anyhow|directly|therefore|accordingly)|(?:now|again|from now on) (?:you |we )?(?:can|may)|"
    r"(?:you|we|they|he|she|anyone|everyone|everybody) (?:can|may)|"
    r"(?:fine|ok|okay|allowed|permitted|welcome|possible) (?:again|now|after all|too)|"
    r"(?:is|are) (?:now )?(?:fine|ok|okay|allowed|permitted)|(?:free|open|yours|back) again|"
    # German, French, Spanish, Portuguese, Japanese, Chinese
    r"nicht mehr|gilt nicht|hinfällig|aufgehoben|hebe\w*|vergiss|vergesst|egal|erledigt|darfst|dürft|"
    r"ne .{0,30}plus|plus besoin|oublie\w*|annul\w*|lève\w*|levé\w*|peux|pouvez|ya no|olvida\w*|cancela\w*|"
    r"levanta\w*|anula\w*|puedes?|podéis|já não|não precisa|esquece\w*)\b|"
    r"解除|撤回|取り消|忘れて|不要|必要(?:は|が)?(?:ない|ありません)|てもいい|ても良い|構いません|取消|不再|可以",
    re.I,
)
_CHANGES = re.compile(
    r"\b(?:now|instead|rather than|change (?:of|that|it|the)|(?:is|are|was|has|have) changed|correction|scratch|"
    r"(?:make|call) (?:it|that|the|them)|go(?:es)? (?:up|down)? ?to|raised?|lower(?:ed)?|extend(?:ed)?|"
    r"move[ds]?|push(?:ed)?|shift(?:ed)?|switch(?:ed)?|relax(?:ed)?|from (?:\w+ )?(?:on(?:wards?)?|today|now|"
    r"tonight|here|this|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|as of|starting|henceforth|enough|"
    r"will do|new (?:limit|budget|deadline|date|cap)|until now|not .{0,30}but|"
    r"ab (?:jetzt|heute|sofort)|stattdessen|doch|désormais|dorénavant|à la place|a partir de|"
    r"en (?:lugar|vez)|agora)\b|変更|もう",
    re.I,
)
REACHED = re.compile(
    r"\b(?:done|finished|complete[d]?|reached|achieved|closed?|tick(?:ed)?|sorted|solved|fixed|found|"
    r"shipped|sent|"
    r"through|(?:have|has|['’]ve) (?:been |now |just )?(?:\w+ed|\w+en|run|set|put|cut)|"
    r"erledigt|fertig|terminé|fini|hecho|listo|concluído)\b|完了|終わ|済",
    re.I,
)
_NOT_MEANT = re.compile(
    r"\b(?:don['’]?t|do not|never|didn['’]?t|did not|haven['’]?t|have not|won['’]?t|will not|can['’]?t|cannot|"
    r"mustn['’]?t|must not|nobody|no one) (?:\w+ ){0,2}?(?:lift|waive|withdraw|revoke|remove|scrap|"
    r"forget|drop|ditch|"
    r"ignore|cancel|disregard|retire|suspend|change|skip|relax|undo|raise|extend|move)|"
    r"\b(?:what if|if (?:we|you|i)|whether|suppose|would it|doubt|think|false|yeah right|"
    r"perhaps|maybe|not sure|as if|refuse|hardly|"
    r"once|unless|tomorrow|next (?:week|month)|as (?:before|ever|usual)|like i said|"
    r"(?:nobody|no one|none) (?:can|may|could)|just (?:this|for|once))\b|"
    r"\b(?:can|may|could)(?:not|n?['’]t|nt| not| never| no longer)\b|"
    r"\b(?:says?|said|reads?|writes?)\b.*\b(?:can|may|could)\b|"
    r"\b(?<!gilt )(?:nicht(?! mehr)|nie|niemals|kein\w*|pas|jamais|nunca|no (?:puedes?|podéis))\b|[?\"“”]",
    re.I,
)
_REMINDS = re.compile(
    r"(?<!no need to )(?<!have to )(?<!need to )\b(?:still|keep|stays|remains?|remember|reminder|please)\b",
    re.I,
)
_LAYS_DOWN = re.compile(r"\b(?:always|never|must|no|not|every|\w+n['’]t|dont)\b", re.I)
_WAITS = re.compile(r"\b(?:until|till?|before|(while|as long as)) (.+)", re.I)
_PERMITS = re.compile(
    r"\b(?:you|we|they|he|she|anyone|everyone|everybody) (?:can|may)\b|\b(?:go ahead|free to)\b",
    re.I,
)
_FOR_A_TIME = re.compile(
    r"\b(?:from (?!now)|after(?! all)|until|before|when|if|today|tonight)\b|: ", re.I
)
"""Signs that a permission is temporary or quotes another person."""

_WAIVES = re.compile(
    r"\b(?:no need|need(?:n['’]t| not)|have to|skip|remove|drop|cancel)\w*\b", re.I
)
_RULE = re.compile(r"\b(?:rule|ban|limit|freeze|restriction|block|hold|embargo|cap)\b", re.I)
_RESTORES = re.compile(
    r"\b(?:again|any ?more|any longer|no longer|back to normal|like any other|as (?:usual|normal))\b",
    re.I,
)
"""Words by which a sentence ends what held for a while."""

GENERIC = stems(
    """fine okay ok allowed need lifted cancelled over forget rule instead today again longer said say get go make use
    tell please thing want also here let idea may one"""
)
"""Stems that do not identify a rule."""

# More of them, for decisions that words alone make.
_COMMON = GENERIC | stems(
    """can now know look ask new way time day work take give put keep goal limit thank yes no good first last next
    still just like"""
)


def bearing(said: Said, item: Item, others: Sequence[Item] = ()) -> Bearing:
    """Return whether ``said`` ends ``item``, might end it, or is unrelated to it.

    ``others`` are the other active rules and goals: if a sentence shares as many words with one of them, it
    does not end ``item``.
    """
    if is_assent(said.message):
        return _assented(said.reply, item, others)
    quoted = [s for s in sentences(said.message) if _shares(s, said.quote)]
    found = [_of(s, item, others) for s in quoted]
    if 1 < len(quoted) <= TOGETHER and _reads_as_one(quoted, item):
        found.append(_of(" ".join(quoted), item, others))
    return max(found, key=_RANK.index, default=Bearing.UNRELATED)


def _assented(reply: str, item: Item, others: Sequence[Item]) -> Bearing:
    """Judge a plain yes to ``reply``."""
    asked = asks(reply, item)
    if asked is Asked.ENDS:
        return Bearing.ENDS if _names_most(reply, item, others) else Bearing.DOUBTFUL
    return Bearing.ONE_CASE if asked is Asked.ACT else Bearing.UNRELATED


def asks(reply: str, item: Item) -> Asked:
    """Return what a plain yes to the agent's ``reply`` says of ``item``; nothing if the reply does not name it."""
    if not content(reply) & about(item):
        return Asked.NOTHING
    head = item.head_text
    return asked_about(reply, head, about(item), is_goal=isinstance(item, Goal))


def _names_most(text: str, item: Item, others: Sequence[Item]) -> bool:
    """Whether ``text`` shares more words with ``item`` than with any of the ``others``."""
    words = content(text)
    rival = max((len(words & about(other)) for other in others), default=0)
    return len(words & about(item)) > rival


_RANK = tuple(Bearing)

TOGETHER = 3
"""Most quoted sentences that are also read as one."""


def _reads_as_one(quoted: Sequence[str], item: Item) -> bool:
    """Return whether some of the sentences name ``item`` and the others, which point back to it, end it.

    A sentence that ends something else, or that lays ``item`` down again, is not read with its neighbour.
    """
    ends = [s for s in quoted if _LIFTS.search(s) or _CHANGES.search(s)]
    back = [s for s in ends if _BACK.search(s)] or ends
    names = [s for s in quoted if s not in back]
    own = about(item)
    is_named = any(len(content(s) & own) > 1 for s in names)
    known = own.union(*map(content, names))
    is_meant = all(content(s) <= known or (is_named and _BACK.search(s)) for s in back)
    return is_meant and not any(map(_LAYS_DOWN.search, names))


_BACK = re.compile(r"\b(?:it|them|they|him|her|he|she)\b", re.I)
"""Pronouns by which a sentence speaks of what the one before named."""


def _of(sentence: str, item: Item, others: Sequence[Item]) -> Bearing:
    own, words = about(item), content(sentence)
    here = len(words & own)
    if _replaces(sentence, item, others):
        return Bearing.ENDS
    if _is_one_case(sentence, item):
        return Bearing.ONE_CASE
    reads = _LIFTS.search(sentence) or (isinstance(item, Goal) and REACHED.search(sentence))
    changes = _CHANGES.search(sentence)
    theirs, its = _named(sentence), _named(_says(item))
    is_elsewhere = theirs - its and its - theirs  # another thing of the kind
    if is_elsewhere or _NOT_MEANT.search(sentence):
        return Bearing.DOUBTFUL if here else Bearing.UNRELATED
    more = _names_most(sentence, item, others)
    share = _share(sentence, item) if more else 0.0
    is_new = not words <= own and not _LAYS_DOWN.search(sentence)
    lifts = share >= NAMED and _fits(sentence, item) if reads else share >= MOSTLY and is_new
    lifts = lifts or (more and here > 1 and words <= own and is_of_the_rule(sentence, _says(item)))
    restores = _restores(sentence, item) and here > 1 and more
    ends = ((reads or changes) and lifts) or (reads and restores) or _is_met(sentence, item)
    if ends and not _REMINDS.search(sentence):
        return Bearing.ENDS
    if _sets_another(sentence, item, others, is_act=bool(reads or changes)):
        return Bearing.ENDS
    is_meant = words & content(str(getattr(item, "refers_to", "")))  # enough to ask, never to end
    return Bearing.DOUBTFUL if here or is_meant or reads or changes else Bearing.UNRELATED


def _is_one_case(sentence: str, item: Item) -> bool:
    """Whether ``sentence`` concerns one case under a rule, and not the event that ends the wait of a single one."""
    texts = {item.head_text, str(getattr(item, "quote", ""))}
    if isinstance(item, Goal) or not any(is_one_case(sentence, text) for text in texts):
        return False
    return not _is_met(sentence, item) or _ANY.search(_says(item)) is not None


_ANY = re.compile(r"\b(?:an?|any\w*|each|every\w*|no|nobody|nothing)\b", re.I)
"""Words of a rule that holds for many cases: an event that one of them waits for does not end it."""


def _share(sentence: str, item: Item) -> float:
    """Return the share of common content words, in the sentence or in the item, whichever is smaller.

    A shared identifier counts as 1, a single shared word as 0 unless the sentence has no other.
    """
    words, here = content(sentence), len(content(sentence) & about(item))
    if _named(sentence) & _named(_says(item)):
        return 1.0
    if here < min(2, len(words)):
        return 0.0
    says = [content(str(getattr(item, name, ""))) for name in (item.head, "quote")]
    return here / max(1, len(words), min(map(len, filter(None, says)), default=0))


def _fits(sentence: str, item: Item) -> bool:
    """Whether a sentence permanently permits or waives exactly what ``item`` is about.

    Waiving an act that the item forbids ends nothing.
    """
    if _waives_a_ban(sentence, item):
        return False
    permits = _PERMITS.search(sentence)
    if permits is None or (_WAIVES.search(sentence) and not _RULE.search(sentence)):
        return True
    return content(sentence[permits.end() :]) - _TIMES <= about(item) and not _FOR_A_TIME.search(
        sentence
    )


_TIMES = stems("hour moment")


def _waives_a_ban(sentence: str, item: Item) -> bool:
    """Whether ``sentence`` waives an act that ``item`` forbids, which leaves the ban as it is."""
    waives = _WAIVES.search(sentence)
    if waives is None or _RULE.search(sentence):
        return False
    forbids = is_negative(item.head_text)
    return forbids and not is_negative(sentence[waives.end() :])


def _restores(sentence: str, item: Item) -> bool:
    """Whether ``sentence`` says for good that what was before ``item`` holds again."""
    is_for_good = any(
        _RESTORES.search(part) and not _FOR_A_TIME.search(part) for part in sentences(sentence)
    )
    return is_for_good and not _waives_a_ban(sentence, item)


def _is_met(sentence: str, item: Item) -> bool:
    """Whether ``sentence`` contains every content word of the event for which ``item`` waits."""
    waits = _WAITS.search(item.head_text)
    if waits is None or NOT_YET.search(sentence) or POINTS.search(waits[2]):
        return False
    if _ASKS_FIRST.search(item.head_text):
        return False  # "Ask me before you open a ticket" waits for no ticket
    awaited = content(waits[2])
    is_over = not waits[1] or _OVER.search(sentence)
    return bool(is_over) and len(awaited) > 1 and awaited <= content(sentence)


_ASKS_FIRST = re.compile(r"\b(?:ask|check|consult|tell)\b.*\bbefore\b", re.I)
_OVER = re.compile(
    r"\b(?:over|finished|done|ended|complete[d]?|closed|released|back|lifted|through|past)\b",
    re.I,
)
"""Says that what lasted has ended."""


def _forbids(text: str) -> bool:
    return polarity(text)["forbids"] > 0


def _apart(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The content words of ``text``, and its figures."""
    words = (stems(text) - _COMMON) | marks(text)
    figures = frozenset(word for word in words if word[0].isdigit())
    return words - figures, figures


def _sets_another(sentence: str, item: Item, others: Sequence[Item], *, is_act: bool) -> bool:
    """Whether ``sentence`` repeats ``item``, or with ``is_act`` a part of it, with another figure."""
    plain, new = _apart(sentence)
    held, former = _apart(_says(item))
    if _counted(sentence) & _counted(_says(item)):
        return False
    others = [
        other for other in others if not former or _apart(_says(other))[1] != former
    ]  # a rule that is held twice is no rival of itself
    here, rival = plain & held, max((len(plain & about(other)) for other in others), default=0)
    is_act = is_act and bool(here - _units(sentence) or _SETS.search(sentence))
    if former and new - former:
        if is_act and len(sentence.split()) <= SHORT and not _apart(_CHANGES.sub(" ", sentence))[0]:
            return not any(_apart(_says(other))[1] for other in others)
        is_same = plain == held or (plain < held and len(plain) > 1)
        is_its_kind = _kinds(sentence) & _kinds(_says(item))
        is_part = is_act and (len(here) >= NAMED * len(plain) or is_its_kind)
        is_same = is_same and (is_act or _forbids(sentence) == _forbids(_says(item)))
        if (is_same or is_part) and len(here) > rival:
            return True
    is_only = is_act and not any(_is_close(sentence, other) for other in others)
    return is_only and len(here) >= rival and _is_close(sentence, item)


def _replaces(sentence: str, item: Item, others: Sequence[Item]) -> bool:
    """Whether ``sentence`` orders another figure in the place of one that ``item`` has and no other item.

    "Make it 7 instead of 6." It names the item, or a pronoun is what changes.
    """
    order = _SINCE.sub("", sentence)
    is_named = _SETS_IT.match(order) or content(order) & about(item)
    if not is_named or not _SETS.search(order) or is_for_once(sentence) or "?" in sentence:
        return False
    for found in _INSTEAD.finditer(order):
        new, old = (found[1], found[2]) if found[1] else (found[4], found[3])
        having = [each for each in (item, *others) if old in _FIGURE.findall(_says(each))]
        if new != old and having == [item]:
            return True
    return False


_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_INSTEAD = re.compile(
    rf"({_FIGURE.pattern})[^.;?\d]*\b(?:instead of|rather than|and not)\b\D{{0,12}}?({_FIGURE.pattern})|"
    rf"\bfrom\b\D{{0,12}}?({_FIGURE.pattern})\D{{0,12}}?\bto\b\D{{0,12}}?({_FIGURE.pattern})",
    re.I,
)
_SINCE = re.compile(
    r"^\W*(?:from|starting|as of|beginning) (?:now|today|tomorrow|then|next \w+|\w+day)(?: on(?:wards?)?)?\W*",
    re.I,
)
_SETS_IT = re.compile(
    r"\W*(?:(?:ok(?:ay)?|please|and|so|then),? )*"
    r"(?:make|call|move|push|shift|change|raise|lower|extend) (?:it|that|this)\b",
    re.I,
)

_SETS = re.compile(
    rf"{_PERMITS.pattern}|^\W*(?:(?:ok(?:ay)?|please|and|so|then),? )*"
    r"(?:go|make|call|raise|lower|extend|move|push|shift|switch|relax|change)\b",
    re.I,
)
"""A permission or an instruction. News, such as "flights are now 600 euros", must name what its figure is about."""


def _units(text: str) -> frozenset[str]:
    """The stems of the units of the figures in ``text``."""
    units = {figure.unit for figure in figures(text)}
    return stems(" ".join(units)) | (_CURRENCIES if "money" in units else frozenset())


_CURRENCIES = stems(" ".join(CURRENCIES))

CLOSE = 2.0
"""Maximum ratio of two figures of which one can be the other's new value."""

LARGE = 1_000
"""Smallest figure without a unit that is compared."""


def _is_close(sentence: str, item: Item) -> bool:
    """Whether a figure of ``sentence`` with the same unit, or large and without one, could replace one of ``item``."""
    return any(
        is_near(new, old, CLOSE) and (new.unit == old.unit if new.unit else new.value >= LARGE)
        for new in figures(sentence)
        for old in quantities(_says(item))
    )


_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_KINDS = {
    "date": rf"\b\d+(?:st|nd|rd|th)?\s+(?:to\s+\d+\s+)?(?:of\s+)?{_MONTH}\b(?:\s+\d{{4}})?|\d{{4}}-\d\d-\d\d",
    "time": r"\d+:\d\d|\d+\s?(?:am|pm|o['’]clock|hours?|minutes?|h)\b",
    "share": r"\d+\s?(?:%|per ?cent)",
    "amount": r"\d",
}
_KIND = {name: re.compile(pattern, re.I) for name, pattern in _KINDS.items()}


def _kinds(text: str) -> frozenset[str]:
    """The kinds of figures in ``text``."""
    found = set()
    for name, pattern in _KIND.items():
        text, count = pattern.subn(" ", text)
        found |= {name} if count else set()
    return frozenset(found)


def _counted(text: str) -> frozenset[str]:
    """Return words before a number: the 2 in "server 2" names a server and is not a quantity."""
    named = [word for word in _NUMBERED.findall(text) if not re.fullmatch(_MONTH, word, re.I)]
    return stems(" ".join(named)) - _COMMON


_NUMBERED = re.compile(r"([^\W\d_]+)\s+(?=\d)")

SHORT = 8
"""Maximum number of words of a change that states only a figure, such as "make that 300"."""

POINTS = re.compile(r"\b(?:it|that|this|those|these|them|they|him|her|he|she|so|one)\b", re.I)


NOT_YET = re.compile(
    r"\b(?:not|n['’]t|never|cannot|no|nothing|almost|nearly|half|partly|if|when|once|until|before|unless|will|would|"
    r"should|must|to be|nicht|pas|sin|kein\w*)\b|\w+n['’]t\b|['’]ll\b|\?",
    re.I,
)


def about(item: Item) -> frozenset[str]:
    """Return the content words and marks of an item's text and quote, without the compressor's readings."""
    return content(_says(item))


def _says(item: Item) -> str:
    return f"{item.head_text} {getattr(item, 'quote', '')}"


def _named(text: str) -> frozenset[str]:
    """The identifiers in ``text``: marks that begin with a letter."""
    return frozenset(mark for mark in marks(text) if mark[0].isalpha())


def content(text: str) -> frozenset[str]:
    """Return the content words and marks of a text that can identify a rule, without figures."""
    words = (stems(text) - _COMMON) | marks(text)
    return frozenset(word for word in words if not word.isdigit())


def _shares(sentence: str, quote: str) -> bool:
    """Whether ``sentence`` has a sentence of ``quote``, or ``quote`` has it."""
    one, *parts = (_plain(text) for text in (sentence, quote, *sentences(quote)))
    return bool(one) and any(part and (part in one or one in part) for part in parts)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().strip(" .!?")
