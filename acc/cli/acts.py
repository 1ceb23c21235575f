"""What every destructive command does: plan, print, ask, act, report.

The plan is printed in full before anything happens. ``--dry-run`` ends there. A terminal is asked;
where nobody is there to ask, ``--yes`` is needed, and without it nothing is changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from acc.cli.screen import told_json
from acc.errors import InputError
from acc.text.lines import inert_line

DryOption = Annotated[
    bool, typer.Option("--dry-run", help="Only tell exactly what would be done; change nothing.")
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Do it without asking: for scripts, where nobody can answer.")
]


class Way(NamedTuple):
    """How far a destructive command is to go, and how it tells it.

    Attributes:
        dry_run: Tell the plan, and do nothing.
        yes: Do not ask.
        as_json: Write JSON to stdout: the plan of a dry run, else the report.
    """

    dry_run: bool = False
    yes: bool = False
    as_json: bool = False

    @property
    def looks(self) -> bool:
        """Whether somebody looks at the plan: words that are to go may be shown to them alone.

        What a script prints ends in logs that nothing is ever erased from.
        """
        return self.dry_run or (not self.yes and _is_terminal())


class Told(NamedTuple):
    """A plan or a report, as lines for people and as a value for programs."""

    lines: list[str]
    value: Any

    def tell(self, *, as_json: bool) -> None:
        """Write it to stdout."""
        if as_json:
            told_json(self.value)
        else:
            print("\n".join(map(inert_line, self.lines)), flush=True)


def carry_out(way: Way, plan: Told, act: Callable[[], Told]) -> None:
    """Print ``plan``; then, if that is wanted and confirmed, ``act`` and print its report.

    Raises:
        InputError: It was not confirmed, or nobody is there to ask; nothing was changed.
    """
    if way.dry_run:
        plan.tell(as_json=way.as_json)
        return
    if not way.as_json:
        plan.tell(as_json=False)
    if not way.yes:
        _confirm(plan, shown=not way.as_json)
    act().tell(as_json=way.as_json)


def _confirm(plan: Told, *, shown: bool) -> None:
    if not _is_terminal():
        raise InputError(
            "nobody is there to confirm it: nothing was changed",
            where="stdin is no terminal",
            hint="look at the plan with --dry-run, then give --yes",
        )
    if not shown:
        print("\n".join(map(inert_line, plan.lines)), file=sys.stderr)
    print("Do this? It cannot be undone. [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("not confirmed: nothing was changed", hint="answer y to do it")


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
