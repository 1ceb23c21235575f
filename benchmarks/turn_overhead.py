"""What the memory costs beside the compressor, against a bare Chroma add of the same artifacts.

    python benchmarks/turn_overhead.py [--artifacts 100000] [--turns 1000] [--long 5000]

One thread runs to ``--long`` turns, in a store that holds ``--artifacts`` artifacts of other
threads. Around turn 50, after ``--turns`` turns, and at the end, turns drawn by lot are followed by
a bare ``collection.add`` of the very rows that a turn wrote ten turns before, under other ids, into
the same collection: at once it would find warm what the turn had just touched, and after every
turn SQLite's merges, which come every so many writes, would always fall to the same of the two.

``late_against_early`` compares turn ``--long`` with turn 50 of a young thread, stepped by turns
with it, so that both write to one store of one size at one time. ``in_sequence`` compares it with
its own turn 50, when the store was smaller; beside it, what a bare add grew by in between.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy

import acc.stores.protocol
from acc.controller import MemoryController
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal, ProposedItem
from acc.stores.chroma.rows import to_rows
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.protocol import Artifact, artifact_id
from acc.turn.observations import Channel, Evidence, Observation
from acc.turn.turn import Turn

_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
_VOCABULARY = [a + b + c for a in _SYLLABLES for b in _SYLLABLES[::5] for c in _SYLLABLES[::14]]
_WEIGHTS = list(accumulate(1 / rank for rank in range(1, len(_VOCABULARY) + 1)))
"""Zipf's law, as in natural text: a few words everywhere, most words rare."""


def observed(number: int, rng: random.Random) -> Turn:
    """A turn of the usual size: 300 bytes of user, two tools of 1.5 KB, a reply of 600 bytes."""

    def text(size: int) -> str:
        words: list[str] = []
        while sum(map(len, words)) + len(words) < size:
            word = rng.choices(_VOCABULARY, cum_weights=_WEIGHTS)[0]
            words.append(f"{word}-{rng.randrange(9999)}" if rng.random() < 0.1 else word)
        return " ".join(words)

    return Turn(
        observations=(
            Observation(channel=Channel.USER, text=f"turn {number}: {text(300)}"),
            Observation(channel=Channel.TOOL, name="logs", call_id=f"c{number}", text=text(1500)),
            Observation(
                channel=Channel.TOOL, name="metrics", call_id=f"m{number}", text=text(1500)
            ),
            Observation(channel=Channel.AGENT, text=text(600)),
        )
    )


def scripted(turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]) -> Proposal:
    """A proposal as a compressor would make it, at no cost: five facts, an event, the evidence."""
    del state  # what it holds is carried on
    tool = next(o for o in turn.observations if o.channel is Channel.TOOL)
    words = tool.text.split()
    facts = [
        {"subject": words[i], "predicate": words[i + 1], "object": " ".join(words[i + 2 : i + 9])}
        for i in range(0, 40, 8)
    ]
    items = [ProposedItem(slot="relational_map", fields=f, cites=(tool.ref,)) for f in facts]
    items.append(
        ProposedItem(slot="episodic_trace", fields={"text": tool.text[:120]}, cites=(tool.ref,))
    )
    items += [
        ProposedItem(slot="retrieved_artifacts", fields={"label": e.text[:60]}, cites=(e.ref,))
        for e in evidence[:4]
    ]
    return Proposal(items=tuple(items))


def filled(store: ChromaArtifactStore, count: int, rng: random.Random) -> None:
    """Fill the store with other threads' artifacts."""
    for start in range(0, count, 100):
        turn = observed(start, rng)
        rows = [
            Artifact(
                id=artifact_id(f"other{start:08d}", "main", i + 1), thread=f"other{start:08d}",
                branch="main", seq=i + 1, turn=i // 4 + 1, ref=f"t{i}",
                channel=Channel.TOOL, text=turn.observations[i % 4].text[i:], identity=str(i),
            )
            for i in range(min(100, count - start))
        ]  # fmt: skip
        store.add("default", rows)


def overhead(step: Step) -> float:
    """Milliseconds of a step without its compressor."""
    return sum(ms for stage, ms in step.ms.items() if stage != "compress")


