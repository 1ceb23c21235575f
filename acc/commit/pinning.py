"""Laws 6 and 7: rules and goals are made, carried on and retired only with quoted words."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from acc.commit.draft import Draft, is_operators
from acc.commit.integrity import Cited, Quoted, Sources, find_quoted
from acc.commit.lifting import Bearing, Said, bearing, closes, reaches
from acc.state.items import Goal, Item, one_line, wire_field
from acc.state.model import RetiredRule
from acc.state.proposal import ProposedItem, Retirement
from acc.state.reasons import Reason
from acc.state.slots import SlotField
from acc.text.clauses import governs
from acc.text.lines import LONGEST_REFERENT
from acc.text.quoting import covers, find_passage, worded
from acc.text.same_words import same_words, sets_figure
from acc.text.wording import is_assent, marks, split_line, stems
from acc.turn.observations import Observation, Trust

_LONGEST = 4_000

FULL = 3 / 4
"""Share of used places in a slot from which on a part of a user's clause makes no rule."""

LEAST_RULES = 2
"""Rules that any observation may make; a longer one may make one rule per clause."""

_CLAUSE = re.compile(r"[.!?;,:\n]|\band\b|\bbut\b")


_NO = re.compile(
    r"(?:(?:no|nope|nein|non|não)\b[\s,.!]*)?(?:no|nope|nein|non|não|keep (?:it|that)|no thanks|"
    r"it (?:stays|stands|still holds))[\s.!]*",
    re.IGNORECASE,
)
"""A plain no to a question, in full."""


class Ruling(NamedTuple):
    """A proposed rule or goal that passed the checks; ``text`` is an extract of its source."""

    text: str
    quoted: Quoted
    trust: Trust
    sources: tuple[str, ...]
    endorsed: bool


def confirm(draft: Draft) -> None:
    """Decide doubts by the user's plain answer to the agent's question: a yes retires, a no keeps the rule."""
    for doubted in draft.before.doubted:
        found = draft.find(doubted.id)
        for said in (*draft.turn.pending, *draft.turn.observations):
            if found is None or said.trust < max(Trust.USER, found[1].trust):
                continue
            is_no = _NO.fullmatch(said.text.strip()) is not None
            if not (is_no or is_assent(said.text)):
                continue
            asked = said.model_copy(update={"text": "Yes."}) if is_no else said
            if _bearing(draft, found[1], asked, asked.text) is not Bearing.ENDS:
                continue
            if is_no:
                draft.settle(found[1])
            else:
                _lift(draft, *found, said.ref, split_line(one_line(said.text), 480)[0])
            break


def retire(
    draft: Draft,
    retirements: Sequence[Retirement],
    sources: Sources,
    joined: Collection[str] = (),
) -> None:
    """Apply ``retirements``.

    A pinned item needs a cited and quoted observation of this turn that is at least as trusted as the item
    and shows that the item ends. A doubtful retirement is not applied (`acc.commit.lifting`): the state
    instructs the agent to ask. A retirement with the compressor's own doubt (`Retirement.doubt`) does not
    apply to a pinned item. An unpinned item needs no reason.
    """
    retired = {wanted.id for wanted in retirements}
    for wanted in retirements:
        found = draft.find(wanted.id)
        if found is None:
            draft.note(Reason.UNKNOWN_ITEM, detail=f"retire {wanted.id[:80] or 'nothing'}")
        elif found[0].rules.pinned and found[1].is_open:
            _retire_pinned(draft, *found, wanted, sources, retired)
        elif wanted.id not in joined:
            draft.remove(*found, Reason.MADE_ROOM)


def retire_joined(draft: Draft, retirements: Sequence[Retirement], joined: Collection[str]) -> None:
    """Remove the unpinned items that other items of the proposal cite, unless one of those was refused."""
    for wanted in retirements:
        found = draft.find(wanted.id)
        if found is None or wanted.id not in joined or (found[0].rules.pinned and found[1].is_open):
            continue
        if wanted.id in draft.unjoined:
            draft.note(Reason.CARRIED, found[0].name, found[1], detail="what joins it was refused")
        else:
            draft.remove(*found, Reason.MADE_ROOM)


