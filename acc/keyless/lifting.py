"""Finds the standing rule that the user's words lift or change; none if it is unclear."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from math import fsum

from acc.keyless.contrary import is_denied, is_doubted, is_limited
from acc.keyless.figures import DAYS, Figure, figures, sets_another
from acc.keyless.objects import concerns, object_stems
from acc.keyless.reading import text_of
from acc.keyless.words import any_of, one_of
from acc.state.items import Item
from acc.text.wording import stems

LIFTED = any_of(
    r"\bno longer " + one_of(
        """applies, needed, necessary, holds, required, valid, in force, an issue, have to, has to,
        need to, needs to, needs?, matters?, a problem, secret, confidential, frozen, binding"""
    ),
    r"\b(?:any ?more|any longer)\b",
    r"\b(?:is|are|was|were|has been|have been|been|gets?) (?:now |finally |hereby )?" + one_of(
        """lifted, dropped, waived, withdrawn, revoked, removed, gone, history, off the table, moot,
        obsolete, void"""
    ),
    r"\b(?:you|we|they|everyone|everybody|anyone|anybody|people|\w+s) "
    r"(?:can|may|could|are free to|are allowed to)\b.{0,60}\b" + one_of(
        "again, now, after all, from here, directly, freely, as you (?:like|please|wish), like any other"
    ),
    r"\b(?:so )?(?:you|we|everyone) (?:can|may) (?:now|again)\b|\bfree to\b",
    r"\b(?:scrap|forget|drop|ditch|lift|ignore|cancel|skip|disregard) "
    r"(?:the|that|my|our|what I said|about the|all)\b",
    r"\bno need (?:to|for)\b|\bneed(?:n't| not)\b|"
    r"\b(?:don't|doesn't|do not|does not) (?:have|need) to\b",
    r"\b(?:doesn't|does not|don't|do not|won't) (?:apply|hold|count|matter)\b",
    r"(?:\b(?:is|are)|'s|'re) (?:fine|ok|okay|allowed|permitted|possible|open|welcome) "
    r"(?:again|now|after all|too|from here|from now)\b",
    r"\b" + one_of(
        "back in (?:scope|play), back to normal, fair game, is yours again, go ahead (?:and|with)"
    ),
)  # fmt: skip
"""Cues that something no longer holds."""

ENDED = any_of(
    r"(?:\b(?:is|are|was|has been|have been|been|got)|'s) (?:now |finally |all )?" + one_of(
        """cancelled, canceled, called off, over, settled, resolved, finished, done, through,
        signed, decided, cleared, approved, out of the way, unfrozen"""
    ),
    r"\b(?:has|have) (?:now |finally )?" + one_of(
        "ended, expired, finished, passed, decided, agreed, signed, approved"
    ),
    r"\bnever ?mind\b|\bchanged (?:my|our|her|his|their) mind\b",
)  # fmt: skip
"""Cues that something is over, which ends a rule tied to it."""

SWAPPED = any_of(
    r"\b" + one_of(
        """instead, change of plans?, correction, scratch that, on second thoughts?, new rule,
        (?:signs|approves|decides|clears|handles) (?:that |it |them )?now"""
    ),
)  # fmt: skip
"""Cues that one thing replaces another."""

CHANGED = any_of(
    SWAPPED.pattern,
    r"\brather than\b|\b(?:make|call) (?:that|it|the|them|those)\b|\bgo (?:up|down) to\b|\bup to\b",
    r"\b" + one_of(
        """raised?, lower(?:ed)?, increased?, extend(?:ed)?, reduced?, bump(?:ed)?, relax(?:ed)?,
        tighten(?:ed)?, loosen(?:ed)?"""
    ),
    r"\b(?:cut|moved?|moves|shift(?:ed)?|push(?:ed)?|changed?|changes|switch(?:ed)?) "
    r"(?:\w+ ){0,4}?to\b|\b(?:has|have|is|was) (?:been )?(?:changed|moved|shifted|pushed)\b",
    r"\b(?:from|as of|starting|effective) (?:today|now|here|tomorrow|next week|\w+day)\b",
    r"\b(?:new|updated|revised) " + one_of(
        "limit, budget, cap, ceiling, deadline, threshold, rule, maximum, minimum, target, quota"
    ),
    r"\b(?:you|we) (?:can|may|could|have|'ve got|got) (?:now )?" + one_of(
        "plan, go, spend, use, work, calculate, reckon, have, take, until, till"
    ),
    r"\b(?:is|are) now\b|\bnow (?:is|it's|we're at)\b",
)  # fmt: skip
"""Cues that a figure replaces another."""

TIED = re.compile(
    r"\b" + one_of(
        """until, till, while, as long as, for now, for the moment, during, since, because, unless,
        that's, is in"""
    ),
    re.I,
)  # fmt: skip
"""Cues of the condition that a rule is tied to."""

