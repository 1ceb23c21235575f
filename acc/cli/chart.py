"""The footprint as a chart in the terminal: the state against the transcript it stands for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_HEIGHT = 17
_COLOURS = {"transcript": "orange+", "state": "cyan+"}


def footprint(
    state: Sequence[int], transcript: Sequence[int], *, width: int, coloured: bool
) -> str:
    """Tokens an agent reads by turn: the state's, and the transcript's if it is replayed.

    Args:
        state: Tokens of the state after each turn, from the first.
        transcript: Tokens of all messages so far, likewise.
        width: Columns to draw in.
        coloured: Whether the lines may be told apart by colour.
    """
    import plotext

    figure = plotext.figure
    figure.clear()
    figure.theme("simple")
    figure.title(f"tokens by turn: ⠒ transcript replayed {transcript[-1]:,}, ▀ state {state[-1]:,}")
    figure.plot_size(width, _HEIGHT)
    turns = _sampled(range(1, len(state) + 1), 2 * width)
    for name, tokens, symbol in (("transcript", transcript, "braille"), ("state", state, "hd")):
        marker = plotext.marker(symbol, _COLOURS[name])
        figure.draw(figure.signal(turns, [tokens[t - 1] for t in turns], marker=marker).lines())
    _scale(figure, 0, 1, len(state))
    step = _step(max(*transcript, *state))
    _scale(figure, 1, 0, -(-max(*transcript, *state) // step) * step)
    drawn: str = figure.build().string(not coloured)
    return "\n".join(line.rstrip() for line in drawn.splitlines())


def _scale(figure: Any, axis: int, lowest: int, highest: int) -> None:
    step = _step(highest - lowest)
    ticks = [lowest, *range(step, highest + 1, step)]
    ruler = figure.ruler(axis, 0)
    ruler.lim(lowest, max(highest, lowest + 1))
    ruler.ticks(ticks, [f"{tick:,}" for tick in ticks])


def _step(span: int) -> int:
    """A round number that divides ``span`` into some five."""
    rough = max(1.0, span / 5)
    power = float(10 ** math.floor(math.log10(rough)))
    return next(round(m * power) for m in (1, 2, 5, 10) if m * power >= rough)


def _sampled(turns: range, most: int) -> list[int]:
    step = max(1, len(turns) // most)
    return sorted({*turns[::step], turns[-1]})
