"""A compressor without a model: plain cues, English, offline. The demo, and the fallback.

It reads a turn sentence by sentence and proposes what a cue announces, no more: deterministic,
pure, linear in its input. Each slot has one function below, and its cues stand as tables:

    sentences.py    splitting speech into verbatim sentences and clauses
    reading.py      a turn taken apart by channel
    cues.py         what announces a standing rule
    lookalikes.py   what only sounds like one
    standing.py     the rules in a sentence
    lifting.py      which rule is lifted or changed
    goals.py        what is to be achieved, and when it is done
    entities.py     things and people
    values.py       amounts, dates, numbers, and what they are the value of
    facts.py        subject, predicate, object
    trace.py        what happened, what is next, what is open, what to open
    room.py         places, lengths, no repeats
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acc.compress import Proposal
from acc.compressors.entities import entities_in, named_in
from acc.compressors.facts import REFUSED, Fact, canonical, facts_in
from acc.compressors.goals import NEW_TOPIC, done_by, is_done, is_goal
from acc.compressors.lifting import changed_by, is_lifting, lifted_by
from acc.compressors.lookalikes import is_hearsay
from acc.compressors.reading import Reading, Said, read
from acc.compressors.room import Room
from acc.compressors.sentences import clauses, fit, plain, tidy
from acc.compressors.standing import Rule, is_no_rule, kind_of, rules_in
from acc.compressors.trace import coming, gaps, recalled, told, worth_opening
from acc.items import Item, Relation
from acc.state import CompressedCognitiveState
from acc.turn import Evidence, Turn
from acc.wording import is_assent, marks, overlap, stems

_BACKWARD = re.compile(r"\b(?:it|its|them|they|their|that|those|this|these|him|his|her|he|she|one|there|so)\b", re.I)
_PLACE = re.compile(r"\b(?:in|at|from|near|of|on) $", re.I)
_PERSON = re.compile(r"\b(?:him|his|her|he|she|them|they)\b", re.I)


class RuleCompressor:
    """Proposes by cues alone.

    Attributes:
        name: Author of its proposals.
    """

    name = "rules"

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Read the turn and propose a revision of ``state``. Never raises on any text."""
        reading = read(turn, state, evidence)
        room = Room(state)
        _constraints(reading, room)
        _goals(reading, room)
        _gist(reading, room)
        _trace(reading, room)
        _relations(reading, room)
        _entities(reading, room)
        _what_next(reading, room)
        return room.proposal(self.name)


def _constraints(reading: Reading, room: Room) -> None:
    """New rules; of the prior ones, what the user lifts or changes."""
    for said in reading.user:
        if is_no_rule(said):
            continue
        rules = {rule.quote: rule for rule in rules_in(said)}
        for clause in clauses(said.text):
            rule = rules.get(clause)
            if rule is not None and is_goal(said) and rule.kind in ("format", "limit", "preference"):
                rule = None
            _constrain(said, clause, rule, room)


def _constrain(said: Said, clause: str, rule: Rule | None, room: Room) -> None:
    words = plain(clause)
    around = f"{said.before} {words}" if _BACKWARD.search(words) else words
    held = room.open("constraints")
    told = is_hearsay(words, len(words))
    lifted = None if told else lifted_by(words, around, held)
    if lifted is not None:
        room.retire(lifted, said.ref, clause)
    if is_lifting(words) and (rule is None or lifted is not None):
        return
    changed = None if told and rule is None else changed_by(words, around, held)
    if changed is None and rule is not None:
        changed = next((item for item in held if _restates(rule.text, item)), None)
    if changed is not None:
        room.retire(changed, said.ref, clause)
        rule = rule or Rule(tidy(clause), kind_of(words) or getattr(changed, "kind", "limit"), clause)
    if rule is None or any(_same(rule.text, item) for item in room.open("constraints")):
        return
    text = _with_name(rule.text, said)
    if not room.add("constraints", (said.ref,), text=text, kind=rule.kind, quote=rule.quote):
        # A rule without a place must not vanish in silence: the agent reads that it is there.
        gap = fit(f"no place for a further rule: {text}", 320)
        room.add("uncertainty_signal", (said.ref,), level="high", gap=gap)


