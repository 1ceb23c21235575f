"""How the commands on a whole memory grow with it: seconds, peak memory and what they print.

    python benchmarks/large_memory.py build DIR [--threads 2182] [--turns 9] [--copies 1]
    python benchmarks/large_memory.py measure DIR [COMMAND ...]
    python benchmarks/large_memory.py [--threads 200] [--times 10]

``build`` steps conversations of the usual turn size (`turn_overhead.observed`) in a new memory. With ``--copies``
each of them is there several times under other names: their rows are written to Chroma's database directly,
which takes minutes for a million records instead of an hour, and their audit logs are chained anew. ``measure``
opens the memory, steps an old and a new thread, and runs ``acc show``, ``threads``, ``search``, ``verify`` and
``doctor``, each in a process of its own. Without either, the script measures a memory and one ``--times`` as large,
and prints the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from turn_overhead import observed, scripted

from acc.audit.log import AuditLog
from acc.audit.record import digested
from acc.audit.redaction import state_hash
from acc.clock import stamps
from acc.controller import MemoryController
from acc.pipeline.session import Settings
from acc.stores.chroma.rows import to_rows
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.directory import entry, namespace
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import UNNAMED, Thread
from acc.stores.shelf import Shelf

COMMANDS = {
    "step": (),
    "show": ("show", "--thread", "t0"),
    "threads": ("threads",),
    "search": ("search", "turn"),
    "verify": ("verify",),
    "doctor": ("doctor",),
}

_MAIN = "import sys; from acc.cli import main; sys.exit(main())"


_STEP = """
import json, random, sys, time
from pathlib import Path
from turn_overhead import observed, scripted
from acc.controller import MemoryController

def timed(call):
    start = time.perf_counter()
    call()
    return round(time.perf_counter() - start, 3)

def step(thread):
    return memory.step(memory.last_state(thread), observed(99, random.Random(thread)), thread=thread)

start = time.perf_counter()
memory = MemoryController.open(Path(sys.argv[1]), compressor=scripted)
found = {"open": round(time.perf_counter() - start, 3)}
for name, thread in (("old", "t0"), ("new", f"new {time.time()}")):
    found[f"first step of an {name} thread"] = timed(lambda: step(thread))
    found[f"second step of an {name} thread"] = timed(lambda: step(thread))