def _retire_pinned(
    draft: Draft,
    slot: SlotField,
    item: Item,
    wanted: Retirement,
    sources: Sources,
    retired: Collection[str],
) -> None:
    doubted = {each.id for each in draft.doubted}
    undoubted = [each for each in draft.items[slot.name] if each.id not in doubted]
    cited, _ = sources.resolve(wanted.cites)
    trusted = [c for c in cited if c.fresh and c.trust >= item.trust]
    twin = containing(undoubted, item)
    if twin is not None and not (wanted.quote and trusted):
        draft.remove(slot, item, Reason.MADE_ROOM, detail=f"{twin.id} says it")
        return
    quoted = find_quoted(wanted.quote, trusted)
    because = split_line(one_line(quoted.text), 480)[:1] if quoted else []
    said = quoted.source.observation if quoted else None
    if not trusted:
        reason = Reason.UNTRUSTED if cited else Reason.UNCITED
        draft.note(reason, slot.name, item, detail=f"retire needs {item.trust.word} of this turn")
    elif not wanted.quote:
        draft.note(Reason.QUOTE_MISSING, slot.name, item, detail="retire")
    elif quoted is None or said is None or not because:
        draft.note(Reason.QUOTE_NOT_FOUND, slot.name, item, detail=f"retire: {wanted.quote[:200]}")
    elif wanted.doubt:
        detail = f"retire: {wanted.doubt}: {wanted.quote}"
        draft.note(Reason.QUOTE_UNRELATED, slot.name, item, detail=detail[:400])
    else:
        how = _bearing(draft, item, said, wanted.quote, retired)
        _end(draft, slot, item, said.ref, because[0], how)


def _end(
    draft: Draft, slot: SlotField, item: Item, ref: str, because: str, bearing: Bearing
) -> None:
    if bearing is Bearing.ENDS:
        _lift(draft, slot, item, ref, because)
    elif bearing is Bearing.DOUBTFUL:
        draft.note(
            Reason.LIFTING_DOUBTED, slot.name, item, detail=f"retire: {ref}: {because}"[:400]
        )
        draft.doubt(item, because)
    else:
        draft.note(Reason.QUOTE_UNRELATED, slot.name, item, detail=f"retire: {because}"[:400])


def _lift(draft: Draft, slot: SlotField, item: Item, ref: str, because: str) -> None:
    draft.remove(slot, item, Reason.RETIRED, detail=f"{ref}: {because}")
    draft.settle(item)
    notice = RetiredRule(
        text=str(getattr(item, item.head)), because=because, owed=is_operators(draft.turn)
    )
    draft.lifted.append(notice)


def containing(items: Sequence[Item], item: Item) -> Item | None:
    """Return the first other active one of ``items`` that says all that ``item`` says, or None."""
    more = [n for n in (*item.shown_fields(), *item.asides) if n != item.head and getattr(item, n)]
    return next(
        (
            other
            for other in items
            if other.id != item.id and other.is_open and other.trust >= item.trust
            if _says(str(getattr(other, other.head)), str(getattr(item, item.head)))
            if all(getattr(item, name) == getattr(other, name) for name in more)
        ),
        None,
    )


def _says(text: str, rule: str) -> bool:
    """Return whether whole clauses of ``text`` say ``rule``, and no other clause restricts them."""
    found = find_passage(rule, text)
    return found is not None and found.is_whole and same_words(found.text, rule)


def _bearing(
    draft: Draft, item: Item, said: Observation, quote: str, retired: Collection[str] = ()
) -> Bearing:
    """Judge whether the ``quote`` from ``said`` ends ``item``.

    The items in ``retired`` are not compared: the same proposal retires them. A second reading, or with
    ``lifting="accept"`` the compressor's judgement, decides a doubt. An operator's words need no judgement, except a
    plain yes. A part of a rule from the same message ends with the whole rule.
    """
    if said.trust is Trust.OPERATOR and not is_assent(said.text):
        return Bearing.ENDS
    return _judged(draft, item, said, quote, retired)


