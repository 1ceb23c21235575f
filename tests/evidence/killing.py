"""A process that is killed at a chosen point of what it does: a write, a rename, a call of Chroma."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import acc.stores.protocol

ROOT = str(Path(acc.stores.protocol.__file__).parents[1])

PRELUDE = """
import os, signal, sys
from pathlib import Path
from acc import MemoryController, Turn, Thread
from acc.stores.chroma.store import ChromaArtifactStore

path, point = Path(sys.argv[1]), int(sys.argv[2])
armed, passed = False, 0

def step():
    global passed
    if armed:
        passed += 1
        if passed == point:
            os.kill(os.getpid(), signal.SIGKILL)

def seen(event, arguments):
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wa+x")
    if writes or event in ("os.rename", "os.remove", "os.truncate", "sqlite3.connect", "os.mkdir"):
        step()

sys.addaudithook(seen)
ask = ChromaArtifactStore._ask

def asked(self, call):
    step()
    found = ask(self, call)
    step()
    return found

ChromaArtifactStore._ask = asked
memory = MemoryController.open(path)

def act(do):
    global armed
    armed = True
    do()
    armed = False
    memory.close()
    print(passed)
"""


def killed_at(program: str, folder: Path, point: int, *more: object) -> int | None:
    """Run ``program`` on ``folder`` until its point number ``point``; None if it was killed there.

    Returns:
        The number of points it passed, where it came to its end.
    """
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + program, str(folder), str(point), *map(str, more)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT},
        timeout=120,
    )
    if done.returncode == -signal.SIGKILL:
        return None
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def points(passed: int, most: int) -> list[int]:
    """At most ``most`` of the points 1 to ``passed``, spread over all of them."""
    if passed <= most:
        return list(range(1, passed + 1))
    return sorted({1 + round(i * (passed - 1) / (most - 1)) for i in range(most)})
