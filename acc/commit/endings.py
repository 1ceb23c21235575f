"""Later words beside a rule, and how a rule ends (law 7).

A rule leaves when the compressor says that words of somebody at least as trusted end it, when it was shown with them
for a turn, and when a second reading agrees. Until then its speaker's later words stand beside it, and the agent
reads both.
"""

from __future__ import annotations

from collections.abc import Sequence

from acc.clock import moment
from acc.commit.draft import Draft
from acc.commit.pinned import offered
from acc.state.items import Ending, Fact, Goal, Pinned, Words
from acc.state.proposal import Proposal, ProposedLater
from acc.state.reading import Judgement, claim_digest
from acc.state.reasons import Reason
from acc.text.normal import normalised
from acc.text.quoting import same_words
from acc.turn.observations import Channel


def is_to_judge(item: Pinned, lifting: str, today: str = "") -> bool:
    """Return whether a second reading has to be asked about ``item``. For the same words it is asked once.

    An end that begins on a later day than ``today`` (both ISO dates) is asked about on that day.
    """
    ending = item.ending
    if ending is None or ending.verdict or lifting in ("show", "accept"):
        return False
    if today and ending.begins[:4].isdigit() and ending.begins[:10] > today[:10]:
        return False
    return lifting == "judge" or ending.asked is not None


def add_later(draft: Draft, proposal: Proposal) -> None:
    """Put the proposed later words beside their rules and goals, and note claims that a rule ended."""
    for each in proposal.later:
        found = draft.find_pinned(each.id)
        if found is None:
            detail = "no rule or goal has this id"
            draft.note(Reason.UNKNOWN_ID, each.id, each.quote, detail, "later", each.ref)
        elif each.no_rule and found[1].words.channel is Channel.OPERATOR:
            detail = "only the operator ends what the operator said"
            draft.note(Reason.UNTRUSTED, each.id, found[1].words.text, detail, "later")
        elif each.no_rule:
            _claim(draft, *found, Ending(kind="no_rule", since=draft.turn))
        else:
            _add(draft, *found, each)


def _add(draft: Draft, name: str, item: Pinned, each: ProposedLater) -> None:
    words = _beside(item, each.quote) or draft.sentence(each.quote, each.ref, "later")
    if words is None:
        return
    if words.trust < item.words.trust:
        detail = f"a rule of the {item.words.channel.value} has no later words of a {words.channel.value}"
        draft.note(Reason.UNTRUSTED, item.id, words.text, detail, "later")
        return
    if draft.sources.is_before(words, said_last(item)):
        _add_earlier(draft, name, item, words)
        return
    asked = offered(draft, words, each.offer, "later") if each.offer else None
    item = _with_words(draft, name, item, words)
    is_there = any(same_words(w.text, words.text) for w in item.later)
    if each.ends and is_there and not isinstance(item, Goal):
        begins = _begins(draft, each.begins, words)
        ending = Ending(words=words, asked=asked, begins=begins, since=draft.turn)
        _claim(draft, name, item, ending)


def _begins(draft: Draft, written: str, words: Words) -> str:
    """Return from when a rule ends, if it is a date or stands in the message; else it is the compressor's guess."""
    place = draft.sources.place(words.ref)
    text = draft.sources.messages[place].text if place is not None else words.text
    is_there = normalised(written) in normalised(text)
    return written if moment(written) or is_there else ""


def said_last(item: Pinned) -> Words:
    """Return the words with which the item was said last: its own, or those that said it again."""
    again = [words for words in item.later if same_words(words.text, item.words.text)]
    return again[-1] if again else item.words


def _add_earlier(draft: Draft, name: str, item: Pinned, words: Words) -> None:
    """Put words that were said before the rule beside it: they limit it, and cannot end it."""
    is_held = item.scope is not None or any(w.text == words.text for w in item.later)
    changed = item.model_copy(update={"scope": words, "touched": draft.turn})
    if is_held or not draft.pin(name, changed, words, "later"):
        draft.note(Reason.STAYS, item.id, words.text, "said before the rule", "later", words.ref)


