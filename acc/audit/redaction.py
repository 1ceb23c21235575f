"""Removal of erased evidence from states and audit logs.

A redacted record keeps its place, its hashes and every field unrelated to the erased evidence. It is
marked as redacted, and `acc.audit.verify` counts it instead of recomputing it. A tombstone commit
follows the last record. Its state is the last state without the items that had only erased sources.
It rewords nothing and raises no trust.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acc.audit.segments import readable
from acc.errors import StoreError
from acc.folders import file_errors
from acc.state.model import UNLESS_EMPTY
from acc.stores.embedding import embed
from acc.text.lines import sha256_of

WINDOW, STEP = 24, 8
RUN = WINDOW + STEP - 1
"""Length in bytes of the shortest run of an erased text that is found at any position."""

LEAST = 8
"""Minimum length in bytes of a text to search for."""

_HEAD = 8
_BLOCK = 1 << 23
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]+')


class Trace(NamedTuple):
    """A place that still contains an erased text or vector: file, byte offset, and the bytes."""

    path: Path
    offset: int
    found: bytes


class Traces:
    """Byte patterns of erased texts and of their embedding vectors, to search for."""

    def __init__(self, texts: Iterable[str], vectors: Iterable[bytes] = ()) -> None:
        self._look_for(frozenset(w for text in texts for w in windows(text)), frozenset(vectors))

    def _look_for(self, patterns: frozenset[bytes], vectors: frozenset[bytes]) -> None:
        self.patterns = patterns
        self._vectors = vectors
        self._heads: dict[int, list[tuple[bytes, int]]] = defaultdict(list)
        for pattern in patterns:
            self._heads[_head(pattern)].append((pattern, 0))
        for vector in vectors:
            if (at := _first_number(vector)) is not None:
                self._heads[_head(vector[at:])].append((vector, at))
        self._sorted = np.array(sorted(self._heads), np.uint64)

    def __bool__(self) -> bool:
        return bool(self._heads)

    def without(self, texts: Iterable[str]) -> Traces:
        """Return the traces without patterns that ``texts`` contain independently."""
        explained = set()
        for text in texts:
            explained |= self.in_bytes(text.encode("utf-8", "surrogatepass"))
            if self._vectors:
                explained.add(embed(text).tobytes())
        fewer = Traces(())
        fewer._look_for(self.patterns - explained, self._vectors - explained)
        return fewer

    def occur_in(self, text: str) -> bool:
        """Return whether ``text`` contains a trace."""
        data = text.encode("utf-8", "surrogatepass")
        return bool(len(data) >= LEAST and self.in_bytes(data))

    def in_bytes(self, data: bytes) -> set[bytes]:
        """Return the patterns that ``data`` contains."""
        return {found for _, found in self._found(data)}

    def in_files(self, paths: Iterable[Path]) -> Iterator[Trace]:
        """Yield every trace in the bytes of files; those of an audit log's segments are decompressed.

        Files deleted during the search are skipped.
        """
        what = "a file cannot be searched"
        hint = "give this user read access to the file, and run the same command again"
        damaged = (EOFError, zlib.error)  # a damaged segment
        for path in paths if self else ():
            translated = file_errors(StoreError, what, where=path, hint=hint, besides=damaged)
            with translated, suppress(FileNotFoundError):
                yield from self._in_file(path)

    def _in_file(self, path: Path) -> Iterator[Trace]:
        longest = max((len(p) for group in self._heads.values() for p, _ in group), default=0)
        with readable(path) as file:
            start, rest = 0, b""
            while block := file.read(_BLOCK):
                data = rest + block
                for at, found in self._found(data):
                    yield Trace(path, start - len(rest) + at, found)
                start += len(block)
                rest = data[-(longest - 1) :] if longest > 1 else b""

    def _found(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        for shift in range(min(_HEAD, max(0, len(data) - _HEAD + 1))):
            count = (len(data) - shift) // _HEAD
            words = np.frombuffer(data, np.dtype("<u8"), count, shift)
            places = np.searchsorted(self._sorted, words)
            places[places == len(self._sorted)] = 0
            for at in np.flatnonzero(self._sorted[places] == words) if len(self._sorted) else ():
                begin = shift + int(at) * _HEAD
                for pattern, before in self._heads[int(words[at])]:
                    first = begin - before
                    if first >= 0 and data[first : first + len(pattern)] == pattern:
                        yield first, pattern


def windows(text: str) -> Iterator[bytes]:
    """Yield the pieces of ``text`` to search for; every run of `RUN` bytes contains one of them."""
    for piece in _ESCAPED.split(text):
        data = piece.strip().encode("utf-8", "surrogatepass")
        if len(data) < LEAST:
            continue
        if len(data) <= WINDOW:
            yield data
            continue
        for start in range(0, len(data) - WINDOW + 1, STEP):
            yield data[start : start + WINDOW]
        yield data[-WINDOW:]


def _head(pattern: bytes) -> int:
    return int.from_bytes(pattern[:_HEAD], "little")


def _first_number(vector: bytes) -> int | None:
    numbers = np.frombuffer(vector, np.float32)
    filled = np.flatnonzero(numbers[:-1])
    return int(filled[0]) * 4 if len(filled) else None


Record = dict[str, Any]

_KEPT = frozenset({
    "id", "turn", "touched", "trust", "endorsed", "sources", "cites", "slot", "ref", "channel",
    "kind", "reason", "change", "mode", "author", "version", "schema_name", "branch", "counter",
    "policy", "parent", "hash", "level", "status", "done", "shown", "left_out", "artifact",
    "standing", "item",
})  # fmt: skip
"""Fields that hold no words of the conversation."""


class Leaving(NamedTuple):
    """An item that leaves a thread's newest state because of an erasure.

    ``id`` is the ref for pending evidence. ``words`` is "" after the erasure.
    """

    id: str
    slot: str
    words: str = ""


@dataclass(frozen=True)
class Erased:
    """The erased evidence, as a thread's states and records refer to it: refs and byte patterns."""

    refs: frozenset[str]
    traces: Traces

    def rests_alone(self, node: Mapping[str, Any], items: Collection[str] = ()) -> bool:
        """Return whether an item or a proposal names only erased refs and the removed ``items``."""
        named = node.get("sources") or node.get("cites") or ()
        # The diff of an item's sources is a list of two lists; only texts are refs.
        refs = [ref for ref in named if isinstance(ref, str)]
        return bool(refs) and all(ref in self.refs or ref in items for ref in refs)

    def blanks(self, node: Mapping[str, Any], items: Collection[str]) -> bool:
        """Return whether all text of a part of a record goes; ``items`` are the removed ones."""
        if str(node.get("ref")) in self.refs and ("text" in node or "artifact" in node):
            return True
        if "sources" in node:
            return self.rests_alone(node)
        about = node.get("item") if isinstance(node.get("item"), str) else node.get("id")
        return (isinstance(about, str) and about in items) or self.rests_alone(node, items)


