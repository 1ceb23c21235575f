"""How often the evidence for a question holds its answer, on its own: state and tail are empty.

    python benchmarks/evidence_gate.py [FILE ...] [--half tune|report] [--show]

Asked are the probes of the given scenarios and of benchmarks/data, each after its turn, and there also each
current fact by the words of its text without the value (made questions: no list of people's questions has so
many). Of every second scenario the figures were tuned on, the others report. Printed for each group: questions,
the share whose needs all stand in the evidence, the share of those with earlier versions of a needed fact where
one is shown without the current one, and tokens with their labels. Then the users' own messages as questions,
each to the turns before it: what evidence costs in use. Last the time for one question in a long thread.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

sys.path.insert(0, str(Path(__file__).parent / "keyless"))
from dataset import scenarios

from acc.gate import qualify
from acc.state.policy import Gate
from acc.state.tail import messages_of
from acc.text.ranking import terms
from acc.text.tokens import utf8_quarter
from acc.turn.observations import Evidence
from acc_eval.ground_truth import FactTruth, GroundTruth, Matcher
from acc_eval.memories.acc import ThreadRecall
from acc_eval.memories.protocol import HeldItem
from acc_eval.scenarios import Scenario

SPLITS = ("plain", "held", "open", "updates")
LONG = 5_000


@dataclass(frozen=True)
class Question:
    """A question after a turn, the entries that answer it, and the earlier versions of these."""

    turn: int
    text: str
    needs: tuple[str, ...]
    earlier: frozenset[str]


@dataclass(frozen=True)
class Answer:
    """What the evidence for a question holds; ``stale`` is None where no needed fact has an earlier version."""

    complete: bool
    stale: bool | None
    tokens: int


def follows(truth: GroundTruth) -> dict[str, FactTruth]:
    """Return, by id, the fact that another one succeeds: the most alike of those that its turn ends."""
    found = {}
    for fact in truth.facts:
        alike = set(terms(fact.text))
        ended = [f for f in truth.facts if f.superseded == fact.introduced]
        if ended:
            found[fact.id] = max(ended, key=lambda f: len(alike & set(terms(f.text))))
    return found


def chain(fact_id: str, before: dict[str, FactTruth]) -> list[FactTruth]:
    """Return the earlier versions of a fact, the newest first."""
    found: list[FactTruth] = []
    while fact_id in before:
        found.append(before[fact_id])
        fact_id = before[fact_id].id
    return found


def probes(truth: GroundTruth) -> Iterator[Question]:
    """Yield the questions that the scenario's writer asks."""
    before = follows(truth)
    for probe in truth.probes:
        earlier = frozenset(f.id for need in probe.needs for f in chain(need, before))
        yield Question(probe.turn, probe.question, probe.needs, earlier)


def made(truth: GroundTruth, last: int) -> Iterator[Question]:
    """Yield a question for each fact that is current after the last turn: its words without its value."""
    before = follows(truth)
    for fact in truth.facts:
        if not fact.is_active(last):
            continue
        versions = chain(fact.id, before)
        text = fact.text
        for pattern in fact.any_of:
            text = re.sub(pattern, " ", text, flags=re.IGNORECASE)
        if versions:
            shared = set.intersection(*(set(f.text.split()) for f in (fact, *versions)))
            text = " ".join(word for word in fact.text.split() if word in shared)
        if len(set(terms(text))) > 1:
            yield Question(last, f"{text}?", (fact.id,), frozenset(f.id for f in versions))


def labelled(evidence: Evidence) -> str:
    """Return a passage as the agent reads it."""
    return f"[earlier, {evidence.channel.value}, turn {evidence.turn}] {evidence.text}"


def asked(index: ThreadRecall, text: str, gate: Gate) -> tuple[Evidence, ...]:
    """Return the evidence for a question beside an empty state and tail."""
    return qualify(index.recall(text), text, "", frozenset(), gate)[0]


def answers(
    scenario: Scenario, questions: Sequence[Question], gate: Gate, *, show: bool
) -> Iterator[Answer]:
    """Ask each question after its turn."""
    matcher = Matcher(scenario.truth)
    for turn in sorted({q.turn for q in questions}):
        index = indexed(scenario, turn)
        for question in (q for q in questions if q.turn == turn):
            found = asked(index, question.text, gate)
            held = [matcher.found(e.text).entries for e in found]
            complete = matcher.answers(question.needs, [HeldItem(e.text) for e in found])
            shown = frozenset().union(*held)
            stale = bool(shown & question.earlier) and not complete if question.earlier else None
            tokens = utf8_quarter("\n".join(map(labelled, found)))
            if show and (not complete or stale):
                missing = set(question.needs) - shown
                print(f"\n{scenario.id} {turn} {question.text} lacks {missing} stale {stale}")
                print("\n".join(f"   {e.ref}: {labelled(e)}" for e in found))
            yield Answer(complete, stale, tokens)


