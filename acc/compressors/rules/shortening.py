"""A rule without the reasons and asides that came with it; its quote keeps them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from acc.compressors.rules.acts import acts
from acc.compressors.rules.entities import named_in
from acc.compressors.rules.figures import quantities
from acc.compressors.rules.sentences import plain, tidy
from acc.compressors.rules.spoken import Spoken
from acc.compressors.rules.words import one_of
from acc.wording import marks, same_polarity, stems

BINDS = 0.3
"""Probability from which a part of a rule is taken to bind by itself."""

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
    """``rule`` without parts that say why, if it still forbids, restricts and bounds the same.

    Parts stand between commas, dashes and parentheses. Kept are those that bind, that name a
    condition or a figure, and all that stands between them; what stands before them too, unless
    they are understood without it.
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
    """The last part that is needed: where up to ``last`` there are only conditions, what they are conditions of."""
    if all(map(_only_opens, parts[: last + 1])):
        return next((i for i in range(last + 1, len(parts)) if not _only_opens(parts[i])), last)
    return last


def _listed_after(parts: Sequence[str], last: int) -> int:
    """The last part that goes on with what stands in part ``last``: "..., bed, time", "..., then the owner"."""
    while last + 1 < len(parts) and _NEXT.match(parts[last + 1]):
        last += 1
    return last


_NEXT = re.compile(r"^,\s+(?:then\b|(?:[\w'’-]+(?: [\w'’-]+)?|and [\w'’-]+)$)", re.I)


def _only_opens(part: str) -> bool:
    """Whether a part says when or for whom, and not what: "When you write to Ireland"."""
    words = part.strip(" ,;-–—()")
    if _SUBORDINATE.match(words) or (_EACH.match(words) and not quantities(words)):
        return True
    opens = _CONDITION.match(words) is not None and not quantities(words)
    return opens and (len(words.split()) <= PHRASE or not _is_rule(words))


PHRASE = 3
"""Words of "in internal notes", which are no rule however they sound."""

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
    """Whether a part needs nothing of what was said before it to be understood."""
    opening = " ".join(tidy(part.strip(" ,;-–—()")).split()[:3])
    goes_on = _GOES_ON.match(opening) or _POINTS_BACK.search(opening)
    return not goes_on and not _WHOEVER.match(before) and not named_in(f"so {before}")


_WHOEVER = re.compile(r"^\W*(?:who|what|which)(?:so)?(?:ever)?\b", re.I)
"""Opens a clause that is the subject of the next: "Who builds the alarm, writes its runbook"."""


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
    """``goal`` without the facts and asides that came with it: deadlines stay, dates do not."""
    joints = [0, *(match.start() for match in _JOINT.finditer(goal)), len(goal)]
    parts = [goal[start:end] for start, end in pairwise(joints)]
    wants = [i for i, part in enumerate(parts) if not _DEADLINE.match(part)] or range(len(parts))
    main = max(wants, key=lambda index: _asks_alone(parts[index]))
    kept = [p for i, p in enumerate(parts) if i == main or _DEADLINE.match(p)]
    short = tidy("".join(kept).strip(" ,;-–—"))
    names_it = len(stems(parts[main])) >= NAMED and _asks(parts[main]) >= _asks(goal) / 2
    return short if names_it and len(short.split()) > LEAST else goal


LEAST = 3
"""Words of a shortened rule at the least."""

NAMED = 2
"""Stems that say what is wanted, at the least: "I should like" does not."""


def _asks(part: str) -> float:
    """How surely a part says what is wanted."""
    odds = acts(Spoken(plain(part.strip(" ,;-–—()"))))
    return odds["goal"] + odds["ask"]


def _asks_alone(part: str) -> float:
    """The same; a part that points back to another does not say it alone."""
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