def _judged(
    draft: Draft, item: Item, said: Observation, quote: str, retired: Collection[str] = ()
) -> Bearing:
    own = str(getattr(item, "quote", "")).casefold()
    lifted = [gone.item for gone in draft.set_aside if gone.reason is Reason.RETIRED]
    together = [other for other in lifted if set(other.sources) & set(item.sources)]
    if any(own and own in str(getattr(other, "quote", "")).casefold() for other in together):
        return Bearing.ENDS
    reply = draft.turn.reply_before(said.ref)
    asked = reply.text if reply else ""
    if isinstance(item, Goal) and closes(said.text, asked, item, _other_goals(draft, item)):
        return Bearing.ENDS
    others = [
        other
        for slot in draft.slots.values()
        for other in draft.items[slot.name]
        if slot.rules.pinned and other.is_open and other.id not in (item.id, *retired)
    ]
    found = bearing(Said(quote, said.text, asked), item, others)
    is_accepted = draft.lifting == "accept" or item.id in draft.confirmed
    return Bearing.ENDS if is_accepted and found is Bearing.DOUBTFUL else found


def amend(
    draft: Draft, slot: SlotField, item: Item, proposed: ProposedItem, sources: Sources
) -> bool:
    """Retire ``item`` if the proposal writes it anew with fresh words of the user's or operator's.

    Returns:
        Whether the proposal makes a new rule. If the words do not bear out the end of the old one, the old
        one stays and is doubted. An operator's words are judged too: most of them make another rule.
    """
    said = _text(proposed, item.head) or _text(proposed, "quote")
    cited, _ = sources.resolve(proposed.cites)
    fresh = [c for c in cited if c.fresh and c.trust >= item.trust]
    quoted = find_quoted(_text(proposed, "quote"), fresh)
    if quoted is None or quoted.source.observation is None:
        return False
    if not said or same_words(said, str(getattr(item, item.head))):
        return False
    if proposed.fields.get("done") is True:
        return False
    because = split_line(one_line(quoted.text), 480)[0]
    how = _judged(draft, item, quoted.source.observation, quoted.text)
    is_full = sum(i.is_open for i in draft.items[slot.name]) >= slot.rules.max_items
    if how is Bearing.UNRELATED or (how is Bearing.DOUBTFUL and is_full):
        draft.note(Reason.QUOTE_UNRELATED, slot.name, item, detail=f"change: {because}"[:400])
        return False
    _end(draft, slot, item, quoted.source.ref, because, how)
    return True


def carry(
    draft: Draft,
    slot: SlotField,
    item: Item,
    proposed: ProposedItem,
    cited: Sequence[Cited],
    sources: Sources,
) -> None:
    """Apply a proposal to a pinned item: carry the item on, or mark a goal done.

    Fresh words of the user's or operator's, if quoted, let the compressor change its reading of a pronoun.
    """
    said = proposed.fields.get(item.head)
    if isinstance(said, str) and said.strip() and said.strip() != getattr(item, item.head):
        draft.note(Reason.PIN_RESTORED, slot.name, item, detail=f"proposed: {said[:200]}")
    words = str(getattr(item, item.head))
    told = [c.observation for c in cited if c.fresh and c.trust >= max(Trust.USER, item.trust)]
    if any(o is not None and _says(o.text, words) for o in told):
        draft.settle(item)
    if isinstance(item, Goal) and proposed.fields.get("done") is True:
        _finish(draft, slot, item, cited, sources)
    else:
        quoted = find_quoted(
            _text(proposed, "quote"), [c for c in cited if c.fresh and c.trust >= item.trust]
        )
        read = readings(draft, slot, proposed, words, sources) if quoted else {}
        item = draft.change(slot, item, **{name: text for name, text in read.items() if text})
        draft.note(Reason.CARRIED, slot.name, item)


