"""The sections of an evaluation report: probes, and live evaluations.

The latter show the paper's Figures 5, 6 and 7, intervals and tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Literal, NamedTuple

from acc.errors import InputError
from acc_eval.judge import METRICS
from acc_eval.judge_measures import NAMES, Interval, interval_text
from acc_eval.probe_results import RATES, WHEN, average_rows, mean
from acc_eval.report.charts import Value, bar_chart, line_chart
from acc_eval.report.page import table
from acc_eval.scenarios import read_json

Results = dict[str, Any]
Run = dict[str, Any]

PLOTTED = ("constraints_kept", "facts_current", "facts_stale", "poison_anywhere")
"""Rates to draw in addition to the tokens."""


class Read(NamedTuple):
    """The results in one file."""

    kind: Literal["probe", "judge"]
    file: Path
    value: Results


def read_results(file: Path) -> Read:
    """Read a file of results.

    Raises:
        InputError: The file cannot be read, or holds no results of an evaluation.
    """
    hint = "use a file that probe --json or judge --json wrote"
    value = read_json(file, hint)
    if isinstance(value, dict):
        if {"metrics", "scenarios", "memories"} <= value.keys():
            return Read("probe", file, value)
        if {"configuration", "runs", "memories", "paired"} <= value.keys():
            return Read("judge", file, value)
    raise InputError("no results of an evaluation", where=str(file), hint=hint)


def judge_section(value: Results) -> str:
    """The section of a live evaluation. Notices about the numbers come first."""
    runs = [run for run in value["runs"] if not run["stopped"]]
    labels = [memory["memory"] for memory in value["memories"]]
    notice = f'<p class="notice">{escape(value["note"])}</p>' if value.get("note") else ""
    if value["stopped"]:
        notice += f'<p class="notice">Stopped early: {escape(value["stopped"])}</p>'
    head = (
        f"<h2>Live evaluation</h2>{notice}<p class='soft'>{escape(_summary(value, len(runs)))}</p>"
    )
    if not runs:
        return f"{head}<p>No run is complete.</p>"
    domains = _domains(runs)
    figures = (
        ("Figure 5: memory tokens", _footprint(domains, labels)),
        ("Figure 6: outcome quality", _quality(value)),
        ("Figure 7: hallucination H_t and drift D_t", _reliability(domains, labels)),
    )
    drawn = "".join(
        f'<h3>{escape(title)}</h3><div class="charts">{charts}</div>' for title, charts in figures
    )
    return f"{head}{drawn}{_intervals(value, labels)}{_tests(value)}"


def _summary(value: Results, complete: int) -> str:
    settings = value["configuration"]
    models = ", ".join(f"{role} {name}" for role, name in settings["models"].items())
    return (
        f"{complete} complete runs; scenarios {', '.join(settings['scenarios'])}; seeds "
        f"{', '.join(map(str, settings['seeds']))}; models: {models}; "
        f"counter {settings['counter']}"
    )


def _domains(runs: Sequence[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run["domain"] or run["scenario"], []).append(run)
    return found


def _footprint(domains: dict[str, list[Run]], labels: Sequence[str]) -> str:
    lines = "".join(
        _over_turns(f"{domain}: memory tokens by turn", runs, labels, "memory_tokens")
        for domain, runs in domains.items()
    )
    means: dict[str, list[Value]] = {
        label: [
            mean(run["agents"][label]["means"]["memory_tokens"] for run in runs)
            for runs in domains.values()
        ]
        for label in labels
    }
    return lines + bar_chart("mean memory tokens by domain", list(domains), means)


def _quality(value: Results) -> str:
    measured = {memory["memory"]: memory for memory in value["memories"]}
    names = [metric.replace("_", " ") for metric in METRICS]
    means: dict[str, list[Value]] = {
        label: [_mean(memory["measures"][metric]) for metric in METRICS]
        for label, memory in measured.items()
    }
    spread: dict[str, list[Value]] = {
        label: [memory["deviation_over_turns"][metric] for metric in METRICS]
        for label, memory in measured.items()
    }
    title = "score from 0 to 10: mean, and standard deviation over turns"
    return bar_chart(title, names, means, spread=spread, top=10)


def _reliability(domains: dict[str, list[Run]], labels: Sequence[str]) -> str:
    return "".join(
        _over_turns(f"{domain}: {name} by turn", runs, labels, name)
        for domain, runs in domains.items()
        for name in ("hallucination", "drift")
    )


def _over_turns(title: str, runs: Sequence[Run], labels: Sequence[str], name: str) -> str:
    """A chart of a measure's mean over runs, turn by turn."""
    turns = max(len(run["agents"][label]["turns"]) for run in runs for label in labels)
    series: dict[str, list[Value]] = {
        label: [
            mean(
                played[turn][name]
                for run in runs
                if turn < len(played := run["agents"][label]["turns"])
            )
            for turn in range(turns)
        ]
        for label in labels
    }
    return line_chart(title, range(1, turns + 1), series)


