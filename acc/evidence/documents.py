"""Documents: files and texts that recall finds beside a conversation, in parts of a few paragraphs.

A document lies in a thread of its scope (`acc.controller.documents`): nobody's in particular, a user's, an
agent's, or both. Its ref is ``doc.`` and ten digits over name and text; a part's has its number, too. The same again
writes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc.artifacts.protocol import Artifact
from acc.artifacts.rows import parts as pieces
from acc.controller.documents import home, is_home, whole_of
from acc.controller.settings import Parts
from acc.errors import InputError
from acc.evidence.base import Base
from acc.evidence.parsing import files_of, text_of
from acc.journal import Journal, StoredMessage, ThreadKey
from acc.journal.names import MAIN
from acc.journal.opened import Key, key_of
from acc.tail import Message
from acc.turn.observations import DOCUMENT, Channel, Observation, storable

AROUND = 120
"""Characters that are shown on either side of the first word."""

PART_BYTES = 2_000
"""Bytes of a part, at most: some paragraphs. Recall then finds the passage."""


@dataclass(frozen=True)
class Ingested:
    """What became of a document.

    Attributes:
        name: Its name.
        ref: Its ref.
        parts: How many parts it has.
        is_new: Whether it was written now.
        replaced: Parts of earlier documents of this name that were deleted.
    """

    name: str
    ref: str
    parts: int
    is_new: bool
    replaced: int = 0


@dataclass(frozen=True)
class Document:
    """A document of the memory: its thread, name, ref, number of parts, and when it came in."""

    thread: ThreadKey
    name: str
    ref: str
    parts: int
    at: str


@dataclass(frozen=True)
class Hit:
    """A message that holds all the words; ``text`` is the passage around the first."""

    thread: ThreadKey
    branch: str
    ref: str
    channel: str
    name: str
    at: str
    text: str


class Documents(Base):
    """Ingests, lists and searches."""

    def ingest(
        self, paths: Path | str | Iterable[Path | str], *, replace: bool = False, **scope: str
    ) -> tuple[Ingested, ...]:
        """Ingest files, or the documents below folders: text, Markdown, HTML, PDF (the extra ``pdf``).

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
        earlier = [each for each in parts_of(journal, key)
                   if each.message.observation.name == title and whole_of(each.message.ref) != ref]  # fmt: skip
        done = journal.ingest(key, messages)
        if done.is_new:
            rows = journal.messages(key, done.first)
            added = [
                Artifact(each.message, MAIN, each.seq) for each in rows if each.seq <= done.last
            ]
            index.committed(key, MAIN, added)
        if replace:
            journal.prune(key, [(each.branch, each.seq) for each in earlier], "replaced")
            index.clean()
        return Ingested(name, ref, len(messages), done.is_new, len(earlier) if replace else 0)

    def documents(self, **scope: str | None) -> tuple[Document, ...]:
        """Return the documents of a scope."""
        listed: list[Document] = []
        for key in filter(is_home, self.threads(**scope)):
            found: dict[str, list[Message]] = {}
            for each in parts_of(self.journal, key):
                found.setdefault(whole_of(each.message.ref), []).append(each.message)
            listed += [
                Document(key, own[0].observation.name, ref, len(own), own[0].at)
                for ref, own in found.items()
            ]
        return tuple(listed)

    def search(
        self, words: str, *, thread: Key | None = None, limit: int = 20, **scope: str | None
    ) -> tuple[Hit, ...]:
        """Return the newest messages and passages of documents that hold all the words, in any case.

        Raises:
            InputError: There are no words.
        """
        wanted = words.split()
        if not wanted:
            raise InputError("there are no words to search for", where="search", hint="name some")
        key = key_of(thread) if thread is not None else None
        names = {name: value for name, value in scope.items() if value is not None}
        return tuple(
            Hit(
                where, branch, message.ref, message.channel.value, message.observation.name,
                message.at, _passage(message.text, wanted[0]),
            )
            for where, branch, message in self.journal.holding(wanted, limit, key, names)
        )  # fmt: skip


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


def parts_of(journal: Journal, key: ThreadKey) -> Iterator[StoredMessage]:
    """Yield the parts of the documents of a thread that are not erased."""
    return (each for each in journal.messages(key) if each.digest)


def _passage(text: str, word: str) -> str:
    at = max(0, text.casefold().find(word.casefold()))
    first, last = max(0, at - AROUND), at + len(word) + AROUND
    cut = " ".join(text[first:last].split())
    return f"{'[...] ' if first else ''}{cut}{' [...]' if last < len(text) else ''}"
