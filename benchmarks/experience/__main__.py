"""The paper's experiment on what addition and deletion make of an agent (arXiv 2505.16067).

    python -m benchmarks.experience > experience.md               the page, some minutes
    python -m benchmarks.experience --quick                       all of it, small: a look, no result
    python -m benchmarks.experience --agent openai:MODEL --family cic-iot --tasks 100 --seeds 1

From the root of the project. The seeds are 1, 2, ...; the same give the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from acc.errors import AccError

from .conditions import FAMILIES
from .page import page
from .running import Scale, run
from .study import Runner, conditions, studied

QUICK = Scale(tasks=60, initial=30)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print the page."""
    options = _options(arguments)
    try:
        print(_page(options), end="")
    except AccError as error:
        print(f"experience: {error}", file=sys.stderr)
        return 1
    return 0


def _page(options: argparse.Namespace) -> str:
    scale = QUICK if options.quick else Scale(tasks=options.tasks)
    seeds = range(1, (1 if options.quick else options.seeds) + 1)
    wanted = conditions(options.family or tuple(FAMILIES))
    runner = _runner(options)
    # Processes have no use of one model's connection.
    workers = options.workers if runner is run else 1
    study = studied(wanted, seeds, scale, workers=workers, runner=runner, told=_told)
    shown = ["python -m benchmarks.experience", *_arguments(options)]
    size = f"{scale.tasks} tasks at the most" if scale.tasks else "the paper's numbers of tasks"
    return page(study, " ".join(shown), f"{len(seeds)} seeds, {size}")


def _runner(options: argparse.Namespace) -> Runner:
    if not options.agent and not options.judge:
        return run
    from .model_agent import ModelRunner

    return ModelRunner(options.agent, options.judge)


def _arguments(options: argparse.Namespace) -> list[str]:
    """What of the command line decides the result, as it would be typed."""
    shown = ["--quick"] if options.quick else []
    for family in options.family:
        shown += ["--family", family]
    for name, default in (("tasks", 0), ("seeds", SEEDS), ("agent", ""), ("judge", "")):
        value = getattr(options, name)
        shown += [f"--{name}", str(value)] if value != default else []
    return shown


def _told(words: str) -> None:
    print(f"\r{words}", end="", file=sys.stderr, flush=True)


SEEDS = 5


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.experience",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--family", action="append", choices=list(FAMILIES), default=[])
    parser.add_argument("--seeds", type=_count, default=SEEDS)
    parser.add_argument("--tasks", type=_count, default=0, help="tasks at the most")
    parser.add_argument("--workers", type=_count, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="one seed, 60 tasks")
    parser.add_argument("--agent", default="", help="a model in the simulated agent's place")
    parser.add_argument("--judge", default="", help="a model as the coarse evaluator")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
