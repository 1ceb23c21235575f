"""Every figure of `docs/figures.md`, in one run: a table, and the command beside each row.

    python benchmarks/run.py [--locomo locomo10.json] [--quick] > docs/figures.md

``--locomo`` names a copy of LoCoMo's ``locomo10.json``, which is not part of the project.
``--quick`` measures in a smaller store and a shorter thread.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langgraph_memory import table

HERE = Path(__file__).parent
DEMO = HERE.parent / "examples" / "incident.jsonl"
TRUTH = HERE.parent / "examples" / "incident.truth.json"

Row = tuple[str, str, str, str]


def measured(script: str, *arguments: str) -> dict[str, Any]:
    """What a benchmark prints as JSON."""
    command = [sys.executable, str(HERE / script), *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def overhead(quick: bool) -> Iterator[Row]:
    """A turn without its compressor, against a bare add; late turns against early ones."""
    smaller = ["--artifacts", "8000", "--turns", "300", "--long", "1000"] if quick else []
    found = measured("turn_overhead.py", *smaller)
    command = " ".join(["benchmarks/turn_overhead.py", *smaller])
    _, middle, late = found["at"].values()
    turns, long = list(found["at"])[1:]
    store = f"store of {found['artifacts']:,} artifacts"
    yield (
        f"turn without compressor / bare Chroma add of the same artifacts; thread of {turns} turns, {store}",
        f"{middle['ratio']:.2f} ({middle['ms']} / {middle['bare_ms']} ms)",
        "at most 1.5",
        command,
    )
    yield (
        f"turn {long} / turn 50 of a young thread at the same time in the same store",
        f"{found['late_against_early']:.2f} ({late['ms']} / {found['young_ms']} ms)",
        "at most 1.3",
        command,
    )
    yield (
        f"turn {long} / its own turn 50, when the store was smaller; a bare Chroma add then and now",
        f"{found['in_sequence']:.2f}; {found['bare_add_in_sequence']:.2f}",
        "stated",
        command,
    )
    yield (
        f"most state tokens in {long} turns",
        str(found["most_state_tokens"]),
        "at most 800",
        command,
    )


def costs() -> Iterator[Row]:
    """A commit on a full state, and the import."""
    found = measured("commit_cost.py")
    full = found["commit_on_full_state"]
    command = "benchmarks/commit_cost.py"
    yield (
        f"commit on a full state ({full['items']} items, {full['tokens']} tokens)",
        f"{full['median_ms']} ms, p95 {full['p95_ms']} ms",
        "at most 2 ms",
        command,
    )
    yield ("`import acc`", f"{found['import_acc']['import_ms']} ms", "at most 150 ms", command)
    found = measured("telemetry_overhead.py")
    yield (
        f"OpenTelemetry / the rest of a keyless step on embedded Chroma, CPU time, {found['turns']} turns",
        f"{100 * found['overhead']:.1f}% ({found['telemetry_ms']} of {found['step_ms']} ms)",
        "at most 3%",
        "benchmarks/telemetry_overhead.py",
    )


@functools.cache
def agents(quick: bool) -> dict[str, Any]:
    """The ways to keep a LangGraph agent's memory, side by side."""
    return measured("langgraph_memory.py", *(["--turns", "80"] if quick else []))


def graphs(quick: bool) -> Iterator[Row]:
    """An agent in LangGraph with the memory, against its transcript and against no memory."""
    found, turns = agents(quick), 80 if quick else 200
    command = f"benchmarks/langgraph_memory.py --turns {turns}"
    ours, left = found["ACC, store in memory"], found["ACC, store in memory, exit"]
    bytes_ratio, over = "checkpoint bytes in SQLite, ACC / transcript", "ms / no memory"
    rows = (
        ("prompt tokens, last 20 / first 20", ours["prompt tokens, last / first"], "1.1"),
        (f"{bytes_ratio}, same durability", f"1/{ours['the same durability']}", "1/20"),
        (f"{bytes_ratio}, ACC at exit durability", f"1/{left['transcript / it']}", "1/100"),
        (f"{bytes_ratio}, both at exit durability", f"1/{left['the same durability']}", "1/20"),
        ("ms a turn, last 20 / first 20", ours["that, last / first"], "1.2"),
        ("ms a turn, with ACC / without memory", ours[over], "2"),
        ("the same, ACC on embedded Chroma", found["ACC, embedded Chroma"][over], "2"),
    )
    for what, figure, target in rows:
        yield f"{turns} ReAct turns: {what}", str(figure), f"at most {target}", command


