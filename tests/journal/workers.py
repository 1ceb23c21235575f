"""Workers in processes of their own that step a thread, and what has to be true after them."""

from __future__ import annotations

import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TextIO

from journal_conformance import POLICY, step
from servers import begin
from sqlalchemy import event

from acc.errors import ConflictError, StoreError
from acc.journal import Journal
from acc.journal.journal import FILE

WORKER = """
import sys
from workers import work
place, name, many = sys.argv[1:]
work(place, name, int(many), sys.stdout, sys.stdin.readline)
"""
BESIDE = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
"""The environment of a process that imports the helpers of the tests."""


def work(
    place: str | Path, name: str, many: int, out: TextIO, begin: Callable[[], object] = str
) -> None:
    """Step the thread many times, and tell each text once it is acknowledged."""
    with Journal.open(place) as journal:
        print("ready", file=out, flush=True)
        begin()
        for number in range(many):
            text = f"{name} says {number}."
            while True:
                try:
                    step(journal, "t", text, one=bool(number % 3))
                except ConflictError:
                    print("told", file=out, flush=True)
                    continue
                print("acked", text, file=out, flush=True)
                break


def worker(place: str | Path, name: str, many: int = 10**6) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", WORKER, str(place), name, str(many)]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=BESIDE)


def said(journal: Journal, thread: str = "t", **how: bool) -> Counter[str]:
    return Counter(each.message.text for each in journal.messages(thread, **how))  # type: ignore[arg-type]


def check(journal: Journal, acked: list[str]) -> None:
    """Fail unless each acknowledged text was committed once, and everything recomputes."""
    found = said(journal)
    assert [text for text in acked if found[text] != 1] == []
    assert max(found.values(), default=1) == 1
    report = journal.verify([POLICY])
    assert report.is_clean, [str(each) for each in report.damages]
    assert journal.database.damages() == []


def two_workers(place: str | Path) -> int:
    """Fail unless two workers on one thread lose and double nothing; return how often one was told to go on."""
    Journal.open(place).close()
    both = [worker(place, name, 40) for name in ("a", "b")]
    begin(*both)
    told, acked = 0, []
    for process in both:
        out, err = process.communicate(timeout=120)
        assert err == ""
        told += out.count("told")
        acked += re.findall("acked (.*)", out)
    with Journal.open(place) as journal:
        check(journal, acked)
        assert len(acked) == len(said(journal)) == 80
    return told


def check_snapshot(journal: Journal) -> None:
    """Fail unless a snapshot sees one moment, whoever writes, and finds a thread's place once."""
    step(journal, "t", "one")
    asked: list[str] = []
    engine = journal.database._engine  # type: ignore[attr-defined]
    with journal.snapshot() as seen:
        head = seen.head("t")
        step(journal, "t", "two")
        event.listen(engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
        assert seen.head("t") == seen.latest("t").head == head
        assert [each.message.text for each in seen.messages("t")] == ["one"]
        assert not [each for each in asked if "FROM threads" in each]
    assert journal.head("t").version == 2


def change(folder: Path, *statements: str) -> int:
    """Change rows behind the journal's back; return how many."""
    with closing(sqlite3.connect(folder / FILE)) as database, database:
        return sum(database.execute(each).rowcount for each in statements)


def check_fork(journal: Journal) -> None:
    """Fail unless a forked child is told to open a journal of its own, and its parent goes on."""
    step(journal, "t", "before")
    child = os.fork()
    if child == 0:
        try:
            step(journal, "t", "child")
        except StoreError as error:
            os._exit(7 if "open it in the child" in str(error) else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    step(journal, "t", "after")
    check(journal, ["before", "after"])


def kill_once(place: str | Path, rng: random.Random, acked: list[str], name: str) -> None:
    """Kill a worker while it works. It is a fork of this process, which has imported everything."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        with suppress(BaseException), open(writes, "w") as out:
            work(place, name, 10**6, out)
        os._exit(1)
    os.close(writes)
    with open(reads) as told:
        assert told.readline() == "ready\n"
        acked.append(told.readline()[6:-1])  # on a busy machine it takes a while
        time.sleep(rng.random() * 0.3)
        os.kill(child, signal.SIGKILL)
        lines = told.read().splitlines(keepends=True)
    os.waitpid(child, 0)
    acked += [line[6:-1] for line in lines if line.startswith("acked ") and line.endswith("\n")]


def kills(place: str | Path, runs: int) -> None:
    rng, acked = random.Random(7), []
    for number in range(runs):
        kill_once(place, rng, acked, f"w{number}")
    with Journal.open(place, wait=5) as journal:
        check(journal, acked)
        step(journal, "t", "and on")
    assert len(acked) > runs
