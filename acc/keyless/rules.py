"""The constraints of the next state: new rules in the user's words, and prior rules that end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from acc.commit.lifting import Bearing, bearing
from acc.commit.lifting import Said as Quoted
from acc.keyless.acts import acts
from acc.keyless.goals import is_goal
from acc.keyless.lifting import Effect, Heard, content, effects
from acc.keyless.lookalikes import DISCLAIMER, FEELING, JOKE, QUOTED, is_hearsay, is_question
from acc.keyless.reading import Said, Spoken, TurnReading, text_of
from acc.keyless.room import Room
from acc.keyless.sentences import RESERVED, clauses, plain, tidy
from acc.state.items import Item, Kind
from acc.text.figures import figures, is_near, quantities
from acc.text.one_case import hours, is_for_good, is_of_the_rule, is_order, uses_exception
from acc.text.patterns import cue, one_of
from acc.text.same_words import same_words, sets_figure
from acc.text.times import MONTHS
from acc.text.wording import is_negative, marks, polarity, stems

_SIZE = one_of(
    """words?, characters?, lines?, sentences?, paragraphs?, bullets?(?: points?)?, pages?, slides?,
    decimals?(?: places)?"""
)
_FORM = one_of(
    """bullet points?, bullets, markdown, tables?, json, csv, plain (?:text|english|language), utc,
    iso, (?:si|metric|imperial) units, metric, celsius, lower-?case, upper-?case, 24-hour, capitals,
    writing, pdf, word, excel,
    (?:british |american )?spelling, (?:british |american )?english, german, french, spanish,
    italian, dutch, portuguese, polish, turkish, russian, chinese, japanese, arabic, swedish,
    danish, czech, greek, hindi, kilomet(?:re|er)s, miles, met(?:re|er)s, feet, kilos,
    (?:milli)?grams, euros, pounds, dollars, percent"""
)
_FORMAT = re.compile(rf"\b(?:{_FORM}|{_SIZE})", re.I)

_RATHER = re.compile(r"\b(?:I|we)(?:'d| would)? (?:rather|prefer|like|love|hate)\b", re.I)

_WISH = re.compile(r"\b(?:rather|prefer\w*|like|love|hate|nicer|favou?rite|please)\b", re.I)


class Rule(NamedTuple):
    """A standing rule.

    Attributes:
        text: Its text.
        kind: Its kind.
        quote: The verbatim words that made it.
        amends: Id of the rule that it repeats with another figure; empty if none.
    """

    text: str
    kind: Kind
    quote: str
    amends: str = ""


SURE = 0.7
"""Minimum probability for a clause to make a rule."""

CERTAIN = 0.8
"""The same for a clause with words of a report: "whatever the vendor says, never ..."
"""

PLAINLY = 0.3
"""The same for a clause with the typical opening of a rule."""

_PLAIN = re.compile(
    r"^\W*(?:(?:and|also|but|please|so|then)\W+)*(?:" + one_of(
        r"""don't, do not, dont, never, always, keep, leave, stay, only, answer, from now on,
        whenever, under no circumstances, no(?!\x2c), could you always, can you always,
        let's (?:not|keep|leave|stay|hold|only|never|always),
        (?:[\w-]+ ){0,2}(?:freeze|embargo|moratorium|blackout|curfew|lockdown) (?:until|till|from|on|for)"""
    ) + ")",
    re.I,
)  # fmt: skip

AGAIN = 0.2
"""The same for a clause that another sentence declares to hold from now on."""

_EVER = re.compile(
    r"^\W*" + one_of(
        """always, every time, each time, every single time, no exceptions?, without exceptions?,
        from now on, from here on, until further notice"""
    ) + r"\W*$",
    re.I,
)  # fmt: skip
"""Declares that the sentence before it holds from now on: "Always."
"""

ASKED = 0.3
"""Probability of a goal or an order from which the parts of a clause are not examined."""

MOVING, CHANGES = 0.65, 0.35
"""Minimum probability of a rule or a change, and of a change alone, for a clause to make a rule if
it is unclear which rule it changes: "the call is at 23:30 now".
"""

_BARE = stems("never ever always only just nope nothing none yes sure exactly please")
"""Words that alone make no rule: "No, never!"
"""


def rules_in(said: Said) -> list[Rule]:
    """The standing rules in a sentence, clause by clause, without look-alikes."""
    return [rule for spoken in spoken_in(said) if (rule := rule_of(spoken)) is not None]


def sure_rules(said: Said) -> list[Rule]:
    """Return the rules of `rules_in` whose whole clause makes a rule by itself."""
    sure = (spoken for spoken in spoken_in(said) if acts(spoken.plain)["rule"] >= SURE)
    return [rule for spoken in sure if (rule := rule_of(spoken)) is not None]


def spoken_in(said: Said) -> list[Spoken]:
    """The verbatim clauses of a sentence, each with its neighbours."""
    parts = clauses(said.text)
    around = [said.before, *(plain(part) for part in parts), said.after]
    return [Spoken(part, around[i], around[i + 2]) for i, part in enumerate(parts)]


@lru_cache(maxsize=512)
def rule_of(spoken: Spoken) -> Rule | None:
    """The rule that a clause makes; None if it makes none."""
    words = plain(spoken.words)
    odds = acts(spoken.plain)
    sure, least = odds["rule"], SURE
    if _PLAIN.match(words):
        # The words after a comma may state a fact. The order before it counts nevertheless.
        order = spoken.plain._replace(words=words.split(",")[0])
        sure, least = max(sure, acts(order)["rule"]), PLAINLY
    elif PLAINLY <= sure < SURE and odds["goal"] + odds["ask"] < ASKED and not JOKE.search(words):
        sure = max(sure, _in_a_part(words))
    if _EVER.match(plain(spoken.after)):
        least = min(least, AGAIN)
    changes = odds["change"] >= CHANGES and odds["rule"] + odds["change"] >= MOVING
    if (sure < least and not changes) or not stems(words) - _BARE:
        return None
    if is_question(words, words.rstrip().endswith("?")) or FEELING.search(words):
        return None
    if DISCLAIMER.search(spoken.after):
        return None
    if QUOTED.search(words) or (is_hearsay(words) and odds["rule"] < CERTAIN):
        return None
    return Rule(tidy(spoken.words), kind_of(plain(spoken.words)), spoken.words)


def _in_a_part(words: str) -> float:
    """The probability of the most certain restricting part; 0 if it is not `CERTAIN`.

    Reasons and asides around such a part are about facts.
    """
    parts = [part for part in _PART.split(words) if len(part.split()) >= 3 and is_negative(part)]
    sure = max((acts(Spoken(part))["rule"] for part in parts if part != words), default=0.0)
    return sure if sure >= CERTAIN else 0.0


_PART = re.compile(r"(?:,|\s[-–—])\s+(?:so |and |but |then )?|;\s+|:\s+")


def kind_of(words: str) -> Kind:
    """The kind of a rule, by its words."""
    if _FORMAT.search(words):
        return "format"
    if quantities(words):
        return "limit"
    if is_negative(words) and not _RATHER.search(words):
        return "prohibition"
    return "preference" if _WISH.search(words) else "requirement"


def makes_rule(said: Said, rules: Sequence[Rule]) -> bool:
    """Whether a sentence makes a rule rather than a goal."""
    odds = acts(said.spoken)
    return bool(rules) and not (is_goal(said) and odds["goal"] > odds["rule"])


def constrain(reading: TurnReading, room: Room) -> None:
    """Add new rules. Retire or change the prior rules that the user lifts or changes."""
    reply = " ".join(said.words for said in reading.reply)
    standing = room.open("constraints")
    for ref, told in groupby(reading.user, lambda said: said.ref):
        message = " ".join(said.words for said in reading.user if said.ref == ref)
        parts = [(said, spoken) for said in told for spoken in spoken_in(said)]
        # Include rules that the message already ended: several clauses are often about one rule.
        heard = [Heard(spoken.plain, message, reply) for _, spoken in parts]
        for (said, spoken), found in zip(parts, effects(heard, standing), strict=True):
            _constrain(next(iter(found), None), spoken, said, room)


def _constrain(effect: Effect | None, spoken: Spoken, said: Said, room: Room) -> None:
    rule = rule_of(spoken)
    held = room.open("constraints")
    if rule is not None and any(_follows(said.words, text_of(item)) for item in held):
        rule = None
    effect = effect or _replaced(rule, said.words, held)
    if effect is not None:
        amended = _amended(effect, spoken, rule)
        rule = _after(effect, spoken, rule) if _says_more(spoken, effect, amended) else None
        if amended is not None or not _stays_beside(effect, spoken.words, rule):
            room.retire(effect.item, said.ref, spoken.words)
        if amended is not None:
            _add(amended, said, room)
    if rule is not None:
        _add(rule, said, room)


def _replaced(rule: Rule | None, words: str, held: Sequence[Item]) -> Effect | None:
    """The standing rule that a sentence sets another figure for, contradicts, or ends in so many words."""
    for item in held:
        if rule and (restates(rule.text, item) or contradicts(rule.text, text_of(item))):
            return Effect(item, "change", 1.0)
    is_figure = figures(words) and not content(words) - marks(words)
    for item in held:
        others = [other for other in held if other is not item]
        is_meant = is_of_the_rule(words) or (rule and (is_figure or _permits(words, item)))
        if is_meant and bearing(Quoted(words, words), item, others) is Bearing.ENDS:
            return Effect(item, "change" if is_figure else "lift", 1.0)
    return None


def contradicts(text: str, held: str) -> bool:
    """Whether one of two texts forbids in the same words what the other orders."""
    one, other = stems(text) - _BARE, stems(held) - _BARE
    forbids = polarity(text)["forbids"] > 0
    return len(one) > 1 and one == other and forbids is not (polarity(held)["forbids"] > 0)


def _follows(words: str, held: str) -> bool:
    """Whether a sentence orders one act under a rule that stands, or uses its exception: it lays no rule down."""
    is_act = uses_exception(words, held) or is_order(words, held)
    return is_act and not is_for_good(words) and not polarity(words)["forbids"]


_RESERVES = re.compile(rf"(?:,|\s[-–—]|\bbut|\band)\s+(?:but |and )?{RESERVED}", re.I)
"""Takes back a part of a permission, which binds like the rule did: "..., but not at night"."""


def _after(effect: Effect, spoken: Spoken, rule: Rule | None) -> Rule | None:
    """The rule that binds after a change, in the user's words; None if the clause only lifts."""
    words = spoken.words
    if effect.op == "change" or _RESERVES.search(plain(words)) or _is_for_a_time(effect, words):
        return Rule(tidy(words), _kind(effect, rule), words)
    return None


