"""Law 6: rules and goals are made only of words that a trusted source says in this turn."""

from __future__ import annotations

import re
from typing import NamedTuple

from acc.commit.attempt import Attempt
from acc.commit.integrity import Quoted, Sources, find_quoted
from acc.state.items import one_line, wire_field
from acc.state.reasons import Reason
from acc.text.clauses import governs
from acc.text.lines import LONGEST_REFERENT
from acc.text.quoting import covers, worded
from acc.text.same_words import sets_figure
from acc.text.wording import is_assent, marks, stems
from acc.turn.observations import Trust

FULL = 3 / 4
"""Share of used places in a slot from which on a part of a user's clause makes no rule."""

LEAST_RULES = 2
"""Rules that any observation may make; a longer one may make one rule per clause."""

_CLAUSE = re.compile(r"[.!?;,:\n]|\band\b|\bbut\b")


class Ruling(NamedTuple):
    """A proposed rule or goal that passed the checks; ``text`` is an extract of its source."""

    text: str
    quoted: Quoted
    trust: Trust
    sources: tuple[str, ...]
    endorsed: bool


def rule(attempt: Attempt) -> Ruling | None:
    """Check a new rule or goal: it needs a trusted observation of this turn and a quote found in it.

    If the proposed wording is not an extract of the source, the source's own words replace it
    (`acc.text.quoting.worded`). Returns None for a refused proposal; a note holds the reason.
    """
    _, slot, _, cited, sources = attempt
    head = attempt.text(slot.item.head)

    def refused(reason: Reason, detail: str = "") -> Ruling | None:
        attempt.note(reason, detail, head)
        return None

    makers = [c for c in cited if c.fresh and c.trust >= slot.rules.min_trust]
    if not makers:
        old = any(c.trust >= slot.rules.min_trust for c in cited)
        return refused(Reason.NOT_THIS_TURN if old else Reason.UNTRUSTED)
    quote = attempt.text("quote")
    if not quote:
        return refused(Reason.QUOTE_MISSING)
    reply = sources.endorsed(cited)
    replies = [reply] if reply is not None else []
    quoted = find_quoted(quote, [*makers, *replies])
    if quoted is None:
        return refused(Reason.QUOTE_NOT_FOUND, quote[:200])
    said = head or quote
    if replies and any(
        sources.holds_lower(words) or sources.weigh(words, replies).trust < Trust.AGENT
        for words in (said, quote)
    ):
        return refused(Reason.ENDORSES_LOWER)
    text = said if _amends(attempt, said, quoted) else _worded(attempt, said, quoted)
    if text is None:
        return refused(Reason.QUOTE_NOT_FOUND, "an assent alone is no rule")
    if crowds := None if _has_ended(attempt) else _crowds(attempt, quoted):
        return refused(*crowds)
    kept = [quoted.source, *replies, *(makers if replies else ())]
    refs = tuple(dict.fromkeys(c.ref for c in kept))
    if len(refs) < len(cited):
        attempt.note(Reason.CITES_NARROWED, " ".join(refs), said)
    if replies:
        attempt.note(Reason.ENDORSED, "", said)
    trust = Trust.USER if replies else quoted.source.trust
    return Ruling(text, quoted, trust, refs, endorsed=bool(replies))


def _amends(attempt: Attempt, said: str, quoted: Quoted) -> bool:
    """Return whether ``said`` is a rule retired by this proposal, with a new figure from the quote.

    After "Make that 300", a rule about batches stays a rule about batches.
    """
    draft, slot, proposed, *_ = attempt
    ended = (g.item for g in draft.set_aside if g.reason is Reason.RETIRED and g.slot == slot.name)
    old = next((item for item in ended if item.id in (proposed.amends, proposed.id)), None)
    if old is None or quoted.source.trust < old.trust:
        return False
    return sets_figure(said, old.head_text, quoted.text)


def _worded(attempt: Attempt, said: str, quoted: Quoted) -> str | None:
    """Return the rule in its source's own words; None if the source is only an assent."""
    source, item = quoted.source.observation, attempt.slot.item
    if source is not None and is_assent(source.text):
        return None
    others = [
        attempt.text(name)
        for name in item.wire_fields()
        if name not in ("quote", item.head) and wire_field(item, name).keys() == {"type"}
    ]
    is_record = any(others) and covers([said, *others], quoted.passage)
    text = said if is_record else worded(said, quoted.passage)
    if text != said:
        attempt.note(Reason.USERS_WORDS, "", said)
    return text


def _has_ended(attempt: Attempt) -> bool:
    """Return whether the proposal writes a rule anew that this commit has retired: it takes the old one's place."""
    gone = (g.item.id for g in attempt.draft.set_aside if g.reason is Reason.RETIRED)
    return bool(attempt.proposed.id) and attempt.proposed.id in gone


def _crowds(attempt: Attempt, quoted: Quoted) -> tuple[Reason, str] | None:
    """Return the reason and detail if another rule of this source would use too many places, else None."""
    ref, said = quoted.source.ref, quoted.source.observation
    most = max(LEAST_RULES, len(_CLAUSE.findall(said.text if said else "")) + 1)
    slot, items = attempt.slot, attempt.draft.items[attempt.slot.name]
    if sum(ref in i.sources for i in items) >= most:
        return Reason.FLOOD, f"more rules than clauses in {ref}"
    is_short = sum(i.is_open for i in items) >= FULL * slot.rules.max_items
    if is_short and not quoted.passage.is_whole:
        return Reason.NO_ROOM, "a part of a clause makes no rule where places are short"
    return None


# --- what a pronoun of a rule refers to ---


def readings(attempt: Attempt, text: str) -> dict[str, str]:
    """Return the accepted asides of a proposed rule; a refused aside is empty and gets a note.

    An aside tells what a pronoun of the rule refers to. It is stored and shown as the compressor's reading; it
    makes, changes and lifts no rule. Texts of the turn, the evidence or the state must contain its words.
    """
    found = {}
    for name in attempt.slot.item.asides:
        value = attempt.proposed.fields.get(name)
        said = one_line(value) if isinstance(value, str) else ""
        why = _reading_problem(said, attempt.sources) if said else ""
        found[name] = "" if why else said
        if why:
            attempt.note(Reason.READING_DROPPED, f"{said[:200]}: {why}", text)
    return found


def _reading_problem(said: str, sources: Sources) -> str:
    if len(said) > LONGEST_REFERENT:
        return f"longer than {LONGEST_REFERENT} characters"
    if governs(said):
        return "it restricts the rule"
    words = stems(said) | marks(said)
    named = frozenset[str]().union(*(stems(text) | marks(text) for text in sources.texts))
    if not words or not words <= named:
        return "nobody named it"
    return ""
