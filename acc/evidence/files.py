"""Files that a memory takes in and gives out: documents, exports, and heads to be kept elsewhere.

A document is a text that recall finds beside a conversation, in parts. It lies in a thread of its scope
(`acc.journal.names.home`): nobody's in particular, a user's, an agent's, or both. Its ref is ``doc.`` and ten digits
over name and text; a part's has its number, too. The same again writes nothing.

An export holds threads as JSON lines that `jq` and another memory read, with the chain of hashes
(`acc.journal.exchange`). Who rewrites a journal rewrites its heads, too, unless they lie elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from acc.artifacts.store import parts as pieces
from acc.controller.memory import OpenMemory
from acc.errors import InputError, StoreError
from acc.evidence.base import Base, groups_of
from acc.folders import expanded, file_errors, opened_private, private_folder
from acc.journal import Head, ThreadKey
from acc.journal.names import MAIN, Key, home, is_home, whole_of
from acc.state.tail import Message
from acc.turn.observations import DOCUMENT, Channel, Observation, storable

PART_BYTES = 2_000
"""Bytes of a part, at most: some paragraphs. Recall then finds the passage."""

_NO_WORDS = "name a file with text"


@dataclass(frozen=True)
class Ingested:
    """What became of a document: whether it was written now, and how many parts of earlier ones were deleted."""

    name: str
    ref: str
    parts: int
    is_new: bool
    replaced: int = 0


@dataclass(frozen=True)
class Document:
    """A document of the memory, and when it came in."""

    thread: ThreadKey
    name: str
    ref: str
    parts: int
    at: str


@dataclass(frozen=True)
class Exported:
    """An export: the file, and how many threads and lines it holds."""

    path: Path
    threads: int
    lines: int


class Files(Base):
    """Takes documents and exports in, and writes exports and heads."""

    def ingest(
        self, paths: Path | str | Iterable[Path | str], *, replace: bool = False, **scope: str
    ) -> tuple[Ingested, ...]:
        """Ingest files of text in UTF-8.

        Recall finds them in every thread of the scope from its next turn on. The same again writes nothing.

        Args:
            paths: The files. A document's name is its path.
            replace: Whether earlier documents of the same name are deleted.
            scope: Whose it is: ``tenant``, ``user`` and ``agent``; without a name everybody's.

        Raises:
            InputError: A file cannot be read.
        """
        given = [paths] if isinstance(paths, Path | str) else paths
        read = [(path.as_posix(), text_of(path)) for path in dict.fromkeys(map(Path, given))]
        if empty := [name for name, text in read if not text.strip()]:
            raise InputError("there are no words in it", where=empty[0], hint=_NO_WORDS)
        return tuple(self.ingest_text(*each, replace=replace, **scope) for each in read)

    def ingest_text(self, name: str, text: str, *, replace: bool = False, **scope: str) -> Ingested:
        """Ingest a text; arguments are those of `ingest`.

        Raises:
            InputError: There are no words in it.
        """
        key, journal, index = home(**scope), self.journal, self.memory.index
        messages = list(_messages(self.memory, name, text))
        if not messages:
            raise InputError("there are no words in it", where=name, hint=_NO_WORDS)
        ref, title = whole_of(messages[0].ref), messages[0].observation.name
        earlier = [
            each for group in groups_of(journal, key) for each in group.rows
            if each.message.observation.name == title and group.ref != ref
        ]  # fmt: skip
        done = journal.ingest(key, messages)
        if done.is_new:
            index.committed(key, MAIN)
        if replace:
            journal.prune(key, [(each.branch, each.seq) for each in earlier])
            index.clean()  # what it cannot reach now, the next deletion does
        return Ingested(name, ref, len(messages), done.is_new, len(earlier) if replace else 0)

    def documents(self, **scope: str | None) -> tuple[Document, ...]:
        """Return the documents of a scope."""
        homes = filter(is_home, self.threads(**scope))
        groups = (group for key in homes for group in groups_of(self.journal, key))
        return tuple(
            Document(group.thread, first.observation.name, group.ref, len(group.rows), first.at)
            for group in groups
            for first in [group.rows[0].message]
        )

    def lines(self, *, thread: Key | None = None, **scope: str | None) -> Iterator[str]:
        """Yield threads as JSON lines, with the chain."""
        return chain.from_iterable(map(self.journal.export, self.threads(thread, **scope)))

    def export(self, to: Path | str, *, thread: Key | None = None, **scope: str | None) -> Exported:
        """Write threads to a new file of JSON lines.

        Raises:
            InputError: There is no such thread, or the file is there.
            StoreError: It cannot be written.
        """
        file, keys, count = expanded(to), list(self.threads(thread, **scope)), 0
        if not keys:
            hint = "acc threads lists the threads"
            raise InputError("there is no such thread", where=str(file), hint=hint)
        if file.exists():
            what, hint = "the file is there already", "name a new one"
            raise InputError(what, where=str(file), hint=hint)
        what, hint = "the export cannot be written", "check the disk"
        with file_errors(StoreError, what, where=file, hint=hint):
            private_folder(file.parent)
            with opened_private(file, "xb") as out:
                try:
                    for line in self.lines(thread=thread, **scope):
                        out.write(f"{line}\n".encode())
                        count += 1
                except BaseException:  # a part of an export is none
                    file.unlink()
                    raise
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
                    self.memory.index.refill(key, head.branch)
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


def _messages(memory: OpenMemory[Any], name: str, text: str) -> Iterator[Message]:
    clean = memory.core.redact or (lambda text: text)
    name, text = clean(storable(name))[:400], clean(storable(text))
    digest = hashlib.sha256(f"{name}\x00{text}".encode()).hexdigest()[:10]
    texts = (piece for piece in pieces(text, PART_BYTES) if piece.strip())
    for number, piece in enumerate(texts, 1):
        seen = Observation(
            channel=Channel.DOCUMENT, text=piece, name=name, ref=f"{DOCUMENT}{digest}.{number}",
            at=memory.now(),
        )  # fmt: skip
        yield Message(seen, 0, seen.at)


def text_of(path: Path) -> str:
    """Return the text of a file."""
    what = "the file cannot be read as text"
    hint = "name files of text in UTF-8; give what another library reads of others to ingest_text"
    with file_errors(InputError, what, where=path, hint=hint, besides=(UnicodeDecodeError,)):
        return path.read_text("utf-8-sig")


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


def _read(path: Path) -> Iterator[str]:
    what, hint = "the file cannot be read", "give a file that acc export wrote, unpacked"
    damaged = (UnicodeDecodeError,)
    with (
        file_errors(InputError, what, where=path, hint=hint, besides=damaged),
        path.open(encoding="utf-8") as file,
    ):
        yield from file