def indexed(scenario: Scenario, turns: int) -> ThreadRecall:
    """Return an index of the first turns."""
    index = ThreadRecall()
    for number, turn in enumerate(scenario.turns[:turns], 1):
        for message in messages_of(turn.numbered(number)):
            index.add(message)
    return index


def in_use(scenario: Scenario, gate: Gate) -> Iterator[int]:
    """Yield the tokens admitted for the user's message of each turn from the second on."""
    index = ThreadRecall()
    for number, turn in enumerate(scenario.turns, 1):
        if number > 1:
            found = asked(index, scenario.script[number - 1].user, gate)
            yield utf8_quarter("\n".join(map(labelled, found)))
        for message in messages_of(turn.numbered(number)):
            index.add(message)


def halves(all_of: Sequence[Scenario]) -> dict[str, list[Scenario]]:
    """Return every second scenario for tuning, the others for reporting; both share those with probes."""
    ordered = sorted(all_of, key=lambda s: (not s.truth.probes, s.id))
    return {"tune": ordered[::2], "report": ordered[1::2]}


def row(name: str, found: Sequence[Answer]) -> str:
    """Return a line of the table."""
    if not found:
        return f"| {name} | 0 | | | |"
    versions = [a.stale for a in found if a.stale is not None]
    stale = f"{mean(versions):.3f} of {len(versions)}" if versions else "-"
    tokens = [a.tokens for a in found]
    return (
        f"| {name} | {len(found)} | {mean(a.complete for a in found):.3f} | {stale} "
        f"| {median(tokens):.0f}, {mean(tokens):.0f} |"
    )


def rows(groups: dict[str, list[Scenario]], gate: Gate, *, show: bool = False) -> Iterator[str]:
    """Yield the tables."""
    yield "| questions | | answered | an earlier version alone | tokens: median, mean |"
    yield "| --- | --- | --- | --- | --- |"
    for kind in ("probes", "made"):
        for name, group in groups.items():
            found: list[Answer] = []
            for s in group:
                last = len(s.turns)
                own = list(probes(s.truth) if kind == "probes" else made(s.truth, last))
                found += answers(s, own, gate, show=show)
            yield row(f"{kind}, {name}", found)
    yield "\n| users' messages as questions | | with evidence | tokens: median, mean |"
    yield "| --- | --- | --- | --- |"
    for name, group in groups.items():
        used = [tokens for s in group for tokens in in_use(s, gate)]
        some = mean(tokens > 0 for tokens in used)
        yield f"| {name} | {len(used)} | {some:.3f} | {median(used):.0f}, {mean(used):.0f} |"


def milliseconds(all_of: Sequence[Scenario], gate: Gate) -> tuple[float, float, float]:
    """Return the time to add a message, and the median and longest for a question, in a thread of `LONG` messages."""
    turns = [turn for s in all_of for turn in s.turns]
    messages = [m for n, turn in enumerate(turns, 1) for m in messages_of(turn.numbered(n))][:LONG]
    index = ThreadRecall()
    start = time.perf_counter()
    for message in messages:
        index.add(message)
    adding = (time.perf_counter() - start) * 1_000 / len(messages)
    questions = [q.text for s in all_of for q in probes(s.truth)][:60]
    spent = []
    for question in questions:
        start = time.perf_counter()
        asked(index, question, gate)
        spent.append((time.perf_counter() - start) * 1_000)
    return adding, median(spent), max(spent)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="scenario files, reported each by itself")
    parser.add_argument("--half", choices=("tune", "report"), help="only one half")
    parser.add_argument("--show", action="store_true", help="print what is not answered")
    given = parser.parse_args()
    stored = scenarios(*SPLITS)
    groups = {n: g for n, g in halves(stored).items() if given.half in (None, n)}
    groups |= {s.id: [s] for s in scenarios(*given.files)}
    print("\n".join(rows(groups, Gate(), show=given.show)))
    adding, usual, longest = milliseconds(stored, Gate())
    print(
        f"\n{LONG} messages: {adding:.2f} ms to add one, {usual:.1f} ms a question, at most {longest:.1f}"
    )


if __name__ == "__main__":
    main()
