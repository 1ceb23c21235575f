"""Documents: files and texts that recall finds beside a conversation, in parts of a few paragraphs.

A document lies in a thread of its scope (`acc.controller.documents`): nobody's in particular, a user's, an
agent's, or both. Its ref is ``doc.`` and ten digits over name and text; a part's has its number, too. The same again
writes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc.artifacts.protocol import Artifact
from acc.controller.documents import is_home
from acc.controller.parts import Parts
from acc.errors import InputError
from acc.evidence.parsing import READERS, Section
from acc.journal import Journal, StoredMessage, ThreadKey
from acc.journal.names import MAIN
from acc.tail import Message
from acc.turn.observations import DOCUMENT, Channel, Observation, storable

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


def ingest(
    parts: Parts[Any], key: ThreadKey, name: str, found: Sequence[Section], *, replace: bool
) -> Ingested:
    """Write a document, and prune those of the same name if it replaces them.

    Raises:
        InputError: It holds no words.
    """
    messages = list(_messages(parts, name, found))
    if not messages:
        raise InputError("there are no words in it", where=name, hint="name a file with text")
    ref = messages[0].ref.rpartition(".")[0]
    earlier = [each for each in parts_of(parts.journal, key)
               if each.message.observation.name == messages[0].observation.name
               and each.message.ref.rpartition(".")[0] != ref]  # fmt: skip
    done = parts.journal.ingest(key, messages)
    if done.is_new:
        rows = parts.journal.messages(key, done.first)
        added = [Artifact(each.message, MAIN, each.seq) for each in rows if each.seq <= done.last]
        parts.index.committed(key, MAIN, added)
    if replace:
        parts.journal.prune(key, [(each.branch, each.seq) for each in earlier], "replaced")
        parts.index.clean()
    return Ingested(name, ref, len(messages), done.is_new, len(earlier) if replace else 0)


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


def parts_of(journal: Journal, key: ThreadKey) -> Iterator[StoredMessage]:
    """Yield the parts of the documents of a thread that are not erased."""
    return (each for each in journal.messages(key) if each.digest)


def documents(journal: Journal, keys: Iterable[ThreadKey]) -> Iterator[Document]:
    """Yield the documents of some threads."""
    for key in (key for key in keys if is_home(key)):
        found: dict[str, list[StoredMessage]] = {}
        for each in parts_of(journal, key):
            found.setdefault(each.message.ref.rpartition(".")[0], []).append(each)
        for ref, own in found.items():
            first = own[0].message
            yield Document(key, first.observation.name, ref, len(own), first.at)


def passages_of(text: str, limit: int = PART_BYTES) -> list[str]:
    """Cut a text between paragraphs, long ones between lines, longer ones anywhere; joined they are the text."""
    found = [""]
    for piece in _pieces(text, limit):
        if len((found[-1] + piece).encode()) <= limit:
            found[-1] += piece
        else:
            found.append(piece)
    return found


def _pieces(text: str, limit: int) -> Iterator[str]:
    for paragraph in _paragraphs(text):
        if len(paragraph.encode()) <= limit:
            yield paragraph
            continue
        for line in paragraph.splitlines(keepends=True):
            while len(line.encode()) > limit:
                head = line.encode()[:limit].decode(errors="ignore")
                cut = head.rfind(" ") + 1 or len(head)
                yield line[:cut]
                line = line[cut:]
            yield line


def _paragraphs(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        if lines and not lines[-1].strip() and line.strip():
            yield "".join(lines)
            lines = []
        lines.append(line)
    yield "".join(lines)


def files_of(paths: Path | str | Iterable[Path | str]) -> list[Path]:
    """Return the files that paths name; of a folder, the documents below it.

    Raises:
        InputError: A path is no file, and no folder with documents.
    """
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    found: list[Path] = []
    for path in map(Path, given):
        inside = [path] if path.is_file() else _below(path)
        if not inside:
            raise InputError(
                "this path is no file, and no folder with documents", where=str(path),
                hint=f"name files of these kinds, or their folder: {' '.join(sorted(READERS))}",
            )  # fmt: skip
        found += inside
    return list(dict.fromkeys(found))


def _below(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*")
        if path.is_file() and path.suffix.lower() in READERS
        and not any(name.startswith(".") for name in path.relative_to(folder).parts)
    )  # fmt: skip
