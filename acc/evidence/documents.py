"""Documents: files of text and Markdown, and texts, that recall finds beside a conversation, in parts.

A document lies in a thread of its scope (`acc.journal.names.home`): nobody's in particular, a user's, an
agent's, or both. Its ref is ``doc.`` and ten digits over name and text; a part's has its number, too. The same again
writes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc.artifacts.rows import Artifact
from acc.artifacts.rows import parts as pieces
from acc.controller.settings import Parts
from acc.errors import InputError
from acc.evidence.base import Base, groups_of
from acc.folders import file_errors
from acc.journal import ThreadKey
from acc.journal.names import MAIN, home, is_home, whole_of
from acc.state.tail import Message
from acc.turn.observations import DOCUMENT, Channel, Observation, storable

LARGEST = 64 * 1024 * 1024
"""Limit, in bytes, of a file."""

KINDS = (".log", ".markdown", ".md", ".text", ".txt")
"""Files that are taken of a folder."""

PART_BYTES = 2_000
"""Bytes of a part, at most: some paragraphs. Recall then finds the passage."""


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


class Documents(Base):
    """Ingests documents, and lists them."""

    def ingest(
        self, paths: Path | str | Iterable[Path | str], *, replace: bool = False, **scope: str
    ) -> tuple[Ingested, ...]:
        """Ingest files of text in UTF-8, or the text and Markdown files below folders.

        Recall finds them in every thread of the scope from its next turn on. The same again writes nothing.

        Args:
            paths: The files. A document's name is its path.
            replace: Whether earlier documents of the same name are deleted.
            scope: Whose it is: ``tenant``, ``user`` and ``agent``; without a name everybody's.

        Raises:
            InputError: A file cannot be read.
        """
        read = [(path.as_posix(), text_of(path)) for path in files_of(paths)]
        return tuple(self.ingest_text(*each, replace=replace, **scope) for each in read)

    def ingest_text(self, name: str, text: str, *, replace: bool = False, **scope: str) -> Ingested:
        """Ingest a text; arguments are those of `ingest`.

        Raises:
            InputError: There are no words in it.
        """
        key, journal, index = home(**scope), self.journal, self.parts.index
        messages = list(_messages(self.parts, name, text))
        if not messages:
            raise InputError("there are no words in it", where=name, hint="name a file with text")
        ref, title = whole_of(messages[0].ref), messages[0].observation.name
        earlier = [
            each for group in groups_of(journal, key) for each in group.rows
            if each.message.observation.name == title and group.ref != ref
        ]  # fmt: skip
        done = journal.ingest(key, messages)
        if done.is_new:
            rows = journal.messages(key, done.first)
            added = [
                Artifact(each.message, MAIN, each.seq) for each in rows if each.seq <= done.last
            ]
            index.committed(key, MAIN, added)
        if replace:
            journal.prune(key, [(each.branch, each.seq) for each in earlier])
            index.clean()
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


def _messages(parts: Parts[Any], name: str, text: str) -> Iterator[Message]:
    clean = parts.redact or (lambda text: text)
    name, text = clean(storable(name))[:400], clean(storable(text))
    digest = hashlib.sha256(f"{name}\x00{text}".encode()).hexdigest()[:10]
    texts = (piece for piece in pieces(text, PART_BYTES) if piece.strip())
    for number, piece in enumerate(texts, 1):
        seen = Observation(
            channel=Channel.DOCUMENT, text=piece, name=name, ref=f"{DOCUMENT}{digest}.{number}",
            at=parts.now(),
        )  # fmt: skip
        yield Message(seen, 0, seen.at)


def files_of(paths: Path | str | Iterable[Path | str]) -> list[Path]:
    """Return the files that paths name; of a folder, those of text below it that are not hidden."""
    given = [paths] if isinstance(paths, Path | str) else paths
    found: list[Path] = []
    for path in map(Path, given):
        inside = [path] if path.is_file() else _below(path)
        if not inside:
            raise InputError(
                "this path is no file, and no folder with documents", where=str(path),
                hint=f"name files, or a folder with files of these kinds: {' '.join(KINDS)}",
            )  # fmt: skip
        found += inside
    return list(dict.fromkeys(found))


def _below(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*")
        if path.is_file() and path.suffix.lower() in KINDS
        and not any(name.startswith(".") for name in path.relative_to(folder).parts)
    )  # fmt: skip


def text_of(path: Path) -> str:
    """Return the text of a file."""
    where, what = str(path), "the file cannot be read"
    with file_errors(InputError, what, where=path, hint="name a readable file"):
        if path.stat().st_size > LARGEST:
            what, hint = f"the file is larger than {LARGEST >> 20} MB", "split it, ingest the parts"
            raise InputError(what, where=where, hint=hint)
        data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "save its text as UTF-8; give what another library reads of it to ingest_text"
        raise InputError("the file is no text", where=where, hint=hint) from error
    if not text.strip():
        raise InputError("the file contains no text", where=where, hint="name a file with text")
    return text
