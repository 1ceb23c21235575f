"""The lines of one audit log in a folder: a file of the newest lines, and compressed segments of older ones.

A log of the name ``NAME`` is the file ``NAME`` and, once that has grown, the folder ``NAME.d`` with the
segments ``000001.gz``, ``000002.gz``, and so on. The records of a thread repeat each other: a segment has about a
fifth of the size of its lines.

A segment is written whole before the file is cut, and the file is made whole again before segments are
deleted, newest first. A kill in between leaves segments whose lines the file has, too. A first line tells: the
segment that begins with the file's first line, and those after it, do not count. Other files of the folder are
no segments; a segment that is missing, damaged or a link is an error.

Readers take no lock. Whoever calls `rotate`, `join` or `remove` holds the folder's lock.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from acc.errors import AuditError
from acc.folders import private_folder, replace_file

LONGEST = 4 << 20
"""Size in bytes from which the file of a log is cut."""

MOST = 256 << 20
"""Maximum size in bytes of the lines of a segment. A reader may hold all of them in memory."""

HALF = ".half"
"""Suffix of a file that is being written."""

_FOLDER = ".d"
_SEGMENT = re.compile(r"\d{6,}\.gz", re.ASCII)
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
    if older and len(max(older, key=len)) <= MOST - LONGEST:  # readers would refuse the segment
        folder = private_folder(folder_of(path))
        for number, part in enumerate(_parts(older), len(_segments_of(path)) + 1):
            _write(folder / _name(number), [gzip.compress(b"".join(part))], sync=sync)
        _write(path, [newest], sync=sync)


def join(path: Path) -> None:
    """Make the file of a log whole again, and delete its segments."""
    if _segments_of(path):
        _write(path, lines(path), sync=True)
    remove(path)


def drop_unused(path: Path) -> None:
    """Delete segments whose lines the file has, too, and incomplete ones: a kill left them."""
    if not folder_of(path).is_dir():
        return
    with _opened(path) as (file, segments):
        used = len(_used(segments, file.readline()))
    for unused in (*reversed(_segments_of(path)[used:]), *folder_of(path).glob(f"*{HALF}")):
        unused.unlink()


def remove(path: Path) -> None:
    """Delete the segments of a log, newest first: what a kill leaves still begins with the first one."""
    with suppress(FileNotFoundError, NotADirectoryError):
        for segment in reversed(_segments_of(path)):
            segment.unlink()
        shutil.rmtree(folder_of(path))


def files_of(path: Path) -> list[Path]:
    """Return the files of a log that exists: its segments, and the file of its newest lines."""
    return [*_segments_of(path), path]


def has_segments(path: Path) -> bool:
    """Return whether there are segments of a log, even without its file."""
    return bool(_segments_of(path))


def readable(path: Path) -> IO[bytes]:
    """Open any file to read its bytes; those of a segment are decompressed."""
    is_segment = _SEGMENT.fullmatch(path.name) and path.parent.suffix == _FOLDER
    return cast("IO[bytes]", gzip.open(path)) if is_segment else path.open("rb")


def folder_of(path: Path) -> Path:
    """Return the folder of a log's segments."""
    return path.with_name(path.name + _FOLDER)


def _segments_of(path: Path) -> list[Path]:
    found = (each for each in folder_of(path).glob("*.gz") if _SEGMENT.fullmatch(each.name))
    return sorted(found, key=lambda each: int(each.stem))


def _name(number: int) -> str:
    return f"{number:06}.gz"


def _parts(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Yield the lines in parts of about `LONGEST` bytes."""
    part: list[bytes] = []
    size = 0
    for line in lines:
        part.append(line)
        size += len(line)
        if size >= LONGEST:
            yield part
            part, size = [], 0
    if part:
        yield part


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], list[IO[bytes]]]]:
    """Yield the open files of a log at one moment: that of its newest lines, and its segments, oldest first."""
    if path.is_fifo():  # to open it would wait for ever
        raise AuditError(
            "the audit log is a pipe, and no file", where=str(path), hint="move it elsewhere"
        )
    while True:
        with ExitStack() as stack:
            file: IO[bytes] = stack.enter_context(path.open("rb"))
            try:
                found = _segments_of(path)
                segments: list[IO[bytes]] = [
                    stack.enter_context(_opened_segment(each)) for each in found
                ]
                is_whole = path.stat().st_ino == os.fstat(file.fileno()).st_ino
                is_whole = is_whole and found == _segments_of(path)
            except FileNotFoundError:
                is_whole = False
            if is_whole:  # otherwise it was rotated, rewritten or deleted meanwhile
                yield file, segments
                return


def _opened_segment(segment: Path) -> IO[bytes]:
    # A pipe would wait for ever, and an erasure would not reach what is behind a link.
    if not stat.S_ISREG(segment.lstat().st_mode):
        raise _damaged(str(segment), "it is a link, or no file")
    return segment.open("rb")


def _used(segments: list[IO[bytes]], first: bytes) -> list[IO[bytes]]:
    """Return the segments that come before the file that begins with the line ``first``."""
    for number, segment in enumerate(segments):
        if Path(segment.name).name != (name := _name(number + 1)):
            raise _damaged(str(Path(segment.name).with_name(name)), "it is missing")
        if next(_lines_in(segment)) == first:
            return segments[:number]
    return segments


def _lines_in(segment: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a segment: at least one."""
    segment.seek(0)
    left = MOST
    try:
        with gzip.open(segment) as read:
            while line := read.readline(left + 1):
                if (left := left - len(line)) < 0:
                    raise _damaged(segment.name, f"it expands to more than {MOST:,} bytes")
                if not line.endswith(b"\n"):
                    raise _damaged(segment.name, "its last line has no end")
                yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(segment.name, str(error)) from error
    if left == MOST:
        raise _damaged(segment.name, "it is empty")


def _damaged(where: str, why: str) -> AuditError:
    return AuditError(
        f"a segment of the audit log is damaged: {why}",
        where=where,
        hint="restore the audit log, with its folder of segments, from a backup",
    )


def _tail_first(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of an open file, last first, without reading the whole file."""
    position = file.seek(0, os.SEEK_END)
    later: list[bytes] = []  # the rest of a line whose beginning is not read yet, last part first
    while position > 0:
        size = min(_CHUNK, position)
        position -= size
        file.seek(position)
        later.append(file.read(size))
        if position > 0 and b"\n" not in later[-1]:
            continue  # joined once: a long line would be copied for each of its parts
        found = b"".join(reversed(later)).splitlines(keepends=True)
        later = []
        if position > 0:
            later, found = found[:1], found[1:]
        yield from reversed(found)


def _write(path: Path, chunks: Iterable[bytes], *, sync: bool) -> None:
    replace_file(path, chunks, half=path.with_name(path.name + HALF), sync=sync)
