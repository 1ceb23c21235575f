"""The objects of rules and liftings: what they are about, apart from their verb."""

from __future__ import annotations

import re

from acc.keyless.figures import figures, quantities
from acc.keyless.words import NUMBER_WORD, any_of, one_of
from acc.text.wording import marks, stems

_RULE_VERB = re.compile(
    r"(?:^\W*|[,:;–—]\s|\b(?:please|and|or|but|also) )"
    r"(?:(?:you|we|they|please|just) )*(?:" + one_of(
        """never, do not, don't, dont, always, must not, mustn't, must, cannot, can't, may not,
        should not, shouldn't, should, not to, only, have to"""
    ) + r" )(?:ever |please |again )?(?P<verb>[a-z][a-z-]+)",
    re.I,
)  # fmt: skip
_IMPERATIVE = re.compile(r"^\W*(?:please )?(?P<verb>leave|keep|stay|use|answer|avoid|let)\b", re.I)
_NEVER = re.compile(r"\b(?:never|do not|don't|dont|must not|mustn't|cannot|can't)\b", re.I)
_PERMISSION = re.compile(
    r"\b(?:can|may|could|free to|allowed to|(?P<go>go ahead (?:and|with)))\s"
    r"(?P<rest>(?:(?:now|again|also|both|all) )*[^,;:.!–—]*)",
    re.I,
)
_EMBEDS = re.compile(
    r"\b(?:that|who|why|how|whether|where|tell|told|sa(?:y|ys|id)|saying|claim\w*|because)\b", re.I
)
"""Before a permission, these words make the clause a report of it."""
_ASIDE = re.compile(
    r"\b(?:like (?:any|all|every|the|an?|with|for|in|on|at|to)|"
    r"as (?:much|often|many|before|usual|you (?:need|like|wish|want|please)|(?:with|for|in|on|at|to) )|"
    r"whenever|wherever|however)\b.*|\b" + one_of(
        """openly, freely, directly, normally, fully, publicly, officially, safely, entirely,
        completely, regularly, properly, ordinarily, independently"""
    ),
    re.I,
)  # fmt: skip
"""After a permission: a comparison, or a manner."""
_ANY = ("", "leave", "keep", "stay", "touch", "avoid", "let")
"""Verbs of rules against any action on a thing."""
_BEGINS = re.compile(r"(?:start|begin|resume|continue|keep|be|proceed)\b", re.I)
_NEEDLESS = re.compile(
    r"\b(?:no need to|needn't|need not|(?:have|has|need|needs) to) (?P<verb>[a-z][a-z-]+)", re.I
)
_FILLER = stems(
    """again now freely directly yourself yourselves like please wish want whenever whatever way
    rule ban freeze limit fine ok okay go ahead together back anytime time thing all after normal
    usual just too also here everything service really go without asking any other
    before as today work job immediately straight away whole first ourselves themselves people anybody
    anyone everybody everyone somebody someone"""
)
_RULE_NAMES = one_of(
    """rules?, bans?, freeze, limits?, embargo, hold, lock, restrictions?, polic(?:y|ies), block,
    moratorium, instructions?, constraints?, requirements?, prohibitions?, stop, cap, budget,
    ceiling, orders?, blackout, lockdown, condition, quota, threshold, slot, window, time, day,
    matter, issue, dispute, what I (?:said|told|wrote), it, that, this, they, those, these, all,
    everything, which, and, there"""
)
_IS_RULE = re.compile(rf"\b(?:{_RULE_NAMES})\W*\Z", re.I)
_SUBJECT_ENDS = re.compile(
    r"\b(?:with|of|for|on|about|in|at|from|to|against|by|around|over|under|until|till)\b", re.I
)
_ENDING = any_of(
    r"(?:\b(?:is|are|was|were|has been|have been|been|gets?|got|has|have)|'s) "
    r"(?:now |finally |hereby |all )?\w+"
)
_REMOVED = re.compile(
    r"\b(?:removed|gone|dropped|withdrawn|revoked|history|off the table|moot|obsolete|void)\Z", re.I
)
"""With a rule as subject it lifts the rule; with another subject it reports what happened to it."""
_DISMISSAL = re.compile(
    r"\b(?:scrap|forget|drop|ditch|lift|ignore|cancel|skip|disregard) (?P<rest>[^,;:.!]*)", re.I
)
_WHAT_I = re.compile(r"^(?:about |all )?(?:that |what|everything) ?I\b|^what I\b", re.I)


def object_stems(rule: str) -> frozenset[str]:
    """The content words of a rule without its verb; all of them if there are no others."""
    verb = verb_of(rule)
    own = stems(rule)
    return (own - stems(verb)) or own


def verb_of(rule: str) -> str:
    """The verb of a rule for the required or forbidden action; may be empty."""
    found = _RULE_VERB.search(rule) or _IMPERATIVE.match(rule)
    return found["verb"] if found else ""


