"""What the memory costs beside the compressor, against a bare Chroma add of the same artifacts.

    python benchmarks/turn_overhead.py [--artifacts 100000] [--turns 1000] [--long 5000]

Two measurements, ratios within one run. First: a thread of ``--turns`` turns in a store of
``--artifacts`` artifacts, embedded; each measured turn is followed by a bare
``collection.add`` of the very rows it wrote, under other ids, into the same collection.
Second: one thread run to ``--long`` turns; its last turns against its 50th.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy

from acc.compress import Proposal, ProposedItem
from acc.controller import MemoryController
from acc.run import Step
from acc.state import CompressedCognitiveState
from acc.store import Artifact, artifact_id
from acc.stores.chroma import ChromaArtifactStore
from acc.stores.chroma_rows import to_rows
from acc.turn import Channel, Evidence, Observation, Turn

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


def scripted(turn: Turn, _: CompressedCognitiveState, evidence: Sequence[Evidence]) -> Proposal:
    """A proposal as a compressor would make it, at no cost: five facts, an event, the evidence."""
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


def against_bare_add(artifacts: int, turns: int, measured: int) -> dict[str, Any]:
    """Median overhead of a turn over the median bare add of its rows."""
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        memory = MemoryController.open(folder, compressor=scripted)
        store: Any = memory.artifacts
        filled(store, artifacts - 4 * turns, rng)
        written: list[Artifact] = []
        plain_add = store.add

        def noting(tenant: str, rows: Sequence[Artifact]) -> None:
            written.extend(rows)
            plain_add(tenant, rows)

        state: CompressedCognitiveState | None = None
        ours, bare, parts = [], [], []
        for number in range(1, turns + measured + 1):
            turn = observed(number, rng)
            written.clear()
            store.add = noting
            step = memory.step(state, turn, thread="bench")
            store.add = plain_add
            state = step.state
            if number > turns:
                ours.append(overhead(step))
                parts.append(step.ms)
                bare.append(bare_add(store, written))
        memory.close()
    return {
        "artifacts": artifacts, "turns": turns, "ms_by_stage": medians(parts),
        "overhead_ms": round(statistics.median(ours), 2), "bare_add_ms": round(statistics.median(bare), 2),
        "ratio": round(statistics.median(ours) / statistics.median(bare), 2),
        "paired_ratio": round(statistics.median(a / b for a, b in zip(ours, bare, strict=True)), 2),
    }  # fmt: skip


def bare_add(store: Any, written: Sequence[Artifact]) -> float:
    """Milliseconds of one ``collection.add`` of these rows, under other ids."""
    renamed = [a.model_copy(update={"id": f"bare{a.id[4:]}"}) for a in written]
    rows = to_rows("default", renamed)
    collection = store._collections.ensured("default")
    columns: dict[str, Any] = {
        "ids": [row.id for row in rows],
        "documents": [row.document for row in rows],
        "embeddings": [numpy.frombuffer(row.embedding, numpy.float32) for row in rows],
        "metadatas": [row.metadata for row in rows],
    }
    start = time.perf_counter()
    collection.add(**columns)
    return 1000 * (time.perf_counter() - start)


def late_against_early(long: int) -> dict[str, Any]:
    """Median overhead around the last turn over that around turn 50."""
    rng = random.Random(11)
    by_turn, stages, tokens = [], [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryController.open(folder, compressor=scripted) as memory,
    ):
        state: CompressedCognitiveState | None = None
        for number in range(1, long + 26):
            step = memory.step(state, observed(number, rng), thread="bench")
            state = step.state
            by_turn.append(overhead(step))
            stages.append(step.ms)
            tokens.append(step.commit.tokens)
    early = statistics.median(by_turn[25:75])
    late = statistics.median(by_turn[-50:])
    return {
        "turns": long, "ms_at_50": round(early, 2), f"ms_at_{long}": round(late, 2),
        "ratio": round(late / early, 2), "most_state_tokens": max(tokens),
        "ms_by_stage_at_50": medians(stages[25:75]), f"ms_by_stage_at_{long}": medians(stages[-50:]),
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
    found = {
        "against_bare_add": against_bare_add(options.artifacts, options.turns, options.measured),
        "late_against_early": late_against_early(options.long),
    }
    if options.json:
        print(json.dumps(found))
        return
    for name, figures in found.items():
        print(f"\n{name.replace('_', ' ')}")
        for key, value in figures.items():
            print(f"  {key:20} {value}")


if __name__ == "__main__":
    main()
