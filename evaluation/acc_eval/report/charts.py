"""Charts as SVG: lines over turns, and bars in groups. The page's style defines the colours.

Series differ in dashes and in their order in the legend as well as in colour. An undefined value
(None) is a gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby

WIDTH = 520
LEFT, RIGHT, TOP = 58, 12, 12
BASE = 200
"""Distance of the value 0 from the top."""
LINE = 15
"""Height of a line of names under the axis."""
LETTER = 7.2
"""Width of a letter under a bar, on a narrow screen."""
SERIES = 8
"""Number of colours in the style. The ninth series has the first one's colour and other dashes."""

Value = float | None


def line_chart(
    title: str, turns: Sequence[int], series: Mapping[str, Sequence[Value]], *, top: Value = None
) -> str:
    """Draw lines over turns, which ascend; ``series`` holds the values by label, one for each turn.

    The axis ends at ``top``, by default at a round number above all values. The title names the unit.
    """
    scale = _Scale(top or _greatest(v for values in series.values() for v in values))
    first, last = (turns[0], turns[-1]) if turns else (1, 1)

    def across(turn: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (turn - first) / max(1, last - first)

    drawn = []
    for place, (label, values) in enumerate(series.items()):
        points = [(across(t), v) for t, v in zip(turns, values, strict=True)]
        drawn.append(_line(label, place, points, scale))
    ticks = "".join(_tick(across(t), f"{t:,}") for t in _ticks_of(first, last))
    axis = f'<text class="tick end" x="{WIDTH - RIGHT}" y="{BASE + 2 * LINE + 2}">turn</text>'
    inside = f"{scale.rules()}{ticks}{axis}{''.join(drawn)}"
    return _figure(title, inside, list(series), 2, as_lines=True)


def bar_chart(
    title: str,
    groups: Sequence[str],
    series: Mapping[str, Sequence[Value]],
    *,
    spread: Mapping[str, Sequence[Value]] | None = None,
    top: Value = None,
) -> str:
    """Draw bars in groups; ``series`` holds the values by label, one for each group.

    ``spread`` holds half-lengths of error bars in the same form; the axis ends as in `line_chart`.
    """
    room = (WIDTH - LEFT - RIGHT) / max(1, len(groups))
    width = 0.8 * room / max(1, len(series))
    scale = _Scale(top or _greatest(v for values in series.values() for v in values))
    drawn = []
    for place, (label, values) in enumerate(series.items()):
        for group, value in enumerate(values):
            if value is None:
                continue
            left = LEFT + room * group + 0.1 * room + width * place
            said = f"{label}, {groups[group]}: {_number(value)}"
            drawn.append(_bar(left, width, scale, value, place, said))
            about = spread[label][group] if spread else None
            if about:
                drawn.append(_whisker(left + width / 2, scale, value, about))
    named = [_wrapped(name, room) for name in groups]
    names = "".join(_name(LEFT + room * (g + 0.5), lines) for g, lines in enumerate(named))
    most = max(map(len, named), default=1)
    return _figure(title, f"{scale.rules()}{names}{''.join(drawn)}", list(series), most)


class _Scale:
    """The vertical axis, from 0 to a round number."""

    def __init__(self, greatest: float) -> None:
        self._step = _round_step(greatest or 1.0)
        self._top = self._step * max(1, math.ceil(greatest / self._step - 1e-9))

    def at(self, value: float) -> float:
        """The position of ``value``; greater values are drawn at the axis's end."""
        share = min(1.0, max(0.0, value / self._top))
        return BASE - (BASE - TOP) * share

    def rules(self) -> str:
        """The grid lines with their numbers."""
        found = []
        for index in range(round(self._top / self._step) + 1):
            value = index * self._step
            y = self.at(value)
            found.append(
                f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
                f'<text class="tick end" x="{LEFT - 6}" y="{y + 4:.1f}">{_number(value)}</text>'
            )
        return "".join(found)


def _line(label: str, place: int, points: Sequence[tuple[float, Value]], scale: _Scale) -> str:
    runs = []
    for is_there, run in groupby(points, lambda point: point[1] is not None):
        if is_there:
            at = [f"{x:.1f},{scale.at(v):.1f}" for x, v in run if v is not None]
            # A single value between gaps is drawn as a dot: a line of no length is invisible.
            runs.append(f"M{at[0]}h0.01" if len(at) == 1 else f"M{' L'.join(at)}")
    return (
        f'<path class="{_look(place)}" d="{" ".join(runs)}"><title>{escape(label)}</title></path>'
    )


def _bar(left: float, width: float, scale: _Scale, value: float, place: int, said: str) -> str:
    y = scale.at(value)
    height = BASE - y
    return (
        f'<rect class="bar b{place % SERIES}" x="{left:.1f}" y="{y:.1f}" width="{width * 0.92:.1f}" '
        f'height="{height:.1f}"><title>{escape(said)}</title></rect>'
    )


def _whisker(x: float, scale: _Scale, value: float, about: float) -> str:
    low, high = scale.at(value - about), scale.at(value + about)
    return f'<path class="whisker" d="M{x:.1f},{low:.1f} V{high:.1f}"/>'


def _figure(
    title: str, inside: str, labels: Sequence[str], lines: int, *, as_lines: bool = False
) -> str:
    """A chart with ``lines`` of text under its axis."""

    def shape(place: int) -> str:
        if as_lines:
            return f'<path class="{_look(place)}" d="M1,4 H25"/>'
        return f'<rect class="bar b{place % SERIES}" x="8" width="10" height="8"/>'

    keys = "".join(
        f'<span class="key"><svg viewBox="0 0 26 8">{shape(place)}</svg>{escape(label)}</span>'
        for place, label in enumerate(labels)
    )
    size = f"0 0 {WIDTH} {BASE + LINE * lines + 6}"
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg role="img" '
        f'aria-label="{escape(title)}" viewBox="{size}">{inside}</svg>'
        f'<p class="keys">{keys}</p></figure>'
    )


def _look(place: int) -> str:
    return f"series s{place % SERIES} d{place // SERIES % 4 or place % 4}"


def _tick(x: float, text: str) -> str:
    return f'<text class="tick middle" x="{x:.1f}" y="{BASE + 15}">{escape(text)}</text>'


def _name(x: float, lines: Sequence[str]) -> str:
    """A name under its bars."""
    parts = "".join(
        f'<tspan x="{x:.1f}" y="{BASE + LINE * number}">{escape(line)}</tspan>'
        for number, line in enumerate(lines, 1)
    )
    return f'<text class="tick name middle">{parts}</text>'


def _wrapped(name: str, room: float) -> list[str]:
    """Wrap a name into lines that fit into ``room``."""
    lines: list[str] = []
    for word in name.replace("_", " ").split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and len(longer) * LETTER <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _ticks_of(first: int, last: int) -> list[int]:
    step = max(1, round(_round_step(last - first)))
    return sorted({first, *range(-(-first // step) * step or step, last + 1, step)} - {0})


def _greatest(values: Iterable[Value]) -> float:
    return max((v for v in values if v is not None), default=1.0) or 1.0


def _round_step(span: float) -> float:
    """A round number that divides ``span`` into about five."""
    rough = max(span, 1e-9) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * (1 - 1e-9))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 20 or value == round(value) else f"{value:.3g}"