def _amended(effect: Effect, spoken: Spoken, rule: Rule | None) -> Rule | None:
    """The changed rule with its one figure replaced by the user's; None if that does not apply."""
    words, old = spoken.words, text_of(effect.item)
    new = figures(plain(words))
    before = [figure for figure in figures(old) if new and is_near(new[0], figure, LIKE)]
    if effect.op != "change" or len(new) != 1 or len(before) != 1 or _is_for_a_time(effect, words):
        return None
    sign = _SIGN.match(before[0].text)
    put = (sign.group() if sign else "") + _SIGN.sub("", new[0].text)
    text = re.sub(rf"(?<![\w.,]){re.escape(before[0].text)}(?!\w)", lambda _: put, old, count=1)
    if not sets_figure(text, old, words):
        return None
    return Rule(text, _kind(effect, rule), words, effect.item.id)


def _kind(effect: Effect, rule: Rule | None) -> Kind:
    kind: Kind = rule.kind if rule else getattr(effect.item, "kind", "limit")
    return kind


def _says_more(spoken: Spoken, effect: Effect, amended: Rule | None) -> bool:
    """Whether a change says more than the new figure of ``amended``."""
    words = plain(spoken.words)
    more = stems(words) - stems(text_of(effect.item)) - marks(words) - _OF_A_FIGURE
    return amended is None or (len(words.split()) > SHORT and len(more) > 1)


