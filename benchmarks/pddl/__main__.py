"""Does a bounded memory keep what a planner needs? The PDDL experiment of Intrinsic Memory Agents.

    python -m benchmarks.pddl                                    our four domains, without a model
    python -m benchmarks.pddl --quick                            one small task of each: a look, no result
    python -m benchmarks.pddl --held-only                        what memories hold along a plan, in a few minutes
    python -m benchmarks.pddl --tasks test.jsonl --problems pddl   the benchmark's 60 tasks too
    python -m benchmarks.pddl --model openai:MODEL               a model as the agent
    python -m benchmarks.pddl --compressor-model openai:MODEL    a model as a further compressor

From the root of the project. Without a model the same command prints the same tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from acc.errors import AccError, ConfigurationError

from .page import page
from .study import Scale, studied
from .tasks import OWN


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiment and print the tables."""
    options = _options(arguments)
    try:
        # Processes have no use of one model's connection.
        workers = 1 if options.model or options.compressor_model else options.workers
        rows = studied(_scale(options), workers=workers, told=_told)
    except AccError as error:
        print(f"pddl: {error}", file=sys.stderr)
        return 1
    shown = ["python -m benchmarks.pddl", *(arguments if arguments is not None else sys.argv[1:])]
    agent = options.model or "a planner that knows only the sentences it reads, not a model"
    print(page(rows, " ".join(shown), agent), end="")
    return 0


def _scale(options: argparse.Namespace) -> Scale:
    if bool(options.tasks) != bool(options.problems):
        raise ConfigurationError(
            "the benchmark's list and its folder of problems are needed together",
            where="--tasks, --problems",
            hint="the list has goals alone; the initial states are in the environment's folder pddl",
        )
    return Scale(
        tokens=tuple(options.tokens or ((200,) if options.quick else Scale.tokens)),
        steps=(options.steps, options.benchmark_steps),
        listed=options.tasks,
        problems=options.problems,
        domains=tuple(options.domain),
        most=1 if options.quick else options.most,
        plays=not options.held_only,
        agent=options.model,
        compressor=options.compressor_model,
    )


def _told(words: str) -> None:
    print(f"\r{words}", end="", file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pddl",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--tasks", type=Path, help="the benchmark's test.jsonl")
    parser.add_argument("--problems", type=Path, help="its environment's folder pddl")
    parser.add_argument("--domain", action="append", default=[], help=f"such as {', '.join(OWN)}")
    parser.add_argument("--tokens", type=_count, action="append", help="a bound; may be repeated")
    parser.add_argument("--steps", type=_count, default=Scale.steps[0], help="of our tasks")
    parser.add_argument("--benchmark-steps", type=_count, default=Scale.steps[1])
    parser.add_argument("--most", type=int, default=0, help="tasks of a domain at the most")
    parser.add_argument("--quick", action="store_true", help="one task of each domain, 200 tokens")
    parser.add_argument("--held-only", action="store_true", help="what is held along a plan alone")
    parser.add_argument("--model", default="", help="a model in the planner's place")
    parser.add_argument("--compressor-model", default="", help="a model as a further compressor")
    parser.add_argument("--workers", type=_count, default=2, help="processes")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
