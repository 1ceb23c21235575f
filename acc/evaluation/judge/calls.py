"""The log of all prompts and replies: the only record of a live evaluation.

The file has one JSON object per line. The first line holds the configuration, ``schema`` lines hold
the schemas of answers, and each ``call`` line holds one call. Everything else follows from the
replies. Running the same evaluation again resumes it: the log answers known calls, which are not
paid again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from acc.errors import ConfigurationError, EvaluationError
from acc.folders import PRIVATE_FILE, opened_private, private_folder
from acc.text.lines import canonical_json

Record = dict[str, Any]


class CallLog:
    """An append-only JSONL file that one process may open. Thread-safe.

    Only the offsets of the records are in memory.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any]) -> None:
        """Open the log, or create it.

        Args:
            path: The file; its folder is created if absent.
            configuration: Models, memories, scenarios, prompts and seeds; plain JSON values.

        Raises:
            EvaluationError: Another process has the log open, the file is unreadable or unwritable,
                or it is no log.
            ConfigurationError: The log has another configuration.
        """
        self._path = path
        self._mutex = Lock()
        self._places: dict[str, tuple[int, int]] = {}
        self._schemas: set[str] = set()
        self._lock = FileLock(f"{path}.lock", mode=PRIVATE_FILE)
        try:
            private_folder(path.parent)
            self._lock.acquire(timeout=0)
        except Timeout as error:
            what, hint = "another process is writing this log", "wait for it, or name another log"
            raise EvaluationError(what, where=str(path), hint=hint) from error
        except OSError as error:
            raise self._failed(error) from error
        try:
            self._file = opened_private(path, "a+b")
            self._begin(configuration)
        except BaseException as error:
            self._lock.release()
            raise self._failed(error) if isinstance(error, OSError) else error from None

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def find(self, key: str) -> Record | None:
        """The record of a call; None if there is none."""
        with self._mutex:
            place = self._places.get(key)
            if place is None:
                return None
            self._file.seek(place[0])
            return _parsed(self._file.read(place[1]), self._path)

    def add_call(self, key: str, record: Record, schema: Mapping[str, Any]) -> None:
        """Write a call, and its schema if it is new. The record is durable when the method returns.

        Raises:
            EvaluationError: The record cannot be written.
        """
        name = hashlib.sha256(canonical_json(schema).encode()).hexdigest()[:16]
        with self._mutex:
            if name not in self._schemas:
                self._write({"kind": "schema", "id": name, "schema": dict(schema)})
                self._schemas.add(name)
            place = self._write({"kind": "call", "key": key, "schema": name, **record})
            self._places[key] = place

    def calls(self) -> Iterator[Record]:
        """Every call, in the order of writing."""
        for place in list(self._places.values()):
            with self._mutex:
                self._file.seek(place[0])
                line = self._file.read(place[1])
            yield _parsed(line, self._path)

    def close(self) -> None:
        """Release the file. Safe to repeat."""
        self._file.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, configuration: Mapping[str, Any]) -> None:
        written = self._read()
        plain = json.loads(json.dumps(configuration))
        if written is None:
            self._write({"kind": "configuration", **plain})
        elif differing := [k for k in {**plain, **written} if plain.get(k) != written.get(k)]:
            raise ConfigurationError(
                f"the log was begun with other settings: {', '.join(sorted(differing))}",
                where=str(self._path),
                hint="run with the same, or name another log",
            )

    def _read(self) -> Record | None:
        """Index the existing records. Removes a torn last line of a killed process."""
        self._file.seek(0)
        end, configuration = 0, None
        for line in self._file:
            if not line.endswith(b"\n"):
                self._file.truncate(end)
                break
            record = _parsed(line, self._path)
            kind = record.pop("kind", None)
            if configuration is None and kind != "configuration":
                raise _no_log(self._path)
            if kind == "configuration":
                configuration = record
            elif kind == "schema":
                self._schemas.add(record["id"])
            elif kind == "call":
                self._places[record["key"]] = (end, len(line))
            end += len(line)
        return configuration

    def _write(self, record: Record) -> tuple[int, int]:
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
        try:
            place = self._file.seek(0, 2)
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from error
        return place, len(line)

    def _failed(self, error: OSError) -> EvaluationError:
        return EvaluationError(
            f"the log cannot be written: {error.strerror or error}",
            where=str(self._path),
            hint="free space or name another file, and run the same again",
        )


def _parsed(line: bytes, path: Path) -> Record:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise _no_log(path) from error
    if not isinstance(record, dict):
        raise _no_log(path)
    return record


def _no_log(path: Path) -> EvaluationError:
    hint = "name another file; this one is left as it is"
    return EvaluationError("not a log of this evaluation", where=str(path), hint=hint)