SHORT = 6
"""Maximum words of a change that says only a figure: "make that 300"."""

LIKE = 20
"""Maximum ratio of a new figure to the old one."""

_SIGN = re.compile(r"[£€$]\s?")

_OF_A_FIGURE = stems(
    """raise raised lower lowered increase increased reduce reduced extend extended bump bumped cut
    relax make set change changed limit budget cap ceiling threshold maximum minimum up go now today
    tomorrow fine ok okay dollars euros pounds percent new allowed may"""
)
"""Words that only say that a figure is a new one."""


def _stays_beside(effect: Effect, words: str, rule: Rule | None) -> bool:
    """Whether the changed rule stays in force, because the change is temporary or partial.

    A change must not remove what the user does not take back.
    """
    if _is_for_a_time(effect, words):
        return True
    if rule is None or effect.op == "lift" or _permits(words, effect.item):
        return False
    old = text_of(effect.item)
    own = content(old) - marks(old)
    shared = len(own & stems(words))
    return (shared < SHARED and 2 * shared < len(own)) or len(marks(words)) < len(marks(old))


def _permits(words: str, item: Item) -> bool:
    """Whether ``words`` permit, by the laws, what ``item`` forbids."""
    old = text_of(item)
    forbids = polarity(old)["forbids"] and not polarity(words)["forbids"]
    is_its = bool(forbids) and marks(words) <= marks(old)
    return is_its and bearing(Quoted(words, words), item) is Bearing.ENDS