def erased_state(state: Mapping[str, Any], erased: Erased) -> tuple[Record, list[Leaving]]:
    """Return the tombstone commit's state, chained to ``state``, and the removed items.

    It removes each item that has only erased sources or still contains a run of the erased words.
    """
    gone: list[Leaving] = []
    after: Record = {}
    for name, value in state.items():
        if isinstance(value, list):
            after[name] = [_kept(item, erased) for item in value if not _goes(item, erased)]
            gone += [_leaving(name, item) for item in value if _goes(item, erased)]
        else:
            after[name] = value
    left = {each.id for each in gone}
    after["doubted"] = [each for each in after.get("doubted", ()) if each["id"] not in left]
    after["feedback"] = []  # it repeats words, cut
    after = {name: value for name, value in after.items() if value or name not in UNLESS_EMPTY}
    after |= {"version": int(state["version"]) + 1, "parent": state["hash"]}
    after.pop("signature", None)  # this function has no key to sign the new state
    return {**after, "hash": state_hash(after)}, gone


def _leaving(slot: str, item: Any) -> Leaving:
    if isinstance(item, str):
        return Leaving(slot, slot, item)
    words = dict.fromkeys(str(v) for name, v in item.items() if name not in _KEPT and v)
    name = item.get("id") if "sources" in item else item.get("ref")
    return Leaving(str(name or slot), slot, "; ".join(words))


def state_hash(state: Mapping[str, Any]) -> str:
    """Return the hash of a state in plain JSON."""
    body = {key: value for key, value in state.items() if key not in ("hash", "signature")}
    return sha256_of(body)


def items_resting_alone(records: Iterable[Mapping[str, Any]], erased: Erased) -> frozenset[str]:
    """Return the ids of all items that ever had only erased sources."""
    found = set()
    for record in records:
        for item in (*_items(record.get("state", {})), *_items(record.get("prior_state", {}))):
            if erased.rests_alone(item):
                found.add(str(item["id"]))
        found |= {
            str(gone["item"]["id"])
            for gone in record.get("set_aside", ())
            if erased.rests_alone(gone["item"])
        }
    return frozenset(found)


def redacted(record: Mapping[str, Any], erased: Erased, items: Collection[str]) -> Record | None:
    """Return the record without the erased evidence; None if the record contains none of it."""
    kept = [gone for gone in record.get("set_aside", ()) if not _goes(gone["item"], erased)]
    body = {**record, "set_aside": kept}
    scrubbed: Record = _scrubbed(body, erased, items)
    if scrubbed == record:
        return None
    return {**scrubbed, "redacted": True}


def _scrubbed(
    node: Any, erased: Erased, items: Collection[str], *, blank: bool = False, key: str = ""
) -> Any:
    if isinstance(node, str):
        gone = blank and key not in _KEPT
        return "" if gone or erased.traces.occur_in(node) else node
    if isinstance(node, list):
        return [_scrubbed(each, erased, items, blank=blank, key=key) for each in node]
    if not isinstance(node, Mapping):
        return node
    blank = blank or erased.blanks(node, items)
    return {
        name: _scrubbed(value, erased, items, blank=blank, key=name) for name, value in node.items()
    }


def _goes(item: Any, erased: Erased) -> bool:
    if not isinstance(item, Mapping):
        return isinstance(item, str) and erased.traces.occur_in(item)
    pending = "sources" not in item and item.get("ref") in erased.refs
    return pending or erased.rests_alone(item) or _any_text(item, erased.traces.occur_in)


def _kept(item: Any, erased: Erased) -> Any:
    if not (isinstance(item, Mapping) and erased.refs.intersection(item.get("sources", ()))):
        return item
    return {**item, "sources": [ref for ref in item["sources"] if ref not in erased.refs]}


def _any_text(node: Any, test: Callable[[str], bool]) -> bool:
    if isinstance(node, str):
        return test(node)
    values = node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ()
    return any(_any_text(value, test) for value in values)


def _items(state: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for value in state.values():
        for item in value if isinstance(value, list) else ():
            if isinstance(item, Mapping) and item.get("id"):
                yield item
