"""Rules, goals and next steps: whole sentences of user, operator or, for next steps, agent (laws 6 and 7)."""

from __future__ import annotations

from acc.commit.draft import Draft
from acc.commit.sources import LONGEST_ABOUT, refusal, words_of
from acc.state.items import Cue, Goal, Pinned, Rule, Words
from acc.state.proposal import Proposal, ProposedDone, ProposedPin
from acc.state.reasons import Reason
from acc.text.normal import normalised
from acc.text.quoting import same_words
from acc.turn.observations import LAWFUL, Channel


def add_pinned(draft: Draft, proposal: Proposal) -> None:
    """Add the proposed rules and goals that are lawful; note the others."""
    for name, pin in proposal.pins():
        of = draft.slots[name].rules.key
        words = draft.sentence(pin.quote, pin.ref, of)
        if words is None:
            continue
        offer = offered(draft, words, pin.offer, of) if pin.offer else None
        if offer is not None or not pin.offer:
            _settle(draft, name, pin, words, offer)


def offered(draft: Draft, assent: Words, quote: str, of: str) -> Words | None:
    """Return the agent's sentence that ``assent`` answers; None, with a note, if it answers none.

    The two messages follow each other with nothing of another channel between. What a tool or a document said and
    the agent repeats cannot be agreed to.
    """
    sources = draft.sources
    place = sources.place(assent.ref)
    before = sources.before(place) if place is not None else None
    why = "no message of the agent stands directly before the assent"
    if before is not None:
        ref = sources.messages[before].ref
        found = draft.sentence(quote, ref, of, (Channel.AGENT,))
        if found is None:
            return None
        if found.ref == ref and not sources.is_repeated(found.text, before):
            return found
        is_other = found.ref != ref
        why = "it is not in the message before" if is_other else "it repeats a tool or a document"
    draft.notes.append(refusal(Reason.NO_OFFER, quote, why, of, assent.ref))
    return None


def _settle(draft: Draft, name: str, pin: ProposedPin, words: Words, offer: Words | None) -> None:
    if held := _held(draft, name, words, offer):
        _said_again(draft, name, held, words)
        if pin.id:
            draft.labels.setdefault(pin.id, held.id)
        return
    slot = draft.slots[name]
    fields: dict[str, object] = {"words": words, **_asides(draft, pin, words)}
    if offer is not None and issubclass(slot.item, Rule):
        fields["offer"] = offer
    item = slot.item.model_validate(
        {"id": draft.new_id(slot, pin.id), "turn": words.turn, "touched": draft.turn, **fields}
    )
    if isinstance(item, Pinned) and draft.pin(name, item, words, slot.rules.key):
        draft.note(Reason.ADDED, item.id, words.text)


def _held(draft: Draft, name: str, words: Words, offer: Words | None) -> Pinned | None:
    """Return the item that holds the same sentence of a speaker as trusted, and the same offer."""
    offered = offer.text if offer else ""
    for item in draft.items[name]:
        if not isinstance(item, Pinned) or not same_words(item.words.text, words.text):
            continue
        own = item.offer.text if isinstance(item, Rule) and item.offer else ""
        is_same = own == offered or bool(own and offered and same_words(own, offered))
        if is_same and item.words.trust >= words.trust:
            return item
    return None


def _said_again(draft: Draft, name: str, held: Pinned, words: Words) -> None:
    """Saying a rule again cancels the claim that it ended, and what was said before can no longer end it."""
    update: dict[str, object] = {"touched": draft.turn}
    if held.words.ref != words.ref and not draft.sources.is_before(words, held.words):
        if held.later:
            others = [w for w in held.later if not same_words(w.text, held.words.text)]
            update["later"] = (*others, words)
        else:
            update["words"] = words.model_copy(update={"text": held.words.text})
        if held.ending is not None and words.turn >= held.ending.since:
            update["ending"] = None
    changed = held.model_copy(update=update)
    if "later" not in update:
        draft.replace(name, changed)
    elif not draft.pin(name, changed, words, "later"):
        return
    draft.note(Reason.KNOWN, held.id, words.text)


def _asides(draft: Draft, pin: ProposedPin, words: Words) -> dict[str, Words]:
    """Return ``about`` and ``scope``, where they are verbatim. Without them the rule stands all the same."""
    found: dict[str, Words] = {}
    if pin.about:
        about = draft.sources.span(pin.about) or _held_span(draft, pin.about)
        if about is None:
            why = "no short verbatim span"
            draft.note(Reason.NOT_FOUND, "", pin.about, why, "about", words.ref)
        elif about.text.casefold() not in words.text.casefold():
            found["about"] = about
    if pin.scope:
        scope = draft.sentence(pin.scope, pin.ref, "scope")
        if scope and scope.trust >= words.trust and not same_words(scope.text, words.text):
            found["scope"] = scope
    return found


def _held_span(draft: Draft, text: str) -> Words | None:
    """Return a verbatim span of a held rule or goal, whose message need not be read again."""
    wanted = normalised(text)
    for _, item in draft.pinned():
        if len(text) <= LONGEST_ABOUT and wanted and wanted in normalised(item.words.text):
            return item.words.model_copy(update={"text": text})
    return None


def close_goals(draft: Draft, done: tuple[ProposedDone, ...]) -> None:
    """Mark goals that user, operator or agent call reached or given up."""
    for each in done:
        name, goal = draft.find_pinned(each.id) or ("", None)
        place = draft.sources.place(each.ref)
        if not isinstance(goal, Goal):
            draft.note(Reason.UNKNOWN_ID, each.id, detail="no goal has this id", of="done")
        elif goal.is_closed:
            continue
        elif place is None:
            draft.note(Reason.NOT_FOUND, each.id, detail=f"no message {each.ref!r}", of="done")
        else:
            _close(draft, name, goal, place)


def _close(draft: Draft, name: str, goal: Goal, place: int) -> None:
    message = draft.sources.messages[place]
    is_operators = goal.words.channel is Channel.OPERATOR
    closers = (Channel.OPERATOR,) if is_operators else (*LAWFUL, Channel.AGENT)
    if message.channel not in closers:
        detail = f"the words of a {message.channel.value} do not close it"
        draft.note(Reason.UNTRUSTED, goal.id, detail=detail, of="done")
        return
    by = words_of(message, "").model_copy(update={"turn": draft.turn})
    draft.replace(name, goal.model_copy(update={"done": by, "touched": draft.turn}))
    draft.note(Reason.DONE, goal.id, goal.words.text)


def add_cues(draft: Draft, proposal: Proposal) -> None:
    """Add the next steps that agent, user or operator announced. The newest few stand until they are dropped."""
    slot = draft.slots["predictive_cue"]
    held = draft.items["predictive_cue"]
    for pin in proposal.next:
        words = draft.sentence(pin.quote, pin.ref, "next", (Channel.AGENT, *LAWFUL))
        if words and not any(isinstance(c, Cue) and c.words.text == words.text for c in held):
            cue_id = draft.new_id(slot)
            held.append(Cue(id=cue_id, turn=words.turn, touched=draft.turn, words=words))
    for cue in held[: -slot.rules.places]:
        draft.note(Reason.EVICTED, cue.id, cue.text_of, "newer steps took its place")
    del held[: -slot.rules.places]
