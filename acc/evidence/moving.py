"""What leaves a memory and comes into it: exports, and heads to be kept elsewhere.

An export holds threads as JSON lines that `zcat`, `jq` and another memory read, with the chain of hashes
(`acc.journal.exchange`). It is noted: an erasure names the files that may still hold the words. Who rewrites a
journal rewrites its heads, too, unless they lie elsewhere.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from acc.errors import InputError, StoreError
from acc.evidence.base import Base
from acc.folders import expanded, file_errors, opened_private, private_folder
from acc.journal import Head, ThreadKey
from acc.journal.names import Key


@dataclass(frozen=True)
class Exported:
    """An export: the file, and how many threads and lines it holds."""

    path: Path
    threads: int
    lines: int


class Moving(Base):
    """Exports, imports, heads."""

    def lines(self, *, thread: Key | None = None, **scope: str | None) -> Iterator[str]:
        """Yield threads as JSON lines, with the chain."""
        return chain.from_iterable(map(self.journal.export, self.threads(thread, **scope)))

    def export(self, to: Path | str, *, thread: Key | None = None, **scope: str | None) -> Exported:
        """Write threads to a new file of JSON lines, compressed if its name ends with ``.gz``.

        Raises:
            InputError: There is no such thread, or the file is there.
            StoreError: It cannot be written.
        """
        file, keys, count = expanded(to), list(self.threads(thread, **scope)), 0
        if not keys:
            hint = "acc threads lists the threads"
            raise InputError("there is no such thread", where=str(file), hint=hint)
        with _created(file) as out:
            for line in self.lines(thread=thread, **scope):
                out.write(f"{line}\n".encode())
                count += 1
        self.journal.note_copy(str(file.absolute()), f"an export of {len(keys)} threads")
        return Exported(file, len(keys), count)

    def import_(self, source: Path | str | Iterable[str]) -> tuple[ThreadKey, ...]:
        """Write the threads of an export, a file or lines, all or nothing.

        Raises:
            InputError: It is no export, or it was changed.
            ConflictError: A thread is in the memory already.
        """
        lines = _read(expanded(source)) if isinstance(source, str | Path) else source
        keys = self.journal.import_(lines)
        for key in keys:
            for head in self.journal.branches(key):
                with suppress(StoreError):  # it lags, and `health` says so
                    self.parts.index.refill(key, head.branch)
        return keys

    def write_heads(self, out: Path | str, **scope: str | None) -> int:
        """Write the heads of a scope to a file, to be kept elsewhere, a JSON line each; return how many.

        `read_heads` reads them, and `acc.journal.journal.Journal.verify` checks them.

        Raises:
            StoreError: It cannot be written.
        """
        keys, file, what = set(self.threads(**scope)), expanded(out), "the heads cannot be written"
        heads = [head for head in self.journal.heads() if head.thread in keys and head.hash]
        with (
            file_errors(StoreError, what, where=file, hint="check the disk"),
            opened_private(file, "w", encoding="utf-8") as lines,
        ):
            for head in heads:
                own = {"branch": head.branch, "version": head.version, "hash": head.hash}
                lines.write(json.dumps({**vars(head.thread), **own}, sort_keys=True) + "\n")
        return len(heads)


def read_heads(path: Path) -> tuple[Head, ...]:
    """Return the heads of a file.

    Raises:
        InputError: It is no file of heads.
    """
    hint = "give a file that acc heads --out wrote"
    damaged = (ValueError, KeyError, TypeError)
    what = "the heads cannot be read"
    with file_errors(InputError, what, where=path, hint=hint, besides=damaged):
        bodies = map(json.loads, filter(None, path.read_text(encoding="utf-8").splitlines()))
        return tuple(
            Head(_key(body), str(body["branch"]), str(body["hash"]), int(body["version"]))
            for body in bodies
        )


def _key(body: Any) -> ThreadKey:
    return ThreadKey(**{name: str(body[name]) for name in vars(ThreadKey(""))})


@contextmanager
def _created(to: Path) -> Iterator[IO[bytes]]:
    """Open a new file for its owner alone, packed if its name says so; what fails leaves none."""
    with file_errors(StoreError, "the export cannot be written", where=to, hint="check the disk"):
        private_folder(to.parent)
        try:
            file = opened_private(to, "xb")
        except FileExistsError as error:
            what = "the file is there already"
            raise InputError(what, where=str(to), hint="name a new one") from error
        try:
            with file:
                if to.suffix != ".gz":
                    yield file
                    return
                with gzip.GzipFile(to.stem, "wb", fileobj=file, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
        except BaseException:
            with suppress(OSError):
                to.unlink()
            raise


def _read(path: Path) -> Iterator[str]:
    opening: Any = gzip.open if path.suffix == ".gz" else open
    damaged = (EOFError, zlib.error, UnicodeDecodeError)
    hint = "give a file that acc export wrote"
    with (
        file_errors(InputError, "the file cannot be read", where=path, hint=hint, besides=damaged),
        opening(path, "rt", encoding="utf-8") as file,
    ):
        yield from file
