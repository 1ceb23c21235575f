"""A compressor without a model: English, offline. It serves demos and as a fallback.

It reads a turn sentence by sentence, in linear time, deterministically and without side effects.
Small classifiers decide the act of a sentence, its relation to rules, and the value of a fact.
Tables of cues find values, and tell what only sounds like a rule.

    reading.py         splits a turn by channel; sentences.py splits texts into sentences and clauses
    words.py           words, languages, and the cues of a new topic
    classifiers.py     linear classifiers and boosted trees
    acts.py            the act of a clause: a rule, a question, a joke; with convolution.py
    lookalikes.py      hearsay, the past, hypotheses, jokes, questions, reported demands
    rules.py           the rules in a sentence; adds new rules and ends prior ones
    lifting.py         which rules a message lifts or changes
    goals.py           the user's goals, and when they are done
    entities.py        things and people by name
    values.py          amounts, dates, numbers, and the phrases they belong to; figures in rules
    statements.py      the facts in one sentence; outcomes.py finds actions that were done
    facts.py           the facts of a turn; revisions.py finds the held facts that they replace
    topic_and_trace.py the topic, what was said and done, the next step, open questions
    earlier.py         earlier texts about what the user asks, and which are worth opening
    domain.py          a domain's own slots, by examples (domain_patterns.py, domain_matching.py,
                       domain_shapes.py) or by cue words and records (domain_cues.py)
    room.py            limits of slots and texts, and duplicates
    worth.py           the value of sentences and facts
    budget.py          eviction when tokens are short
    overflow.py        leaves out new goals that do not fit
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from acc.keyless.budget import keep_within
from acc.keyless.classifiers import one_thread
from acc.keyless.domain import fill_slots
from acc.keyless.earlier import Line, best_evidence, worth_opening
from acc.keyless.entities import entities_in
from acc.keyless.facts import relate, ruling
from acc.keyless.goals import LONGEST_GOAL, clearest, done_by, is_cancelling, is_done, is_goal
from acc.keyless.lookalikes import REFUSED
from acc.keyless.overflow import without_overflow
from acc.keyless.reading import TurnReading, read, said_by
from acc.keyless.room import Room
from acc.keyless.rules import constrain, makes_rule, rules_in
from acc.keyless.sentences import fit, tidy
from acc.keyless.topic_and_trace import (
    Ruled,
    gaps,
    is_chatter,
    next_step,
    revise_topic,
    trace_lines,
)
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, Remark
from acc.text.tokens import TokenCounter, utf8_quarter
from acc.text.wording import is_assent, stems
from acc.turn.observations import Evidence, Trust
from acc.turn.turn import Turn

_LOG = logging.getLogger(__name__)


class RuleCompressor:
    """Proposes with cues and small classifiers alone, offline, for English.

    Of other languages it keeps the gist at the most, and adds a remark that it did not read them.
    It fills a domain's own slots as far as their examples and cues reach. Anything beyond needs a
    compressor with a model.

    Attributes:
        name: Author of its proposals.
    """

    name = "rules"

    def __init__(self, max_tokens: int = 800, counter: TokenCounter = utf8_quarter) -> None:
        self.max_tokens = max_tokens
        self.counter = counter
        self._policy: Policy | None = None

    def under(self, policy: Policy) -> RuleCompressor:
        """A compressor with the limits of ``policy``."""
        bound = RuleCompressor(policy.max_tokens, policy.counter)
        bound._policy = policy
        return bound

    def policy(self, schema: type[CompressedCognitiveState]) -> Policy:
        """The policy that proposals are made for."""
        if self._policy is not None and self._policy.schema is schema:
            return self._policy
        return Policy(schema, max(64, self.max_tokens), self.counter)

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Read the turn and propose a revision of ``state``. Never raises, for any text."""
        with one_thread():
            return self._read(turn, state, evidence)

    def _read(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        reading = read(turn, state, evidence)
        ruled = {said: rules_in(said) for said in reading.user}
        room = Room(state, {o.ref: o.trust for o in (*turn.readable, *evidence)})
        step = next_step(reading)
        constrain(reading, room)
        _goals_over(reading, room)
        _goals(reading, ruled, room)
        revise_topic(reading, ruled, room)
        fill_slots(reading, room)
        if is_chatter(reading):
            _last_trace(room)
        else:
            _trace(reading, step, room)
        relate(reading, ruled, room)
        _entities(reading, room)
        _what_next(reading, ruled, step, room)
        keep_within(room, self.max_tokens, self.counter)
        proposal = room.proposal(self.name, _not_read(reading))
        return without_overflow(proposal, turn, state, evidence, self)


def _not_read(reading: TurnReading) -> tuple[Remark, ...]:
    """A remark on each user message in another language, because its rules are not kept."""
    refs = dict.fromkeys(said.ref for said in reading.foreign)
    for ref in refs:
        log_event(
            _LOG, logging.WARNING, "language_not_read",
            "a message is not English: the keyless compressor finds no rules or facts in it", ref=ref,
        )  # fmt: skip
    return tuple(Remark(code="language_not_read", ref=ref) for ref in refs)


def _goals_over(reading: TurnReading, room: Room) -> None:
    """Close goals that are done and retire goals that the user cancels."""
    asked = " ".join(said.words for said in reading.user)
    offered = " ".join(said.words for said in reading.reply)
    for said in (*reading.user, *reading.agent):
        own = said in reading.user
        if said.asks:
            continue
        around = said.words if own else f"{said.words} {asked}"
        if own and is_assent(said.words):
            around = f"{said.words} {offered}"
        open_goals = room.open("goal_orientation")
        goal = done_by(said.words, around, open_goals, own) if is_done(said, own) else None
        if goal is not None:
            room.update("goal_orientation", goal, [said.ref], done=True)
    for said in filter(is_cancelling, reading.user):
        goals = room.open("goal_orientation")
        meant = clearest(stems(said.words), [*goals, *reading.rules], lambda _: 2)
        if meant is not None and meant in goals:
            room.retire(meant, said.ref, said.text)


def _goals(reading: TurnReading, ruled: Ruled, room: Room) -> None:
    """Add the user's goals, unless they are rules."""
    first = not room.open("goal_orientation")
    for said in reading.user:
        if not is_goal(said, first) or makes_rule(said, ruled[said]):
            continue
        text = fit(tidy(said.text), LONGEST_GOAL)
        room.add("goal_orientation", [said.ref], text=text, quote=said.text, done=False)


def _trace(reading: TurnReading, step: Line | None, room: Room) -> None:
    """Add what was said and done in the turn, then earlier text about the same subject."""
    lines = list(trace_lines(reading, step))
    for line in lines:
        room.add("episodic_trace", [line.ref], text=line.text)
    best = best_evidence(reading, 2)
    for piece, words in best[: 4 - len(lines)]:
        room.add("episodic_trace", [piece.ref], text=f"earlier ({piece.ref}): {words}")
    for reference in worth_opening(reading, [piece for piece, _ in best]):
        room.add("retrieved_artifacts", [reference.ref], label=reference.text)


def _last_trace(room: Room) -> None:
    """Keep the last trace if a turn consists of courtesies."""
    for item in room.held("episodic_trace"):
        room.add("episodic_trace", [item.id], **said_by(item))


def _entities(reading: TurnReading, room: Room) -> None:
    known = {str(getattr(item, "name", "")).casefold() for item in room.held("focal_entities")}
    told_by_agent = [said for said in reading.agent if not REFUSED.search(said.words)]
    for named, ref in entities_in((*reading.user, *told_by_agent)):
        if named.name.casefold() not in known:
            room.add("focal_entities", [ref], type=named.type, name=named.name)


def _what_next(reading: TurnReading, ruled: Ruled, step: Line | None, room: Room) -> None:
    """Add the announced next step and the open questions. Retire settled questions."""
    if step is not None:
        room.add("predictive_cue", [step.ref], text=fit(step.text, LONGEST_GOAL))
    new = list(gaps(reading, ruling(ruled)))
    open_texts = {gap.text for gap in new}
    telling = [s for s in (*reading.user, *reading.agent) if not s.asks]
    told = [(s, stems(s.words)) for s in telling if tidy(s.text) not in open_texts]
    for item in room.held("uncertainty_signal"):
        about = stems(str(getattr(item, "gap", "")))
        # Only the user settles a question raised by a tool. The agent may only repeat the tool.
        heard = [words for s, words in told if item.trust >= Trust.AGENT or s in reading.user]
        if any(len(about & words) >= max(2, len(about) / 2) for words in heard):
            room.retire(item)
    for gap in new:
        room.add("uncertainty_signal", [gap.ref], level=gap.level, gap=gap.text)
