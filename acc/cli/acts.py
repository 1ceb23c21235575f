"""The steps of every destructive command: plan, print, ask, act, report.

The command prints the whole plan before it changes anything. ``--dry-run`` stops there. On a
terminal the command asks the user; without a terminal it changes nothing unless ``--yes`` is given.
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
    """The mode of a destructive command and its output format.

    Attributes:
        dry_run: Print the plan and change nothing.
        yes: Do not ask for confirmation.
        as_json: Write JSON to stdout: the plan of a dry run, otherwise the report.
    """

    dry_run: bool = False
    yes: bool = False
    as_json: bool = False

    @property
    def looks(self) -> bool:
        """Whether a person reads the plan. Only then may it show the text that will be deleted.

        A script's output may end in logs that no erasure reaches.
        """
        return self.dry_run or (not self.yes and _is_terminal())


class Told(NamedTuple):
    """A plan or a report: lines for people and a value for programs."""

    lines: list[str]
    value: Any

    def tell(self, *, as_json: bool) -> None:
        """Write it to stdout, as lines or as JSON."""
        if as_json:
            told_json(self.value)
        else:
            print("\n".join(map(inert_line, self.lines)), flush=True)


def carry_out(way: Way, plan: Told, act: Callable[[], Told]) -> None:
    """Print ``plan``, ask for confirmation if required, then run ``act`` and print its report.

    Raises:
        InputError: The user did not confirm, or there is no terminal to ask on. Nothing was
            changed.
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
