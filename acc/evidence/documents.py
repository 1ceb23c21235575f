"""Documents: files ingested in parts, each with its provenance."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from acc.errors import ConflictError, InputError
from acc.evidence.addition import Addition, Judgement
from acc.evidence.marks import Marks, marks_of
from acc.evidence.parsing import READERS, Section, sections
from acc.evidence.unfinished import Intent, Prunes, begin_intent, bury, end_intent, open_intents
from acc.stores.directory import ensure_enrolled
from acc.stores.protocol import Artifact, ArtifactStore, Thread, split_text
from acc.stores.shelf import Shelf
from acc.turn.observations import DOCUMENT, Channel, storable
from acc.turn.redact import Redact, redactor

if TYPE_CHECKING:
    from acc.memory import Memory

INGEST = "ingest"
"""The act of the intents of ingests: parts are about to be written."""


class Partial(NamedTuple):
    """A document with an unfinished ingest: ``there`` of ``of`` parts are stored.

    ``ref`` is the common prefix of its parts' refs. ``name`` is "" if no part is stored.
    """

    space: Thread
    ref: str
    name: str
    there: int
    of: int

    @property
    def whole(self) -> bool:
        """Whether all parts were written, without a note of the end."""
        return self.there == self.of


def end_ingest(usage: Shelf, intent: Intent) -> None:
    """Note that the parts are written; a `ConflictError` if another process undid the ingest."""
    if intent.id not in {open_.id for open_ in open_ingests(usage)}:
        raise ConflictError(
            "another process undid the ingest of this document while it was running",
            where=f"{_ref_of(intent)} of user {usage.space.user!r}",
            hint="ingest the document again while no acc doctor is running",
        )
    end_intent(usage, intent)


def open_ingests(usage: Shelf, ref: str = "") -> list[Intent]:
    """Return unfinished ingests of all documents or of one."""
    return [i for i in open_intents(usage.records(), INGEST) if ref in ("", _ref_of(i))]


def partial_ingests(store: ArtifactStore, space: Thread) -> list[Partial]:
    """Return the documents of a namespace with an unfinished ingest."""
    return [document for _, _, document in _unfinished(store, space)]


def undo_ingests(store: ArtifactStore, space: Thread, now: Callable[[], str]) -> list[Partial]:
    """Undo unfinished ingests by deleting their parts; complete documents stay. Safe to repeat."""
    done = []
    for intent, parts, document in list(_unfinished(store, space)):
        if not document.whole:
            bury(store, space, [part.id for part in parts], now())
        end_intent(Shelf(store, space, "usage"), intent)
        done.append(document)
    return done


def _unfinished(
    store: ArtifactStore, space: Thread
) -> Iterator[tuple[Intent, list[Artifact], Partial]]:
    open_ = open_ingests(Shelf(store, space, "usage"))
    shelves = [Shelf(store, space, name) for name in ("documents", "quarantine")] if open_ else []
    known = [record for shelf in shelves for record in shelf.records()]
    for intent in open_:
        refs = set(intent.ids)
        parts = [record for record in known if record.ref in refs]
        name = parts[0].name if parts else ""
        yield intent, parts, Partial(space, _ref_of(intent), name, len(parts), len(refs))


def _ref_of(intent: Intent) -> str:
    return intent.ids[0].rpartition(".")[0] if intent.ids else ""


PART_BYTES = 2_000
"""Limit, in UTF-8 bytes, of one part: some paragraphs. Recall then finds the passage."""

AT_ONCE = 100
"""Number of parts that a store writes atomically; see `acc.stores.chroma.rows.BATCH`."""


@dataclass(frozen=True)
class Ingested:
    """The result of ingesting one file.

    Attributes:
        name: The file's name.
        ref: Common prefix of its parts' refs.
        parts: Number of parts written; 0 if all were stored before.
        judgement: The evaluator's judgement.
        replaced: Number of deleted parts of an earlier version.
        ended: Whether this finished an earlier, unfinished ingest.
    """

    name: str
    ref: str
    parts: int
    judgement: Judgement
    replaced: int = 0
    ended: bool = False


class Documents:
    """The documents of a namespace.

    Args:
        store: The store of the documents.
        space: The namespace (`acc.stores.directory.namespace`).
        now: Returns the time in the format of records.
        addition: Judges each file; ``all`` by default.
        marks: The place for notes of unfinished work (`acc.evidence.unfinished`).
        redact: Removes secrets, like `acc.pipeline.session.Settings.redact`.
    """

    def __init__(
        self,
        store: ArtifactStore,
        space: Thread,
        now: Callable[[], str],
        addition: Addition | None = None,
        *,
        marks: Marks | None = None,
        redact: Redact | Literal["secrets"] | None = "secrets",
    ) -> None:
        self.shelf = Shelf(store, space, "documents")
        self.quarantine = Shelf(store, space, "quarantine")
        self.addition = addition or Addition("all")
        self._redact = redactor(redact)
        self._now = now
        self._enrolled = False
        self._usage = Shelf(store, space, "usage")
        self._prunes = Prunes(self._usage, now, marks)

    @classmethod
    def of(cls, memory: Memory, space: Thread, addition: Addition | None = None) -> Self:
        """Return the documents of a namespace of ``memory``."""
        marks = marks_of(memory)
        return cls(
            memory.artifacts, space, memory._now, addition, marks=marks, redact=memory._redact
        )

    def ingest(self, path: Path, *, name: str = "", replace: bool = False) -> Ingested:
        """Ingest one file. A second ingest of the same content stores nothing.

        Args:
            path: The file.
            name: Name of the document; by default its path as given.
            replace: Delete the parts of an earlier version of the same name.

        Raises:
            InputError: The file cannot be read.
            ConflictError: ``acc doctor`` undid the ingest meanwhile.
            StoreError: The document cannot be written. Beyond `AT_ONCE` parts, its next ingest
                finishes the work, or the next opening of the memory undoes it.
        """
        found = sections(path)
        return self.add(name or path.as_posix(), found, replace=replace)

    def add(self, name: str, found: Sequence[Section], *, replace: bool = False) -> Ingested:
        """Ingest the sections of a document of that name."""
        name = storable(name)
        if (redact := self._redact) is not None:
            name, found = redact(name), [s._replace(text=redact(s.text)) for s in found]
        whole = "\n".join(section.text for section in found)
        digest = hashlib.sha256(f"{name}\x00{whole}".encode()).hexdigest()
        judgement = self.addition.judge(f"keep the document {name}", whole)
        ref = f"{DOCUMENT}{digest[:10]}"
        shelf = self.shelf if judgement.admitted else self.quarantine
        known = {a.identity for a in shelf.records()}
        parts = [
            part for part in self._parts(name, found, digest, ref, judgement)
            if part.identity not in known
        ]  # fmt: skip
        ended = False
        if judgement.admitted or self.addition.quarantines:
            ended = self._written(shelf, ref, parts)
        gone = self._replaced(name, digest) if replace and judgement.admitted else 0
        return Ingested(name, ref, len(parts), judgement, gone, ended)

    def _written(self, shelf: Shelf, ref: str, parts: Sequence[Artifact]) -> bool:
        """Write ``parts``, finish open ingests of this document; return whether any was open."""
        before = open_ingests(self._usage, ref)
        under_way = list(before)
        if parts:
            if not self._enrolled or not shelf.records():  # an erasure may have removed the entry
                ensure_enrolled(shelf.store, [shelf.space], self._now())
                self._enrolled = True
            if len(parts) > AT_ONCE and not before:
                refs = [part.ref for part in parts]
                under_way = [begin_intent(self._usage, INGEST, refs, self._now())]
            shelf.append(parts)
        for intent in under_way:
            end_ingest(self._usage, intent)
        return bool(before)

    def _replaced(self, name: str, digest: str) -> int:
        old = [a for a in self.shelf.records() if a.name == name and digest not in a.identity]
        if old:
            self._prunes.prune([a.id for a in old])
            self.shelf.reread([a.id for a in old])
        return len(old)

    def _parts(
        self, name: str, found: Sequence[Section], digest: str, ref: str, judgement: Judgement
    ) -> Iterator[Artifact]:
        pieces = ((text, s.place) for s in found for text in split_passages(s.text))
        for number, (text, place) in enumerate(pieces, 1):
            yield Artifact(
                id="", thread="", branch="", seq=0, turn=0, kind="document", text=text,
                ref=f"{ref}.{number}", channel=Channel.DOCUMENT, name=name[:400],
                identity=f"{digest}.{number}", reason=judgement.model_dump_json(),
                sources=(f"sha256:{digest}", *((place[:400],) if place else ())), at=self._now(),
            )  # fmt: skip


def split_passages(text: str, limit: int = PART_BYTES) -> list[str]:
    """Cut ``text`` between paragraphs, long ones at line ends; joined they equal the text."""
    passages: list[str] = []
    for paragraph in _paragraphs(text):
        last = passages[-1] if passages else ""
        if passages and len((last + paragraph).encode()) <= limit:
            passages[-1] = last + paragraph
        else:
            passages.extend(split_text(paragraph, limit))
    return [passage for passage in passages if passage.strip()] or [text]


def _paragraphs(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        if lines and not lines[-1].strip() and line.strip():
            yield "".join(lines)
            lines = []
        lines.append(line)
    yield "".join(lines)


def files_below(paths: Iterable[Path]) -> list[Path]:
    """Return the files that ``paths`` name; of a folder, all readable documents, sorted."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(
                p for p in path.rglob("*")
                if p.is_file() and p.suffix.lower() in READERS
                and not any(part.startswith(".") for part in p.relative_to(path).parts)
            )  # fmt: skip
        else:
            inside = [path] if path.is_file() else []
        if not inside:
            raise InputError(
                "this path is no file, and no folder with documents",
                where=str(path),
                hint=f"name files of these kinds, or their folder: {' '.join(sorted(READERS))}",
            )
        found.extend(inside)
    return list(dict.fromkeys(found))
