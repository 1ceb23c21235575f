"""Idle turns: how many `skip_idle` would not send to a model, and how many of them wrongly.

    python benchmarks/idle_turns.py [--locomo PATH_TO_locomo10.json] [FILE ...]

FILE is a conversation or a scenario, or names scenarios of ``benchmarks/data`` (``held``, ``held/film``);
the example and all those by default. A turn is
skipped wrongly where the keyless rules would have made a lasting item of it, or where the ground
truth of a scenario says that a rule, goal or fact begins or ends in it.

LoCoMo is two people's chat: there each message is taken for a user's turn, and it is skipped
wrongly where it is evidence for a question. Its data is CC BY-NC 4.0 and no part of this project.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "keyless"))

from dataset import scenario_files

from acc.commit.commit import commit
from acc.compress.compression import is_idle
from acc.evaluation.locomo import load_locomo
from acc.keyless.compressor import RuleCompressor
from acc.state.model import CompressedCognitiveState
from acc.turn.conversations import read_conversation
from acc.turn.turn import Turn

EXAMPLE = Path(__file__).parents[1] / "examples" / "incident.jsonl"
SPLITS = ("held", "open", "plain", "updates")


def idle(file: Path) -> dict[str, Any]:
    """Turns of a conversation that are idle, and what would be lost with them."""
    state: CompressedCognitiveState = CompressedCognitiveState.empty()
    skipped, lost = 0, []
    turns = read_conversation(file).turns
    true = _changes(file)
    for number, turn in enumerate(turns, 1):
        whole = turn.numbered(number)
        done = commit(state, RuleCompressor()(whole, state, ()), whole)
        if is_idle(whole):
            skipped += 1
            kept = {i.id for slot, i in state.items() if not slot.rules.ephemeral}
            made = [i for slot, i in done.state.items() if not slot.rules.ephemeral]
            lost += [item.words for item in made if item.id not in kept]
            lost += true.get(number, [])
        state = done.state
    return {"file": file.name, "turns": len(turns), "skipped": skipped, "lost": lost}


def _changes(file: Path) -> dict[int, list[str]]:
    """What begins or ends, by turn, where the file is a scenario with its ground truth."""
    if file.suffix != ".json":
        return {}
    told = json.loads(file.read_text(encoding="utf-8"))
    changes: dict[int, list[str]] = {}
    for name in ("constraints", "goals", "facts"):
        for entry in told.get(name, ()) if isinstance(told, dict) else ():
            for turn in (entry[k] for k in ("introduced", "retired", "superseded") if k in entry):
                changes.setdefault(turn, []).append(entry["text"])
    return changes


def locomo(path: Path) -> dict[str, Any]:
    """Messages of LoCoMo that are idle, and those of them that answer a question."""
    messages, skipped, lost = 0, 0, []
    for conversation in load_locomo(path):
        needed = frozenset[int]().union(*(q.evidence for q in conversation.questions))
        for place, document in enumerate(conversation.documents):
            said = document.partition(": ")[2]
            messages += 1
            if said and is_idle(Turn.said(said)):
                skipped += 1
                lost += [document] if place in needed else []
    return {"file": path.name, "turns": messages, "skipped": skipped, "lost": lost}


def main() -> None:
    """Print a line a file, and the sum."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", default=[str(EXAMPLE), *SPLITS], metavar="FILE")
    parser.add_argument("--locomo", type=Path)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        files = [path for name in options.files for path in scenario_files(name, folder)]
        found = [idle(Path(file)) for file in files]
    found += [locomo(options.locomo)] if options.locomo else []
    print("| conversation | turns | skipped | wrongly |\n| --- | --- | --- | --- |")
    for each in found:
        print(f"| {each['file']} | {each['turns']:,} | {each['skipped']} | {len(each['lost'])} |")
    for lost in (words for each in found for words in each["lost"]):
        print(f"lost: {lost}")


if __name__ == "__main__":
    main()
