"""Traces of erased texts: runs of their bytes, and words that only they held."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from acc.errors import StoreError
from acc.folders import file_errors

WINDOW, STEP = 24, 8
RUN = WINDOW + STEP - 1
"""Bytes of the shortest run of an erased text that is found wherever it stands."""

LEAST = 8
"""Bytes of a whole text that is searched for, at least. A word that the caller names may have `LEAST_WORD`."""

LEAST_WORD = 4

_HEAD, _BLOCK = 4, 1 << 22
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]+')


class Traces:
    """What tells that bytes hold an erased text.

    Args:
        texts: The erased texts.
        words: Words that the caller named.
    """

    def __init__(self, texts: Iterable[str], words: Iterable[str] = ()) -> None:
        self.texts = tuple(dict.fromkeys(texts))
        found = {window for text in self.texts for window in windows(text)}
        found |= {form for word in words for form in _forms(word) if len(form) >= LEAST_WORD}
        self._heads: dict[bytes, list[bytes]] = defaultdict(list)
        for pattern in found:
            self._heads[pattern[:_HEAD]].append(pattern)
        self._longest = max(map(len, found), default=1)
        self._numbers = np.array(
            sorted(int.from_bytes(head, "little") for head in self._heads), np.uint32
        )

    def __bool__(self) -> bool:
        return bool(self._heads)

    def in_bytes(self, data: bytes) -> set[bytes]:
        """Return the patterns that ``data`` holds."""
        found = set()
        for at in self._places(data):
            for pattern in self._heads[data[at : at + _HEAD]]:
                if data.startswith(pattern, at):
                    found.add(pattern)
        return found

    def _places(self, data: bytes) -> Iterator[int]:
        """Yield where the beginning of a pattern stands."""
        for shift in range(_HEAD if len(self._numbers) else 0):
            count = (len(data) - shift) // _HEAD
            if count < 1:
                return
            numbers = np.frombuffer(data, np.dtype("<u4"), count, shift)
            at = np.searchsorted(self._numbers, numbers)
            at[at == len(self._numbers)] = 0
            hits = np.flatnonzero(self._numbers[at] == numbers)
            yield from (shift + int(hit) * _HEAD for hit in hits)

    def occur_in(self, text: str, *, or_part: bool = False) -> bool:
        """Whether a text holds a run of an erased one, or (``or_part``) is a part of one."""
        data = text.strip().encode("utf-8", "surrogatepass")
        if len(data) < LEAST:
            return False
        return bool(self.in_bytes(data)) or (
            or_part and any(text.strip() in each for each in self.texts)
        )

    def in_file(self, path: Path) -> set[bytes]:
        """Return the patterns that a file holds; a compressed export is read as what it holds."""
        opening = gzip.open if path.suffix == ".gz" else open
        what, hint = "a file cannot be searched", "give this user read access, and erase again"
        found, rest = set(), b""
        translated = file_errors(StoreError, what, where=path, hint=hint, besides=(zlib.error, EOFError))  # fmt: skip
        with translated, suppress(FileNotFoundError), opening(path, "rb") as file:
            while block := file.read(_BLOCK):
                found |= self.in_bytes(rest + block)
                rest = (rest + block)[-self._longest :]
        return found


def windows(text: str) -> Iterator[bytes]:
    """Yield the pieces of a text to search for; every run of `RUN` bytes holds one of them."""
    for piece in (*_ESCAPED.split(text), *([json.dumps(text)[1:-1]] if not text.isascii() else ())):
        data = piece.strip().encode("utf-8", "surrogatepass")
        if len(data) < LEAST:
            continue
        if len(data) <= WINDOW:
            yield data
            continue
        for start in range(0, len(data) - WINDOW + 1, STEP):
            yield data[start : start + WINDOW]
        yield data[-WINDOW:]


def _forms(word: str) -> set[bytes]:
    return {word.encode("utf-8", "surrogatepass"), json.dumps(word)[1:-1].encode()}
