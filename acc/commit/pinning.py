"""Laws 6 and 7: rules and goals are carried on, and retired only with quoted words."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from acc.commit.asking import Asked
from acc.commit.attempt import Attempt
from acc.commit.draft import Draft, is_operators
from acc.commit.integrity import Quoted, Sources, find_quoted
from acc.commit.lifting import Bearing, Said, asks, bearing
from acc.commit.reaching import closes, reaches
from acc.commit.ruling import readings
from acc.state.items import Goal, Item, one_line
from acc.state.model import RetiredRule
from acc.state.proposal import Retirement
from acc.state.reasons import Reason
from acc.state.slots import SlotField
from acc.text.quoting import find_passage
from acc.text.same_words import same_words
from acc.text.wording import is_assent, split_line
from acc.turn.observations import Observation, Trust

_NO = re.compile(
    r"(?:(?:no|nope|nein|non|não)\b[\s,.!]*)?(?:no|nope|nein|non|não|keep (?:it|that)|no thanks|"
    r"it (?:stays|stands|still holds))[\s.!]*",
    re.I,
)
"""A plain no to a question, in full."""


def confirm(draft: Draft) -> None:
    """Decide doubts by the user's plain answer to the agent's question about the rule.

    A yes to whether it ends retires the rule. A no to that, or a yes to whether it still holds, settles the doubt.
    """
    for doubted in draft.before.doubted:
        found = draft.find(doubted.id)
        for said in draft.turn.unread:
            if found is None or said.trust < max(Trust.USER, found[1].trust):
                continue
            is_no = _NO.fullmatch(said.text.strip()) is not None
            if not (is_no or is_assent(said.text)):
                continue
            reply = draft.turn.reply_before(said.ref)
            is_kept = asks(reply.text if reply else "", found[1]) is Asked.KEEPS
            asked = said.model_copy(update={"text": "Yes."}) if is_no else said
            if is_kept and not is_no:
                draft.settle(found[1])
            elif _bearing(draft, found[1], asked, asked.text) is not Bearing.ENDS:
                continue
            elif is_no:
                draft.settle(found[1])
            else:
                _lift(draft, *found, said.ref, split_line(one_line(said.text), 480)[0])
            break


def retire(
    draft: Draft, retirements: Sequence[Retirement], sources: Sources, joined: Collection[str] = ()
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
        elif found[0].binds(found[1]):
            _retire_pinned(draft, *found, wanted, sources, retired)
        elif wanted.id not in joined:
            draft.remove(*found, Reason.MADE_ROOM)


def retire_joined(draft: Draft, retirements: Sequence[Retirement], joined: Collection[str]) -> None:
    """Remove the unpinned items that other items of the proposal cite, unless one of those was refused."""
    for wanted in retirements:
        found = draft.find(wanted.id)
        if found is None or wanted.id not in joined or found[0].binds(found[1]):
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
        detail = f"retire: {ref}: {because}"[:400]
        draft.note(Reason.LIFTING_DOUBTED, slot.name, item, detail=detail)
        draft.doubt(item, because)
    else:
        draft.note(_REFUSED[bearing], slot.name, item, detail=f"retire: {because}"[:400])


_REFUSED = {
    Bearing.ONE_CASE: Reason.ONE_CASE,
    Bearing.UNRELATED: Reason.QUOTE_UNRELATED,
    Bearing.DOUBTFUL: Reason.QUOTE_UNRELATED,
}


def _lift(draft: Draft, slot: SlotField, item: Item, ref: str, because: str) -> None:
    draft.remove(slot, item, Reason.RETIRED, detail=f"{ref}: {because}")
    draft.settle(item)
    notice = RetiredRule(text=item.head_text, because=because, owed=is_operators(draft.turn))
    draft.lifted.append(notice)


def containing(items: Sequence[Item], item: Item) -> Item | None:
    """Return the first other active one of ``items`` that says all that ``item`` says, or None."""
    more = [n for n in (*item.shown_fields(), *item.asides) if n != item.head and getattr(item, n)]
    for other in items:
        if other.id == item.id or not other.is_open or other.trust < item.trust:
            continue
        is_same = all(getattr(item, name) == getattr(other, name) for name in more)
        if is_same and _says(other.head_text, item.head_text):
            return other
    return None


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
    bound = [other for slot, other in draft.placed() if slot.binds(other)]
    others = [other for other in bound if other.id not in (item.id, *retired)]
    found = bearing(Said(quote, said.text, asked), item, others)
    is_accepted = draft.lifting == "accept" or item.id in draft.confirmed
    return Bearing.ENDS if is_accepted and found is Bearing.DOUBTFUL else found


def amend(attempt: Attempt, item: Item) -> bool:
    """Retire ``item`` if the proposal writes it anew with fresh words of the user's or operator's.

    Returns:
        Whether the proposal makes a new rule. If the words do not bear out the end of the old one, the old
        one stays and is doubted. An operator's words are judged too: most of them make another rule.
    """
    draft, slot = attempt.draft, attempt.slot
    quoted = _quoted_anew(attempt, item)
    source = quoted.source.observation if quoted is not None else None
    said = attempt.text(item.head) or attempt.text("quote")
    if quoted is None or source is None or not said or same_words(said, item.head_text):
        return False
    if attempt.proposed.fields.get("done") is True:
        return False
    because = split_line(one_line(quoted.text), 480)[0]
    how = _judged(draft, item, source, quoted.text)
    is_full = sum(i.is_open for i in draft.items[slot.name]) >= slot.rules.max_items
    if how in (Bearing.UNRELATED, Bearing.ONE_CASE) or (how is Bearing.DOUBTFUL and is_full):
        draft.note(_REFUSED[how], slot.name, item, detail=f"change: {because}"[:400])
        return False
    _end(draft, slot, item, source.ref, because, how)
    return True


def _quoted_anew(attempt: Attempt, item: Item) -> Quoted | None:
    """Return the proposal's quote, found in fresh words that are as trusted as ``item``."""
    fresh = [c for c in attempt.cited if c.fresh and c.trust >= item.trust]
    return find_quoted(attempt.text("quote"), fresh)


