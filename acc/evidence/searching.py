"""After an erasure: search everything of the memory for what was erased."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acc.evidence.target import branches_of, rows_of
from acc.evidence.traces import Traces
from acc.journal import Journal, ThreadKey
from acc.journal.wording import Wanted, strings_of


@dataclass(frozen=True)
class Searched:
    """How much was searched: files and their bytes, and rows of the journal, whose records are compressed."""

    files: int = 0
    bytes: int = 0
    rows: int = 0


@dataclass(frozen=True)
class Trace:
    """A place that still holds erased words: a file, or a row of the journal. It does not repeat them."""

    where: str
    what: str


def searched(
    journal: Journal,
    files: Sequence[Path],
    traces: Traces,
    words: Wanted,
    threads: Iterable[ThreadKey],
) -> tuple[Searched, tuple[Trace, ...]]:
    """Search the memory's files byte by byte, and the rows of the threads that changed.

    What a message that stays says in its own right is no trace.
    """
    rows, hits = 0, dict[str, set[bytes]]()
    for key in dict.fromkeys(threads):
        for where, value in _rows(journal, key):
            rows += 1
            text = "\x00".join(strings_of(value))
            named = {b""} if words.are_in(value) else set[bytes]()
            hits[where] = named | traces.in_bytes(text.encode("utf-8", "surrogatepass"))
    hits |= {str(path): traces.in_file(path) for path in files}
    size = sum(path.stat().st_size for path in files if path.exists())
    return Searched(len(files), size, rows), tuple(_unexplained(journal, hits))


def _unexplained(journal: Journal, hits: Mapping[str, set[bytes]]) -> Iterator[Trace]:
    """Yield the places with something that no message holds which stays."""
    if not any(hits.values()):
        return
    kept = (each.message.text for key in journal.threads() for _, each in rows_of(journal, key))
    said = "\n".join(kept).encode("utf-8", "surrogatepass")
    for where, each in hits.items():
        if left := {pattern for pattern in each if not pattern or pattern not in said}:
            yield Trace(where, f"{len(left)} of the erased pieces")


def _rows(journal: Journal, key: ThreadKey) -> Iterator[tuple[str, object]]:
    for branch in branches_of(journal, key):
        for stored in journal.commits(key, branch):
            if stored.record is not None or stored.state is not None:
                yield (
                    f"{key}, branch {branch}, version {stored.version}",
                    [stored.record, stored.state],
                )
