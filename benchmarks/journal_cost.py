"""What the journal costs: bytes, waits for the disk, time and memory of a step, without any model.

    python benchmarks/journal_cost.py [--turns 5000] [--quick]

Each step does what a controller does: it reads head, state and the texts of the tail, lets the core commit, and
writes turn and commit in one transaction. Every eighth turn is compressed by a given proposal; its turn is appended
first. What the core itself computes is not counted. A turn is a question and an answer of 1 KB together, if nothing
else is said. ``fsync`` and ``fdatasync`` are counted by strace in a process of its own, if there is one.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from acc.commit.commit import Given, commit
from acc.journal import Entry, Journal, Latest
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedPin, ProposedRecord
from acc.state.tail import Message, messages_of, resolved
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

POLICY = Policy()
EVERY = 8
WORDS = (
    "the",
    "pool",
    "of",
    "checkout",
    "restarts",
    "slowly",
    "while",
    "its",
    "connections",
    "wait",
)


def message_id(number: int, at: int) -> str:
    """Return the id that an application gave a message of a turn."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{number}.{at}"))


def turn(number: int, size: int) -> tuple[Message, ...]:
    """Return a question and an answer of ``size`` characters together."""
    words = " ".join(WORDS[(number * 7 + i * i) % len(WORDS)] for i in range(size // 6))
    question = f"Never restart db-{number % 40} before {number % 12 + 1} o'clock. Why is ticket {number} slow?"
    answer = f"Ticket {number}: {words}"[: max(40, size - len(question))]
    seen = (
        Observation(channel=Channel.USER, text=question, message=message_id(number, 0)),
        Observation(channel=Channel.AGENT, text=answer, message=message_id(number, 1)),
    )
    return messages_of(Turn(observations=seen, at="2026-11-03T10:00:00Z").numbered(number))


class Clock:
    """Adds up the seconds of some blocks, on the wall and of this thread's processor."""

    def __init__(self) -> None:
        self.steps: list[float] = []
        self.busy: list[float] = []
        self._now = self._cpu = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Add the seconds of the block to the current step."""
        start, cpu = time.perf_counter(), time.thread_time()
        yield
        self._now += time.perf_counter() - start
        self._cpu += time.thread_time() - cpu

    def step(self) -> None:
        """Begin the next step."""
        self.steps.append(self._now)
        self.busy.append(self._cpu)
        self._now = self._cpu = 0.0


def step(journal: Journal, thread: str, size: int, clock: Clock) -> None:
    """Take one step."""
    with clock.running():
        latest: Latest[CompressedCognitiveState] = journal.latest(thread)
    head, texts = latest.head, latest.tail
    state = latest.state or POLICY.schema.empty()
    new = turn(state.turn + 1, size)
    tail, _ = resolved(state.unread, texts, POLICY)
    number = state.turn + 1
    if number % EVERY:
        entry = Entry(commit(state, POLICY, Given(new, number)), POLICY)
        with clock.running():
            journal.append_and_commit(thread, new, [entry], follows=head.hash, epoch=head.epoch)
    else:
        with clock.running():
            appended = journal.append(thread, new, follows=head.hash)
        question = new[0]
        proposal = Proposal(
            rules=(ProposedPin(question.text.split(" Why")[0], question.ref),),
            records=tuple(  # so many that the state is full after fifty turns
                ProposedRecord("relational_map", {"text": f"ticket {number}.{n}: slow pool, host {n}"}, (question.ref,))
                for n in range(12)
            ),
        )  # fmt: skip
        read = (*tail, *new)
        made = commit(state, POLICY, Given(new, number, read, proposal))
        entry = Entry(made, POLICY)
        with clock.running():
            journal.commit(thread, [entry], follows=head.hash, epoch=head.epoch, turn=appended)
    clock.step()


def written() -> int:
    """Return the bytes that this process passed to write calls so far."""
    found = re.search(r"^wchar: (\d+)", Path("/proc/self/io").read_text(), re.M)
    return int(found[1]) if found else 0


def rss() -> float:
    """Return this process's resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def disk(folder: Path) -> int:
    """Return the bytes of a folder's files."""
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())


def ms(values: list[float]) -> float:
    """Return the median in milliseconds."""
    return statistics.median(values) * 1000


def one_thread(folder: Path, turns: int) -> None:
    """Print what a thread costs from its first turn to its last."""
    clock, memory = Clock(), {}
    with Journal.open(folder) as journal:
        before = 0
        for number in range(1, turns + 1):
            step(journal, "t", 1000, clock)
            if number in (50, 3000, turns):
                memory[number] = rss()
            if number == 50:  # modules that are loaded late may be compiled until then
                before = written()
        total, size = written() - before, disk(folder)
        early, late = Clock(), Clock()
        for _ in range(50):
            step(journal, "young", 1000, Clock())
        for _ in range(400):  # one beside the other, so that a busy machine slows both
            step(journal, "young", 1000, early)
            step(journal, "t", 1000, late)
    plain = [s for n, s in enumerate(clock.steps, 1) if n % EVERY]
    ordered = sorted(plain)
    p50, p99 = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    plainly, asked = ms(plain), ms(clock.steps[EVERY - 1 :: EVERY])
    print(f"step of 1 KB without a request: {plainly:.2f} ms, {ms(clock.busy):.2f} of it computing")
    print(
        f"  p99/p50: {p99 / p50:.2f} (to reach 2); with a request, in two transactions: {asked:.2f} ms"
    )
    slower, computing = ms(late.steps) / ms(early.steps), ms(late.busy) / ms(early.busy)
    print(
        f"  at turn {turns} / at turn 50: {slower:.2f}; computing {computing:.2f} (to reach 1.05)"
    )
    print(f"bytes written for a step of 1 KB: {total / (turns - 50) / 1000:.1f} KB")
    print(f"disk for a turn of 1 KB: {size / turns / 1000:.2f} KB (to reach 6)")
    at = min(3000, turns)
    print(
        f"RSS at turn {at} / 50: {memory.get(at, 0) / memory[50]:.2f} (to reach 1.3; {memory[50]:.0f} MB)"
    )


_FIRST_STEP = """
import sys, time
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from journal_cost import Clock, Journal, step
start = time.perf_counter()
with Journal.open(Path(sys.argv[1])) as journal:
    step(journal, "t", 1000, Clock())
    print(f"{(time.perf_counter() - start) * 1000:.1f}")
"""


def first_step(folder: Path, turns: int) -> None:
    """Print the time from opening to the end of the first step, the core's share included."""
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", _FIRST_STEP, str(folder), here],
        capture_output=True,
        text=True,
        check=True,
    )
    print(
        f"open and first step of a thread of {turns} turns: {done.stdout.strip()} ms (to reach 500)"
    )


