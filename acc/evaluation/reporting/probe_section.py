"""A probe in a report: what memories hold at the end and turn by turn, and what they miss."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from acc.evaluation.metrics import RATES, SCORE, TOKENS
from acc.evaluation.plots import PLOTTED
from acc.evaluation.reporting.reading import Results
from acc.report.charts import Value, bar_chart, line_chart
from acc.report.page import table

_SIGNS = {"more": "+", "less": "-", "neither": ""}
_WHEN = {"end": "after the last turn", "turns": "over all turns"}


def probe_section(value: Results) -> str:
    """The section."""
    memories = value["memories"]
    named = ", ".join(f"{s['id']} ({s['turns']} turns)" for s in value["scenarios"])
    parts = [
        "<h2>Probe: what is held, by ground truth</h2>",
        f'<p class="soft">{escape(named)}; tokens by {escape(value["counter"])}; '
        "+ more is better, - less is better</p>",
        f'<div class="charts">{_at_the_end(memories)}</div>',
        *(_averages(memories, when) for when in _WHEN),
        *(_scenario(value, place) for place in range(len(value["scenarios"]))),
    ]
    return "".join(parts)


def _at_the_end(memories: Sequence[Any]) -> str:
    """Bars of the rates, those apart where more is better and those where less is."""
    charts = []
    for better, told in (
        ("more", "kept, more is better"),
        ("less", "held wrongly, less is better"),
    ):
        names = [name for name, (way, _) in RATES.items() if way == better]
        series: dict[str, list[Value]] = {
            memory["label"]: [memory["averages"]["end"]["micro"][name] for name in names]
            for memory in memories
        }
        words = [name.replace("constraints", "rules").replace("_", " ") for name in names]
        charts.append(bar_chart(f"after the last turn: {told}", words, series, top=1))
    return "".join(charts)


def _averages(memories: Sequence[Any], when: str) -> str:
    averages = [memory["averages"][when] for memory in memories]
    rows = []
    for name in (*RATES, SCORE):
        sign = _SIGNS[RATES[name][0]] if name in RATES else "+"
        cells = (_cell(each["micro"][name], each["macro"][name]) for each in averages)
        rows.append([f"{name} {sign}", *cells])
    if when == "end":
        rows += [[f"{name} -", *(f"{a['macro'][name]:,.0f}" for a in averages)] for name in TOKENS]
    labels = [memory["label"] for memory in memories]
    return table(["metric", *labels], rows, caption=f"{_WHEN[when]}: micro (macro)")


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
    """Entries by their ids, and the probes that are not answered."""
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


def _cell(micro: Value, macro: Value) -> str:
    return "-" if micro is None or macro is None else f"{micro:.3f} ({macro:.3f})"
