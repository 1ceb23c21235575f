"""Rules and goals: whole sentences of user or operator (laws 6 and 7)."""

from __future__ import annotations

from acc.commit.draft import Draft
from acc.commit.sources import LAWFUL, LONGEST_ABOUT
from acc.state.items import Cue, Goal, Pinned, Rule, Words
from acc.state.proposal import Proposal, ProposedDone, ProposedPin
from acc.state.reasons import Note, Reason
from acc.text.normal import normalised
from acc.text.quoting import same_words
from acc.turn.observations import Channel


def add_pinned(draft: Draft, proposal: Proposal) -> None:
    """Add the proposed rules and goals that are lawful; note the others."""
    for name, pin in proposal.pins():
        of = draft.slots[name].rules.key
        found = _read(draft, pin, of)
        if isinstance(found, Note):
            draft.notes.append(found)
        else:
            _settle(draft, name, pin, found)


def _read(draft: Draft, pin: ProposedPin, of: str) -> tuple[Words, Words | None] | Note:
    """Return the sentence, and the agent's offer if the sentence assents to one."""
    words = draft.sources.sentence(pin.quote, pin.ref, of=of)
    if isinstance(words, Note) or not pin.offer:
        return words if isinstance(words, Note) else (words, None)
    offer = offered(draft, words, pin.offer, of)
    return offer if isinstance(offer, Note) else (words, offer)


def offered(draft: Draft, assent: Words, quote: str, of: str) -> Words | Note:
    """Return the agent's sentence that ``assent`` answers, or why it answers none.

    The two messages follow each other with nothing of another channel between. What a tool or a document said and
    the agent repeats cannot be agreed to.
    """
    place = draft.sources.place(assent.ref)
    before = draft.sources.before(place) if place is not None else None
    if before is None:
        return Note(
            reason=Reason.NO_OFFER,
            ref=assent.ref,
            text=quote[:80],
            detail="no message of the agent stands directly before the assent",
            of=of,
        )
    found = draft.sources.sentence(quote, draft.sources.messages[before].ref, (Channel.AGENT,), of)
    if isinstance(found, Note):
        return found
    is_there = found.ref == draft.sources.messages[before].ref
    if not is_there or draft.sources.is_repeated(found.text):
        detail = "repeats a tool or a document" if is_there else "is not in the message before"
        return Note(
            reason=Reason.NO_OFFER, ref=assent.ref, text=quote[:80], detail=f"it {detail}", of=of
        )
    return found


def _settle(draft: Draft, name: str, pin: ProposedPin, said: tuple[Words, Words | None]) -> None:
    words, offer = said
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
    draft.items[name].append(item)
    if not has_room(draft, name, words.speaker):
        draft.items[name].pop()
        draft.no_room.append(words.ref)
        draft.note(Reason.NO_ROOM, text=words.text, of=slot.rules.key, ref=words.ref)
        return
    draft.note(Reason.ADDED, item.id, words.text)


def _held(draft: Draft, name: str, words: Words, offer: Words | None) -> Pinned | None:
    """Return the item that holds the same sentence of a speaker as trusted."""
    for item in draft.items[name]:
        if not isinstance(item, Pinned) or not same_words(item.words.text, words.text):
            continue
        own = getattr(item, "offer", None)
        is_same_offer = (own is None) == (offer is None) and (
            own is None or offer is None or same_words(own.text, offer.text)
        )
        if is_same_offer and item.words.trust >= words.trust:
            return item
    return None


def _said_again(draft: Draft, name: str, held: Pinned, words: Words) -> None:
    """Saying a rule again cancels the claim that it ended, and what was said before can no longer end it."""
    update: dict[str, object] = {"touched": draft.turn}
    if held.words.ref != words.ref and not draft.sources.is_before(words, held.words):
        if held.later:
            others = [w for w in held.later if not same_words(w.text, held.words.text)]
            update |= {"later": (*others, words)}
        else:
            update |= {"words": words.model_copy(update={"text": held.words.text})}
        if held.ending is not None and words.turn >= held.ending.since:
            update["ending"] = None
    draft.replace(name, held.model_copy(update=update))
    if "later" in update and not has_room(draft, name, words.speaker):
        draft.replace(name, held)
        draft.no_room.append(words.ref)
        draft.note(Reason.NO_ROOM, held.id, words.text, of="later", ref=words.ref)
        return
    draft.note(Reason.KNOWN, held.id, words.text)