def shares_verb_alone(words: str, rule: str) -> bool:
    """Whether a clause shares only its verb with ``rule``, and gives nobody a free hand.

    "Restart apache again." is unrelated to "Never restart nginx during business hours.".
    """
    shared = (stems(words) & stems(rule)) - _FILLER
    return bool(shared) and shared <= stems(verb_of(rule)) and not _FREELY.search(words)


_FREELY = re.compile(
    r"\b(?:whenever|wherever|however|when you (?:want|like|wish|need)|as (?:needed|you)|by all means|"
    r"from (?:now|here|today|then|\w+day)|any ?more|either way|whatever|permanently)\b",
    re.I,
)


def concerns(words: str, rule: str, cue: re.Match[str], *, sure: bool = False) -> bool:
    """Whether ``words`` permit or end the subject of ``rule`` rather than another thing.

    If it is ``sure`` that they end this rule, they may refer to it as a rule ("drop the bullets"),
    or report another end that caused this one.
    """
    if _identifiers(words) and _identifiers(rule) and not _identifiers(words) & _identifiers(rule):
        return False
    if _is_another_number(words, rule):
        return False
    own = stems(rule) | _FILLER
    for permission in _PERMISSION.finditer(words):
        before = re.split(r"[,;:.!–—]", words[: permission.start()])[-1]
        if _EMBEDS.search(before) or not _permits(permission, rule, own):
            return False
    needless = _NEEDLESS.search(words)
    if needless and _NEVER.search(rule) and stems(needless["verb"]) & stems(verb_of(rule)):
        return False  # "no need to restart it" does not allow a restart
    dismissed = _DISMISSAL.search(words)
    if dismissed and dismissed.start() <= cue.start() < dismissed.end():
        head = _SUBJECT_ENDS.split(dismissed["rest"].removeprefix("about "))[0].strip()
        named = sure and stems(dismissed["rest"]) <= own
        return named or bool(_WHAT_I.match(dismissed["rest"]) or _IS_RULE.search(head))
    return _ends_own(words, cue, own, sure)


def _permits(permission: re.Match[str], rule: str, own: frozenset[str]) -> bool:
    """Whether a permission names no other thing than the rule does."""
    said = _ASIDE.sub(" ", permission["rest"])
    for bound in quantities(said):
        said = said.replace(bound.text, " ", 1)  # a new limit names no other thing
    first = next((w for w in re.findall(r"[\w-]+", said) if stems(w) - _FILLER), "")
    # "Go ahead and fix it" lifts "leave it alone", but not "don't open it".
    binds = permission["go"] and (
        permission["go"].endswith("with") or verb_of(rule).lower() not in _ANY
    )
    named = stems(said) - (frozenset() if binds else stems(first))
    other_verb = not stems(first) <= own and not _BEGINS.match(first)
    if other_verb and stems(verb_of(rule)) & named:
        return False  # "you can refuse to restart it"
    return {stem for stem in named if not stem.isdigit()} <= own  # numbers were compared before


def permits_same_of_another(words: str, rule: str) -> bool:
    """Whether ``words`` permit for another thing what ``rule`` forbids for its own."""
    verb = stems(verb_of(rule))
    for permission in _PERMISSION.finditer(words):
        named = stems(_ASIDE.sub(" ", permission["rest"]))
        if verb and verb <= named and named - verb - _FILLER and not (named - verb) & stems(rule):
            return True
    return False


def _ends_own(words: str, cue: re.Match[str], own: frozenset[str], sure: bool) -> bool:
    """Whether ``cue`` ends ("the freeze is over") a rule or something named in the rule."""
    if not _ENDING.match(cue.group()):
        return True
    before = re.split(r"[,;:.!–—]\s", words[: cue.start()])[-1]
    head = _SUBJECT_ENDS.split(before)[0].strip()
    if _REMOVED.search(cue.group()):
        return bool(_IS_RULE.search(head))
    last = head.split()[-1] if head.split() else ""
    return sure or not stems(last) or bool(stems(last) & own) or bool(_IS_RULE.search(head))


_NUMBERED = re.compile(
    rf"\b(?P<noun>[a-z][a-z-]+) (?P<number>\d{{1,4}}|{NUMBER_WORD})"
    r"(?![\w.,:%-]*\d|\s?%|\s?k\b| [a-z]+s\b)",
    re.I,
)
_NO_THING = stems(
    """max maximum min minimum limit cap budget january february march april may june july august
    september october november december"""
)


def _is_another_number(words: str, rule: str) -> bool:
    """Whether both name things with the same noun and different numbers: "dock 4", "dock 1"."""
    said, held = _numbered(words), _numbered(rule)
    return any(noun in held and not numbers & held[noun] for noun, numbers in said.items())


def _numbered(words: str) -> dict[str, set[float]]:
    found: dict[str, set[float]] = {}
    for match in _NUMBERED.finditer(words):
        for noun in stems(match["noun"]) - _NO_THING:
            found.setdefault(noun, set()).update(f.value for f in figures(match["number"]))
    return found


def _identifiers(words: str) -> frozenset[str]:
    return frozenset(m for m in marks(words) if any(c.isalpha() for c in m))
