"""Every benchmark with the figure that it gives, and the command that runs it.

    python benchmarks/run.py                      # list them
    python benchmarks/run.py NAME ...             # run some
    python benchmarks/run.py --all                # run all whose data is here

``--locomo``, ``--memorycode``, ``--travel`` and ``--corpus NAME=DIR`` name data that is not part of the project. The
figures stand in ``docs/evaluation.md``. None asks a model: answers of models are recorded in
``benchmarks/answers``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent
INCIDENT = f"{ROOT}/examples/incident.jsonl:{ROOT}/examples/incident.truth.json"
ANSWERS = HERE / "answers"


class Benchmark(NamedTuple):
    """A benchmark.

    Attributes:
        name: What `run.py` calls it.
        figure: What it measures.
        command: Arguments of Python; ``{travel}`` and the like are data that the user names.
        data: The names of that data.
    """

    name: str
    figure: str
    command: tuple[str, ...]
    data: tuple[str, ...] = ()


SHIPPED = ("it_operations", "cybersecurity", "healthcare", "finance")
_MEMORYCODE = ("{memorycode}", "--sessions", "20-20", "--dialogues", "3")
_RECORDED = f"acc,answers={ANSWERS}/memorycode-20.jsonl.xz"

BENCHMARKS = (
    Benchmark("model", "what is held with a model: recorded answers, four shipped conversations",
              ("model_figures.py", *SHIPPED)),
    Benchmark("incident", "the same: an incident with long tool results", ("model_figures.py", INCIDENT)),
    Benchmark("travel", "the same: the conversation that the defaults were chosen on",
              ("model_figures.py", "{travel}"), ("travel",)),
    Benchmark("memorycode", "current and replaced rules of MemoryCode, recorded answers",
              ("memorycode.py", *_MEMORYCODE, "--memory", _RECORDED), ("memorycode",)),
    Benchmark("keyless", "what is held without a model: 18 held-out conversations", ("keyless_next.py", "held")),
    Benchmark("acts", "the acts of held-out clauses", ("keyless/held_acts.py",)),
    Benchmark("liftings", "which rules held-out messages end", ("keyless/held_lifting.py",)),
    Benchmark("judge", "claims that a rule ended, judged by a model: recorded answers", ("judge_claims.py",)),
    Benchmark("gate", "questions whose evidence holds the answer", ("evidence_gate.py", "--half", "report")),
    Benchmark("locomo", "evidence recall on LoCoMo", ("locomo_next.py", "{locomo}"), ("locomo",)),
    Benchmark("evictions", "which records leave first: orders on recorded answers",
              ("eviction_orders.py", f"{{travel}}={ANSWERS}/travel-1100-800-1.jsonl.xz"), ("travel",)),
    Benchmark("injections", "what public injection corpora get past the laws",
              ("injections.py", "{corpus}", "--limit", "60"), ("corpus",)),
    Benchmark("messages", "pastes and secrets that are recognised in messages", ("message_heuristics.py",)),
    Benchmark("commit", "milliseconds of a commit, and of the import", ("commit_cost.py",)),
    Benchmark("journal", "milliseconds and bytes of a turn in the journal", ("journal_cost.py",)),
    Benchmark("large", "seconds of each command on a memory of 1.4 million records", ("large_journal.py",)),
    Benchmark("index", "milliseconds and bytes of a turn in Chroma", ("artifact_cost.py",)),
    Benchmark("telemetry", "the part of a step's time that OpenTelemetry takes", ("telemetry_overhead.py",)),
    Benchmark("roles", "tokens of eight agents: role memories and a board against broadcasting", ("role_tokens.py",)),
    Benchmark("board", "a shared board: lost updates, private words that others read, what it costs",
              ("board.py",)),
    Benchmark("subagents", "rules that reach sub-agents, by the way in which people build them", ("subagents.py",)),
    Benchmark("load", "several processes on one folder, and killed ones: what is lost; steps a second", ("load.py",)),
    Benchmark("pipeline", "the case study of arXiv 2508.08997, by rule", ("-m", "benchmarks.pipeline_study")),
    Benchmark("langgraph", "prompts, checkpoints and milliseconds of ways to keep an agent's memory",
              ("langgraph_memory.py",)),
    Benchmark("prefix", "share of the prompts that a provider can cache: 50 turns of chat",
              ("langgraph_memory.py", "--turns", "50", "--chat", "--size", "0.45")),
    Benchmark("pddl", "sentences of a world that a planner needs: followed, not played",
              ("-m", "benchmarks.pddl", "--held-only")),
    Benchmark("experience", "addition and deletion of arXiv 2505.16067: a quick look at its study",
              ("-m", "benchmarks.experience", "--quick")),
)  # fmt: skip


def command(benchmark: Benchmark, data: Mapping[str, str]) -> list[str]:
    """Return the arguments of Python, with the data in its places."""
    parts = []
    for part in benchmark.command:
        if part == "{corpus}":
            parts += [word for pair in data["corpus"].split() for word in _corpus(pair)]
        else:
            parts.append(part.format(**data) if "{" in part else part)
    return [str(HERE / parts[0]), *parts[1:]] if parts[0].endswith(".py") else parts


def _corpus(pair: str) -> tuple[str, str]:
    name, _, folder = pair.partition("=")
    return f"--{name}", folder


def run(benchmark: Benchmark, data: Mapping[str, str]) -> int:
    """Run a benchmark and return its exit code."""
    shown = " ".join(command(benchmark, data)).replace(f"{ROOT}/", "")
    print(f"\n## {benchmark.name}: {benchmark.figure}\n\n    python {shown}\n", flush=True)
    paths = [
        *(str(ROOT / name) for name in ("evaluation", "graphs", "")),
        os.environ.get("PYTHONPATH", ""),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    arguments = [sys.executable, *command(benchmark, data)]
    return subprocess.run(arguments, env=environment).returncode


def listed(data: Mapping[str, str]) -> None:
    """Print a line for each benchmark."""
    for each in BENCHMARKS:
        missing = [f"--{name}" for name in each.data if name not in data]
        needs = f" (needs {', '.join(missing)})" if missing else ""
        print(f"{each.name:12} {each.figure}{needs}")


def main(given: Sequence[str] | None = None) -> int:
    """List benchmarks, or run them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [each.name for each in BENCHMARKS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--all", action="store_true", help="run all whose data is here")
    for name in ("locomo", "memorycode", "travel"):
        parser.add_argument(f"--{name}", metavar="FILE")
    parser.add_argument("--corpus", action="append", metavar="NAME=DIR")
    options = parser.parse_args(given)
    if unknown := sorted(set(options.names) - set(names)):
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(names)}")
    data = {
        n: getattr(options, n) for n in ("locomo", "memorycode", "travel") if getattr(options, n)
    }
    data |= {"corpus": " ".join(options.corpus)} if options.corpus else {}
    if not (options.names or options.all):
        listed(data)
        return 0
    chosen = [each for each in BENCHMARKS if options.all or each.name in options.names]
    ready = [each for each in chosen if all(name in data for name in each.data)]
    for each in chosen:
        if each not in ready:
            print(f"left out: {each.name} needs --{each.data[0]}", file=sys.stderr)
    codes = [run(each, data) for each in ready]
    return max(codes, default=1)


if __name__ == "__main__":
    sys.exit(main())
