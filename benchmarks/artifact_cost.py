"""What filling Chroma costs a turn, against a bare chromadb that adds the same texts.

    python benchmarks/artifact_cost.py [--turns 600] [--chars 1024] [--json]

A turn is a user's message and the agent's answer, of ``--chars`` characters together. Each turn goes to three folders,
one after the other, in an order that changes: *bare*, one ``collection.add`` of texts, vectors, thread and channel; the
same with our metadata; *ours*, `acc.artifacts.filling.Filling` on a `ChromaStore`. The journal is a list here: what it
costs is measured where it lives. Times are medians; bytes are those of the process's writes, in runs of their own; disk
is measured after closing.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from locomo_next import table

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.embedding import HASHED_WORDS, embedded
from acc.artifacts.filling import Filling
from acc.artifacts.rows import Artifact, rows_of
from acc.journal import ThreadKey
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation

Add = Callable[[int, list[Artifact]], None]

_RANDOM = random.Random(7)
_WORDS = ["".join(_RANDOM.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(3_000)]
THREAD = ThreadKey("conversation")
SAME = "bare, same metadata"


def turns(count: int, chars: int) -> Iterator[list[Artifact]]:
    """Yield turns of made words."""
    for number in range(count):
        row = []
        for place, channel in enumerate((Channel.USER, Channel.AGENT)):
            text = " ".join(_RANDOM.choices(_WORDS, k=chars // 14))
            said = Observation(channel=channel, text=text, ref=f"{channel.value[0]}{number}")
            row.append(
                Artifact(Message(said, number, "2026-03-04T10:00:00Z"), "main", 2 * number + place)
            )
        yield row


class Bare:
    """A plain chromadb."""

    def __init__(self, folder: Path, *, full: bool = False) -> None:
        import chromadb
        from chromadb.config import Settings

        settings = Settings(_env_file=None, anonymized_telemetry=False)
        self._full = full
        self.client = chromadb.PersistentClient(str(folder), settings=settings)
        self.collection = self.client.create_collection("bare", embedding_function=None)

    def add(self, row: list[Artifact]) -> None:
        """Add the texts of a turn."""
        texts = [each.message.text for each in row]
        vectors: Any = embedded(HASHED_WORDS, texts)
        plain: Any = [{"thread": THREAD.thread, "channel": a.message.channel.value} for a in row]
        if self._full:
            plain = [dict(next(rows_of(THREAD, each)).metadata) for each in row]
        self.collection.add(
            ids=[each.message.ref for each in row],
            documents=texts,
            embeddings=vectors,
            metadatas=plain,
        )

    def drain(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Close the files."""
        self.client.close()  # type: ignore[attr-defined]


class Ours:
    """A `ChromaStore`, filled from a list."""

    def __init__(self, folder: Path) -> None:
        self.journal: list[Artifact] = []
        self.store = ChromaStore.embedded(folder)
        self.filling = Filling(self.store, self._after)

    def _after(self, thread: object, branch: str, seq: int) -> list[Artifact]:
        return [each for each in self.journal if each.seq > seq]

    def add(self, row: list[Artifact]) -> None:
        """Say that a turn was committed."""
        self.journal += row
        self.filling.committed(THREAD, "main", row)

    def drain(self) -> None:
        """Wait until the store has everything."""
        assert self.filling.drain(), self.filling.last_error

    def close(self) -> None:
        """Close the files."""
        self.store.close()


def arms(folder: Path) -> dict[str, Bare | Ours]:
    """Open every way to add."""
    bare, full = Bare(folder / "bare"), Bare(folder / SAME, full=True)
    return {"bare": bare, SAME: full, "ours": Ours(folder / "ours")}


def timed(folder: Path, count: int, chars: int) -> dict[str, dict[str, float]]:
    """Time each turn in every arm."""
    found = arms(folder)
    spent: dict[str, list[float]] = {name: [] for name in found}
    for number, row in enumerate(turns(count, chars)):
        names = list(found)
        for name in names[number % 3 :] + names[: number % 3]:
            begun = time.perf_counter()
            found[name].add(row)
            added = time.perf_counter()
            found[name].drain()  # so that no arm runs beside another
            spent[name].append(added - begun)
    for arm in found.values():
        arm.close()
    kept = {name: values[count // 10 :] for name, values in spent.items()}
    base = median(kept["bare"])
    return {
        name: {"ms a turn": 1000 * median(values), "of bare": median(values) / base}
        for name, values in kept.items()
    }


def written(folder: Path, name: str, count: int, chars: int) -> dict[str, float]:
    """Return the bytes that one arm writes a turn, and keeps."""
    arm = arms(folder)[name]
    begun = _written_bytes()
    for row in turns(count, chars):
        arm.add(row)
    arm.drain()
    end = _written_bytes()
    arm.close()
    kept = sum(file.stat().st_size for file in (folder / name).rglob("*") if file.is_file())
    return {"KB written": (end - begun) / count / 1024, "KB on disk": kept / count / 1024}


def _written_bytes() -> int:
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("wchar")))


def main() -> None:
    parser = argparse.ArgumentParser(description="What filling Chroma costs a turn.")
    parser.add_argument("--turns", type=int, default=600)
    parser.add_argument("--chars", type=int, default=1024)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        report = timed(Path(folder), args.turns, args.chars)
    for name in ("bare", SAME, "ours"):
        with TemporaryDirectory() as folder:
            report[name] |= written(Path(folder), name, args.turns, args.chars)
    print(json.dumps(report) if args.json else table([{"": n, **f} for n, f in report.items()]))


if __name__ == "__main__":
    main()
