"""Standing rules in the user's own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from acc.keyless.acts import acts
from acc.keyless.entities import SO, named_in, surely_named
from acc.keyless.figures import MONTHS, quantities
from acc.keyless.goals import is_goal
from acc.keyless.lookalikes import DISCLAIMER, FEELING, JOKE, is_hearsay, is_question
from acc.keyless.reading import Said, Spoken, text_of
from acc.keyless.sentences import clauses, plain, tidy
from acc.keyless.words import FORM, SIZE, one_of
from acc.state.items import Item, Kind
from acc.text.same_words import same_words
from acc.text.wording import is_negative, marks, same_polarity, stems

BINDS = 0.3
"""Minimum probability for a part of a rule to bind by itself."""

_JOINT = re.compile(r"(?:,|\s[-–—])\s+|(?<=\w)\s+(?=\()|;\s+")
_CONDITION = re.compile(
    r"^\W*(?:and |or |but )?" + one_of(
        """until, till, unless, except, if, when, while, before, after, during, for, from, on, at, by,
        as long as, once, whenever, only, not, no, nor, never, tops, max, at most, at least, to, in, with,
        without, including, apart from, plus, even"""
    ),
    re.I,
)  # fmt: skip
_REASON = re.compile(
    r"\s+(?:because|since|(?<=, )as (?=(?:I|we|they|he|she|it|the)\b)|so that)\b[^:]*$|"
    r",\s+for\s+(?=(?:[\w']+\s){1,6}?" + one_of(
        "is, are, was, were, has, have, had, will, would, cannot, can, does, did, do"
    ) + r"\b).*$",
    re.I,
)  # fmt: skip


def shortened(rule: str) -> str:
    """``rule`` without its reasons, provided that it still forbids, restricts and limits the same.

    Commas, dashes and parentheses separate the parts. The result keeps the parts that bind or name
    a condition or a figure, and all parts between them. It also keeps the parts before them, unless
    the rest is clear without those.
    """
    short = tidy(_REASON.sub("", rule))
    rule = short if len(short.split()) >= LEAST and same_polarity(short, rule) else rule
    joints = [0, *(match.start() for match in _JOINT.finditer(rule)), len(rule)]
    parts = [rule[start:end] for start, end in pairwise(joints)]
    if len(parts) < 2:
        return rule
    binding = [index for index, part in enumerate(parts) if _binds(part)]
    if not binding:
        return rule
    ends = _listed_after(parts, _main_after(parts, binding[-1]))
    opens = binding[0] if _stands_alone(parts[binding[0]], "".join(parts[: binding[0]])) else 0
    kept = tidy("".join(parts[opens : ends + 1]).lstrip(" ,;-–—"))
    enough = len(kept.split()) >= LEAST and same_polarity(kept, rule)
    return kept if enough else rule


def _main_after(parts: Sequence[str], last: int) -> int:
    """The last required part. If all parts up to ``last`` are conditions, it is their main clause."""
    if all(map(_only_opens, parts[: last + 1])):
        return next((i for i in range(last + 1, len(parts)) if not _only_opens(parts[i])), last)
    return last


def _listed_after(parts: Sequence[str], last: int) -> int:
    """The last part that continues part ``last``: "..., bed, time", "..., then the owner"."""
    while last + 1 < len(parts) and _NEXT.match(parts[last + 1]):
        last += 1
    return last


_NEXT = re.compile(r"^,\s+(?:then\b|(?:[\w'’-]+(?: [\w'’-]+)?|and [\w'’-]+)$)", re.I)


def _only_opens(part: str) -> bool:
    """Whether a part only gives a time or a recipient: "When you write to Ireland"."""
    words = part.strip(" ,;-–—()")
    if _SUBORDINATE.match(words) or (_EACH.match(words) and not quantities(words)):
        return True
    opens = _CONDITION.match(words) is not None and not quantities(words)
    return opens and (len(words.split()) <= PHRASE or not _is_rule(words))


PHRASE = 3
"""Maximum words of a phrase such as "in internal notes", which is never a rule."""

_SUBORDINATE = re.compile(
    r"^(?:and |or |but |so )?" + one_of(
        """until, till, unless, if, when, whenever, while, before, after, as long as, as soon as, once,
        where, wherever, every time, in case, for any\\w*, for every\\w*, for each, for all, for whatever,
        should (?:the|an?|any|it|he|she|they|we|you|I|there)"""
    ) + r"\b(?=(?: [\w'’-]+){2})|^(?:(?:and|but) )?only then$",
    re.I,
)  # fmt: skip


_EACH = re.compile(
    r"^(?:and |or |but )?(?:with|in|at|on|to|from) (?:any|every|each)\b(?=(?: [\w'’-]+){2})", re.I
)


def _stands_alone(part: str, before: str) -> bool:
    """Whether a part is clear without the words before it."""
    opening = " ".join(tidy(part.strip(" ,;-–—()")).split()[:3])
    goes_on = _GOES_ON.match(opening) or _POINTS_BACK.search(opening)
    return not goes_on and not _WHOEVER.match(before) and not named_in(f"so {before}")


_WHOEVER = re.compile(r"^\W*(?:who|what|which)(?:so)?(?:ever)?\b", re.I)
"""Begins a clause that is the subject of the next: "Who builds the alarm, writes its runbook"."""


_GOES_ON = re.compile(
    one_of(
        """and, but, or, nor, which, who, until, till, unless, except, if, when, while, before, after, once,
        as, including, apart, plus, even, to, with, without, in, on, at, by, for, from, then, e\\.g, i\\.e,
        namely, such as, meaning,
        (?:not|never) (?:why|what|who|how|when|where|to|by|in|on|at|with|for|from|the|as)"""
    ),
    re.I,
)

_DEADLINE = re.compile(
    r"^\W*(?:and |so )?(?:by|before|until|till|for (?=(?:the )?(?:\d|\w+day\b|next|this|end|week|"
    r"month))|in time|ready|at|no later)\b",
    re.I,
)


def shortened_goal(goal: str) -> str:
    """``goal`` without additional facts and asides. Keeps deadlines, drops other dates."""
    joints = [0, *(match.start() for match in _JOINT.finditer(goal)), len(goal)]
    parts = [goal[start:end] for start, end in pairwise(joints)]
    wants = [i for i, part in enumerate(parts) if not _DEADLINE.match(part)] or range(len(parts))
    main = max(wants, key=lambda index: _asks_alone(parts[index]))
    kept = [p for i, p in enumerate(parts) if i == main or _DEADLINE.match(p)]
    short = tidy("".join(kept).strip(" ,;-–—"))
    names_it = len(stems(parts[main])) >= NAMED and _asks(parts[main]) >= _asks(goal) / 2
    return short if names_it and len(short.split()) > LEAST else goal


LEAST = 3
"""Minimum words of a shortened rule."""

NAMED = 2
"""Minimum stems that name the wanted thing: "I should like" has none."""


def _asks(part: str) -> float:
    """The probability that a part is a request or goal."""
    odds = acts(Spoken(plain(part.strip(" ,;-–—()"))))
    return odds["goal"] + odds["ask"]


def _asks_alone(part: str) -> float:
    """The same probability, reduced for a part that refers to another one."""
    pointing = _POINTS_BACK.search(plain(part.strip(" ,;-–—()")))
    return _asks(part) * (0.3 if pointing else 1.0)


_POINTS_BACK = re.compile(
    r"^(?:and |so |but )*(?:that|this|it|which)\b|\b(?:it|them|those)\b", re.I
)


def _binds(part: str) -> bool:
    words = part.strip(" ,;-–—()")
    if _SUBORDINATE.match(words) or _CONDITION.match(words) or quantities(words) or marks(words):
        return True
    return _is_rule(words)


def _is_rule(words: str) -> bool:
    return acts(Spoken(plain(words)))["rule"] >= BINDS


_FORMAT = re.compile(rf"\b(?:{FORM}|{SIZE})", re.I)
_RATHER = re.compile(r"\b(?:I|we)(?:'d| would)? (?:rather|prefer|like|love|hate)\b", re.I)
_WISH = re.compile(r"\b(?:rather|prefer\w*|like|love|hate|nicer|favou?rite|please)\b", re.I)
_PLACE = re.compile(r"\b(?:in|at|from|near|of|on) $", re.I)
OPENING, SUBJECT = 8, 12
"""Number of a rule's first words in which a pronoun refers to an earlier name, and the same for
"they" as its subject.
"""
_PERSON = re.compile(r"\b(?:him|his|her|he|she)\b", re.I)
_SEVERAL = re.compile(rf"\bthey\b|^(?:\S+ ){{0,{OPENING - 1}}}them\b", re.I)


_THERE = re.compile(
    r"(?<!\bin )(?<!\bout )(?<!\bover )(?<!\bup )\bthere\b(?!'| "
    + one_of("is, are, was, were, will, has, have, must, should, can, may")
    + ")",
    re.I,
)


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
    if is_hearsay(words) and odds["rule"] < CERTAIN:
        return None
    return Rule(shortened(tidy(spoken.words)), kind_of(plain(spoken.words)), spoken.words)


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


def with_name(text: str, said: Said) -> str:
    """``text`` with the name that its pronoun or "there" refers to in the sentence before."""
    opening = " ".join(text.split()[:OPENING])
    own = {named.name for named in surely_named(text)}
    somewhere, several = _THERE.search(opening), _SEVERAL.search(" ".join(text.split()[:SUBJECT]))
    if not (somewhere or several or (_PERSON.search(opening) and not own)):
        return text
    names = {
        named.name
        for named in surely_named(said.before)
        if somewhere or not _PLACE.search(f"{SO}{said.before}"[: named.start])
    }
    return f"{names.pop()}: {text}" if len(names) == 1 and not names & own else text


def restates(text: str, item: Item) -> bool:
    """Whether a rule sets another figure for the same quantity as ``item`` and is otherwise equal."""
    held = text_of(item)
    old, new = marks(held), marks(text)
    told = (f for f in (*quantities(held), *quantities(text)) if f.unit not in MONTHS)
    # "server 2" is another thing than "server 1", and 19 May another day than 12 May.
    measured = marks("; ".join(figure.text for figure in told))
    if not old or not new or old == new or not old ^ new <= measured:
        return False
    return same_words(_FIGURE.sub("0", held), _FIGURE.sub("0", text))


_FIGURE = re.compile(r"[£€$]?\d[\d.,]*")
