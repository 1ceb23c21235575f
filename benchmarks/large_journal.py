"""What the commands take on a large memory: 10,000 threads of 17 turns are 1.4 million messages, commits and turns.

    python benchmarks/large_journal.py [--cold] [--json]
    python benchmarks/large_journal.py build [--threads 10000] [--turns 17] FOLDER
    python benchmarks/large_journal.py measure [--cold] [--json] FOLDER
    python benchmarks/large_journal.py long [--turns 5000] FOLDER

The first builds a memory in a temporary folder and measures it. ``build`` lets keyless controllers make 20 threads and
copies their rows under other names: nothing in a row depends on the thread's name, so that every copy recomputes. The
rows of 200 threads alternate turn by turn, as those of conversations that go on at the same time. ``measure`` runs
each command in a process of its own, as a user does, and adds a turn to an old and to a new thread each time; with
``--cold`` each reads the journal from the disk. The processors' seconds hold those of processes that a command
started; its memory is that of the largest process. ``long`` makes one thread of many turns, and reads its messages by
the ids of their application. None of the memories has an index.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from journal_cost import Clock, message_id, step
from workload import text

from acc.controller.controller import MemoryController
from acc.journal import Journal, ThreadKey
from acc.journal.opened import FILE
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

ORIGINALS = 20
TOGETHER = 200
"""Threads that are written in turns."""

RARE, FREQUENT, NOWHERE = "zanzibarite", "question", "nowhereatall"
"""Words to search for. The rare one is in the first turn of the first thread: a search for it reads everything."""

_COPIED = {
    "heads": "hash, version, epoch, seq",
    "turns": "number, identity, first_seq, last_seq",
    "messages": "seq, version, turn, ref, channel, name, call_id, message_id, text, left_out, at, digest",
    "commits": "version, kind, parent, hash, policy, turn, first_seq, last_seq, seq, at, record, state",
}  # fmt: skip
_IN_TURNS = {"turns": "number", "messages": "turn", "commits": "turn"}


def key_of(number: int) -> ThreadKey:
    """Return the name of a thread."""
    return ThreadKey(f"ticket-{number:05}", f"tenant-{number % 7}", f"user-{number % 1000}")


def turn(number: int, rng: random.Random) -> Turn:
    """Return a turn of six messages: a question, two calls of tools and their results, and an answer."""

    def said(channel: Channel, words: str, at: int, **names: str) -> Observation:
        size = rng.randrange(150, 400) - len(words)
        return Observation(
            channel=channel, text=f"{words} {text(size, rng)}", message=message_id(number, at), **names
        )  # fmt: skip

    begin = f"My question {number}: why is db-{rng.randrange(99)} slow?"
    if number % 5 == 1:
        begin = f"Never restart db-{rng.randrange(99)} before {number % 12 + 1} o'clock. Then a question:"
    seen = [said(Channel.USER, begin, 0)]
    for at, tool in enumerate(("logs", "metrics")):
        call = f"{tool}{number}"
        seen += [
            said(Channel.AGENT, f"I call {tool}.", 2 * at + 1),
            said(Channel.TOOL, f"{tool} of {number}:", 2 * at + 2, name=tool, call_id=call),
        ]
    return Turn(observations=(*seen, said(Channel.AGENT, f"Answer {number}:", 5)))


def build(folder: Path, threads: int, turns: int) -> dict[str, Any]:
    """Make a memory, and return how large it is."""
    start = time.perf_counter()
    with MemoryController.open(folder, store="none") as memory:
        for number in range(min(ORIGINALS, threads)):
            rng, key = random.Random(number), key_of(number)
            for each in range(1, turns + 1):
                made = turn(each, rng)
                if (number, each) == (0, 1):
                    made = Turn.said(f"The word {RARE} stands here alone. {text(200, rng)}")
                memory.step(None, made, thread=key)
    with closing(sqlite3.connect(folder / FILE)) as database:
        database.execute("PRAGMA cache_size=-500000")
        database.execute("PRAGMA synchronous=OFF")
        database.execute("CREATE TEMP TABLE copies (source INTEGER PRIMARY KEY, number INTEGER)")
        for first in range(ORIGINALS, threads, TOGETHER):
            with database:
                _copy(database, range(first, min(first + TOGETHER, threads)))
        rows = {
            name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in ("threads", "turns", "commits", "messages")
        }
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size, seconds = (folder / FILE).stat().st_size, time.perf_counter() - start
    return {**rows, "MiB": round(size / 2**20), "seconds": round(seconds)}


def _copy(database: sqlite3.Connection, numbers: range) -> None:
    """Copy the originals but for the first, which holds the rare word, under other names."""
    database.execute("CREATE TEMP TABLE made (branch INTEGER PRIMARY KEY, source INTEGER)")
    for number in numbers:
        key = key_of(number)
        source = 2 + number % (ORIGINALS - 1)
        names = (key.tenant, key.user, key.agent, key.thread)
        thread = database.execute(
            "INSERT INTO threads (tenant, user, agent, thread, created) SELECT ?, ?, ?, ?, created FROM threads "
            "WHERE id = ?", (*names, source),
        ).lastrowid  # fmt: skip
        branch = database.execute(
            "INSERT INTO branches (thread_id, name, ancestry, created) SELECT ?, name, ancestry, created FROM branches "
            "WHERE id = ?", (thread, source),
        ).lastrowid  # fmt: skip
        database.execute("INSERT INTO made VALUES (?, ?)", (branch, source))
    for table, columns in _COPIED.items():
        order = f"{_IN_TURNS[table]}, branch" if table in _IN_TURNS else "branch"
        database.execute(
            f"INSERT INTO {table} (branch_id, {columns}) SELECT branch, {columns} FROM made "
            f"JOIN {table} ON branch_id = source ORDER BY {order}"
        )
    database.execute("DROP TABLE made")


class Run(NamedTuple):
    """What a process took."""

    what: str
    target: float
    seconds: float
    cpu: float
    mb: float
    told: str


def ran(what: str, target: float, argv: list[str], told: Callable[[str], str]) -> Run:
    """Run a process; ``told`` takes what is worth a note from its output."""
    start = time.perf_counter()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        out = process.stdout.read() if process.stdout is not None else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    note = told(out) if process.returncode == 0 else f"exit code {process.returncode}"
    return Run(what, target, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, note)


def forget(folder: Path) -> None:
    """Let the system drop the journal from its memory, as after a start of the machine."""
    with (folder / FILE).open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(folder: Path, *, cold: bool = False) -> Iterator[Run]:
    """Run the commands one after the other; if ``cold``, each reads the journal from the disk."""

    def acc(target: float, told: Callable[[str], str], *command: str) -> Run:
        argv = [sys.executable, "-m", "acc", *command, "--memory", str(folder)]
        if cold:
            forget(folder)
        return ran("acc " + " ".join(command), target, argv, told)

    def step(what: str, number: int) -> Run:
        key = key_of(number)
        argv = [sys.executable, __file__, "step", str(folder), *(key.thread, key.tenant, key.user)]
        if cold:
            forget(folder)
        return ran(f"first step of {what} thread", 1.0, argv, str.strip)

    def rows(out: str) -> str:
        return f"{max(0, len(out.splitlines()) - 1)} rows"

    def last(out: str) -> str:
        return out.splitlines()[-1]

    version = [sys.executable, "-m", "acc", "--version"]
    yield ran("acc --version", 0, version, str.strip)
    yield step("an old", 7)
    yield step("a new", int(time.time()))
    yield acc(2, last, "threads")
    for word in (RARE, FREQUENT, NOWHERE):
        yield acc(2, rows, "search", word)
    yield acc(
        30,
        lambda out: next(line for line in out.splitlines() if "the journal has" in line),
        "doctor",
    )
    yield acc(300, last, "verify")


def first_step(folder: Path, key: ThreadKey) -> None:
    """Open a memory and take a step; print the milliseconds without those of Python's start."""
    start = time.perf_counter()
    with MemoryController.open(folder, store="none") as memory:
        opened = time.perf_counter()
        memory.step(None, turn(99, random.Random(99)), thread=key)
        done = time.perf_counter()
    print(f"opened in {(opened - start) * 1000:.0f} ms, step {(done - opened) * 1000:.0f} ms")