def _finish(
    draft: Draft, slot: SlotField, goal: Goal, cited: Sequence[Cited], sources: Sources
) -> None:
    """Mark a goal done if this turn's words state it; an operator's goal needs the user or operator."""
    least = Trust.USER if goal.trust is Trust.OPERATOR else Trust.AGENT
    able = [c for c in cited if c.fresh and c.trust >= least and sources.speaks_for_itself(c)]
    proofs = [c for c in able if c.observation and _is_reached(draft, goal, c.observation)]
    if not proofs:
        draft.change(slot, goal)
        if able:
            said = able[0].observation.text if able[0].observation else ""
            draft.note(Reason.QUOTE_UNRELATED, slot.name, goal, detail=f"done: {said}"[:400])
        else:
            draft.note(
                Reason.UNTRUSTED, slot.name, goal, detail=f"done needs {least.word} or above"
            )
        draft.note(Reason.CARRIED, slot.name, goal)
        return
    ref, trust = proofs[0].ref, min(goal.trust, proofs[0].trust)
    done = draft.change(slot, goal, done=True, sources=(ref,), trust=trust)
    draft.note(Reason.DONE, slot.name, done, detail=ref)
    words = proofs[0].observation.text if proofs[0].observation else ref
    because = (split_line(one_line(words), 240)[:1] or [ref])[0]
    draft.lifted.append(RetiredRule(text=goal.text, because=f"done, says {ref}: {because}"))


def _is_reached(draft: Draft, goal: Goal, said: Observation) -> bool:
    is_users = said.trust >= Trust.USER
    reply = draft.turn.reply_before(said.ref) if is_users else None
    before = reply.text if reply else "" if is_users else draft.turn.user_words
    return reaches(said.text, before, goal, _other_goals(draft, goal), is_users=is_users)


def _other_goals(draft: Draft, goal: Goal) -> list[Item]:
    held = (item for items in draft.items.values() for item in items)
    return [i for i in held if isinstance(i, Goal) and i.is_open and i.id != goal.id]


def rule(
    draft: Draft, slot: SlotField, proposed: ProposedItem, cited: Sequence[Cited], sources: Sources
) -> Ruling | None:
    """Check a new rule or goal: it needs a trusted observation of this turn and a quote found in it.

    If the proposed wording is not an extract of the source, the source's own words replace it
    (`acc.text.quoting.worded`). Returns None for a refused proposal; a note holds the reason.
    """

    def refused(reason: Reason, detail: str = "") -> None:
        draft.note(reason, slot.name, text=_text(proposed, slot.item.head)[:400], detail=detail)

    makers = [c for c in cited if c.fresh and c.trust >= slot.rules.min_trust]
    if not makers:
        old = any(c.trust >= slot.rules.min_trust for c in cited)
        refused(Reason.NOT_THIS_TURN if old else Reason.UNTRUSTED)
        return None
    quote = _text(proposed, "quote")
    if not quote:
        refused(Reason.QUOTE_MISSING)
        return None
    reply = sources.endorsed(cited)
    replies = [reply] if reply is not None else []
    quoted = find_quoted(quote, [*makers, *replies])
    if quoted is None:
        refused(Reason.QUOTE_NOT_FOUND, quote[:200])
        return None
    said = _text(proposed, slot.item.head) or quote
    if replies and any(
        sources.holds_lower(words) or sources.weigh(words, replies).trust < Trust.AGENT
        for words in (said, quote)
    ):
        refused(Reason.ENDORSES_LOWER)
        return None
    amends = _amends(draft, slot, proposed, said, quoted)
    text = said if amends else _worded(draft, slot, proposed, said, quoted)
    if text is None:
        refused(Reason.QUOTE_NOT_FOUND, "an assent alone is no rule")
        return None
    if crowds := None if _has_ended(draft, proposed) else _crowds(draft, slot, quoted):
        refused(*crowds)
        return None
    kept = [quoted.source, *replies, *(makers if replies else ())]
    refs = tuple(dict.fromkeys(c.ref for c in kept))
    if len(refs) < len(cited):
        draft.note(Reason.CITES_NARROWED, slot.name, text=said, detail=" ".join(refs))
    if replies:
        draft.note(Reason.ENDORSED, slot.name, text=said)
    trust = Trust.USER if replies else quoted.source.trust
    return Ruling(text, quoted, trust, refs, endorsed=bool(replies))