def four_kilobytes(folder: Path) -> None:
    """Print the bytes of steps of 4 KB."""
    with Journal.open(folder) as journal:
        clock = Clock()
        for _ in range(20):
            step(journal, "t", 4000, clock)
        before = written()
        for _ in range(400):
            step(journal, "t", 4000, clock)
        print(
            f"bytes written for a step of 4 KB: {(written() - before) / 400_000:.1f} KB (to reach 60)"
        )


def verifying(folder: Path) -> None:
    """Print how fast commits recompute."""
    with Journal.open(folder) as journal:
        start = time.perf_counter()
        report = journal.verify([POLICY])
        rate = report.recomputed / (time.perf_counter() - start)
        print(f"verify: {report.recomputed} commits, {rate:.0f} a second in one process")


def fsyncs(folder: Path) -> None:
    """Print the waits for the disk of a step, as strace counts them."""
    if shutil.which("strace") is None:
        print("fsyncs: no strace here; one for each transaction, and two for each checkpoint")
        return
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); from pathlib import Path\n"
        "from journal_cost import Clock, Journal, step\n"
        "with Journal.open(Path(sys.argv[1])) as journal:\n"
        "    for _ in range(int(sys.argv[3])): step(journal, 't', 4000, Clock())\n"
    )
    counts = []
    for name, steps in (("few", 20), ("many", 420)):
        argv = [
            sys.executable,
            "-c",
            code,
            str(folder / name),
            str(Path(__file__).parent),
            str(steps),
        ]
        argv = ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", *argv]
        told = subprocess.run(argv, capture_output=True, text=True, check=False).stderr
        counts.append(sum(int(row.split()[3]) for row in told.splitlines() if row.endswith("sync")))
    print(f"fsyncs for a step of 4 KB: {(counts[1] - counts[0]) / 400:.2f} (to reach 2)")


def together(folder: Path, threads: int, steps: int) -> float:
    """Return the steps a second of so many threads at once."""
    with Journal.open(folder) as journal:
        names = [f"t{n}" for n in range(threads)]
        begin = threading.Barrier(threads + 1)

        def work(name: str) -> None:
            begin.wait()
            for _ in range(steps // threads):
                step(journal, name, 1000, Clock())

        workers = [threading.Thread(target=work, args=(name,)) for name in names]
        for worker in workers:
            worker.start()
        begin.wait()
        start = time.perf_counter()
        for worker in workers:
            worker.join()
        return steps // threads * threads / (time.perf_counter() - start)


def bare_fsync(folder: Path) -> float:
    """Return the milliseconds of a write and a wait for the disk here."""
    taken = []
    with (folder / "probe").open("wb") as file:
        for _ in range(200):
            start = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - start)
    return ms(taken)


def main() -> None:
    """Print every figure."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=5000)
    options.add_argument(
        "--folder", default=None, help="where to write; a temporary folder by default"
    )
    given = options.parse_args()
    root = Path(tempfile.mkdtemp(dir=given.folder))
    try:
        parts: list[Callable[[], object]] = [
            lambda: print(f"a bare write of 4 KB with fdatasync: {bare_fsync(root):.2f} ms"),
            lambda: one_thread(root / "one", given.turns),
            lambda: first_step(root / "one", given.turns),
            lambda: verifying(root / "one"),
            lambda: four_kilobytes(root / "four"),
            lambda: fsyncs(root),
        ]
        for part in parts:
            part()
        alone = together(root / "alone", 1, 640)
        many = together(root / "many", 64, 1280)
        print(
            f"64 threads at once: {many:.0f} steps a second, one: {alone:.0f}: {many / alone:.2f} (to reach 1.0)"
        )
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
