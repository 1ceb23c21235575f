"""What conditioning on the state brings, and what recall brings to the state.

    python benchmarks/recall_ablation.py examples/incident.jsonl:examples/incident.truth.json [SCENARIO ...]

Each conversation is replayed keyless; at the turn of each probe its question is asked. A probe
is answered where every entry that it needs matches one item or one piece of evidence. Compared:
the state alone; recall alone (16 candidates) by the question alone and with the state's
entities, gaps and cues at several weights; what the gate admits of them, cut as the compressor
reads it; state and admitted together; and what the agent reads after a step on the question.
``elided`` asks without proper names and numbers ("which train?"), as people do in a conversation.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from acc.controller import MemoryController
from acc.gate.protocol import Context, qualify
from acc.recall.candidates import Recall
from acc.state.model import CompressedCognitiveState
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Thread
from acc.turn.conversations import read_conversation
from acc.turn.turn import Turn

WEIGHTS = (0.0, 0.05, 0.1, 0.3, 1.0)


def answered(needs: Iterable[dict[str, Any]], texts: Iterable[str]) -> bool:
    """Whether each needed entry is matched by one of ``texts``."""
    texts = list(texts)
    return all(any(re.search(p, t, re.I) for p in need["any_of"] for t in texts) for need in needs)


def said(state: CompressedCognitiveState) -> list[str]:
    """Each item of the state on a line."""
    return [item.words for _, item in state.items()]


def probe_conversation(path: str) -> Counter[str]:
    """Probes answered, by what is read; ``probes`` is their number."""
    file, _, truth_file = path.partition(":")
    turns = read_conversation(Path(file)).turns
    truth = json.loads(Path(truth_file or file).read_text(encoding="utf-8"))
    entries = {e["id"]: e for kind in ("constraints", "goals", "facts") for e in truth[kind]}
    probes = [(p["turn"], p["question"], [entries[i] for i in p["needs"]]) for p in truth["probes"]]
    found: Counter[str] = Counter()
    with MemoryController(InMemoryStore()) as memory:
        state: CompressedCognitiveState | None = None
        for number, turn in enumerate(turns, 1):
            state = memory.step(state, turn, thread="probe").state
            for _, question, needs in (p for p in probes if p[0] == number):
                found["probes"] += 1
                found["state alone"] += answered(needs, said(state))
                found.update(probe(memory, state, question, needs, "whole"))
                found.update(probe(memory, state, elided(question), needs, "elided"))
    return found


def elided(question: str) -> str:
    """``question`` without proper names and numbers."""
    first, *rest = question.split()
    return " ".join([first, *(word for word in rest if word[:1].islower())])


def probe(
    memory: MemoryController,
    state: CompressedCognitiveState,
    question: str,
    needs: list[dict[str, Any]],
    form: str,
) -> Counter[str]:
    """One question, asked of everything that is compared."""
    turn = Turn.said(question).numbered(state.turn + 1)
    branch = memory._log_of(Thread(thread="probe")).branch(state.branch)
    found: Counter[str] = Counter()
    for weight in WEIGHTS:
        recall: Recall = replace(memory.settings.recall, state_weight=weight)
        candidates = recall(turn, state, branch)
        texts = [c.artifact.text for c in candidates]
        context = Context(turn, state, retired=branch.retired)
        evidence, _ = qualify(candidates, memory.settings.gate, context)
        read = [e.text for e in evidence]
        found[f"{form}: recalled, state weight {weight}"] += answered(needs, texts)
        found[f"{form}: admitted, state weight {weight}"] += answered(needs, read)
        found[f"{form}: state and admitted, {weight}"] += answered(needs, [*said(state), *read])
    after = memory.step(state, turn, thread="probe").state
    found[f"{form}: read by the agent after a step on it"] += answered(needs, said(after))
    return found


def main() -> None:
    """Print a table over all conversations, or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("conversations", nargs="+", metavar="FILE[:TRUTH]")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for path in options.conversations:
        total.update(probe_conversation(path))
    probes = total.pop("probes")
    shares = {name: round(count / probes, 2) for name, count in total.items()}
    if options.json:
        print(json.dumps({"probes": probes, **shares}))
        return
    print(f"| of {probes} probes answered by | share |\n| --- | --- |")
    for name, share in shares.items():
        print(f"| {name} | {share:.2f} |")


if __name__ == "__main__":
    main()
