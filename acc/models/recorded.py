"""Keeps what a model answered in a file, and answers from the file later."""

from __future__ import annotations

import asyncio
import hashlib
import json
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any

from acc.errors import CompressionError, ConfigurationError, InputError
from acc.models.protocol import ChatModel, Completion, Messages, Schema, Usage


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


class RecordingModel:
    """Asks ``inner`` and appends each answer, and each `CompressionError`, to a file as a JSON line.

    The file holds digests of what was asked, and what was answered as it is.
    """

    def __init__(self, inner: ChatModel, file: str | Path) -> None:
        self.name = inner.name
        self._inner, self._file, self._lock = inner, Path(file), Lock()

    def complete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer of the inner model."""
        with self._noting_failures(messages):
            got = self._inner.complete(messages, schema, max_tokens=max_tokens)
        self._keep(messages, failed=False, **asdict(got))
        return got

    async def acomplete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer of the inner model."""
        with self._noting_failures(messages):
            got = await self._inner.acomplete(messages, schema, max_tokens=max_tokens)
        await asyncio.to_thread(self._keep, messages, failed=False, **asdict(got))
        return got

    @contextmanager
    def _noting_failures(self, messages: Messages) -> Iterator[None]:
        try:
            yield
        except CompressionError as error:
            told = {name: getattr(error, name) for name in ("what", "hint", "outcome", "usage")}
            self._keep(messages, failed=True, **told)
            raise

    def _keep(self, messages: Messages, **said: Any) -> None:
        line = json.dumps({"messages": _digest(messages), **said})
        with self._lock, self._file.open("a", encoding="utf-8") as out:
            out.write(f"{line}\n")


class RecordedModel:
    """Answers from a file of `RecordingModel`, without a network. The file may be packed by ``xz``.

    A request gets the next answer that the record has for the same messages. Where it has none, since a prompt has
    changed, it gets the next one in order.

    Args:
        file: The file; it is read at once.
        repeat: Begin again after the last answer.

    Raises:
        InputError: The file cannot be read, or a line of it is none of a record.
    """

    def __init__(self, file: str | Path, *, repeat: bool = False) -> None:
        self._repeat = repeat
        self._file, self._lock, self._next = Path(file), Lock(), 0
        try:
            data = self._file.read_bytes()
            text = (lzma.decompress(data) if self._file.suffix == ".xz" else data).decode()
            said = [json.loads(line) for line in text.splitlines()]
            self._record = [(each["messages"], _got(each)) for each in said]
        except (OSError, lzma.LZMAError, ValueError, LookupError, TypeError) as error:
            what, hint = f"the record cannot be read: {error!r}", "record it with RecordingModel"
            raise InputError(what, where=str(file), hint=hint) from error
        answers = [got.model for _, got in self._record if isinstance(got, Completion)]
        self.name = (answers or ["recorded"])[0]

    def complete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer of the record, or raise the failure that it holds there."""
        with self._lock:
            if self._repeat and self._next >= len(self._record):
                self._next = 0
            asked, later = _digest(messages), range(self._next, len(self._record))
            place = next((n for n in later if self._record[n][0] == asked), self._next)
            self._next = place + 1
        if place >= len(self._record):
            raise ConfigurationError(
                f"request {place + 1} of {len(self._record)} in the record does not exist",
                where=str(self._file),
                hint="record the run anew: prompts or settings have changed since",
            )
        got = self._record[place][1]
        if isinstance(got, CompressionError):
            raise got
        return got

    async def acomplete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer of the record, or raise the failure that it holds there."""
        return self.complete(messages, schema, max_tokens=max_tokens)


def _got(line: dict[str, Any]) -> Completion | CompressionError:
    if line["failed"]:
        about = {name: line[name] for name in ("hint", "outcome", "usage")}
        return CompressionError(line["what"], where="record", **about)
    return Completion(line["text"], Usage(**line["usage"]), line["model"], line["cut_off"])
