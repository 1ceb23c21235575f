"""The command ``acc``: replays conversations, and looks at, checks and maintains memories.

`run` executes a command. Every error ends in one line on stderr and a non-zero exit code.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from acc.errors import AccError, extra
from acc.text.lines import inert_output, one_line

REFUSED, MISUSED = 1, 2
"""Exit codes of an error and of invalid arguments. A signal gives 128 plus its number."""

GROUP = "acc.commands"
"""Entry points of this group add commands; each names a `typer.Typer`."""

COMMANDS: Mapping[str, tuple[str, str]] = {
    "replay": ("replay", "Replay a conversation turn by turn and report each state."),
    "show": ("show", "Show what the agent reads: the state and the tail."),
    "diff": ("show", "Show what changed between two turns, and why."),
    "threads": ("show", "List the threads of a memory."),
    "search": ("show", "Search threads and documents by words."),
    "verify": ("checks", "Check a memory by recomputing every commit."),
    "doctor": ("checks", "Check the installation, a memory or a model's server."),
    "inspect": ("serve", "Serve a local page over the threads of a memory."),
    "mcp": ("serve", "Serve a memory over the Model Context Protocol."),
    "ingest": ("moving", "Add documents that agents can recall."),
    "retire": ("keeping", "End rules, goals or other items of a state."),
    "hold": ("keeping", "Protect evidence from deletion, or list what is protected."),
    "prune": ("keeping", "Delete evidence that is rarely read or not useful."),
    "erase": ("keeping", "Erase a user, a thread, a message or words."),
    "export": ("moving", "Write threads to a file of JSON lines."),
    "import": ("moving", "Add the threads of an exported file to a memory."),
    "backup": ("moving", "Copy a memory to a folder while others write."),
    "heads": ("moving", "Print the last commit of each thread, to keep outside."),
    "reindex": ("moving", "Build the index of a memory anew from its journal."),
    "schema": ("schema", "List, show and export schemas."),
}
"""The module of each command, and the first line of its help. ``import`` is ``import_`` there."""


class _Commands(TyperGroup):
    """Imports the module of a command when that command is used: ``acc --help`` imports none."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *joined()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            if (entry := joined().get(cmd_name)) is None:
                return None
            with extra(cmd_name, f"acc {cmd_name} cannot be loaded: {{error}}", where=entry.value):
                return get_command(entry.load())
        module = import_module(f"{__name__}.{COMMANDS[cmd_name][0]}")
        made = typer.Typer(rich_markup_mode=None, add_completion=False)
        made.command(cmd_name)(getattr(module, cmd_name.replace("import", "import_")))
        return get_command(made)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = [(name, summary) for name, (_, summary) in COMMANDS.items()]
        for name, entry in joined().items():
            rows.append((name, f"Commands of the package {entry.module.partition('.')[0]}."))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@cache
def joined() -> dict[str, EntryPoint]:
    """Return the commands that other packages add, by name. Imports nothing, and looks once: that takes a while."""
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in COMMANDS}


_QUIET = logging.NullHandler()

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
        _invoke(arguments)
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
        fix = "report it with the output under ACC_TRACEBACK=1"
        return _fail(f"a defect in acc: {type(error).__name__}: {error}. To fix: {fix}", REFUSED)


def _invoke(arguments: Sequence[str]) -> None:
    """Run a command, which tells by itself what the library would log.

    Typer's own `main` would turn signals and write errors into messages of its own.
    """
    logging.getLogger("acc").addHandler(_QUIET)
    try:
        with (
            suppress(typer.Exit),
            inert_output(),
            get_command(app).make_context("acc", list(arguments)) as context,
        ):
            context.command.invoke(context)
        sys.stdout.flush()
    except Exception as error:
        # pydantic turns an interrupt that arrives in a field's serializer into an error of its own
        if isinstance(error.__cause__, KeyboardInterrupt | SystemExit):
            raise error.__cause__ from error
        raise


def _terminate(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


def _fail(message: str, code: int) -> int:
    with suppress(OSError), inert_output():
        print(f"acc: {one_line(message)}", file=sys.stderr, flush=True)
    return code