def _with_name(text: str, said: Said) -> str:
    """``text`` with the name that its pronoun stands for, where the sentence before has just one."""
    if not _PERSON.search(text) or named_in(f"so {text}"):
        return text
    people = (n for n in named_in(f"so {said.before}") if n.type in ("name", "person"))
    names = {n.name for n in people if not _PLACE.search(said.before[: max(0, n.start - 3)])}
    return f"{names.pop()}: {text}" if len(names) == 1 else text


def _same(text: str, item: Item) -> bool:
    held = str(getattr(item, "text", ""))
    return marks(held) == marks(text) and overlap(stems(held), stems(text)) >= 0.75


def _restates(text: str, item: Item) -> bool:
    """Whether a rule sets another figure for what ``item`` set one for, in much the same words."""
    held = str(getattr(item, "text", ""))
    figures, new = marks(held), marks(text)
    if not figures or not new or figures == new:
        return False
    return overlap(stems(held) - figures, stems(text) - new) >= 0.5


def _goals(reading: Reading, room: Room) -> None:
    """Goals that are done, then new ones."""
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
            room.update("goal_orientation", goal, (said.ref,), done=True)
    for said in reading.user:
        if is_goal(said) and not any(_same(said.text, g) for g in room.open("goal_orientation")):
            rules = [rule for rule in rules_in(said) if rule.kind in ("prohibition", "requirement")]
            if not rules:
                text = _with_name(tidy(said.text), said)
                room.add("goal_orientation", (said.ref,), text=text, quote=said.text, done=False)


def _gist(reading: Reading, room: Room) -> None:
    """The topic of the first message; later a second one, when the user turns to something else."""
    held = room.held("semantic_gist")
    wanted = [said for said in reading.user if is_goal(said)]
    turned = [said for said in reading.user if NEW_TOPIC.search(said.words) and not said.asks]
    full = [said for said in reading.user if len(said.text.split()) >= 4]
    topic = next(iter(turned or wanted or (full if not held else [])), None)
    if topic is None:
        return
    if len(held) > 1:
        room.retire(held[-1])
    room.add("semantic_gist", (topic.ref,), text=fit(tidy(topic.text), 160))


def _trace(reading: Reading, room: Room) -> None:
    """What was said and done, then what was said before about the same."""
    lines = list(told(reading))
    for line in lines:
        room.add("episodic_trace", [line.ref], text=line.text)
    best = recalled(reading, 3)
    for piece, line in best[: 4 - len(lines)]:
        room.add("episodic_trace", [piece.ref], text=f"earlier ({piece.ref}): {line}")
    for reference in worth_opening(reading, [piece for piece, _ in best]):
        room.add("retrieved_artifacts", [reference.ref], label=reference.text)


def _relations(reading: Reading, room: Room) -> None:
    held = [item for item in room.held("relational_map") if isinstance(item, Relation)]
    seen: list[Fact] = []
    for fact in facts_in(reading):
        fact = canonical(fact, held)
        if any(_covers(other, fact) for other in seen):
            continue
        added = room.add(
            "relational_map", fact.cites, subject=fact.subject, predicate=fact.predicate,
            object=fact.object, status=fact.status,
        )  # fmt: skip
        if added:
            seen.append(fact)


def _covers(one: Fact, other: Fact) -> bool:
    """Whether the same words gave both: the same value, or the same said of one subject."""
    if one.cites[0] != other.cites[0]:
        return False
    return one.object == other.object or (one.subject == other.subject and one.object in other.object)


def _entities(reading: Reading, room: Room) -> None:
    known = {str(getattr(item, "name", "")).casefold() for item in room.held("focal_entities")}
    told_by_agent = [said for said in reading.agent if not REFUSED.search(said.words)]
    for named, ref in entities_in((*reading.user, *told_by_agent)):
        if named.name.casefold() not in known:
            room.add("focal_entities", (ref,), type=named.type, name=named.name)


def _what_next(reading: Reading, room: Room) -> None:
    """The announced next step, and what is open; gaps that were settled go."""
    step = coming(reading)
    if step is not None:
        room.add("predictive_cue", [step.ref], text=step.text)
    new = list(gaps(reading))
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
