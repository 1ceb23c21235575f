"""What commands share: their options, and what they write to the terminal and ask there."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from acc.errors import InputError
from acc.folders import expanded
from acc.journal.names import ThreadKey
from acc.journal.opened import is_url
from acc.models.endpoints import as_model
from acc.models.recorded import RecordedModel
from acc.text.lines import inert_line, raw

DEFAULT_MEMORY = Path("memory")

Scope = Mapping[str, Any]

RECORDED = "recorded:"

_NO_EDGE = 1 << 16
"""Columns of what is no terminal: each row of a table stays on one line, which keeps it searchable."""


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """Return an option with a value."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def flag(name: str, help: str) -> Any:
    """Return an option without a value."""
    return typer.Option(name, help=help)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """Return an argument."""
    return typer.Argument(metavar=metavar, help=help, **more)


def parse_scope(text: str, *, names: tuple[str, ...] = ("user", "agent", "tenant")) -> Scope:
    """Parse ``user=NAME,tenant=NAME`` and so on, each at most once."""
    parts = [part.partition("=") for part in text.split(",")]
    found = {name: value for name, _, value in parts}
    if len(found) != len(parts) or not found.keys() <= set(names) or not all(found.values()):
        raise typer.BadParameter(f"{text!r} is not {'=NAME, '.join(names)}=NAME, or several")
    return found


def _parse_filter(text: str) -> Scope:
    """Parse a scope that may name a thread, which becomes the only value: its key."""
    found = parse_scope(text, names=("user", "agent", "tenant", "thread"))
    return {"thread": ThreadKey(**found)} if "thread" in found else found


def model_named(name: str) -> Any:
    """Return the model of ``--model``; None for the keyless rules."""
    if name.startswith(RECORDED):
        return RecordedModel(name.removeprefix(RECORDED))
    return as_model(name) if name else None


def _memory(text: str) -> Path | str:
    """Return a folder or an address. A shell expands ``~`` in ``--memory ~/x`` but not in ``--memory=~/x``."""
    return text if is_url(text) else expanded(text)


_WHERE = (
    "The memory's folder, or postgresql://... ACC_CHROMA names its Chroma server, if it has one."
)
MemoryOption = Annotated[Any, option("DIR", _WHERE, "--memory", parser=_memory)]
_KEEP = (
    "Keep the memory in this folder. If it holds the thread, continue after its last turn. "
    "[default: a temporary folder]"
)
NewMemoryOption = Annotated[Any, option("DIR", _KEEP, "--memory", parser=_memory)]
_THREAD = "The thread, as acc threads names it. [default: the only one]"
ThreadOption = Annotated[str | None, option("NAME", _THREAD, "--thread")]
_OWNER = "Whose: user=NAME, agent=NAME, tenant=NAME, or several with commas between."
ScopeOption = Annotated[Any, option("OWNER", _OWNER, "--scope", parser=parse_scope)]
_ONLY = "Only of user=NAME, agent=NAME, tenant=NAME, thread=NAME, or several with commas between."
FilterOption = Annotated[Any, option("OWNER", _ONLY, "--scope", parser=_parse_filter)]
JsonOption = Annotated[bool, flag("--json", "Print JSON.")]
_YES = "Do it without asking. Without it, a script gets the plan alone."
YesOption = Annotated[bool, flag("--yes", _YES)]
_A_MODEL = (
    "Compress with this model: NAME at OPENAI_BASE_URL, NAME@URL, PROVIDER:NAME of LangChain, or "
    "recorded:FILE. [default: the keyless rules]"
)
ModelOption = Annotated[str, option("NAME", _A_MODEL)]


def print_json(value: Any) -> None:
    """Write ``value`` to stdout as JSON."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def tell(lines: Iterable[str], value: Any, *, as_json: bool) -> None:
    """Write ``value`` to stdout as JSON, or else ``lines`` for people."""
    if as_json:
        print_json(value)
    else:
        print("\n".join(map(inert_line, lines)), flush=True)


def tell_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    value: Any,
    *,
    wrap: Sequence[str],
    none: str,
    as_json: bool,
) -> None:
    """Write ``value`` to stdout as JSON, or else a table for people; without rows, ``none``."""
    if as_json or not rows:
        tell([none], value, as_json=as_json)
    else:
        print_table(headings, rows, wrap=wrap)


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, wrap: Sequence[str] = ()
) -> None:
    """Write a table to stdout. On a terminal the columns in ``wrap`` wrap."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_seen = sys.stdout.isatty()
    width = None if is_seen else _NO_EDGE
    console = Console(file=raw(sys.stdout), force_terminal=is_seen, width=width)
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in headings:
        drawn.add_column(name, overflow="fold", no_wrap=name not in wrap)
    for row in rows:
        drawn.add_row(*(Text(inert_line(cell)) for cell in row))
    with console.capture() as capture:
        console.print(drawn)
    raw(sys.stdout).write("\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n")


def confirm(plan: Iterable[str], value: Any, *, yes: bool, as_json: bool) -> None:
    """Print a plan and ask, unless ``yes``; raise an error unless somebody says yes.

    With ``as_json`` and ``yes`` it prints nothing: the report is the one value.
    """
    if not (as_json and yes):
        tell(plan, value, as_json=as_json)
    if yes:
        return
    sees = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    if as_json or not sees:
        what, where = "this was the plan: nothing was changed", "nobody is asked here"
        raise InputError(what, where=where, hint="give --yes to do it")
    print("Do this? It cannot be undone. [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("not confirmed: nothing was changed", hint="answer y to confirm")