GENERIC = stems(
    """fine okay ok allowed need lifted cancelled over forget rule instead today again longer said
    say get go make use tell please thing want also here let idea may one"""
)
"""Stems that do not identify a rule."""

_NAME = re.compile(r"(?<=\s)[A-Z][\w-]{2,}|\b[A-Za-z]\w*\d[\w.-]*")


def is_lifting(words: str) -> bool:
    """Whether ``words`` say that something ended or no longer holds."""
    return bool(LIFTED.search(words) or ENDED.search(words))


def lifted_by(words: str, around: str, items: Sequence[Item]) -> Item | None:
    """The one of ``items`` that ``words`` lift; None if there is none.

    Words that are denied, doubted or only reported lift nothing. Neither do temporary permissions
    and words about another thing than the rule.

    Args:
        words: The clause with the cue.
        around: The clause with its context.
        items: Open rules.
    """
    cue = LIFTED.search(words) or ENDED.search(words)
    if cue is None or is_denied(words) or is_doubted(words, cue):
        return None
    found = clearest(around, items)
    if found is None or is_limited(words, text_of(found)):
        return None
    if not stems(around) & object_stems(text_of(found)) or not concerns(words, text_of(found), cue):
        return None
    return found if LIFTED.search(words) or TIED.search(text_of(found)) else None


def changed_by(words: str, around: str, items: Sequence[Item]) -> Item | None:
    """The one of ``items`` in which ``words`` replace a figure or a thing; None if there is none."""
    cue = CHANGED.search(words)
    if cue is not None and is_doubted(words, cue):
        return None
    new = _new_figures(words) if cue else []
    found = clearest(around, _with_figure(new, items, times=10), least=1)
    if found is not None:
        return found
    alike = _with_figure([figure for figure in new if figure.unit], items, times=10)
    near = alike or _with_figure([f for f in new if f.value > DAYS], items, times=3)
    if len(near) == 1:
        return near[0]
    return clearest(around, items, least=3, share=0.5) if SWAPPED.search(words) else None


def _new_figures(words: str) -> list[Figure]:
    """The figures that a clause sets. The unit of one mention applies to all mentions."""
    found = figures(_INSTEAD.sub("", words))
    measured = {figure.value for figure in found if figure.unit}
    return [figure for figure in found if figure.unit or figure.value not in measured]


_INSTEAD = re.compile(r"\b(?:rather than|instead of) [^,;.]*", re.I)
"""Words for the old value."""


def _with_figure(new: Sequence[Figure], items: Sequence[Item], times: float) -> list[Item]:
    """The items with a figure that one of the ``new`` ones could replace."""
    return [item for item in items if sets_another(new, text_of(item), times)]


def clearest(
    words: str, items: Sequence[Item], least: float = 2, share: float = 0.3
) -> Item | None:
    """The item that shares most with ``words``, if it shares enough and more than any other.

    A shared stem counts less if more items have it; a name counts double. Enough is a score of
    ``least`` from two stems, or a ``share`` of the item's stems, or all of ``words`` if the item
    opens with them ("the freeze is over"). The lead must be at least 0.5.

    Args:
        words: The text to compare.
        items: The items to choose from.
        least: Minimum score.
        share: Minimum share of the item's stems, 0 to 1.
    """
    said = _content(words)
    has = [_content(text_of(item)) for item in items]
    common = Counter(chain.from_iterable(has))
    ranked: list[tuple[float, Item | None]] = [(0.0, None), (0.0, None)]
    for item, own in zip(items, has, strict=True):
        names, shared = name_stems(text_of(item)), said & own
        score = fsum((2 if stem in names else 1) / common[stem] for stem in shared)
        enough = score >= least and len(shared) >= min(least, 2)
        if said and shared == said and said <= _content(_opening(text_of(item))):
            enough = True
        if shared and (enough or len(shared) / len(own) >= share):
            ranked.append((score, item))
    ranked.sort(key=lambda pair: -pair[0])
    return ranked[0][1] if ranked[0][0] - ranked[1][0] >= 0.5 else None


@lru_cache(maxsize=512)
def name_stems(text: str) -> frozenset[str]:
    """The stems of names and identifiers in ``text``."""
    return stems(" ".join(_NAME.findall(text)))


@lru_cache(maxsize=512)
def _content(words: str) -> frozenset[str]:
    return frozenset(stem for stem in stems(words) - GENERIC if not stem.isdigit())


def _opening(text: str) -> str:
    """The first words of a rule, up to the third content word."""
    words = text.split()
    ends = (n for n in range(1, len(words)) if len(_content(" ".join(words[:n]))) >= 3)
    return " ".join(words[: next(ends, len(words))])
