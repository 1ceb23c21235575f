"""What commands write to the terminal, and how those that destroy ask first."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from acc.errors import InputError
from acc.text.lines import inert, inert_line, raw


def coloured() -> bool:
    """Whether colours may be used: stdout is a terminal that has them, and NO_COLOR is not set."""
    dumb = os.environ.get("TERM") in ("dumb", "unknown")
    return sys.stdout.isatty() and not dumb and not os.environ.get("NO_COLOR")


def print_json(value: Any) -> None:
    """Write ``value`` to stdout as JSON."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def tell(text: str, value: Any, *, as_json: bool) -> None:
    """Write ``value`` to stdout as JSON, or else ``text`` for people."""
    if as_json:
        print_json(value)
    else:
        print(inert(text), flush=True)


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, wrap: Sequence[str] = ()
) -> None:
    """Write a table to stdout. On a terminal the columns in ``wrap`` wrap.

    Elsewhere each row stays on one line, which keeps the output searchable.
    """
    rows = [[inert_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        raw(sys.stdout).writelines(_aligned([headings, *rows]))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(no_color=not coloured(), file=raw(sys.stdout))
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in headings:
        drawn.add_column(name, overflow="fold", no_wrap=name not in wrap)
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    with console.capture() as capture:
        console.print(drawn)
    raw(sys.stdout).write("\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n")


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as lines with cells of equal width."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (c + " " * (width - cell_len(c)) for c, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip() + "\n"


class Summary(NamedTuple):
    """A plan or a report: lines for people and a value for programs."""

    lines: Sequence[str]
    value: Any

    def tell(self, *, as_json: bool) -> None:
        """Write it to stdout, as lines or as JSON."""
        tell("\n".join(map(inert_line, self.lines)), self.value, as_json=as_json)


def carry_out(plan: Summary, act: Callable[[], Summary], *, yes: bool, as_json: bool) -> None:
    """Print ``plan``, ask unless ``yes``, then run ``act`` and print its report.

    With ``as_json`` and ``yes`` the report alone is printed: one value.

    Raises:
        InputError: Nobody said yes. Nothing was changed.
    """
    if not (as_json and yes):
        plan.tell(as_json=as_json)
    if not yes:
        _confirm(asks=not as_json)
    act().tell(as_json=as_json)


def _confirm(*, asks: bool) -> None:
    if not (asks and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        what, where = "this was the plan: nothing was changed", "nobody is asked here"
        raise InputError(what, where=where, hint="give --yes to do it")
    print("Do this? It cannot be undone. [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("not confirmed: nothing was changed", hint="answer y to confirm")
