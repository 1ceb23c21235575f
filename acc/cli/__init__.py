"""The command ``acc``: replays conversations, and inspects and maintains memories.

Typer parses the arguments and returns a callable; `run` calls it. Every error therefore ends in one
line on stderr and a non-zero exit code.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

REFUSED, MISUSED = 1, 2
"""Exit codes: 1 for an error, 2 for invalid arguments. A signal gives 128 plus its number."""


def main() -> None:
    """Run ``acc`` with the process's arguments, and exit."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller closed it
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        # Show the escape code of a character that the terminal's encoding lacks.
        if callable(reconfigure := getattr(getattr(sys, name), "reconfigure", None)):
            reconfigure(errors="backslashreplace")
    # Handle SIGTERM like Ctrl-C: close open files and remove temporary folders.
    signal.signal(signal.SIGTERM, _terminated)
    if code := run(sys.argv[1:]):
        with suppress(OSError, ValueError):
            # Python flushes stdout again at exit and would report the same write error twice.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run ``acc`` with ``arguments`` and return the exit code."""
    try:
        return _done(arguments)
    except KeyboardInterrupt as error:
        return _ended(f"interrupted{f': {error}' if str(error) else ''}", 128 + signal.SIGINT)
    except BrokenPipeError:
        return _ended("the reader of the output has gone", 141)
    except OSError as error:
        what = f"{error.filename}" if error.filename else "the output cannot be written"
        return _ended(f"{what}: {error.strerror or error}", REFUSED)
    except Exception as error:
        if os.environ.get("ACC_TRACEBACK"):
            raise
        return _failed(error)


def _done(arguments: Sequence[str]) -> int:
    from acc.cli.commands import parsed
    from acc.text.lines import inert_output

    work = parsed(arguments)
    if work is not None:
        with inert_output():
            work()
    sys.stdout.flush()
    return 0


def _failed(error: Exception) -> int:
    from acc.errors import AccError

    if isinstance(error, AccError):
        return _ended(str(error), REFUSED)
    # Typer's usage errors share no public base class, but all have `format_message`.
    if callable(usage := getattr(error, "format_message", None)):
        asked = getattr(getattr(error, "ctx", None), "command_path", "acc")
        return _ended(f"{usage().rstrip('.')}. To fix: see {asked} --help", MISUSED)
    what = f"a defect in acc: {type(error).__name__}: {error}"
    return _ended(f"{what}. To fix: report it with the output under ACC_TRACEBACK=1", REFUSED)


def _terminated(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


def _ended(what: str, code: int) -> int:
    from acc.state.items import one_line
    from acc.text.lines import inert_output

    with suppress(OSError), inert_output():
        print(f"acc: {one_line(what)}", file=sys.stderr, flush=True)
    return code
