"""The live evaluation in a report: the paper's Figures 5, 6 and 7, intervals and tests."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from acc.evaluation.judge.prompts import METRICS
from acc.evaluation.judge.summary import NAMES
from acc.evaluation.metrics import mean
from acc.evaluation.reporting.reading import Results
from acc.report.charts import Value, bar_chart, line_chart
from acc.report.page import table

Run = dict[str, Any]


def judge_section(value: Results) -> str:
    """The section; what has to be said of the numbers comes first."""
    runs = [run for run in value["runs"] if not run["stopped"]]
    labels = [memory["memory"] for memory in value["memories"]]
    notice = f'<p class="notice">{escape(value["note"])}</p>' if value.get("note") else ""
    if value["stopped"]:
        notice += f'<p class="notice">Stopped early: {escape(value["stopped"])}</p>'
    head = f"<h2>Live evaluation</h2>{notice}<p class='soft'>{escape(_told(value, len(runs)))}</p>"
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


def _told(value: Results, complete: int) -> str:
    asked = value["configuration"]
    models = ", ".join(f"{role} {name}" for role, name in asked["models"].items())
    return (
        f"{complete} complete runs; scenarios {', '.join(asked['scenarios'])}; seeds "
        f"{', '.join(map(str, asked['seeds']))}; models: {models}; counter {asked['counter']}"
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
    """A measure's mean over runs, turn by turn."""
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
    rows = [[name, *(_interval(found[name]) for found in measures)] for name in NAMES]
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


def _interval(found: dict[str, Any] | None) -> str:
    if found is None:
        return "-"
    return f"{found['mean']:,.3f} [{found['low']:,.3f}, {found['high']:,.3f}]"


def _test(found: dict[str, Any] | None) -> str:
    if found is None:
        return "-"
    return f"{found['mean']:+,.3f}, p {found['p']:.3g}, {found['pairs']} pairs"
