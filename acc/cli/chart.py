"""The chart of a replay: tokens that the agent reads at each turn, beside all messages so far."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import Any

from acc.cli.output import coloured
from acc.text.lines import raw

_WIDEST, _HEIGHT = 120, 17
_COLOURS = {"transcript": "orange+", "memory": "cyan+"}


def print_chart(reads: Sequence[int], transcript: Sequence[int]) -> None:
    """Draw the tokens of both at each turn. Nothing if stdout's encoding lacks the chart's characters."""
    chart = _drawn(reads, transcript)
    try:
        chart.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return
    print(f"{chart}\n", file=raw(sys.stdout), flush=True)


def _drawn(reads: Sequence[int], transcript: Sequence[int]) -> str:
    import plotext

    figure = plotext.figure
    figure.clear()
    figure.theme("simple")
    figure.title(
        f"tokens by turn: ⠒ full transcript {transcript[-1]:,}, ▀ with the memory {reads[-1]:,}"
    )
    width = min(get_terminal_size((80, 24)).columns, _WIDEST)
    figure.plot_size(width, _HEIGHT)
    turns = _sampled(range(1, len(reads) + 1), 2 * width)
    for name, tokens, symbol in (("transcript", transcript, "braille"), ("memory", reads, "hd")):
        marker = plotext.marker(symbol, _COLOURS[name])
        figure.draw(figure.signal(turns, [tokens[t - 1] for t in turns], marker=marker).lines())
    _scale(figure, 0, 1, len(reads))
    most = max(*transcript, *reads)
    _scale(figure, 1, 0, -(-most // _step(most)) * _step(most))
    drawn: str = figure.build().string(not coloured())
    return "\n".join(line.rstrip() for line in drawn.splitlines())


def _scale(figure: Any, axis: int, lowest: int, highest: int) -> None:
    step = _step(highest - lowest)
    ticks = [lowest, *range(step, highest + 1, step)]
    ruler = figure.ruler(axis, 0)
    ruler.lim(lowest, max(highest, lowest + 1))
    ruler.ticks(ticks, [f"{tick:,}" for tick in ticks])


def _step(span: int) -> int:
    """Return a round step (1, 2 or 5 times a power of ten) that divides ``span`` into about five."""
    rough = max(1.0, span / 5)
    power = float(10 ** math.floor(math.log10(rough)))
    return next(round(m * power) for m in (1, 2, 5, 10) if m * power >= rough)


def _sampled(turns: range, most: int) -> list[int]:
    step = max(1, len(turns) // most)
    return sorted({*turns[::step], turns[-1]})
