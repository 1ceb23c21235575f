"""Terminal output, output files, and the confirmation of destructive commands."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from typing import IO, TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import typer

from acc.errors import AccError, InputError
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


def count(number: int, noun: str) -> str:
    """A number and its noun, such as ``1 turn`` or ``2,000 turns``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def print_json(value: Any) -> None:
    """Write ``value`` to stdout as JSON."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, wrap: Sequence[str] = ()
) -> None:
    """Write a table to stdout. On a terminal the columns in ``wrap`` wrap.

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
        drawn.add_column(name, overflow="fold", no_wrap=name not in wrap)
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    with console.capture() as capture:
        console.print(drawn)
    raw(sys.stdout).write("\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n")


class Screen:
    """The output of a replay or an evaluation.

    Args:
        quiet: Print only the text passed to `Screen.last`.
        data: stdout carries data: print no rows, and write other text to stderr.
    """

    def __init__(self, *, quiet: bool = False, data: bool = False) -> None:
        self._data = data
        self.prints_lines = not (quiet or data)
        self._shows_bar = not quiet and not (data and sys.stdout.isatty())
        self._bar: Progress | None = None

    def line(self, text: str = "") -> None:
        """Print a line unless ``quiet`` or ``data`` is set."""
        if not self.prints_lines:
            return
        if self._bar is not None and sys.stdout.isatty():
            self._bar.console.print(inert(text), markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, flush=True)

    def last(self, text: str) -> None:
        """Print a line in every mode."""
        print(text, file=sys.stderr if self._data else sys.stdout, flush=True)

    @contextmanager
    def progress(self, done: int, total: int) -> Iterator[Callable[[], None]]:
        """Show a progress bar if a terminal is free to show it. Call the result after each turn."""
        out = sys.stdout if sys.stdout.isatty() else sys.stderr
        if not (self._shows_bar and out.isatty()):
            yield lambda: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        console = Console(file=raw(out), no_color=not coloured())
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress("turn", *columns, console=console, transient=True) as self._bar:
            task = self._bar.add_task("", completed=done, total=total)
            yield lambda: self._bar.advance(task) if self._bar is not None else None
        self._bar = None


def write_text(out: str | Path, text: str) -> None:
    """Write ``text`` to the file ``out``; ``-`` is stdout.

    Raises:
        AccError: The file cannot be written.
    """
    if str(out) == "-":
        sys.stdout.write(text)
        return
    try:
        with opened_for_text(Path(out)) as file:
            file.write(text)
    except OSError as error:
        raise _not_written(out, error) from error


def write_json(out: str | Path, value: Any) -> None:
    """Write ``value`` as JSON, as `write_text` writes a text."""
    write_text(out, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def _not_written(out: str | Path, error: OSError) -> AccError:
    return AccError(
        f"the output cannot be written: {error.strerror or error}",
        where="stdout" if str(out) == "-" else str(out),
        hint="free space on the disk or name another file, then run the command again",
    )


class JsonLines:
    """A file of one JSON value per line; ``-`` is stdout.

    The first value written replaces the file's earlier content.

    Raises:
        AccError: The file cannot be opened or written.
    """

    def __init__(self, out: str) -> None:
        self._out = out
        self._file: IO[str] = sys.stdout
        self._is_old = out != "-" and Path(out).is_file()
        if out != "-":
            try:
                self._file = opened_for_text(Path(out), "a")
            except OSError as error:
                raise _not_written(out, error) from error

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
            raise _not_written(self._out, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, *rest: object) -> None:
        if self._file is sys.stdout:
            return
        try:
            self._file.close()
        except OSError as unwritten:
            if error is None:
                raise _not_written(self._out, unwritten) from unwritten


DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the plan and change nothing.")]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Do not ask for confirmation. Scripts need this.")
]


class Consent(NamedTuple):
    """How a destructive command gets the user's consent, and its output format.

    Attributes:
        dry_run: Print the plan and change nothing.
        yes: Do not ask for confirmation.
        as_json: Print JSON: the plan of a dry run, otherwise the report.
    """

    dry_run: bool = False
    yes: bool = False
    as_json: bool = False

    @property
    def shows_text(self) -> bool:
        """Whether the plan may show the text to delete: only if a person reads it.

        A script's output may end in logs that no erasure reaches.
        """
        return self.dry_run or (not self.yes and _is_terminal())


class Summary(NamedTuple):
    """A plan or a report: lines for people and a value for programs."""

    lines: list[str]
    value: Any

    @property
    def text(self) -> str:
        """The lines as inert text."""
        return "\n".join(map(inert_line, self.lines))

    def print(self, *, as_json: bool) -> None:
        """Write it to stdout, as lines or as JSON."""
        if as_json:
            print_json(self.value)
        else:
            print(self.text, flush=True)


def carry_out(consent: Consent, plan: Summary, act: Callable[[], Summary]) -> None:
    """Print ``plan``, ask for confirmation if required, then run ``act`` and print its report.

    Raises:
        InputError: The user did not confirm, or there is no terminal to ask on. Nothing was
            changed.
    """
    if consent.dry_run:
        plan.print(as_json=consent.as_json)
        return
    if not consent.as_json:
        plan.print(as_json=False)
    if not consent.yes:
        _confirm(plan.text if consent.as_json else "")
    act().print(as_json=consent.as_json)


def _confirm(plan: str) -> None:
    if not _is_terminal():
        raise InputError(
            "nobody can confirm this: nothing was changed",
            where="stdin is not a terminal",
            hint="read the plan with --dry-run, then give --yes",
        )
    if plan:
        print(plan, file=sys.stderr)
    print("Do this? It cannot be undone. [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("not confirmed: nothing was changed", hint="answer y to confirm")


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