def long(folder: Path, turns: int) -> dict[str, Any]:
    """Make a thread of many turns with ids of an application, and read it by these ids as the integrations do."""
    with Journal.open(folder) as journal:
        while journal.head("long").seq < 2 * turns:
            step(journal, "long", 1000, Clock())
        head = journal.head("long")
        every = [message_id(number, at) for number in range(1, turns + 1) for at in (0, 1)]
        jobs: dict[str, Callable[[], Any]] = {
            "taken, the last 6 ids": lambda: journal.taken("long", every[-6:], head.seq),
            "taken, every id": lambda: journal.taken("long", every, head.seq),
            "with_message_id": lambda: journal.with_message_id("long", every[0]),
            "latest": lambda: journal.latest("long"),
        }
        return {"turns": turns} | {
            f"{name}, ms": round(statistics.median(_timed(job) for _ in range(9)), 2)
            for name, job in jobs.items()
        }


def _timed(job: Callable[[], Any]) -> float:
    start = time.perf_counter()
    job()
    return (time.perf_counter() - start) * 1000


def main() -> None:
    """Build or measure."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "what", choices=("all", "build", "measure", "long", "step"), nargs="?", default="all"
    )
    options.add_argument("folder", type=Path, nargs="?")
    options.add_argument("key", nargs="*", help=argparse.SUPPRESS)
    options.add_argument("--threads", type=int, default=10_000)
    options.add_argument("--turns", type=int, default=0, help="by default 17; 5000 of the long one")
    options.add_argument(
        "--cold", action="store_true", help="read the journal from the disk each time"
    )
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    if given.what == "all":
        with tempfile.TemporaryDirectory(prefix="large-") as folder:
            print(json.dumps(build(Path(folder), given.threads, given.turns or 17)), flush=True)
            show(Path(folder), cold=given.cold, as_json=given.json)
    elif given.folder is None:
        options.error("name a folder")
    elif given.what == "step":
        first_step(given.folder, ThreadKey(*given.key))
    elif given.what == "build":
        print(json.dumps(build(given.folder, given.threads, given.turns or 17)))
    elif given.what == "long":
        print(json.dumps(long(given.folder, given.turns or 5000)))
    else:
        show(given.folder, cold=given.cold, as_json=given.json)


def show(folder: Path, *, cold: bool, as_json: bool) -> None:
    """Measure, and print a table or JSON."""
    if as_json:
        print(json.dumps([each._asdict() for each in measure(folder, cold=cold)], indent=2))
        return
    print(f"{'':34} {'to reach':>9} {'seconds':>9} {'CPU':>9} {'MB':>7}")
    for each in measure(folder, cold=cold):
        target = f"{each.target:.0f}" if each.target else ""
        numbers = f"{target:>9} {each.seconds:9.2f} {each.cpu:9.2f} {each.mb:7.0f}"
        print(f"{each.what:34} {numbers}  {each.told}", flush=True)


if __name__ == "__main__":
    main()