SHARED = 2
"""Minimum number of the rule's content words that a replacement repeats (half of them suffice). It
must also have as many figures.
"""


def _is_for_a_time(effect: Effect, words: str) -> bool:
    """Whether a change is temporary and the rule it changes is not."""
    words, old = plain(words), plain(text_of(effect.item))
    return bool(_FOR_A_TIME.search(words)) and not (
        _FOR_GOOD.search(words) or _FOR_A_TIME.search(old)
    )


_FOR_A_TIME = re.compile(
    r"(?<!from )(?<!starting )(?<!as of )(?<!since )\b(?:"
    r"(?:until|till) (?!now\b|further|\d{1,2}(?::\d\d)?(?: ?[ap]m| o'clock)?(?! (?:[a-z]+ )?(?:jan|feb|mar|apr|may"
    r"|jun|jul|aug|sep|oct|nov|dec))\b|noon|midnight)|"
    + one_of(
        r"""for now, for the moment, for the time being, for once, in the meantime, meanwhile, temporarily,
        just this once, this (?:week|weekend|month|quarter), tonight, today only,
        (?:just|only) today, for (?:the (?:next|coming) |about |another )?[\w-]+ (?:hour|day|week|month)s?,
        (?:on|off on) (?:holiday|vacation|leave)(?! (?:requests?|days?|calendar)), in \w+ absence,
        (?:is|'s|are|while \w+ is) (?:away|ill|sick|travelling|traveling|off sick|out of office)"""
    )
    + ")",
    re.I,
)
"""Cues that something holds for a limited time."""

_FOR_GOOD = cue(
    "from now on, from here on, from today, as of now, as of today, for good, permanently"
)


def _add(rule: Rule, said: Said, room: Room) -> None:
    fields = {"text": rule.text, "kind": rule.kind, "quote": rule.quote}
    room.add("constraints", [said.ref], amends=rule.amends, **fields)


def restates(text: str, item: Item) -> bool:
    """Whether a rule sets another figure for the same quantity as ``item`` and is otherwise equal."""
    held = text_of(item)
    old, new = marks(held), marks(text)
    told = (f for f in (*quantities(held), *quantities(text)) if f.unit not in MONTHS)
    # "server 2" is another thing than "server 1", and 19 May another day than 12 May.
    measured = marks("; ".join([*(figure.text for figure in told), *hours(held), *hours(text)]))
    if not old or not new or old == new or not old ^ new <= measured:
        return False
    return same_words(_FIGURE.sub("0", held), _FIGURE.sub("0", text))


_FIGURE = re.compile(r"[£€$]?\d[\d.,]*")