def demo() -> Iterator[Row]:
    """The demo: its footprint and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "acc", "replay", str(DEMO)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    said = done.stdout.strip().splitlines()[-1]
    ratio = re.search(r"state ([\d,]+) tokens, transcript ([\d,]+) tokens, ratio ([\d.]+)", said)
    memory = re.search(r"peak memory (\d+ \w+)", said)
    shown = f"{ratio[3]} ({ratio[1]} / {ratio[2]} tokens)" if ratio else said
    yield ("demo at turn 50, state / transcript", shown, "at most 0.1", "make demo")
    yield ("demo, peak memory of the process", memory[1] if memory else "?", "stated", "make demo")


def recall(locomo: str | None) -> Iterator[Row]:
    """LoCoMo's evidence recall, keyless, without state."""
    if locomo is None:
        return
    figure = measured("locomo_recall.py", locomo)["figures"]["default"]["R@16"]
    command = "benchmarks/locomo_recall.py locomo10.json"
    yield (
        "LoCoMo evidence recall at 16, thread scope, no state",
        f"{figure:.3f}",
        "at least 0.71",
        command,
    )


def modes(quick: bool) -> Iterator[Row]:
    """`revise` against `rewrite`: what a model writes, and what survives one that errs."""
    turns = 200 if quick else 1_000
    command = f"benchmarks/revise_vs_rewrite.py --turns {turns}"
    found = measured("revise_vs_rewrite.py", "--turns", str(turns))
    run = found["runs"][0]
    revise, rewrite = run["revise"], run["rewrite"]
    yield (
        f"output of revise / rewrite over {turns:,} turns",
        f"{run['output_ratio']:.2f} ({revise['output']} / {rewrite['output']} tokens)",
        "at most 0.33",
        command,
    )
    yield (
        "pinned items that survive a model that errs, revise / rewrite; where it quotes real words",
        f"{revise['pinned']:.0%} / {rewrite['pinned']:.0%}; {revise['pinned_quoted']:.0%}",
        "100%",
        command,
    )
    yield (
        "the rest, revise / rewrite / rewrite that carries on without a miss",
        f"{revise['rest']:.0%} / {rewrite['rest']:.0%} / {run['rewrite, carrying']['rest']:.0%}",
        "at least 95% in revise",
        command,
    )
    skipped = ", ".join(f"{i['skipped']} of {i['turns']}" for i in found["idle"])
    yield ("turns of the demo that skip_idle would not send", skipped, "stated", command)


def ablation() -> list[str]:
    """The table of what conditioning on the state brings."""
    command = [sys.executable, str(HERE / "recall_ablation.py"), f"{DEMO}:{TRUTH}"]
    return (
        subprocess.run(command, capture_output=True, text=True, check=True)
        .stdout.strip()
        .splitlines()
    )


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--locomo", default=None)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rows = [
        *overhead(options.quick),
        *costs(),
        *demo(),
        *graphs(options.quick),
        *modes(options.quick),
        *recall(options.locomo),
    ]
    print("# Figures\n")
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    quick = " --quick" if options.quick else ""
    command = f"python benchmarks/run.py --locomo locomo10.json{quick} > docs/figures.md"
    print(f"All from one run of `{command}`")
    print(f"({machine}). Read ratios, not absolutes.\n")
    print("| what | measured | target | command |\n| --- | --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(row[:3]) + f" | `{row[3]}` |")
    print(_NOTES.format(ablation="\n".join(ablation()), ways=table(agents(options.quick))))


_NOTES = """
## Ways to keep an agent's memory in LangGraph

{ways}

A SQLite file each, turn by turn in one run (`benchmarks/langgraph_memory.py`). The summariser is scripted and writes at
once, which no model does.

## LoCoMo

The evidence of a question among the 16 best of its conversation, macro over the questions of categories
1 to 4. Three weights of the ranking were chosen on this data; chosen on one half of the conversations and
measured on the other they give 0.763 and 0.778 (`benchmarks/locomo_recall.py locomo10.json --folds`). The
data is not part of the project: it is CC BY-NC.

## What conditioning on the state brings

The probes of the example conversation (`examples/incident.truth.json`), keyless. The weight is that of the
state's entities, gaps and cues against the user's words in recall.

{ablation}

On explicit questions, and on questions without names and numbers, the state's words bring recall nothing at
a low weight and cost at a high one. What carries is the pair: state and evidence together answer what
neither does alone. The default weight is 0.1.
"""


if __name__ == "__main__":
    main()
