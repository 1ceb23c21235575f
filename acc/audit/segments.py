"""The lines of one audit log in a folder: a file of the newest lines, and compressed segments of older ones.

A log of the name ``NAME`` is the file ``NAME`` and, once that has grown, the folder ``NAME.d`` with the
segments ``000001.gz``, ``000002.gz``, and so on. The records of a thread repeat each other: a segment has about a
fifth of the size of its lines.

A segment is written whole before the file is cut, and the file is made whole again before segments are
deleted. A kill in between leaves segments whose lines the file has, too. A first line tells: the segment that
begins with the file's first line, and those after it, do not count.

Readers take no lock. Whoever calls `rotate`, `join` or `remove` holds the folder's lock.
"""

from __future__ import annotations

import gzip
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from acc.errors import AuditError
from acc.folders import opened_private, private_folder, sync_folder, synced

LONGEST = 4 << 20
"""Size in bytes from which the file of a log is cut."""

HALF = ".half"
"""Suffix of a file that is being written."""

_FOLDER = ".d"
_SEGMENT = ".gz"
_CHUNK = 1 << 16


def lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a log, oldest first; none if there is no such log."""
    if path.exists():
        with _opened(path) as (file, segments):
            first = file.readline()
            for segment in _used(segments, first):
                yield from _lines_in(segment)
            if first:
                yield first
            yield from file


def newest_first(path: Path) -> Iterator[bytes]:
    """Yield the lines of a log, newest first. Who stops early reads only the end of the file."""
    if path.exists():
        with _opened(path) as (file, segments):
            yield from _tail_first(file)
            if segments:
                file.seek(0)
                for segment in reversed(_used(segments, file.readline())):
                    yield from reversed(list(_lines_in(segment)))


def last(path: Path) -> bytes | None:
    """Return the last line of a log's file, or None if it has none."""
    with path.open("rb") as file:
        return next(_tail_first(file), None)


def rotate(path: Path, *, sync: bool) -> None:
    """Move all lines but the last of a log's file into a new segment, if the file has grown to `LONGEST`.

    ``sync`` makes what is written survive a power cut.
    """
    if path.stat().st_size < LONGEST:
        return
    drop_unused(path)
    with path.open("rb") as file:
        *older, newest = file
    if older:
        folder = private_folder(_folder_of(path))
        name = f"{len(_segments_of(path)) + 1:06}{_SEGMENT}"
        _write(folder / name, [gzip.compress(b"".join(older))], sync=sync)
        _write(path, [newest], sync=sync)


def join(path: Path) -> None:
    """Make the file of a log whole again, and delete its segments."""
    if _segments_of(path):
        _write(path, lines(path), sync=True)
    remove(path)


def drop_unused(path: Path) -> None:
    """Delete segments whose lines the file has, too, and incomplete ones: a kill left them."""
    if not _folder_of(path).is_dir():
        return
    with _opened(path) as (file, segments):
        used = len(_used(segments, file.readline()))
    for unused in (*_segments_of(path)[used:], *_folder_of(path).glob(f"*{HALF}")):
        unused.unlink()


def remove(path: Path) -> None:
    """Delete the segments of a log."""
    with suppress(FileNotFoundError, NotADirectoryError):
        shutil.rmtree(_folder_of(path))


def files_of(path: Path) -> list[Path]:
    """Return the files of a log that exists: its segments, and the file of its newest lines."""
    return [*_segments_of(path), path]


def has_segments(path: Path) -> bool:
    """Return whether there are segments of a log, even without its file."""
    return bool(_segments_of(path))


def readable(path: Path) -> IO[bytes]:
    """Open any file to read its bytes; those of a segment are decompressed."""
    is_segment = path.suffix == _SEGMENT and path.parent.suffix == _FOLDER
    return cast("IO[bytes]", gzip.open(path)) if is_segment else path.open("rb")


def _folder_of(path: Path) -> Path:
    return path.with_name(path.name + _FOLDER)


def _segments_of(path: Path) -> list[Path]:
    return sorted(_folder_of(path).glob(f"*{_SEGMENT}"))


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], list[IO[bytes]]]]:
    """Yield the open files of a log at one moment: that of its newest lines, and its segments, oldest first."""
    while True:
        with ExitStack() as stack:
            file: IO[bytes] = stack.enter_context(path.open("rb"))
            try:
                segments: list[IO[bytes]] = [
                    stack.enter_context(each.open("rb")) for each in _segments_of(path)
                ]
                is_whole = path.stat().st_ino == os.fstat(file.fileno()).st_ino
            except FileNotFoundError:
                is_whole = False
            if is_whole:  # otherwise it was rotated, rewritten or deleted meanwhile
                yield file, segments
                return


def _used(segments: list[IO[bytes]], first: bytes) -> list[IO[bytes]]:
    """Return the segments that come before the file that begins with the line ``first``."""
    for number, segment in enumerate(segments):
        if next(_lines_in(segment), b"") == first:
            return segments[:number]
    return segments


def _lines_in(segment: IO[bytes]) -> Iterator[bytes]:
    segment.seek(0)
    try:
        with gzip.open(segment) as read:
            yield from read
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise AuditError(
            f"a segment of the audit log is damaged: {error}",
            where=segment.name,
            hint="restore the audit log, with its folder of segments, from a backup",
        ) from error


def _tail_first(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of an open file, last first, without reading the whole file."""
    position = file.seek(0, os.SEEK_END)
    rest = b""
    while position > 0:
        size = min(_CHUNK, position)
        position -= size
        file.seek(position)
        rest = file.read(size) + rest
        found = rest.splitlines(keepends=True)
        if position > 0:
            rest, found = found[0], found[1:]
        yield from reversed(found)


def _write(path: Path, chunks: Iterable[bytes], *, sync: bool) -> None:
    half = path.with_name(path.name + HALF)
    with opened_private(half) as file:
        file.writelines(chunks)
        if sync:
            synced(file)
    half.replace(path)
    if sync:
        sync_folder(path.parent)
