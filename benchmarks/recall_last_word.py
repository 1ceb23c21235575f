"""Whether the evidence for a question has the last word on its subject.

    python benchmarks/recall_last_word.py SCENARIO ... [--audit LOG ...]

Each scenario is replayed keyless, or as a model compressed it: ``--audit`` names a thread's audit log for each
scenario, in the same order; its states and what left them are taken as they are. Every ``--every`` turns, each
fact that is current is asked for by the words of its text without the value. Reported is whether the state or
the evidence tells the current value, and whether the evidence tells a superseded one. For the turns themselves,
the size of the evidence as a compressor's prompt shows it is reported, and what of it is of no use.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acc.compress.prompt import fenced
from acc.controller import MemoryController
from acc.evaluation.ground_truth import FactTruth, GroundTruth, Matcher
from acc.evaluation.scenarios import read_scenario
from acc.gate.protocol import Context, Verdict, qualify
from acc.state.model import ROOT, CompressedCognitiveState
from acc.state.reasons import EvictedItem
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Thread
from acc.text.tokens import utf8_quarter
from acc.text.wording import overlap, stems
from acc.thread.branch import Branch
from acc.turn.observations import SET_ASIDE, Channel, Evidence
from acc.turn.turn import Turn

THREAD = Thread(thread="last-word")
KEY = "0" * 8


@dataclass(frozen=True)
class Replay:
    """A conversation with the state after each of its turns.

    Attributes:
        states: The state before the first turn, then one for each turn.
        turns: The turns as they were read, from the first.
        branch: The branch with all evidence. Recall for a state sees nothing of later turns.
    """

    memory: MemoryController
    states: Sequence[CompressedCognitiveState]
    turns: Sequence[Turn]
    branch: Branch

    def evidence(self, turn: Turn, number: int) -> tuple[list[Evidence], list[Verdict]]:
        """What is admitted for ``turn`` after the state of turn ``number``."""
        state = self.states[number]
        candidates = self.memory.settings.recall(turn, state, self.branch)
        context = Context(turn, state, retired=self.branch.retired)
        return qualify(candidates, self.memory.settings.gate, context)

    def asked(self, question: str, number: int) -> list[Evidence]:
        """The evidence for a question after turn ``number``; the reply before it is read anyway."""
        said = self.turns[number - 1].observations
        reply = [o for o in said if o.channel is Channel.AGENT and not o.is_call][-1:]
        turn = Turn.said(question).model_copy(update={"reply": reply[0] if reply else None})
        return self.evidence(turn.numbered(number + 1), number)[0]


def replayed(turns: Sequence[Turn]) -> Replay:
    """Replay under the keyless rules."""
    memory = MemoryController(InMemoryStore())
    states, read = [CompressedCognitiveState.empty()], []
    for turn in turns:
        step = memory.step(states[-1], turn, thread=THREAD)
        states.append(step.state)
        read.append(step.turn)
    return Replay(memory, states, read, memory._log_of(THREAD).branch(ROOT))


def recorded(log: Path, turns: int) -> Replay:
    """Rebuild the thread of an audit log; of several records of a turn, the last one led on."""
    with log.open(encoding="utf-8") as lines:
        records = {record["turn"]["number"]: record for record in map(json.loads, lines)}
    chain = [records[number] for number in range(1, turns + 1)]
    memory = MemoryController(InMemoryStore())
    thread_log = memory._log_of(THREAD)
    branch = thread_log.branch(ROOT)
    states, read = [CompressedCognitiveState.empty()], []
    for record in chain:
        turn = Turn.model_validate(record["turn"])
        before = states[-1].model_copy(update={"bound_to": "", "branch": ROOT})
        thread_log.record(before, turn.observations)
        gone = [EvictedItem.model_validate(each) for each in _typed(record["set_aside"])]
        thread_log.keep(branch, turn.number, gone, later=False)
        states.append(CompressedCognitiveState.load(record["state"]))
        read.append(turn)
    return Replay(memory, states, read, branch)


def _typed(set_aside: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the entries with their items as the slots' classes."""
    slots = CompressedCognitiveState.slots()
    for each in set_aside:
        yield {**each, "item": slots[each["slot"]].item.model_validate(each["item"])}


@dataclass(frozen=True)
class Subject:
    """One subject with its successive facts, and the words that ask for it."""

    question: str
    facts: tuple[FactTruth, ...]

    def at(self, turn: int) -> tuple[str, frozenset[str]]:
        """The id of the fact that is current at the end of ``turn``, empty if none is, and the ids of those over."""
        current = [fact.id for fact in self.facts if fact.is_active(turn)]
        return (current or [""])[0], frozenset(f.id for f in self.facts if f.is_over(turn))


def subjects(truth: GroundTruth) -> Iterator[Subject]:
    """Yield the subjects of the truth's facts. A fact succeeds the most similar one that its turn ends."""
    follows: dict[str, FactTruth] = {}
    for fact in truth.facts:
        ended = [f for f in truth.facts if f.superseded == fact.introduced]
        if ended:
            alike = stems(fact.text)
            follows[fact.id] = max(ended, key=lambda f: overlap(alike, stems(f.text)))
    last = [f for f in truth.facts if all(f is not before for before in follows.values())]
    for fact in last:
        chain = [fact]
        while chain[0].id in follows:
            chain.insert(0, follows[chain[0].id])
        yield Subject(_question(chain), tuple(chain))


