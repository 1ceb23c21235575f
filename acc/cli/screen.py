"""Terminal output: lines, a progress bar and tables; plain text without a terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from acc.errors import AccError
from acc.folders import opened_for_text
from acc.text.lines import inert, inert_line, raw

if TYPE_CHECKING:
    from rich.progress import Progress

WIDEST = 120
"""Maximum width of a chart, in columns."""


def width() -> int:
    """Width of the output in columns: the terminal's, or 80."""
    return min(get_terminal_size((80, 24)).columns, WIDEST)


def coloured() -> bool:
    """Whether colours may be used: stdout is a terminal that has them, and NO_COLOR is not set."""
    dumb = os.environ.get("TERM") in ("dumb", "unknown")
    return sys.stdout.isatty() and not dumb and not os.environ.get("NO_COLOR")


def drawable(text: str) -> bool:
    """Whether stdout's encoding has every character of ``text``."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def peak_memory() -> str:
    """The peak memory of the process, as the end of a line; empty if it is unknown."""
    try:
        import resource
    except ImportError:  # Windows
        return ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f", peak memory {peak / (2**20 if sys.platform == 'darwin' else 2**10):,.0f} MB"


def told_json(value: Any) -> None:
    """Write ``value`` to stdout as JSON."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, folds: Sequence[str]) -> None:
    """Write a table to stdout. On a terminal the columns in ``folds`` wrap.

    Elsewhere each row stays on one line, which keeps the output searchable.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [[inert_line(cell) for cell in row] for row in rows]
    longest = sum(max(map(len, column)) + 2 for column in zip(headings, *rows, strict=True))
    console = Console(
        width=None if sys.stdout.isatty() else max(80, longest), no_color=not coloured(),
        file=raw(sys.stdout),
    )  # fmt: skip
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in headings:
        drawn.add_column(name, overflow="fold", no_wrap=name not in folds)
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    with console.capture() as capture:
        console.print(drawn)
    raw(sys.stdout).write("\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n")


class Screen:
    """The output of a replay.

    Args:
        quiet: Print only the text passed to `Screen.last`.
        data: stdout carries data: print no rows, and write other text to stderr.
    """

    def __init__(self, *, quiet: bool = False, data: bool = False) -> None:
        self._quiet = quiet
        self._data = data
        self._bar: Progress | None = None

    @property
    def is_told(self) -> bool:
        """Whether lines are printed: neither ``quiet`` nor ``data`` is set."""
        return not (self._quiet or self._data)

    def line(self, text: str = "") -> None:
        """Print a line unless ``quiet`` or ``data`` is set."""
        if not self.is_told:
            return
        if self._bar is not None and sys.stdout.isatty():
            self._bar.console.print(inert(text), markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, flush=True)

    def drawn(self, chart: str) -> None:
        """Print a chart with its colours unless ``quiet`` or ``data`` is set."""
        if self.is_told:
            print(chart, file=raw(sys.stdout), flush=True)

    def last(self, text: str) -> None:
        """Print a line in every mode."""
        print(text, file=sys.stderr if self._data else sys.stdout, flush=True)

    @contextmanager
    def progress(self, done: int, total: int) -> Iterator[_Bar]:
        """Show a progress bar over turns, if a terminal is free to show it."""
        if not self._has_room():
            yield _Bar()
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        out = sys.stdout if sys.stdout.isatty() else sys.stderr
        console = Console(file=raw(out), no_color=not coloured())
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress("turn", *columns, console=console, transient=True) as self._bar:
            yield _Bar(self._bar, done, total)
        self._bar = None

    def _has_room(self) -> bool:
        if self._quiet or (self._data and sys.stdout.isatty()):
            return False
        return sys.stdout.isatty() or sys.stderr.isatty()


class _Bar:
    def __init__(self, bar: Progress | None = None, done: int = 0, total: int = 0) -> None:
        self._bar = bar
        self._task = bar.add_task("", completed=done, total=total) if bar is not None else None

    def advance(self) -> None:
        """Advance the bar by one turn."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task)


class JsonLines:
    """A file of one JSON value per line; ``-`` is stdout.

    The first value written replaces the file's earlier content.

    Raises:
        AccError: The file cannot be opened or written.
    """

    def __init__(self, out: str) -> None:
        self._where = "stdout" if out == "-" else out
        self._file: IO[str] = sys.stdout
        self._is_old = out != "-" and Path(out).is_file()
        if out != "-":
            try:
                self._file = opened_for_text(Path(out), "a")
            except OSError as error:
                raise self._failed(error) from error

    def write(self, value: Any) -> None:
        """Write ``value`` on a line and flush."""
        try:
            if self._is_old:
                self._file.truncate(0)
                self._is_old = False
            self._file.write(json.dumps(value, ensure_ascii=False) + "\n")
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> AccError:
        return AccError(
            f"the turns cannot be written: {error.strerror or error}",
            where=self._where,
            hint="free space or name another file, and run the same again",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._file is sys.stdout:
            return
        try:
            self._file.close()
        except OSError as unwritten:
            if error is None:
                raise self._failed(unwritten) from unwritten
