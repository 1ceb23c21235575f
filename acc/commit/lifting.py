"""Law 7: decides whether a quoted sentence ends a rule or goal.

A sentence ends an item in one of these cases:

- It lifts or changes something, and it names the item: it shares two content words with the item (or the only
  content word that the sentence has), more than with any other item, and at least `NAMED` of both.
- It repeats the item with another figure, or it changes something and has a figure that could replace one of the
  item's and of no other item's (`acc.commit.new_figure`).
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

from acc.commit.about import about, content, named, says
from acc.commit.asking import Asked, asked_about
from acc.commit.new_figure import CHANGES, NAMED, PERMITS, replaces, sets_another
from acc.state.items import Goal, Item
from acc.text.clauses import sentences
from acc.text.one_case import is_of_the_rule, is_one_case
from acc.text.wording import is_assent, is_negative, stems

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
    ends = [s for s in quoted if _LIFTS.search(s) or CHANGES.search(s)]
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
    if replaces(sentence, item, others):
        return Bearing.ENDS
    if _is_one_case(sentence, item):
        return Bearing.ONE_CASE
    reads = _LIFTS.search(sentence) or (isinstance(item, Goal) and REACHED.search(sentence))
    changes = CHANGES.search(sentence)
    theirs, its = named(sentence), named(says(item))
    is_elsewhere = theirs - its and its - theirs  # another thing of the kind
    if is_elsewhere or _NOT_MEANT.search(sentence):
        return Bearing.DOUBTFUL if here else Bearing.UNRELATED
    more = _names_most(sentence, item, others)
    share = _share(sentence, item) if more else 0.0
    is_new = not words <= own and not _LAYS_DOWN.search(sentence)
    lifts = share >= NAMED and _fits(sentence, item) if reads else share >= MOSTLY and is_new
    lifts = lifts or (more and here > 1 and words <= own and is_of_the_rule(sentence, says(item)))
    restores = _restores(sentence, item) and here > 1 and more
    ends = ((reads or changes) and lifts) or (reads and restores) or _is_met(sentence, item)
    if ends and not _REMINDS.search(sentence):
        return Bearing.ENDS
    if sets_another(sentence, item, others, is_act=bool(reads or changes)):
        return Bearing.ENDS
    is_meant = words & content(str(getattr(item, "refers_to", "")))  # enough to ask, never to end
    return Bearing.DOUBTFUL if here or is_meant or reads or changes else Bearing.UNRELATED


def _is_one_case(sentence: str, item: Item) -> bool:
    """Whether ``sentence`` concerns one case under a rule, and not the event that ends the wait of a single one."""
    texts = {item.head_text, str(getattr(item, "quote", ""))}
    if isinstance(item, Goal) or not any(is_one_case(sentence, text) for text in texts):
        return False
    return not _is_met(sentence, item) or _ANY.search(says(item)) is not None


_ANY = re.compile(r"\b(?:an?|any\w*|each|every\w*|no|nobody|nothing)\b", re.I)
"""Words of a rule that holds for many cases: an event that one of them waits for does not end it."""


def _share(sentence: str, item: Item) -> float:
    """Return the share of common content words, in the sentence or in the item, whichever is smaller.

    A shared identifier counts as 1, a single shared word as 0 unless the sentence has no other.
    """
    words, here = content(sentence), len(content(sentence) & about(item))
    if named(sentence) & named(says(item)):
        return 1.0
    if here < min(2, len(words)):
        return 0.0
    texts = [content(str(getattr(item, name, ""))) for name in (item.head, "quote")]
    return here / max(1, len(words), min(map(len, filter(None, texts)), default=0))


def _fits(sentence: str, item: Item) -> bool:
    """Whether a sentence permanently permits or waives exactly what ``item`` is about.

    Waiving an act that the item forbids ends nothing.
    """
    if _waives_a_ban(sentence, item):
        return False
    permits = PERMITS.search(sentence)
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


POINTS = re.compile(r"\b(?:it|that|this|those|these|them|they|him|her|he|she|so|one)\b", re.I)


NOT_YET = re.compile(
    r"\b(?:not|n['’]t|never|cannot|no|nothing|almost|nearly|half|partly|if|when|once|until|before|unless|will|would|"
    r"should|must|to be|nicht|pas|sin|kein\w*)\b|\w+n['’]t\b|['’]ll\b|\?",
    re.I,
)


def _shares(sentence: str, quote: str) -> bool:
    """Whether ``sentence`` has a sentence of ``quote``, or ``quote`` has it."""
    one, *parts = (_plain(text) for text in (sentence, quote, *sentences(quote)))
    return bool(one) and any(part and (part in one or one in part) for part in parts)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().strip(" .!?")
