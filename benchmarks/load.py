"""Several processes on one folder: what is lost or doubled when they are killed, and how their steps add up.

    python benchmarks/load.py [--workers 4] [--threads 40] [--turns 10] [--kills 6] [--json]

Each worker is a process that opens the memory of one folder, without a model. Conversations of several tenants under
the same names are served turn by turn, each turn by a random worker. The first run has one worker, the second one all
of them. In the third one workers are killed (-9) in the middle of their steps and started again; a client that gets
no answer sends its message again with the state that it has, to any worker. Then the journal is compared with what
was said. The script exits with 1 if anything was lost, doubled, forked or mixed up. What one process does with 64
threads, and what a thread costs in the long run, `benchmarks/journal_cost.py` measures.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acc.controller.controller import MemoryController
from acc.errors import ConflictError
from acc.journal import ThreadKey
from acc.turn.turn import Turn

TENANTS = 3
CLIENTS = 16
"""Conversations that wait for an answer at one time."""

CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Conversation:
    """What one user says, with a mark that no other conversation has."""

    number: int
    turns: int

    @property
    def mark(self) -> str:
        """The word in everything that this user says."""
        return f"ward-{self.number:04}"

    @property
    def thread(self) -> ThreadKey:
        """Its thread; users and threads have the same names in every tenant."""
        name = self.number // TENANTS
        return ThreadKey(f"t{name}", f"clinic-{self.number % TENANTS}", f"user-{name % 2}")

    def said(self, turn: int) -> str:
        """What the user says in ``turn``, the first of which is 0."""
        if turn == 0:
            return f"Never restart {self.mark}."
        return f"What has changed in {self.mark} by hour {turn}?"


def serve(pipe: Any, folder: str) -> None:
    """Answer steps until the pipe ends: the state, the seconds that the step took, and this process's memory in MB."""
    with suppress(EOFError), MemoryController.open(folder, store="none") as memory:
        pipe.send("ready")
        while True:
            key, given, text = pipe.recv()
            # From the empty state a turn that is sent again is known; without a state it would be a new one.
            state = given if given is not None else memory.policy.schema.empty()
            start = time.perf_counter()
            try:
                made = memory.step(
                    state, Turn.said(text), thread=key, force=text.startswith("Never")
                ).state
            except ConflictError:  # a killed worker's write came to its end meanwhile
                made = None
            pipe.send((made, time.perf_counter() - start, rss()))


def rss() -> float:
    """Return this process's resident memory in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Worker:
    """A process that can be killed and started again; it serves one client at a time."""

    def __init__(self, folder: str) -> None:
        self._folder, self._lock, self.kills = folder, threading.Lock(), 0
        self._start()

    def _start(self) -> None:
        self._pipe, theirs = CONTEXT.Pipe()
        self._process = CONTEXT.Process(target=serve, args=(theirs, self._folder), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()

    def ask(self, *given: Any) -> Any:
        """Return the answer; None if the process died meanwhile, which starts it again."""
        with self._lock:
            try:
                self._pipe.send(given)
                return self._pipe.recv()
            except (EOFError, OSError):
                self._process.join()
                self._start()
                return None

    def kill(self) -> None:
        """End the process with SIGKILL, whatever it does."""
        self._process.kill()
        self.kills += 1

    def stop(self) -> None:
        """Let the process end."""
        self._pipe.close()
        self._process.join(30)


@dataclass
class Clients:
    """The users: they send each message until a worker answers it."""

    workers: Sequence[Worker]
    seconds: list[float] = field(default_factory=list)
    memory: float = 0.0
    again: int = 0

    def converse(self, one: Conversation) -> None:
        """Say every turn, each to a random worker."""
        rng, state = random.Random(one.number), None
        for turn in range(one.turns):
            while True:
                answer = rng.choice(self.workers).ask(one.thread, state, one.said(turn))
                if answer is not None and answer[0] is not None:
                    break
                self.again += 1
            state, taken, used = answer
            self.seconds.append(taken)
            self.memory = max(self.memory, used)


def run(workers: int, threads: int, turns: int, kills: int) -> dict[str, Any]:
    """Serve all conversations, kill workers at random, and compare the journal with what was said."""
    spoken = [Conversation(number, turns) for number in range(threads)]
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        clients = Clients([Worker(folder) for _ in range(workers)])
        start = time.monotonic()
        killer = threading.Thread(target=_kill, args=(clients, threads * turns, kills))
        killer.start()
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(clients.converse, spoken))
        seconds = time.monotonic() - start
        killer.join()
        for worker in clients.workers:
            worker.stop()
        found = compared(folder, spoken)
    ordered = sorted(clients.seconds)
    return {
        "workers": workers, "steps": len(ordered), "steps a second": round(len(ordered) / seconds, 1),
        "p50 ms": round(ordered[len(ordered) // 2] * 1000, 1),
        "p99 ms": round(ordered[len(ordered) * 99 // 100] * 1000, 1),
        "MB of a worker": round(clients.memory), "killed": sum(w.kills for w in clients.workers),
        "sent again": clients.again, **found,
    }  # fmt: skip


def _kill(clients: Clients, total: int, kills: int) -> None:
    """Kill one worker after another, at equal shares of the steps."""
    for number in range(kills):
        while len(clients.seconds) < total * (number + 1) / (kills + 1):
            time.sleep(0.002)
        clients.workers[number % len(clients.workers)].kill()


def compared(folder: str, spoken: Sequence[Conversation]) -> dict[str, list[str]]:
    """Return what is lost, doubled, forked or mixed up, and commits that do not recompute."""
    found: dict[str, list[str]] = {
        "lost": [],
        "doubled": [],
        "forked": [],
        "leaked": [],
        "damaged": [],
    }
    with MemoryController.open(folder, store="none") as memory:
        for one in spoken:
            texts = [
                each.message.text for each in memory.journal.messages(one.thread, also_open=True)
            ]
            state = memory.last_state(one.thread)
            rules = [rule.text_of for rule in state.constraints] if state is not None else []
            branches = [each.branch for each in memory.journal.branches(one.thread)]
            for kind, what in faults(one, texts, rules, branches):
                found[kind].append(f"{one.thread}: {what}")
        report = memory.journal.verify([memory.policy])
        found["damaged"] += [] if report.is_clean else [str(report)]
    return found


def faults(
    one: Conversation, texts: Sequence[str], rules: Sequence[str], branches: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield kind and description of whatever is wrong with one conversation."""
    counts = Counter(texts)
    for turn in range(one.turns):
        if (times := counts[one.said(turn)]) != 1:
            yield ("lost" if times == 0 else "doubled"), f"{one.said(turn)} x{times}"
    if list(rules) != [one.said(0)]:
        yield "lost", f"the rule: {list(rules)}"
    yield from (("forked", each) for each in branches if each != "main")
    yield from (("leaked", text) for text in texts if one.mark not in text)


def main() -> int:
    """Print every run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=40)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    plan = {
        "one worker": (1, 0),
        "all workers": (given.workers, 0),
        "all workers, killed": (given.workers, given.kills),
    }
    results = {
        name: run(workers, given.threads, given.turns, kills)
        for name, (workers, kills) in plan.items()
    }
    if given.json:
        print(json.dumps(results))
    for name, row in {} if given.json else results.items():
        print(f"{name}: " + ", ".join(f"{key} {value or 0}" for key, value in row.items()))
    kinds = ("lost", "doubled", "forked", "leaked", "damaged")
    return int(any(row[kind] for row in results.values() for kind in kinds))


if __name__ == "__main__":
    sys.exit(main())
