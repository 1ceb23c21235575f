"""Marks: notes of work that is under way, by which it completes or is undone after a kill.

A mark is a small JSON value under a name. It lies in the memory's folder or, if the memory has no folder, in the
database of its audit logs. Who opens the memory next finds it. A memory in the process alone needs none.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from acc.audit.folder import folder_beside
from acc.audit.log import MOST_TRIES
from acc.audit.medium import AuditStore, audit_store, other_end
from acc.errors import AuditError, ConflictError, StoreError
from acc.folders import file_errors, opened_private, private_folder, replace_file, synced

if TYPE_CHECKING:
    from acc.memory import Memory

T = TypeVar("T")

RECEIPTS = "erasures.jsonl"
"""Name of the receipts of erasures, which stay."""

_HALF = ".half"
_FREE = "free disk space, or give this user write access to the folder"


class Marks(Protocol):
    """A place for marks.

    Every method raises a `StoreError` if the place cannot be read or written.
    """

    def write(self, name: str, value: Any) -> None:
        """Keep ``value`` under ``name``. On return it is durable; a kill before leaves the earlier value."""

    def read(self, name: str) -> Any:
        """Return the value under ``name``, or None."""

    def remove(self, name: str) -> None:
        """Remove the mark, and overwrite its content as far as the place allows. Idempotent."""

    def names(self) -> list[str]:
        """Return the names of all marks, sorted."""

    def where(self, name: str) -> str:
        """Return the place of a mark, for errors."""

    def append_receipt(self, receipt: dict[str, Any]) -> None:
        """Add a line to the receipts of erasures, unless the newest line is of the same erasure.

        A kill came then between the receipt and the removal of the erasure's mark.
        """


def folders(memory: Memory) -> list[Path]:
    """Return the folders of a memory's files: the audit logs' parent, and an embedded store's."""
    found = (folder_beside(memory.settings.audit), getattr(memory.artifacts, "directory", None))
    return list(dict.fromkeys(folder for folder in found if folder is not None))


def marks_of(memory: Memory) -> Marks:
    """Return the place for a memory's marks."""
    place = memory.settings.audit
    if found := folders(memory):
        return FolderMarks(found[0])
    return DatabaseMarks(audit_store(place)) if place is not None else NoMarks()


class FolderMarks:
    """Marks as files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def where(self, name: str) -> str:
        return str(self._folder / name)

    def write(self, name: str, value: Any) -> None:
        path = self._folder / name
        half = half_of(path)
        what = "the note of the work cannot be written, and nothing was done"
        with file_errors(StoreError, what, where=path, hint=_FREE):
            try:
                private_folder(path.parent)
                replace_file(path, [_encoded(value)], half=half)
            except OSError:
                with suppress(OSError):
                    _wipe(half)
                raise

    def read(self, name: str) -> Any:
        path = self._folder / name
        try:
            _wipe(half_of(path))  # a partial mark: the work had not begun
            return json.loads(_decoded(path.read_bytes())) if path.exists() else None
        except (OSError, ValueError) as error:
            raise StoreError(
                "the note of interrupted work cannot be read",
                where=str(path),
                hint="remove this file, and start the same work again",
            ) from error

    def remove(self, name: str) -> None:
        path = self._folder / name
        with _translated(path):
            if path.exists():
                # From here on the mark counts as partial: a file of zeros must not be read as a mark.
                _wipe(path.replace(half_of(path)))

    def names(self) -> list[str]:
        with _translated(self._folder):
            found = self._folder.glob("*.json") if self._folder.is_dir() else ()
            return sorted(p.name for p in found if not p.name.startswith("."))

    def append_receipt(self, receipt: dict[str, Any]) -> None:
        path = self._folder / RECEIPTS
        with _translated(path):
            lines = path.read_bytes().splitlines() if path.exists() else []
            if not _is_told(receipt, b"".join(lines[-1:])):
                with opened_private(path, "ab") as file:
                    file.write(_encoded(receipt) + b"\n")
                    synced(file)


class DatabaseMarks:
    """Marks in a place for audit logs: one line holds all of them."""

    _NAME = "marks"
    _RECEIPTS = "erasures"

    def __init__(self, store: AuditStore) -> None:
        self._store = store

    def where(self, name: str) -> str:
        return f"{self._store.where(self._NAME)}, {name}"

    def write(self, name: str, value: Any) -> None:
        self._change(lambda marks: {**marks, name: value})

    def read(self, name: str) -> Any:
        return self._all().get(name)

    def remove(self, name: str) -> None:
        if name in self._all():
            self._change(lambda marks: {k: v for k, v in marks.items() if k != name})
            self._translated(self._store.tidy)

    def names(self) -> list[str]:
        return sorted(self._all())

    def append_receipt(self, receipt: dict[str, Any]) -> None:
        line = _encoded(receipt) + b"\n"

        def append() -> None:
            for attempt in range(MOST_TRIES):
                with suppress(ConflictError):  # another worker's receipt came first; follow it
                    end = self._store.end(self._RECEIPTS)
                    newest = next(self._store.newest_first(self._RECEIPTS), b"")
                    # A database may have written the line before its connection broke.
                    is_written = attempt > 0 and newest.rstrip() == line.rstrip()
                    if not (is_written or _is_told(receipt, newest)):
                        self._store.append(self._RECEIPTS, line, end)
                    return
            raise other_end(self._store.where(self._RECEIPTS))

        self._translated(append)

    def _all(self) -> dict[str, Any]:
        def read() -> dict[str, Any]:
            line = next(iter(self._store.lines(self._NAME)), b"{}")
            return dict(json.loads(_decoded(line)))

        return self._translated(read)

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        def rewritten() -> list[bytes]:
            marks = change(self._all())
            return [_encoded(marks) + b"\n"] if marks else []

        self._translated(lambda: self._store.rewrite(self._NAME, rewritten))

    def _translated(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except (AuditError, ConflictError) as error:
            raise StoreError(
                f"the note of the work cannot be read or written: {error.what}",
                where=error.where,
                hint=error.hint,
            ) from error


class NoMarks:
    """No place: nothing of the memory outlives the process."""

    def where(self, name: str) -> str:
        return name

    def write(self, name: str, value: Any) -> None:
        pass

    def read(self, name: str) -> Any:
        return None

    def remove(self, name: str) -> None:
        pass

    def names(self) -> list[str]:
        return []

    def append_receipt(self, receipt: dict[str, Any]) -> None:
        pass


def _translated(path: Path) -> AbstractContextManager[None]:
    what = "the note of the work cannot be read or written"
    hint = f"{_FREE}; the work goes on when the memory is opened again"
    return file_errors(StoreError, what, where=path, hint=hint)


def half_of(path: Path) -> Path:
    """Return the path of a file while it is written."""
    return path.with_name(f".{path.name}{_HALF}")


def _wipe(path: Path) -> None:
    """Overwrite and delete a file, if there is one. A link is deleted; what is behind it stays as it is."""
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
            synced(file)
        path.unlink()


def _is_told(receipt: dict[str, Any], newest: bytes) -> bool:
    return "records" in receipt and receipt["id"].encode() in newest


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
