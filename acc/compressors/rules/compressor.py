"""A compressor without a model: plain cues, English, offline. The demo, and the fallback.

It reads a turn sentence by sentence and proposes what a cue announces, no more: deterministic,
pure, linear in its input. Each slot has one function below, and its cues stand as tables:

    sentences.py    splitting speech into verbatim sentences and clauses
    reading.py      a turn taken apart by channel; language.py
    words.py        words that the tables share
    cues.py         what announces a standing rule: measures.py, prohibitions.py, requirements.py
    lookalikes.py   what only sounds like one
    standing.py     the rules in a sentence
    lifting.py      which rule is lifted or changed; figures.py
    contrary.py     what speaks against that; objects.py
    goals.py        what is to be achieved, and when it is done
    topics.py       what the talk is about
    entities.py     things and people
    values.py       amounts, dates, numbers, and what they are the value of
    facts.py        subject, predicate, object; roles.py, counts.py; listings.py for tools
    replies.py      what agents offer, and what they only tell of
    trace.py        what happened, what is next, what is open, what to open
    room.py         places, lengths, no repeats
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acc.compress import Proposal
from acc.compressors.rules.entities import entities_in
from acc.compressors.rules.facts import Fact, canonical, facts_in, is_bare
from acc.compressors.rules.goals import (
    LONGEST_GOAL,
    done_by,
    is_cancelling,
    is_done,
    is_goal,
)
from acc.compressors.rules.lifting import changed_by, clearest, is_lifting, lifted_by
from acc.compressors.rules.lookalikes import is_hearsay, is_past
from acc.compressors.rules.reading import Reading, Said, read
from acc.compressors.rules.replies import REFUSED
from acc.compressors.rules.room import Room
from acc.compressors.rules.sentences import clauses, fit, plain, tidy
from acc.compressors.rules.standing import (
    MEASURES,
    Rule,
    is_no_rule,
    is_same,
    makes_rule,
    restates,
    rules_in,
    with_name,
)
from acc.compressors.rules.topics import Ruled, revise_topic
from acc.compressors.rules.trace import coming, gaps, recalled, told, worth_opening
from acc.items import Relation
from acc.state import CompressedCognitiveState
from acc.turn import Evidence, Turn
from acc.wording import is_assent, stems

_BACKWARD = re.compile(
    r"\b(?:its?|them|they|their|th[ai]t|this|those|these|him|his|her|he|she|one|there|so)\b", re.I
)


class RuleCompressor:
    """Proposes by cues alone, offline, from English.

    Of other languages it gives the gist at the most, and it leaves a domain's own slots alone:
    for both a compressor with a model is needed.

    Attributes:
        name: Author of its proposals.
    """

    name = "rules"

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Read the turn and propose a revision of ``state``. Never raises on any text."""
        reading = read(turn, state, evidence)
        ruled = {said: rules_in(said) for said in reading.user}
        room = Room(state)
        _constraints(reading, ruled, room)
        _goals_over(reading, room)
        _goals(reading, ruled, room)
        revise_topic(reading, ruled, room)
        _trace(reading, room)
        _relations(reading, ruled, room)
        _entities(reading, room)
        _what_next(reading, ruled, room)
        return room.proposal(self.name)


def _constraints(reading: Reading, ruled: Ruled, room: Room) -> None:
    """New rules; of the prior ones, what the user lifts or changes."""
    for said in reading.user:
        if is_no_rule(said):
            continue
        rules = {rule.quote: rule for rule in ruled[said]}
        for clause in clauses(said.text):
            rule = rules.get(clause)
            if rule is not None and not makes_rule(said, [rule]):
                rule = None
            _constrain(said, clause, rule, room)


def _constrain(said: Said, clause: str, rule: Rule | None, room: Room) -> None:
    words = plain(clause)
    around = f"{said.before} {words}" if _BACKWARD.search(words) else words
    held = room.open("constraints")
    told = is_hearsay(words, len(words)) or (rule is None and is_past(words, len(words)))
    changed = None if told and rule is None else changed_by(words, around, held)
    lifted = None if told or changed is not None else lifted_by(words, around, held)
    if lifted is not None:
        room.retire(lifted, said.ref, clause)
    if lifted is not None or (is_lifting(words) and rule is None and changed is None):
        return
    if changed is None and rule is not None:
        changed = next((item for item in held if restates(rule.text, item)), None)
    if changed is not None:
        room.retire(changed, said.ref, clause)
        rule = rule or Rule(tidy(clause), getattr(changed, "kind", "limit"), clause)
    if rule is None or any(is_same(rule.text, item) for item in room.open("constraints")):
        return
    text = with_name(rule.text, said)
    if room.is_full("constraints") and not room.knows("constraints", text=text):
        # A rule without a place must not vanish in silence: the agent reads that it is there.
        gap = fit(f"no place for a further rule: {text}", 320)
        room.add("uncertainty_signal", [said.ref], level="high", gap=gap)
    else:
        room.add("constraints", [said.ref], text=text, kind=rule.kind, quote=rule.quote)


