"""Who has which role, and what is the cause: facts keyed by the role, so that it can pass on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.compressors.rules.entities import PROPER, named_in
from acc.compressors.rules.words import one_of

_ROLE = r"(?P<role>(?:(?!the |our |my |now )[\w-]{2,20} )?" + one_of(
    """commander, owner, lead, leader, manager, contact, chair, reviewer, approver, director, head,
    sponsor, coordinator, captain, supervisor, controller, on-call, deputy, editor, assignee"""
) + ")"  # fmt: skip
_CAUSE = r"(?P<role>(?:(?:suspected|root|likely|main|probable|only) )?(?:cause|culprit|fix|workaround))\b"
_THE = r"(?:now |still |again |the |our |my |an? ){0,3}"

_HOLDS = re.compile(rf" (?:is|becomes|takes over as|steps in as|acts as|as) {_THE}{_ROLE}", re.I)
_HELD_BY = re.compile(rf"\b{_THE}{_ROLE} (?:is|will be|:) (?:now )?", re.I)
_IS_CAUSE = re.compile(rf"\b(?P<what>[\w-]+(?: [\w-]+){{0,3}}) (?:is|was) {_THE}{_CAUSE}", re.I)
_CAUSE_IS = re.compile(rf"\b{_CAUSE} (?:is|was) (?P<what>[^,;:.!?]{{3,100}})", re.I)
_ARTICLES = re.compile(r"^(?:so|and|but|the|a|an|that|this|it|which) ", re.I)


def roles_in(words: str) -> Iterator[tuple[str, str, str]]:
    """ "Dana takes over as incident lead" gives ("incident lead", "is", "Dana")."""
    people = [named for named in named_in(words) if named.type in PROPER]
    people += [named for named in named_in(f"so {words}")[:1] if named.type in PROPER]
    for match in _HOLDS.finditer(words):
        name = next((n.name for n in people if words[: match.start()].endswith(n.name)), "")
        if name:
            yield match["role"].lower(), "is", name
    for match in _HELD_BY.finditer(words):
        name = next((n.name for n in people if words.startswith(n.name, match.end())), "")
        if name:
            yield match["role"].lower(), "is", name


def causes_in(words: str) -> Iterator[tuple[str, str, str]]:
    """ "Pool exhaustion is the suspected cause" gives ("suspected cause", "is", ...)."""
    for pattern in (_IS_CAUSE, _CAUSE_IS):
        for match in pattern.finditer(words):
            what = _ARTICLES.sub("", match["what"].strip())
            if len(what) > 3:
                yield match["role"].lower(), "is", what
