"""Documents: files and texts that recall finds beside a conversation, in parts of a few paragraphs.

A document lies in a thread of its scope (`acc.controller.documents`): nobody's in particular, a user's, an
agent's, or both. Its ref is ``doc.`` and ten digits over name and text; a part's has its number, too. The same again
writes nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from acc.artifacts.protocol import Artifact
from acc.controller.documents import document, home, is_home
from acc.controller.settings import Parts
from acc.errors import InputError
from acc.evidence.base import Base, missing
from acc.evidence.parsing import Section, files_of, sections
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
    """Ingests, lists, opens and searches."""

    def ingest(
        self,
        paths: Path | str | Iterable[Path | str],
        *,
        name: str = "",
        replace: bool = False,
        tenant: str = "",
        user: str = "",
        agent: str = "",
    ) -> tuple[Ingested, ...]:
        """Ingest files, or the documents below folders: text, Markdown, HTML, PDF (the extra ``pdf``).

        Recall finds them in every thread of the scope from its next turn on. The same again writes nothing.

        Args:
            paths: The files.
            name: Name of the document, if it is one file; by default its path.
            replace: Whether earlier documents of the same name are deleted.
            tenant: Whose it is.
            user: Whose it is; empty for every user's.
            agent: Whose it is; empty for every agent's.

        Raises:
            InputError: A file cannot be read, or ``name`` is given for several.
        """
        files = files_of(paths)
        if name and len(files) > 1:
            raise InputError("one name for several files", where=name, hint="leave it out")
        key = home(tenant, user, agent)
        read = [(name or path.as_posix(), sections(path)) for path in files]
        return tuple(self._ingested(key, each, found, replace=replace) for each, found in read)

    def ingest_text(
        self,
        name: str,
        text: str,
        *,
        replace: bool = False,
        tenant: str = "",
        user: str = "",
        agent: str = "",
    ) -> Ingested:
        """Ingest a text; arguments are those of `ingest`."""
        key = home(tenant, user, agent)
        return self._ingested(key, name, [Section(text)], replace=replace)

    def _ingested(
        self, key: ThreadKey, name: str, found: Sequence[Section], *, replace: bool
    ) -> Ingested:
        """Write a document, and prune those of the same name if it replaces them."""
        journal, index = self.journal, self.parts.index
        messages = list(_messages(self.parts, name, found))
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

    def open(self, ref: str, *, thread: Key) -> Message:
        """Return a document that a thread may read, or a part of it.

        Raises:
            InputError: There is none.
        """
        key = key_of(thread)
        own = self.journal.texts(key, [ref])
        if (found := own[0] if own else document(self.journal, key, ref)) is None:
            raise missing(f"evidence {ref!r}", key)
        return found

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


def _messages(parts: Parts[Any], name: str, found: Sequence[Section]) -> Iterator[Message]:
    clean = parts.redact or (lambda text: text)
    name, texts = clean(storable(name))[:400], [(s.place, clean(storable(s.text))) for s in found]
    whole = "\n".join(text for _, text in texts)
    digest = hashlib.sha256(f"{name}\x00{whole}".encode()).hexdigest()[:10]
    pieces = ((place, piece) for place, text in texts for piece in passages_of(text))
    for number, (place, piece) in enumerate(((p, t) for p, t in pieces if t.strip()), 1):
        seen = Observation(
            channel=Channel.DOCUMENT, text=piece, name=name, ref=f"{DOCUMENT}{digest}.{number}",
            message=place[:400], at=parts.now(),
        )  # fmt: skip
        yield Message(seen, 0, seen.at)


def whole_of(ref: str) -> str:
    """Return the ref of the document that a part's ref belongs to."""
    return ref.rpartition(".")[0]


def parts_of(journal: Journal, key: ThreadKey) -> Iterator[StoredMessage]:
    """Yield the parts of the documents of a thread that are not erased."""
    return (each for each in journal.messages(key) if each.digest)


def passages_of(text: str, limit: int = PART_BYTES) -> list[str]:
    """Cut a text between paragraphs, long ones between lines, longer ones anywhere; joined they are the text."""
    found = [""]
    for piece in _pieces(text, limit):
        if len((found[-1] + piece).encode()) <= limit:
            found[-1] += piece
        else:
            found.append(piece)
    return found


_ENDS = (r"\n\s*\n", r"\n", r" ")
"""What ends a paragraph, a line and a word."""


def _pieces(text: str, limit: int, ends: Sequence[str] = _ENDS) -> Iterator[str]:
    if len(text.encode()) <= limit:
        yield text
    elif ends:
        cuts = [0, *(found.end() for found in re.finditer(ends[0], text)), len(text)]
        for start, end in pairwise(cuts):
            yield from _pieces(text[start:end], limit, ends[1:])
    else:
        head = text.encode()[:limit].decode(errors="ignore")
        yield head
        yield from _pieces(text[len(head) :], limit, ())


def _passage(text: str, word: str) -> str:
    at = max(0, text.casefold().find(word.casefold()))
    first, last = max(0, at - AROUND), at + len(word) + AROUND
    cut = " ".join(text[first:last].split())
    return f"{'[...] ' if first else ''}{cut}{' [...]' if last < len(text) else ''}"