def _asides(draft: Draft, pin: ProposedPin, words: Words) -> dict[str, Words]:
    """Return ``about`` and ``scope``, where they are verbatim. Without them the rule stands all the same."""
    found: dict[str, Words] = {}
    if pin.about:
        about = draft.sources.span(pin.about) or _held_span(draft, pin.about)
        if about is None:
            draft.note(
                Reason.NOT_FOUND,
                text=pin.about,
                detail="no short verbatim span",
                of="about",
                ref=words.ref,
            )
        elif about.text.casefold() not in words.text.casefold():
            found["about"] = about
    if pin.scope:
        scope = draft.sources.sentence(pin.scope, pin.ref, LAWFUL, "scope")
        if isinstance(scope, Note):
            draft.notes.append(scope)
        elif scope.trust >= words.trust and not same_words(scope.text, words.text):
            found["scope"] = scope
    return found


def _held_span(draft: Draft, text: str) -> Words | None:
    """Return a verbatim span of a held rule or goal, whose message need not be read again."""
    wanted = normalised(text)
    for _, item in draft.pinned():
        if len(text) <= LONGEST_ABOUT and wanted and wanted in normalised(item.words.text):
            return item.words.model_copy(update={"text": text})
    return None


def has_room(draft: Draft, name: str, speaker: str) -> bool:
    """Return whether rules and goals keep their bounds: places, room, and one speaker's share of it (law 7)."""
    policy = draft.policy
    items = [item for item in draft.items[name] if isinstance(item, Pinned)]
    if len(items) > draft.slots[name].rules.places or draft.pinned_tokens() > policy.pinned_tokens:
        return False
    speakers = {item.words.speaker for _, item in draft.pinned()}
    return len(speakers) < 2 or 2 * draft.pinned_tokens(speaker) <= policy.pinned_tokens


def close_goals(draft: Draft, done: tuple[ProposedDone, ...]) -> None:
    """Mark goals that user, operator or agent call reached or given up."""
    for each in done:
        found = draft.find_pinned(each.id)
        name, goal = found if found else ("", None)
        if not isinstance(goal, Goal):
            draft.note(Reason.UNKNOWN_ID, each.id, detail="no goal has this id", of="done")
            continue
        if goal.is_closed:
            continue
        place = draft.sources.place(each.ref)
        if place is None:
            draft.note(Reason.NOT_FOUND, each.id, detail=f"no message {each.ref!r}", of="done")
            continue
        message = draft.sources.messages[place]
        is_operators = goal.words.channel is Channel.OPERATOR
        closers = (Channel.OPERATOR,) if is_operators else (*LAWFUL, Channel.AGENT)
        if message.channel not in closers:
            detail = f"the words of a {message.channel.value} do not close it"
            draft.note(Reason.UNTRUSTED, each.id, detail=detail, of="done")
            continue
        by = Words(
            text="", ref=message.ref, channel=message.channel, speaker=message.speaker,
            at=message.at, turn=draft.turn,
        )  # fmt: skip
        draft.replace(name, goal.model_copy(update={"done": by, "touched": draft.turn}))
        draft.note(Reason.DONE, goal.id, goal.words.text)


def add_cues(draft: Draft, proposal: Proposal) -> None:
    """Add the next steps that agent, user or operator announced. The newest few stand until they are dropped."""
    slot = draft.slots["predictive_cue"]
    held = draft.items["predictive_cue"]
    for pin in proposal.next:
        words = draft.sources.sentence(pin.quote, pin.ref, (Channel.AGENT, *LAWFUL), of="next")
        if isinstance(words, Note):
            draft.notes.append(words)
            continue
        if any(isinstance(cue, Cue) and cue.words.text == words.text for cue in held):
            continue
        held.append(Cue(id=draft.new_id(slot), turn=words.turn, touched=draft.turn, words=words))
    for cue in held[: -slot.rules.places]:
        draft.note(Reason.EVICTED, cue.id, cue.text_of, "newer steps took its place")
    del held[: -slot.rules.places]
