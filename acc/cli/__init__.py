"""The command ``acc``: replays conversations, and inspects and maintains memories.

`run` executes a command. Every error ends in one line on stderr and a non-zero exit code.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from acc.errors import AccError, raise_interrupt
from acc.text.lines import inert_output, one_line

REFUSED, MISUSED = 1, 2
"""Exit codes: 1 for an error, 2 for invalid arguments. A signal gives 128 plus its number."""

COMMANDS: Mapping[str, tuple[str, str]] = {
    "replay": ("replay", "Replay a conversation turn by turn and report each state."),
    "show": ("show", "Show the state that the agent reads."),
    "diff": ("show", "Show what changed between two turns, and why."),
    "threads": ("show", "List the threads of a memory."),
    "inspect": ("inspect", "Serve a local page over the threads of a memory."),
    "verify": ("show", "Check the audit logs by recomputing every commit."),
    "doctor": ("doctor", "Check the installation, a memory or a model endpoint."),
    "ingest": ("evidence", "Add documents that agents can recall."),
    "search": ("evidence", "Search a user's threads and documents by words."),
    "retire": ("delete", "Remove rules, goals or other items from the state."),
    "prune": ("prune", "Delete evidence that is rarely read or not useful."),
    "hold": ("delete", "Protect evidence from deletion, or list what is protected."),
    "erase": ("delete", "Erase a user, a thread or one piece of evidence."),
    "backup": ("evidence", "Copy a memory to a folder while others write."),
    "vacuum": ("evidence", "Rewrite the files so that no deleted text remains."),
    "export": ("evidence", "Write a user's evidence and audit logs to a file."),
    "import": ("evidence", "Add the records of an exported file to a memory."),
    "mcp": ("mcp", "Serve a memory to agents over the Model Context Protocol."),
    "schema": ("schema", "List, show, export, check, create and compare schemas."),
    "eval": ("evaluate", "Evaluate memories on scenarios."),
}
"""The module of each command, and the first line of its help.

A module has a function, or a `typer.Typer` with subcommands, of the command's name. ``import`` and
``eval`` have a trailing underscore there.
"""


class _Commands(TyperGroup):
    """Imports the module of a command when that command is used: ``acc --help`` imports none."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"acc.cli.{COMMANDS[cmd_name][0]}")
        found = getattr(module, f"{cmd_name}_" if cmd_name in ("import", "eval") else cmd_name)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(rich_markup_mode=None, add_completion=False)
            found.command(cmd_name)(function)
        from acc.cli.options import with_audit_option  # it imports what `acc --help` does not need

        return with_audit_option(get_command(found))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


app = typer.Typer(cls=_Commands, rich_markup_mode=None, add_completion=False)


@app.callback(invoke_without_command=True)
def acc(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Bounded, audited memory for LLM agents.

    The keyless rules need no model and no network.
    """
    if version:
        from acc import __version__

        typer.echo(f"acc {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run ``acc`` with the process's arguments, and exit."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller closed it
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        # Show the escape code of a character that the terminal's encoding lacks.
        if callable(reconfigure := getattr(getattr(sys, name), "reconfigure", None)):
            reconfigure(errors="backslashreplace")
    # Handle SIGTERM like Ctrl-C: close open files and remove temporary folders.
    signal.signal(signal.SIGTERM, _terminate)
    if code := run(sys.argv[1:]):
        with suppress(OSError, ValueError):
            # Python flushes stdout again at exit and would report the same write error twice.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run ``acc`` with ``arguments`` and return the exit code."""
    try:
        # Typer's own `main` would turn signals and write errors into messages and codes of its own.
        try:
            with (
                suppress(typer.Exit),
                inert_output(),
                get_command(app).make_context("acc", list(arguments)) as context,
            ):
                context.command.invoke(context)
            sys.stdout.flush()
        except Exception as error:
            raise_interrupt(error)
            raise
        return 0
    except KeyboardInterrupt as error:
        return _fail(f"interrupted{f': {error}' if str(error) else ''}", 128 + signal.SIGINT)
    except BrokenPipeError:
        return _fail("the program that reads the output has ended", 141)
    except AccError as error:
        return _fail(str(error), REFUSED)
    except OSError as error:
        where = f"{error.filename}" if error.filename else "the output cannot be written"
        return _fail(f"{where}: {error.strerror or error}", REFUSED)
    except Exception as error:
        # Typer's usage errors share no public base class, but all have `format_message`.
        if callable(usage := getattr(error, "format_message", None)):
            command = getattr(getattr(error, "ctx", None), "command_path", "acc")
            return _fail(f"{usage().rstrip('.')}. To fix: see {command} --help", MISUSED)
        if os.environ.get("ACC_TRACEBACK"):
            raise
        what = f"a defect in acc: {type(error).__name__}: {error}"
        return _fail(f"{what}. To fix: report it with the output under ACC_TRACEBACK=1", REFUSED)


def _terminate(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


def _fail(message: str, code: int) -> int:
    with suppress(OSError), inert_output():
        print(f"acc: {one_line(message)}", file=sys.stderr, flush=True)
    return code