def _amends(
    draft: Draft, slot: SlotField, proposed: ProposedItem, said: str, quoted: Quoted
) -> bool:
    """Return whether ``said`` is a rule retired by this proposal, with a new figure from the quote.

    After "Make that 300", a rule about batches stays a rule about batches.
    """
    ended = (g.item for g in draft.set_aside if g.reason is Reason.RETIRED and g.slot == slot.name)
    old = next((item for item in ended if item.id in (proposed.amends, proposed.id)), None)
    if old is None or quoted.source.trust < old.trust:
        return False
    return sets_figure(said, str(getattr(old, old.head)), quoted.text)


def _text(proposed: ProposedItem, name: str) -> str:
    value = proposed.fields.get(name)
    return one_line(value[:_LONGEST]) if isinstance(value, str) else ""


def _worded(
    draft: Draft, slot: SlotField, proposed: ProposedItem, said: str, quoted: Quoted
) -> str | None:
    """Return the rule in its source's own words; None if the source is only an assent."""
    source = quoted.source.observation
    if source is not None and is_assent(source.text):
        return None
    others = [
        _text(proposed, name)
        for name in slot.item.wire_fields()
        if name not in ("quote", slot.item.head) and wire_field(slot.item, name).keys() == {"type"}
    ]
    is_record = any(others) and covers([said, *others], quoted.passage)
    text = said if is_record else worded(said, quoted.passage)
    if text != said:
        draft.note(Reason.USERS_WORDS, slot.name, text=said)
    return text


def _has_ended(draft: Draft, proposed: ProposedItem) -> bool:
    """Return whether the proposal writes a rule anew that this commit has retired: it takes the old one's place."""
    ended = (gone.item.id for gone in draft.set_aside if gone.reason is Reason.RETIRED)
    return bool(proposed.id) and proposed.id in ended


def _crowds(draft: Draft, slot: SlotField, quoted: Quoted) -> tuple[Reason, str] | None:
    """Return the reason and detail if another rule of this source would use too many places, else None."""
    ref, said = quoted.source.ref, quoted.source.observation
    most = max(LEAST_RULES, len(_CLAUSE.findall(said.text if said else "")) + 1)
    items = draft.items[slot.name]
    if sum(ref in i.sources for i in items) >= most:
        return Reason.FLOOD, f"more rules than clauses in {ref}"
    is_short = sum(i.is_open for i in items) >= FULL * slot.rules.max_items
    if is_short and not quoted.passage.is_whole:
        return Reason.NO_ROOM, "a part of a clause makes no rule where places are short"
    return None


def same_rule(items: Sequence[Item], text: str) -> Item | None:
    """Return the item that says the same as ``text`` (`acc.text.same_words.same_words`), or None."""
    return next((item for item in items if same_words(str(getattr(item, item.head)), text)), None)


# --- what a pronoun of a rule refers to ---


def readings(
    draft: Draft, slot: SlotField, proposed: ProposedItem, text: str, sources: Sources
) -> dict[str, str]:
    """Return the accepted asides of a proposed rule; a refused aside is empty and gets a note.

    An aside tells what a pronoun of the rule refers to. It is stored and shown as the compressor's reading; it
    makes, changes and lifts no rule. Texts of the turn, the evidence or the state must contain its words.
    """
    found = {}
    for name in slot.item.asides:
        value = proposed.fields.get(name)
        said = one_line(value) if isinstance(value, str) else ""
        why = _reading_problem(said, sources) if said else ""
        found[name] = "" if why else said
        if why:
            draft.note(Reason.READING_DROPPED, slot.name, text=text, detail=f"{said[:200]}: {why}")
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
