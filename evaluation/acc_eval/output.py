"""Terminal output and output files of ``acc eval``, and the options that its commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acc.cli.terminal import print_json as print_json
from acc.cli.terminal import print_table as print_table
from acc.errors import AccError, InputError
from acc.folders import opened_private, private_folder, refuse_memorys
from acc.text.lines import count as count
from acc.text.lines import inert, raw
from acc_eval.price import Price
from acc_eval.scenarios import Scenario

if TYPE_CHECKING:
    from rich.progress import Progress


def parse_price(text: str) -> Price:
    """Parse IN,OUT or IN,OUT,CACHED: money per million tokens.

    Raises:
        typer.BadParameter: The text has another form.
        ConfigurationError: A number is negative.
    """
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if not 2 <= len(numbers) <= 3:
        raise typer.BadParameter(f"{text!r} is not IN,OUT or IN,OUT,CACHED per million tokens")
    return Price(*numbers)


class Screen:
    """The output of an evaluation.

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

        console = Console(file=raw(out))
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
        refuse_memorys(Path(out))
        private_folder(Path(out).parent)
        with opened_private(Path(out), "w", encoding="utf-8", newline="\n") as file:
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


def check_apart(out: str, scenarios: Sequence[Scenario]) -> None:
    """Refuse to overwrite a scenario with the results.

    Raises:
        InputError: ``out`` is a file of one of ``scenarios``.
    """
    if out in ("", "-") or not Path(out).exists():
        return
    for scenario in scenarios:
        if any(Path(out).samefile(file) for file in scenario.files):
            raise InputError(
                "the output would overwrite a scenario", where=out, hint="name another file"
            )


ScenarioArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SCENARIO",
        help="Scenario files, names of shipped scenarios, or CONVERSATION:TRUTH if the ground "
        "truth is in a second file.",
    ),
]
CsvOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write one line per memory and turn.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print only errors.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ResultsOption = Annotated[
    str,
    typer.Option(
        "--json", metavar="FILE", help="Write the results as JSON to this file; - for stdout."
    ),
]