def _question(chain: Sequence[FactTruth]) -> str:
    """The words of the last text that are in all texts; of a single text those that no pattern finds."""
    text = chain[-1].text
    if len(chain) == 1:
        for pattern in chain[0].any_of:
            text = re.sub(pattern, " ", text, flags=re.IGNORECASE)
        return f"{' '.join(text.split())}?"
    shared = set.intersection(*(set(fact.text.split()) for fact in chain))
    return f"{' '.join(word for word in text.split() if word in shared)}?"


@dataclass
class Counts:
    """What was counted over all scenarios."""

    asked: Counter[str] = field(default_factory=Counter)
    turns: Counter[str] = field(default_factory=Counter)

    def ask(self, replay: Replay, truth: GroundTruth, every: int) -> None:
        """Ask for each current fact every ``every`` turns, and the truth's probes in their turns."""
        matcher = Matcher(truth)
        for number in range(every, len(replay.turns) + 1, every):
            held = _told(matcher, [i.words for _, i in replay.states[number].items()])
            for subject in subjects(truth):
                current, over = subject.at(number)
                if current:
                    found = [matcher.found(e.text) for e in replay.asked(subject.question, number)]
                    tells = [f.entries - f.past for f in found]
                    self._count(current, over, held, tells)
        for probe in truth.probes:
            state = [i.words for _, i in replay.states[probe.turn].items()]
            read = [e.text for e in replay.asked(probe.question, probe.turn)]
            self.asked["probes"] += 1
            self.asked["probes: state and evidence answer"] += set(probe.needs) <= _told(
                matcher, [*state, *read]
            )

    def _count(
        self, current: str, over: frozenset[str], held: set[str], tells: Sequence[frozenset[str]]
    ) -> None:
        said = set().union(*tells)
        count = self.asked
        count["facts"] += 1
        count["state tells it"] += current in held
        count["state or evidence tells it"] += current in held or current in said
        count["not in the state"] += current not in held
        count["not in the state: evidence tells it"] += current not in held and current in said
        if over:
            stale = [each for each in tells if each & over and current not in each]
            first = next((e for e in tells if e & over or current in e), frozenset())
            count["with superseded values"] += 1
            count["evidence tells a superseded one"] += bool(stale)
            count["pieces that tell a superseded one"] += len(stale)
            count["superseded one comes first"] += bool(first & over) and current not in first
            last = next((e for e in tells[::-1] if e & over or current in e), frozenset())
            count["superseded one comes last"] += bool(last & over) and current not in last
            count["only a superseded one is told"] += bool(stale) and current not in said | held

    def read(self, replay: Replay, truth: GroundTruth) -> None:
        """Count what the turns themselves recall."""
        matcher, count = Matcher(truth), self.turns
        for number, turn in enumerate(replay.turns):
            evidence, _ = replay.evidence(turn, number)
            state = replay.states[number]
            rules = {ref for s, i in state.items() if s.rules.pinned for ref in i.sources}
            held = _told(matcher, [i.words for _, i in state.items()])
            over = {e.id for e in (*truth.facts, *truth.constraints) if e.is_over(number)}
            gone = [stems(e.text) for e in evidence if e.ref.startswith(SET_ASIDE)]
            told = [f.entries - f.past for f in (matcher.found(e.text) for e in evidence)]
            count["turns"] += 1
            count["tokens"] += sum(utf8_quarter(fenced(e, KEY)) for e in evidence)
            count["pieces"] += len(evidence)
            count["pieces that tell only superseded values"] += sum(
                bool(t) and t <= over for t in told
            )
            count["pieces that tell only what the state holds"] += sum(
                bool(t) and t <= held for t in told
            )
            count["former items alike to another"] += sum(
                any(overlap(one, other) >= 0.5 for other in gone[:at])
                for at, one in enumerate(gone)
            )
            count["user's words of standing rules"] += sum(
                e.channel is Channel.USER and e.ref in rules for e in evidence
            )


def _told(matcher: Matcher, texts: Sequence[str]) -> set[str]:
    found = map(matcher.found, texts)
    return {entry for each in found for entry in each.entries - each.past}


def main() -> None:
    """Print the counts, or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("scenarios", nargs="+")
    parser.add_argument("--audit", nargs="+", type=Path, metavar="LOG")
    parser.add_argument("--every", type=int, default=5, help="turns between questions")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.audit and len(options.audit) != len(options.scenarios):
        parser.error("give one audit log for each scenario")
    counts = Counts()
    for at, name in enumerate(options.scenarios):
        scenario = read_scenario(name)
        replay = (
            recorded(options.audit[at], len(scenario.turns))
            if options.audit
            else replayed(scenario.turns)
        )
        counts.ask(replay, scenario.truth, options.every)
        counts.read(replay, scenario.truth)
    turns = counts.turns.pop("turns")
    means = {name: round(count / turns, 2) for name, count in counts.turns.items()}
    if options.json:
        print(json.dumps({"asked": counts.asked, "a turn": means}))
        return
    for name, count in counts.asked.items():
        print(f"| {name} | {count} |")
    for name, mean in means.items():
        print(f"| {name}, a turn | {mean} |")


if __name__ == "__main__":
    main()
