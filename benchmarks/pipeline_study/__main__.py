"""The data-pipeline case study of Intrinsic Memory Agents (arXiv 2508.08997, section 5).

    python -m benchmarks.pipeline_study                                        by rule: no model, a minute
    python -m benchmarks.pipeline_study --model openai:NAME --judge openai:NAME --log calls.jsonl

From the root of the project. By rule, the same command gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from acc.errors import AccError, ConfigurationError
from acc.models.endpoints import as_model

from .rule_agents import NOTICE, TALK
from .running import HEARING, MEMORIES, Plan, as_json, studied
from .tables import page


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print the tables."""
    options = _options(arguments)
    try:
        plan = _plan(options)
        with TemporaryDirectory() as folder:
            log = options.log or Path(folder) / "calls.jsonl"
            outcomes = studied(plan, log, _told)
    except AccError as error:
        print(f"pipeline_study: {error}", file=sys.stderr)
        return 1
    note = _note(plan)
    print(page(plan, outcomes, note, options.baseline))
    if options.json:
        options.json.write_text(json.dumps(as_json(plan, outcomes, note), indent=1) + "\n", "utf-8")
    return 0


def _plan(options: argparse.Namespace) -> Plan:
    if (options.model or options.judge) and not options.log:
        raise ConfigurationError(
            "a model without a log",
            where="--model, --judge",
            hint="add --log FILE: it keeps what was paid",
        )
    model = as_model(options.model) if options.model else None
    judge = as_model(options.judge) if options.judge else model
    updates = model if options.compressor == "model" else None
    return Plan(
        runs=options.runs, contexts=options.context or Plan.contexts, memory=options.memory_tokens,
        turns=options.turns, model=model, judge=judge, compressor=updates,
        memories=options.memory or MEMORIES, talk=options.talk, concurrency=options.concurrency,
    )  # fmt: skip


def _note(plan: Plan) -> str:
    """What a reader has to know of who answered."""
    if plan.model is None:
        return NOTICE if plan.judge is None else "the agents answer by rule and are no model"
    if plan.judge is None:
        return "the judge answers by rule and is no model"
    same = plan.judge.name == plan.model.name
    return "the judge is the agents' own model, and a model favours its own words" if same else ""


def _told(words: str) -> None:
    print(f"\r{words}", end="", file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pipeline_study",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    add = parser.add_argument
    add("--model", default="", help="the agents' model; without one they answer by rule")
    add("--judge", default="", help="the judge's model; the agents' by default")
    add("--compressor", choices=("model", "rules"), default="model", help="updates role memories")
    add("--log", type=Path, help="keeps every call; the same command goes on from it")
    add(
        "--memory",
        action="append",
        choices=(*MEMORIES, HEARING),
        help="repeatable; all but the last by default",
    )
    add(
        "--baseline",
        choices=MEMORIES[:-1],
        default="window",
        help="of Table 2",
    )
    add("--runs", type=_count, default=Plan.runs)
    add(
        "--context",
        type=_count,
        action="append",
        help="tokens of task, memory and turns; repeatable",
    )
    add("--memory-tokens", type=_count, default=Plan.memory, help="tokens of a role's memory")
    add("--turns", type=_count, default=Plan.turns, help="turns at the most")
    add(
        "--talk",
        type=int,
        default=Plan.talk,
        choices=range(len(TALK) + 1),
        help="rule agents: talk around a statement",
    )
    add("--concurrency", type=_count, default=1, help="runs at the same time")
    add("--json", type=Path, help="write every run, with its document")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