def carry(attempt: Attempt, item: Item) -> None:
    """Apply a proposal to a pinned item: carry the item on, or mark a goal done.

    Fresh words of the user's or operator's, if quoted, let the compressor change its reading of a pronoun.
    """
    draft, slot, proposed, cited, _ = attempt
    words = item.head_text
    said = proposed.fields.get(item.head)
    if isinstance(said, str) and said.strip() and said.strip() != words:
        draft.note(Reason.PIN_RESTORED, slot.name, item, detail=f"proposed: {said[:200]}")
    told = [c.observation for c in cited if c.fresh and c.trust >= max(Trust.USER, item.trust)]
    if any(o is not None and _says(o.text, words) for o in told):
        draft.settle(item)
    if isinstance(item, Goal) and proposed.fields.get("done") is True:
        _finish(attempt, item)
    else:
        read = readings(attempt, words) if _quoted_anew(attempt, item) else {}
        item = draft.change(slot, item, **{name: text for name, text in read.items() if text})
        draft.note(Reason.CARRIED, slot.name, item)


def _finish(attempt: Attempt, goal: Goal) -> None:
    """Mark a goal done if this turn's words state it; an operator's goal needs the user or operator."""
    draft, slot, _, cited, sources = attempt
    least = Trust.USER if goal.trust is Trust.OPERATOR else Trust.AGENT
    able = [c for c in cited if c.fresh and c.trust >= least and sources.speaks_for_itself(c)]
    proofs = [c for c in able if c.observation and _is_reached(draft, goal, c.observation)]
    if not proofs:
        draft.change(slot, goal)
        if able:
            said = able[0].observation.text if able[0].observation else ""
            draft.note(Reason.QUOTE_UNRELATED, slot.name, goal, detail=f"done: {said}"[:400])
        else:
            detail = f"done needs {least.word} or above"
            draft.note(Reason.UNTRUSTED, slot.name, goal, detail=detail)
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
    return [i for _, i in draft.placed() if isinstance(i, Goal) and i.is_open and i.id != goal.id]