def _goals_over(reading: Reading, room: Room) -> None:
    """Goals that are done, and such as the user cancels."""
    asked = " ".join(said.words for said in reading.user)
    offered = " ".join(said.words for said in reading.reply)
    for said in (*reading.user, *reading.agent):
        if not is_done(said.words) or said.asks:
            continue
        own = said in reading.user
        around = said.words if own else f"{said.words} {asked}"
        if own and is_assent(said.words):
            around = f"{said.words} {offered}"
        goal = done_by(said.words, around, room.open("goal_orientation"), own)
        if goal is not None:
            room.update("goal_orientation", goal, [said.ref], done=True)
    for said in reading.user:
        goal = clearest(said.words, room.open("goal_orientation")) if is_cancelling(said) else None
        if goal is not None:
            room.retire(goal, said.ref, said.text)


def _goals(reading: Reading, ruled: Ruled, room: Room) -> None:
    """What the user wants achieved, unless it is a rule or stands already."""
    for said in reading.user:
        if not is_goal(said) or any(rule.kind not in MEASURES for rule in ruled[said]):
            continue
        if not any(is_same(said.text, goal) for goal in room.open("goal_orientation")):
            text = fit(with_name(tidy(said.text), said), LONGEST_GOAL)
            room.add("goal_orientation", [said.ref], text=text, quote=said.text, done=False)


def _trace(reading: Reading, room: Room) -> None:
    """What was said and done, then what was said before about the same."""
    lines = list(told(reading))
    for line in lines:
        room.add("episodic_trace", [line.ref], text=line.text)
    best = recalled(reading, 3)
    for piece, words in best[: 4 - len(lines)]:
        room.add("episodic_trace", [piece.ref], text=f"earlier ({piece.ref}): {words}")
    for reference in worth_opening(reading, [piece for piece, _ in best]):
        room.add("retrieved_artifacts", [reference.ref], label=reference.text)


def _relations(reading: Reading, ruled: Ruled, room: Room) -> None:
    held = [item for item in room.held("relational_map") if isinstance(item, Relation)]
    seen: list[Fact] = []
    for fact in facts_in(reading, _ruling(ruled)):
        fact = canonical(fact, held)
        if is_bare(fact) or any(_covers(other, fact) for other in seen):
            continue
        added = room.add(
            "relational_map", fact.cites, subject=fact.subject, predicate=fact.predicate,
            object=fact.object, status=fact.status,
        )  # fmt: skip
        if added:
            seen.append(fact)


def _ruling(ruled: Ruled) -> set[Said]:
    return {said for said, rules in ruled.items() if rules}


def _covers(one: Fact, other: Fact) -> bool:
    """Whether the same words gave both: the same value, or the same said of one subject."""
    if one.cites[0] != other.cites[0]:
        return False
    within = one.subject == other.subject and one.object in other.object
    return one.object == other.object or within


def _entities(reading: Reading, room: Room) -> None:
    known = {str(getattr(item, "name", "")).casefold() for item in room.held("focal_entities")}
    told_by_agent = [said for said in reading.agent if not REFUSED.search(said.words)]
    for named, ref in entities_in((*reading.user, *told_by_agent)):
        if named.name.casefold() not in known:
            room.add("focal_entities", [ref], type=named.type, name=named.name)


def _what_next(reading: Reading, ruled: Ruled, room: Room) -> None:
    """The announced next step, and what is open; gaps that were settled go."""
    step = coming(reading)
    if step is not None:
        room.add("predictive_cue", [step.ref], text=fit(step.text, LONGEST_GOAL))
    new = list(gaps(reading, _ruling(ruled)))
    open_texts = {gap.text for gap in new}
    telling = [
        stems(s.words)
        for s in (*reading.user, *reading.agent)
        if not s.asks and tidy(s.text) not in open_texts
    ]
    for item in room.held("uncertainty_signal"):
        about = stems(str(getattr(item, "gap", "")))
        if any(len(about & words) >= max(2, len(about) / 2) for words in telling):
            room.retire(item)
    for gap in new:
        room.add("uncertainty_signal", [gap.ref], level=gap.level, gap=gap.text)