memory.close()
print(json.dumps(found))
"""
"""Opens a memory in a process of its own, and steps two threads twice; prints the seconds."""


def build(folder: Path, threads: int, turns: int, copies: int = 1) -> int:
    """Step ``threads`` conversations of ``turns`` turns, and copy each; return the number of records.

    The compressor is scripted, and the steps write to a store in memory, whose records then move to
    the folder: that is faster.
    """
    rng = random.Random(7)
    store = InMemoryStore()
    memory = MemoryController(store, scripted, Settings(audit=folder / "audit"))
    for name in range(threads):
        state = None
        for number in range(turns):
            state = memory.step(state, observed(number, rng), thread=f"t{name}").state
    memory._forget()  # write what waits for the next turn
    with closing(ChromaArtifactStore.embedded(folder)) as kept:
        ids = store.ids(UNNAMED)
        for start in range(0, len(ids), 1_000):
            kept.add(UNNAMED, store.get(UNNAMED, ids[start : start + 1_000]))
    sources = [Thread(thread=f"t{number}") for number in range(threads)]
    copies_of = [
        (s, Thread(thread=f"copy{n} of {s.thread}")) for n in range(1, copies) for s in sources
    ]
    _copy_rows(folder / "chroma.sqlite3", store, copies_of)
    for source, target in copies_of:
        _copy_log(folder / "audit", source, target)
    with closing(ChromaArtifactStore.embedded(folder)) as kept:
        at = stamps(memory.settings.clock)()
        entries = [entry(target, at) for _, target in copies_of]
        for start in range(0, len(entries), 1_000):
            Shelf(kept, namespace(), "threads").append(entries[start : start + 1_000])
        count = len(kept.ids(UNNAMED))
    memory.close()
    return count


def _copy_rows(path: Path, store: InMemoryStore, copies: Sequence[tuple[Thread, Thread]]) -> None:
    """Write the records of threads as those of others, as Chroma 1.5 lays them out in its tables."""
    rows = {
        source: to_rows(UNNAMED, store.get(UNNAMED, store.ids(UNNAMED, thread=source.key)))
        for source in {source for source, _ in copies}
    }
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -1000000")
        [segment] = database.execute("SELECT id FROM segments WHERE scope = 'METADATA'").fetchone()
        [last] = database.execute("SELECT max(id) FROM embeddings").fetchone()
        [seq] = database.execute("SELECT max(seq_id) FROM max_seq_id").fetchone()
        [index] = database.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", (_INDEX,)
        ).fetchone()
        database.execute(f"DROP INDEX {_INDEX}")
        for source, target in copies:
            each = [(number, row) for number, row in enumerate(rows[source], last + 1)]
            database.executemany(
                "INSERT INTO embeddings (id, segment_id, embedding_id, seq_id) VALUES (?, ?, ?, ?)",
                [(n, segment, row.id.replace(source.key, target.key), seq) for n, row in each],
            )
            database.executemany(
                "INSERT INTO embedding_metadata (id, key, string_value, int_value) VALUES (?, ?, ?, ?)",
                [
                    (n, key, *((value, None) if isinstance(value, str) else (None, value)))
                    for n, row in each
                    for key, value in {
                        **row.metadata, "thread_id": target.key, "chroma:document": row.document,
                    }.items()
                ],
            )  # fmt: skip
            database.executemany(
                "INSERT INTO embedding_fulltext_search (rowid, string_value) VALUES (?, ?)",
                [(n, row.document) for n, row in each],
            )
            last += len(each)
        database.execute(index)


_INDEX = "embedding_metadata_string_value"


def _copy_log(audit: Path, source: Thread, target: Thread) -> None:
    """Write the records of one thread's log as those of another: a log that `acc verify` accepts."""
    log, previous, prior = AuditLog.of(audit, target), "", ""
    lines = []
    for record in AuditLog.of(audit, source).records():
        state = {**record["state"], "bound_to": target.owner_key}
        if prior:
            state["parent"] = prior
        state["hash"] = state_hash(state)
        copy = {
            **record, "thread": target.model_dump(), "state": state, "previous": previous,
            "prior": prior or record["prior"],
        }  # fmt: skip
        line, previous = digested(copy)
        lines.append(line.encode())
        prior = state["hash"]
    log.store.rewrite(log.name, lambda: lines)


def measure(folder: Path, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the times, the peak memory and the exit status of each command on the memory in ``folder``."""
    found = {}
    for name in names:
        command = [sys.executable, "-c", _MAIN, *COMMANDS[name], "--memory", str(folder)]
        if name == "step":
            command = [sys.executable, "-c", _STEP, str(folder)]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=None if name == "step" else subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        found[name] = {
            "seconds": round(time.perf_counter() - start, 2),
            "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
            "megabytes": round(used.ru_maxrss / 1_000, 1),
            "status": process.returncode,
        }
    return found


def compare(threads: int, turns: int, times: int, names: Sequence[str]) -> dict[str, object]:
    """Measure two memories, one ``times`` as large as the other, and how much more the large one costs."""
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in (threads, threads * times):
            memory = Path(folder) / str(size)
            records = build(memory, size, turns)
            results.append({"records": records, **measure(memory, names)})
    small, large = results
    ratios = {
        name: {
            what: round(large[name][what] / small[name][what], 2)
            for what in ("seconds", "cpu_seconds", "megabytes")
        }
        for name in names
    }
    return {"small": small, "large": large, "ratios": ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="?", choices=("build", "measure"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("commands", nargs="*", metavar="COMMAND")
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--times", type=int, default=10)
    given = parser.parse_args()
    names = given.commands or list(COMMANDS)
    result: object
    if given.what == "build":
        result = {"records": build(given.folder, given.threads, given.turns, given.copies)}
    elif given.what == "measure":
        result = measure(given.folder, names)
    else:
        result = compare(given.threads, given.turns, given.times, names)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