class Noted:
    """The rows of a thread as they are written, so that they can be added again, bare."""

    def __init__(self, store: Any, thread: str) -> None:
        self.store = store
        self._thread = acc.stores.protocol.Thread(thread=thread).key
        self._turns: deque[list[Artifact]] = deque([[]], maxlen=10)
        self._add = store.add
        store.add = self._noting

    def turn(self) -> None:
        """A turn begins."""
        self._turns.append([])

    def _noting(self, tenant: str, rows: Sequence[Artifact]) -> None:
        self._turns[-1].extend(a for a in rows if a.thread == self._thread)
        self._add(tenant, rows)

    def bare_add(self) -> float:
        """Milliseconds of one ``collection.add`` of the oldest turn's rows, under other ids."""
        renamed = [a.model_copy(update={"id": f"bare{a.id[4:]}"}) for a in self._turns[0]]
        rows = to_rows("default", renamed)
        collection = self.store._collections.ensured("default")
        columns: dict[str, Any] = {
            "ids": [row.id for row in rows],
            "documents": [row.document for row in rows],
            "embeddings": [numpy.frombuffer(row.embedding, numpy.float32) for row in rows],
            "metadatas": [row.metadata for row in rows],
        }
        start = time.perf_counter()
        collection.add(**columns)
        return 1000 * (time.perf_counter() - start)


class Thread:
    """One thread, stepped turn by turn."""

    def __init__(self, memory: MemoryController, name: str, seed: int) -> None:
        self._memory = memory
        self._name = name
        self._rng = random.Random(seed)
        self._state: CompressedCognitiveState | None = None
        self.turn = 0
        self.most = 0

    def step(self) -> Step:
        """Its next turn."""
        self.turn += 1
        turn = observed(self.turn, self._rng)
        step = self._memory.step(self._state, turn, thread=self._name)
        self._state, self.most = step.state, max(self.most, step.commit.tokens)
        return step


EARLY = range(26, 76)
"""The turns around the 50th."""


def costs(artifacts: int, turns: int, long: int, measured: int) -> dict[str, Any]:
    """What a turn costs early, after ``turns`` turns and after ``long``, beside a bare add."""
    last = range(max(turns + measured, long - len(EARLY)) + 1, long + 1)
    windows = {50: EARLY, turns: range(turns + 1, turns + measured + 1), long: last}
    found: dict[int, list[Step]] = {turn: [] for turn in windows}
    bare: dict[int, list[float]] = {turn: [] for turn in windows}
    lot = random.Random(13)
    young: list[Step] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryController.open(folder, compressor=scripted) as memory,
    ):
        store: Any = memory.artifacts
        filled(store, artifacts, random.Random(7))
        noted = Noted(store, "bench")
        old, other = Thread(memory, "bench", 11), Thread(memory, "young", 12)
        while other.turn < EARLY.start - 1:
            other.step()
        for number in range(1, long + 1):
            noted.turn()
            step = old.step()
            for turn in (turn for turn, window in windows.items() if number in window):
                found[turn].append(step)
                if lot.random() < 0.5:
                    bare[turn].append(noted.bare_add())
            if number in last:
                young.append(other.step())
    at = {turn: summary(steps, bare[turn]) for turn, steps in found.items()}
    beside = statistics.median(overhead(step) for step in young)
    return {
        "artifacts": artifacts,
        "most_state_tokens": old.most,
        "young_ms": round(beside, 2),
        "late_against_early": round(at[long]["ms"] / beside, 2),
        "in_sequence": round(at[long]["ms"] / at[50]["ms"], 2),
        "bare_add_in_sequence": round(at[long]["bare_ms"] / at[50]["bare_ms"], 2),
        "at": at,
    }


def summary(steps: Sequence[Step], adds: Sequence[float]) -> dict[str, Any]:
    """Medians: the overhead, the bare adds between, their ratio, and each stage."""
    ours = statistics.median(map(overhead, steps))
    bare = statistics.median(adds)
    return {
        "ms": round(ours, 2), "bare_ms": round(bare, 2), "ratio": round(ours / bare, 2),
        "by_stage": medians([step.ms for step in steps]),
    }  # fmt: skip


def medians(stages: Sequence[dict[str, float]]) -> dict[str, float]:
    """Median milliseconds of each stage."""
    return {k: round(statistics.median(s[k] for s in stages), 2) for k in stages[0]}


def main() -> None:
    """Run both and print a table, or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--artifacts", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--measured", type=int, default=200)
    parser.add_argument("--long", type=int, default=5_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = costs(options.artifacts, options.turns, options.long, options.measured)
    if options.json:
        print(json.dumps(found))
        return
    for turn, at in found.pop("at").items():
        print(f"turn {turn:<6} {at}")
    for key, value in found.items():
        print(f"{key:28} {value}")


if __name__ == "__main__":
    main()