def _beside(item: Pinned, quote: str) -> Words | None:
    """Return the held later words with ``quote`` in them: their message need not be read again."""
    wanted = normalised(quote)
    return next((w for w in item.later if wanted and wanted in normalised(w.text)), None)


def _with_words(draft: Draft, name: str, item: Pinned, words: Words) -> Pinned:
    if same_words(words.text, item.words.text) or any(w.text == words.text for w in item.later):
        return item
    update: dict[str, object] = {"later": (*item.later, words), "touched": draft.turn}
    if item.ending is not None and (
        item.ending.words is None or words.turn >= item.ending.words.turn
    ):
        update["ending"] = None  # newer words that end nothing: the claim is open again
    if isinstance(item, Goal) and item.done is not None:
        update["done"] = None
        draft.note(Reason.REOPENED, item.id, words.text)
    changed = item.model_copy(update=update)
    if not draft.pin(name, changed, words, "later"):
        return item
    draft.note(Reason.LATER, item.id, words.text)
    return changed


def _claim(draft: Draft, name: str, item: Pinned, ending: Ending) -> None:
    """Record a claim, unless the same was judged already."""
    held, said = item.ending, _said_in(ending)
    is_same = (
        held is not None
        and held.kind == ending.kind
        and (_said_in(held) == said or same_words(_said_in(held), said))
    )
    if held is not None and is_same:
        if held.asked is None and ending.asked is not None:
            _set_ending(draft, name, item, held.model_copy(update={"asked": ending.asked}))
    elif draft.policy.lifting != "show":
        if draft.policy.lifting == "accept":
            ending = ending.model_copy(update={"verdict": "ends"})
        _set_ending(draft, name, item, ending)
        draft.note(Reason.ENDING, item.id, said)


def _said_in(ending: Ending) -> str:
    return ending.words.text if ending.words else ""


def _set_ending(draft: Draft, name: str, item: Pinned, ending: Ending) -> None:
    draft.replace(name, item.model_copy(update={"ending": ending}))


def judge(draft: Draft, judgements: Sequence[Judgement]) -> None:
    """Write verdicts beside the claims that they name by digest."""
    by_digest = {each.digest: each.verdict for each in judgements}
    for name, item in list(draft.pinned()):
        ending, verdict = item.ending, by_digest.get(claim_digest(item), "")
        if ending is None or ending.verdict or not verdict:
            continue
        _set_ending(draft, name, item, ending.model_copy(update={"verdict": verdict}))
        if verdict != "ends":
            draft.note(Reason.STAYS, item.id, item.words.text, f"the second reading says {verdict}")


def carry_out(draft: Draft) -> None:
    """Remove the rules that ended: claimed, shown for a turn with the words, and judged.

    It runs in commits of a compression only, after the proposal: what was said since may have cancelled the claim.
    What the policy says now counts, also of claims of before.
    """
    lifting = draft.policy.lifting
    for name, item in list(draft.pinned()) if lifting != "show" else ():
        ending = item.ending
        if ending is None or ending.verdict != "ends" or ending.since >= draft.turn:
            continue
        if lifting == "ask" and ending.asked is None:
            continue
        draft.remove(name, item)
        if ending.kind == "no_rule":
            _as_fact(draft, item)
            draft.note(Reason.DEMOTED, item.id, item.words.text)
        else:
            by = f'by "{_said_in(ending)[:120]}"'
            draft.note(Reason.ENDED, item.id, item.words.text, by)


def _as_fact(draft: Draft, item: Pinned) -> None:
    slot = draft.slots["relational_map"]
    fact = Fact(
        id=draft.new_id(slot), turn=item.turn, touched=draft.turn, text=item.words.text,
        sources=(item.words.ref,), trust=item.words.trust, minor=True,
    )  # fmt: skip
    draft.items[slot.name].append(fact)
