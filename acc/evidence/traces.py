"""What is left of an erased text: found in strings, and in the bytes of files.

A trace is a run of at least `RUN` bytes of an erased text, whatever stands around it; of a
shorter text the whole. Texts are taken apart where JSON would escape something, so that a run is
found in an audit log as in a database. Texts under `LEAST` bytes are no evidence of anything
and are not looked for. A vector is looked for whole.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from acc.errors import StoreError
from acc.stores.embedding import embed

WINDOW, STEP = 24, 8
RUN = WINDOW + STEP - 1
"""Bytes of an erased text in a row that are found wherever they stand."""

LEAST = 8
"""Bytes below which a text is not looked for."""

_HEAD = 8
_BLOCK = 1 << 23
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]+')


class Trace(NamedTuple):
    """A place where something erased still stands.

    Attributes:
        path: The file.
        offset: Where in it.
        found: The bytes.
    """

    path: Path
    offset: int
    found: bytes


class Traces:
    """What to look for.

    Args:
        texts: The erased texts.
        vectors: Their vectors.
    """

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
        """Only what does not stand in ``texts`` too, which say it in their own right."""
        explained = set()
        for text in texts:
            explained |= self.in_bytes(text.encode("utf-8", "surrogatepass"))
            if self._vectors:
                explained.add(embed(text).tobytes())
        fewer = Traces(())
        fewer._look_for(self.patterns - explained, self._vectors - explained)
        return fewer

    def stand_in(self, text: str) -> bool:
        """Whether ``text`` has a trace."""
        data = text.encode("utf-8", "surrogatepass")
        return bool(len(data) >= LEAST and self.in_bytes(data))

    def in_bytes(self, data: bytes) -> set[bytes]:
        """The patterns that stand in ``data``."""
        return {found for _, found in self._found(data)}

    def in_files(self, paths: Iterable[Path]) -> Iterator[Trace]:
        """Every trace in the bytes of files. Files that go meanwhile are passed over.

        Raises:
            StoreError: A file cannot be read: nothing can be said of it.
        """
        for path in paths if self else ():
            try:
                yield from self._in_file(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StoreError(
                    f"a file cannot be searched: {error.strerror or error}",
                    where=str(path),
                    mend="let this user read it, and run the same again",
                ) from error

    def _in_file(self, path: Path) -> Iterator[Trace]:
        longest = max((len(p) for group in self._heads.values() for p, _ in group), default=0)
        with path.open("rb") as file:
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
    """The pieces of ``text`` to look for, so that every run of `RUN` bytes has one in it."""
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
