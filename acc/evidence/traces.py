"""Traces of erased texts: runs of their bytes, and words that the caller named, in files and rows of the memory."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from acc.errors import StoreError
from acc.evidence.base import branches_of, rows_of
from acc.folders import file_errors
from acc.journal import Journal, ThreadKey
from acc.text.normal import normalised, unescaped

WINDOW, STEP = 24, 8
"""Every run of 31 bytes of an erased text holds one of its windows, and is found wherever it stands."""

LEAST, LEAST_WORD = 8, 4
"""The shortest whole text that is searched for, and the shortest word that the caller may name, in bytes."""

_HEAD, _BLOCK = 4, 1 << 22
_CONTROLS = dict.fromkeys((*range(32), 127, ord("\\")), '"')


STRUCTURE = frozenset(
    {
        "reason", "of", "slot", "kind", "mode", "author", "channel", "trust", "verdict", "status",
        "schema_name", "branch", "policy", "hash", "parent", "digest", "style", "ref", "id", "item",
        "refs", "sources", "first", "last",
    }
)  # fmt: skip
"""Keys whose values are nobody's words."""


def strings_of(value: Any) -> Iterator[str]:
    """Yield the strings of plain JSON that may hold somebody's words."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key not in STRUCTURE:
                yield from strings_of(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings_of(each)


class Wanted:
    """Words and phrases to look for, however they are typed (`acc.text.normal`), or escaped as JSON.

    Args:
        given: Each counts where it stands as words of its own, as far as its first and last letter tell: scripts
            without spaces have no such ends.
    """

    def __init__(self, given: Iterable[str]) -> None:
        phrases = "|".join(map(_as_pattern, sorted({normalised(each) for each in given} - {""})))
        self._pattern = re.compile(phrases) if phrases else None

    def are_in(self, value: Any) -> bool:
        """Whether one of them stands in a text, or in plain JSON."""
        if self._pattern is None:
            return False
        return any(map(self._pattern.search, map(_folded, strings_of(value))))


def _folded(text: str) -> str:
    """Return a text as it is compared, and as it stands behind the escapes of JSON and HTML."""
    plain = unescaped(text)
    return normalised(text if plain == text else f"{text}\n{plain}")


def _as_pattern(phrase: str) -> str:
    before = "(?<![a-z0-9])" if phrase[0].isascii() and phrase[0].isalnum() else ""
    after = "(?![a-z0-9])" if phrase[-1].isascii() and phrase[-1].isalnum() else ""
    words = r"[^\w]{1,8}".join(map(re.escape, phrase.split()))
    return f"{before}{words}{after}"


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


class ErasedTraces:
    """What tells that bytes hold an erased text.

    Args:
        texts: The erased texts.
        words: Words that the caller named.
    """

    def __init__(self, texts: Iterable[str], words: Sequence[str] = ()) -> None:
        self.texts, self._words = tuple(dict.fromkeys(texts)), Wanted(words)
        found = {window for text in self.texts for window in windows(text)}
        found |= {form for word in words for form in _forms(word) if len(form) >= LEAST_WORD}
        self._heads: dict[bytes, list[bytes]] = defaultdict(list)
        for pattern in found:
            self._heads[pattern[:_HEAD]].append(pattern)
        self._longest = max(map(len, found), default=1)
        self._numbers = np.array(
            sorted(int.from_bytes(head, "little") for head in self._heads), np.uint32
        )

    def occur_in(self, text: str, *, or_part: bool = False) -> bool:
        """Whether a text holds a word, a run of an erased text, or (``or_part``) is a part of one."""
        if self._words.are_in(text):
            return True
        text = text.strip()
        data = _bytes(text)
        is_part = or_part and any(text in each for each in self.texts)
        return len(data) >= LEAST and (is_part or bool(self._in_bytes(data)))

    def left_in(
        self, journal: Journal, files: Sequence[Path], threads: Iterable[ThreadKey]
    ) -> tuple[Searched, tuple[Trace, ...]]:
        """Search the memory's files byte by byte, and the rows of the threads that changed.

        What a message that stays says in its own right is no trace.
        """
        hits = {str(path): self._in_file(path) for path in files}
        size = sum(path.stat().st_size for path in files if path.exists())
        rows = (row for key in dict.fromkeys(threads) for row in _rows(journal, key))
        count = 0
        for where, value in rows:
            count += 1
            named = {b""} if self._words.are_in(value) else set[bytes]()
            hits[where] = named | self._in_bytes(_bytes("\x00".join(strings_of(value))))
        return Searched(len(files), size, count), tuple(_unexplained(journal, hits))

    def _in_bytes(self, data: bytes) -> set[bytes]:
        return {
            pattern
            for at in self._places(data)
            for pattern in self._heads[data[at : at + _HEAD]]
            if data.startswith(pattern, at)
        }

    def _places(self, data: bytes) -> Iterator[int]:
        for shift in range(_HEAD if len(self._numbers) else 0):
            count = (len(data) - shift) // _HEAD
            if count < 1:
                return
            numbers = np.frombuffer(data, np.dtype("<u4"), count, shift)
            hits = np.flatnonzero(np.isin(numbers, self._numbers))
            yield from (shift + int(hit) * _HEAD for hit in hits)

    def _in_file(self, path: Path) -> set[bytes]:
        """Return the patterns that a file holds."""
        what, hint = "a file cannot be searched", "give this user read access, and erase again"
        found, rest = set[bytes](), b""
        translated = file_errors(StoreError, what, where=path, hint=hint)
        with translated, suppress(FileNotFoundError), path.open("rb") as file:
            while block := file.read(_BLOCK):
                found |= self._in_bytes(rest + block)
                rest = (rest + block)[-self._longest :]
        return found


def _rows(journal: Journal, key: ThreadKey) -> Iterator[tuple[str, object]]:
    for branch in branches_of(journal, key):
        for each in journal.commits(key, branch):
            if each.record is not None or each.state is not None:
                where = f"{key}, branch {branch}, version {each.version}"
                yield where, [each.record, each.state]


def _unexplained(journal: Journal, hits: Mapping[str, set[bytes]]) -> Iterator[Trace]:
    """Yield the places with something that no message holds which stays."""
    if not any(hits.values()):
        return
    kept = (each.message.text for key in journal.threads() for each in rows_of(journal, key))
    said = _bytes("\n".join(kept))
    for where, each in hits.items():
        if left := {pattern for pattern in each if not pattern or pattern not in said}:
            yield Trace(where, f"{len(left)} of the erased pieces")


def windows(text: str) -> Iterator[bytes]:
    """Yield the pieces of a text to search for: as it is between what JSON escapes, and as JSON escapes all of it."""
    escaped = () if text.isascii() else (json.dumps(text)[1:-1],)
    for piece in (*text.translate(_CONTROLS).split('"'), *escaped):
        data = _bytes(piece.strip())
        if len(data) >= LEAST:
            last = max(len(data) - WINDOW, 0)
            yield from (data[at : at + WINDOW] for at in (*range(0, last, STEP), last))


def _forms(word: str) -> set[bytes]:
    """Return the bytes of a word, its accents in one character or apart, and as JSON escapes it."""
    typed = {word, *(unicodedata.normalize(form, word) for form in ("NFC", "NFD"))}
    return {form for each in typed for form in (_bytes(each), json.dumps(each)[1:-1].encode())}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
