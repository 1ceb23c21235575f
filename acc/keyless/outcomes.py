"""Finds outcomes: actions that were done, and to what.

Examples: "the stuck orders have been replayed", "Lotte has signed the replay". An agent must know what
was done already: doing it twice may move money twice. An outcome is therefore a fact of its own, keyed by
its subject, and is evicted after other facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.keyless.sentences import fit, plain
from acc.text.patterns import one_of

LONGEST_SUBJECT, LONGEST_OBJECT = 60, 100

IS = "is"
"""Predicate of an outcome. It lets "INV-2041 is paid" replace "INV-2041 is open"."""

_DONE = one_of(
    """done, fixed, replayed, approved, rejected, declined, paid, refunded, captured, settled, restarted, rebooted,
    rolled back, reverted, deployed, redeployed, merged, cancell?ed, restored, finished, completed, resolved,
    revoked, deleted, removed, purged, wiped, booked, rebooked, signed(?: off)?, shipped, applied, patched,
    upgraded, downgraded, transferred, sent, resent, mailed, posted, published, issued, reissued, filed,
    submitted, failed over, switched over, switched off, switched on, renewed, replaced, repaired, cleared,
    drained, quarantined, unblocked, rotated, reset, withdrawn, recalled, returned, reimbursed, credited,
    reversed, executed, aborted, corrected, reconciled, migrated"""
)

_ADVERBS = (
    r"(?:(?:now|already|all|both|just|finally|successfully|fully|also|since|today|yesterday) ){0,2}"
)

_PREPOSITION = (
    one_of(
        "in, at, on, by, for, to, from, with, under, after, before, as, and, out, up, down, over, it"
    )
    + r"\b"
)

_PASSIVE = re.compile(
    rf" (?:is|are|was|were|got|(?:has|have) been) {_ADVERBS}(?P<done>{_DONE})\b", re.I
)

_ACTIVE = re.compile(
    r"(?:^|[,;:.] |\band |\bbut )(?!They|You|He|She|It|Some|No)"
    r"(?P<who>I|we|[A-Z][\w-]{0,30}(?: [A-Z][\w-]{0,30})?)(?:'ve|'s| have| has)? "
    rf"{_ADVERBS}(?P<done>{_DONE}) (?!{_PREPOSITION})"
    r"(?P<what>(?:[^.,;:!?()]|[.,](?=\d)){2,90})"
)

_NOUN = re.compile(
    r"(?:^|[,;:.] |\b(?:and|the|our|your) )(?P<what>[A-Za-z][\w-]{1,30}(?: [\w-]{1,30}){0,2}?) "
    r"(?P<done>(?:has |have )?(?:finished|completed|succeeded|failed|gone through)|went through"
    r"|(?:was|were) successful|(?:is|are) (?:live|complete|back up))\b",
    re.I,
)

_OPEN = re.compile(
    r"\b" + one_of(
        """not, never, no, nobody, nothing, none, neither, yet, will, to be, should, must, would, could, can,
        may, might, needs?, if, unless, until, till, once, when, whenever, before, after, whether, as soon as,
        being, how, why, what, who, which, every, each, any, only, always, please"""
    ) + r"\b|n't\b",
    re.I,
)  # fmt: skip
"""Words earlier in the clause that mark an action as not done, or unknown."""

_PARTS = re.compile(r"[,;:–—(.] ?|\b(?:and|but|so|that|because|as|where|while|with) ", re.I)

_CUT = re.compile(
    r"\s(?:at|with|because|after|before|so|and|but|for|to|by|under|via|from|since|then|as|while|this|last|yesterday|today)\b"
)

_END = re.compile(r"[.!?](?:\s|$)|[;(–—]|,? (?:and|but|so|which|while) ")

_DETERMINER = re.compile(r"^(?:the|a|an|our|your|my|their|his|her|this|that|these|those) ", re.I)

_NOTHING = re.compile(
    r"^(?:it|he|she|they|this|that|these|those|there|here|i|we|you|one|all|both|some|everything|everybody)?$",
    re.I,
)

_IS_DONE = re.compile(
    rf"(?:{_DONE}|finished|completed?|succeeded|failed|went through|successful|live|back up)\b",
    re.I,
)


def outcomes_in(words: str) -> Iterator[tuple[str, str, str]]:
    """The outcomes in a sentence as subject, predicate and object, without open actions."""
    words = plain(" ".join(words.split()))
    for match in _PASSIVE.finditer(words):
        head = _PARTS.split(words[: match.start()])[-1]
        if not _OPEN.search(head):
            yield from _outcome(head, match["done"], words[match.end() :])
    for match in _ACTIVE.finditer(words):
        what = _CUT.split(match["what"])[0]
        rest = words[match.start("what") + len(what) :]
        if _OPEN.search(match.group()):
            continue
        for subject, predicate, told in _outcome(what, match["done"], rest):
            if match["who"] in ("I", "we", "We"):
                yield subject, predicate, told
            else:
                yield subject, f"{match['done']} by", match["who"] + told[len(match["done"]) :]
    for match in _NOUN.finditer(words):
        head = _PARTS.split(words[: match.end("what")])[-1]
        if not _OPEN.search(head) and not _IS_DONE.search(match["what"]):
            yield from _outcome(match["what"], match["done"], words[match.end() :])


def _outcome(what: str, done: str, rest: str) -> Iterator[tuple[str, str, str]]:
    subject = _DETERMINER.sub("", what.strip(" -*•"))
    end = _END.search(rest)
    told = f"{done}{rest[: end.start()] if end else rest}".strip(" ,:.!?")
    if not _NOTHING.match(subject):
        subject, told = fit(subject, LONGEST_SUBJECT), fit(told, LONGEST_OBJECT)
        if subject and told:
            yield subject, IS, re.sub(r"^(?:is|are|has|have) ", "", told)


def is_outcome(predicate: str, what: str) -> bool:
    """Whether a fact reports an action that was done."""
    if predicate.casefold() == IS:
        return _IS_DONE.match(what) is not None
    return predicate.endswith(" by") and _IS_DONE.fullmatch(predicate[:-3]) is not None