def _intervals(value: Results, labels: Sequence[str]) -> str:
    measures = [memory["measures"] for memory in value["memories"]]
    found = [
        {name: Interval(**of[name]) if of[name] else None for name in NAMES} for of in measures
    ]
    rows = [[name, *(interval_text(of[name]) for of in found)] for name in NAMES]
    caption = "mean over runs [95 % bootstrap interval]"
    return f"<h3>All measures</h3>{table(['measure', *labels], rows, caption=caption)}"


def _tests(value: Results) -> str:
    if not value["paired"]:
        return ""
    others = [f"{pair['first']} less {pair['second']}" for pair in value["paired"]]
    rows = [[name, *(_test(pair["measures"][name]) for pair in value["paired"])] for name in NAMES]
    caption = "mean difference, and p of the paired permutation test over runs"
    return f"<h3>Paired tests</h3>{table(['measure', *others], rows, caption=caption)}"


def _mean(interval: dict[str, Any] | None) -> Value:
    return None if interval is None else interval["mean"]


def _test(found: dict[str, Any] | None) -> str:
    if found is None:
        return "-"
    return f"{found['mean']:+,.3f}, p {found['p']:.3g}, {found['pairs']} pairs"


def probe_section(value: Results) -> str:
    """The section of a probe."""
    memories = value["memories"]
    named = ", ".join(f"{s['id']} ({s['turns']} turns)" for s in value["scenarios"])
    parts = [
        "<h2>Probe: what is held, by ground truth</h2>",
        f'<p class="soft">{escape(named)}; tokens by {escape(value["counter"])}; '
        "+ more is better, - less is better</p>",
        f'<div class="charts">{_at_the_end(memories)}</div>',
        *(_averages(memories, when) for when in WHEN),
        *(_scenario(value, place) for place in range(len(value["scenarios"]))),
    ]
    return "".join(parts)


def _at_the_end(memories: Sequence[Any]) -> str:
    """Bars of the rates: one chart for rates to maximize, one for rates to minimize."""
    charts = []
    for better, label in (
        ("more", "kept, more is better"),
        ("less", "held wrongly, less is better"),
    ):
        names = [name for name, (way, _) in RATES.items() if way == better]
        series: dict[str, list[Value]] = {
            memory["label"]: [memory["averages"]["end"]["micro"][name] for name in names]
            for memory in memories
        }
        words = [name.replace("constraints", "rules").replace("_", " ") for name in names]
        charts.append(bar_chart(f"after the last turn: {label}", words, series, top=1))
    return "".join(charts)


def _averages(memories: Sequence[Any], when: str) -> str:
    found = average_rows([memory["averages"] for memory in memories], when)
    rows = [[f"{name} {sign}", *cells] for sign, name, cells in found]
    labels = [memory["label"] for memory in memories]
    return table(["metric", *labels], rows, caption=f"{WHEN[when]}: micro (macro)")


def _scenario(value: Results, place: int) -> str:
    results = {m["label"]: m["scenarios"][place] for m in value["memories"]}
    first = next(iter(results.values()))
    numbers = [turn["turn"] for turn in first["turns"]]
    tokens: dict[str, list[Value]] = {
        label: [turn["tokens"] for turn in result["turns"]] for label, result in results.items()
    }
    charts = [line_chart("tokens held by turn", numbers, tokens)]
    for name in PLOTTED:
        series: dict[str, list[Value]] = {
            label: [_rate(turn["counts"].get(name)) for turn in result["turns"]]
            for label, result in results.items()
        }
        charts.append(line_chart(f"{name.replace('_', ' ')} by turn", numbers, series, top=1))
    missing = "".join(_missing(label, result) for label, result in results.items())
    title = escape(f"{first['scenario']} ({first['domain']})")
    return f'<h3>{title}</h3><div class="charts">{"".join(charts)}</div>{missing}'


def _missing(label: str, result: Any) -> str:
    """The missing or wrongly held entries by id, and the probes without an answer."""
    rows = [[name, ", ".join(ids)] for name, ids in result["notable"].items() if ids]
    rows += [
        [f"not answered in turn {p['turn']}", f"{p['question']} ({', '.join(p['needs'])})"]
        for p in result["probes"]
        if not p["answered"]
    ]
    if not rows:
        return f'<p class="soft">{escape(label)}: nothing amiss at the end</p>'
    summary = f"{label}: missing, or held and should not be, at the end"
    whole = table(["rate", "entries"], rows, words=2)
    return f"<details><summary>{escape(summary)}</summary>{whole}</details>"


def _rate(count: Sequence[int] | None) -> Value:
    return count[0] / count[1] if count and count[1] else None
