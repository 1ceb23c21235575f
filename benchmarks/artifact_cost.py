"""What filling Chroma costs a turn, against a bare chromadb that adds the same texts.

    python benchmarks/artifact_cost.py [--turns 600] [--chars 1024] [--json]

A turn is a user's message and the agent's answer, of ``--chars`` characters together. Each turn goes to four
folders, one after the other, in an order that changes: *bare*, one ``collection.add`` of texts, vectors, thread and
channel; the same with our metadata; *now* and *behind*, `acc.controller.indexing.Indexing` on a `ChromaStore`;
*behind* is then drained. The journal is a list here: what it costs is measured where it lives. Times are medians;
bytes are those of the process's writes, in runs of their own; disk is measured after closing.
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
from acc.artifacts.store import rows_of
from acc.controller.indexing import Indexing
from acc.journal import StoredMessage, ThreadKey
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation

Add = Callable[[int, list[StoredMessage]], None]

_RANDOM = random.Random(7)
_WORDS = ["".join(_RANDOM.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(3_000)]
THREAD = ThreadKey("conversation")
SAME = "bare, same metadata"


def turns(count: int, chars: int) -> Iterator[list[StoredMessage]]:
    """Yield turns of made words."""
    for number in range(count):
        row = []
        for place, channel in enumerate((Channel.USER, Channel.AGENT)):
            text = " ".join(_RANDOM.choices(_WORDS, k=chars // 14))
            said = Observation(channel=channel, text=text, ref=f"{channel.value[0]}{number}")
            row.append(
                StoredMessage(
                    Message(said, number, "2026-03-04T10:00:00Z"),
                    "main",
                    1 + 2 * number + place,
                    1,
                    "digest",
                )
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

    def add(self, row: list[StoredMessage]) -> None:
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


class Listed:
    """A list, as an index reads a journal."""

    def __init__(self) -> None:
        self.rows: list[StoredMessage] = []

    def messages(self, _: object, first: int, *__: object, **___: object) -> list[StoredMessage]:
        """Return the messages from a number on."""
        return self.rows[first - 1 :]

    def numbered(self, _: object, numbers: list[int], **__: object) -> list[StoredMessage]:
        """Return some messages."""
        return [self.rows[number - 1] for number in numbers]

    def note_index(self, *_: object, **__: object) -> None:
        """Nothing is erased here."""


class Ours:
    """A `ChromaStore`, filled from a list."""

    def __init__(self, folder: Path, *, behind: bool) -> None:
        self.journal = Listed()
        given: Any = self.journal
        self.index = Indexing(given, ChromaStore.embedded(folder), None, behind=behind)

    def add(self, row: list[StoredMessage]) -> None:
        """Say that a turn was committed."""
        self.journal.rows += row
        self.index.committed(THREAD, "main")

    def drain(self) -> None:
        """Wait until the store has everything."""
        assert self.index.drain(600), self.index.warnings

    def close(self) -> None:
        """Close the files."""
        self.index.close()


def arms(folder: Path) -> dict[str, Bare | Ours]:
    """Open every way to add."""
    now, behind = Ours(folder / "now", behind=False), Ours(folder / "behind", behind=True)
    bare, full = Bare(folder / "bare"), Bare(folder / SAME, full=True)
    return {"bare": bare, SAME: full, "now": now, "behind": behind}


def timed(folder: Path, count: int, chars: int) -> dict[str, dict[str, float]]:
    """Time each turn in every arm."""
    found = arms(folder)
    spent: dict[str, list[float]] = {name: [] for name in (*found, "behind, drained")}
    for number, row in enumerate(turns(count, chars)):
        names = list(found)
        for name in names[number % 4 :] + names[: number % 4]:
            begun = time.perf_counter()
            found[name].add(row)
            added = time.perf_counter()
            found[name].drain()  # so that no arm runs beside another
            spent[name].append(added - begun)
            if name == "behind":
                spent["behind, drained"].append(time.perf_counter() - begun)
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
    for name in ("bare", SAME, "now", "behind"):
        with TemporaryDirectory() as folder:
            report[name] |= written(Path(folder), name, args.turns, args.chars)
    report["behind, drained"] |= {
        each: report["behind"][each] for each in ("KB written", "KB on disk")
    }
    print(json.dumps(report) if args.json else table([{"": n, **f} for n, f in report.items()]))


if __name__ == "__main__":
    main()
