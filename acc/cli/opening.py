"""Opens a memory for writing: its policy, its store, and a folder that may be temporary."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, Self, cast

from acc.cli.threads import Record
from acc.compress.protocol import Compressor
from acc.controller import MemoryController, resumed
from acc.errors import ConfigurationError
from acc.pipeline.session import Settings
from acc.schema.catalog import published, schema_named
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Lifting, Policy
from acc.state.render import Style
from acc.text.tokens import utf8_quarter


class Interrupts:
    """Defers the first signal until `check`. A second signal takes effect at once."""

    def __init__(self) -> None:
        self._noted = 0
        self._before: dict[int, Any] = {}

    def check(self) -> None:
        """Raise the exception of the deferred signal, if there was one.

        Raises:
            KeyboardInterrupt: The user pressed Ctrl-C.
            SystemExit: The process received SIGTERM.
        """
        if self._noted == signal.SIGINT:
            raise KeyboardInterrupt
        if self._noted:
            raise SystemExit(128 + self._noted)

    def _note(self, number: int, _: FrameType | None) -> None:
        again = bool(self._noted)
        self._noted = number
        if again:
            self.check()

    def __enter__(self) -> Self:
        # Only the main thread can handle signals.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


OURS = ("acc", "acc_schemas")
"""Packages with schemas that a record may name, in addition to published schemas.

A record is untrusted data, and importing a module runs code.
"""


def state_key() -> list[str] | None:
    """The keys that sign states, from ACC_STATE_KEY: one key or several, separated by commas."""
    keys = [key for key in os.environ.get("ACC_STATE_KEY", "").split(",") if key]
    return keys or None


@contextmanager
def folder(memory: Path | None) -> Iterator[Path]:
    """Yield ``memory``, or a temporary folder that is removed at the end."""
    if memory is not None:
        yield memory
        return
    with TemporaryDirectory(prefix="acc-", ignore_cleanup_errors=True) as temporary:
        yield Path(temporary)


@contextmanager
def opened(
    memory: Path,
    policy: Policy,
    *,
    server: tuple[str, int] | None = None,
    compressor: Compressor | None = None,
    resumes: bool = True,
) -> Iterator[MemoryController]:
    """Open the memory in a folder; with a server, the folder holds only the audit logs.

    Args:
        memory: The folder.
        policy: Schema and limits.
        server: The Chroma server that holds the records.
        compressor: Makes the proposals; None for the keyless rules.
        resumes: Complete what a killed process had begun. If False, opening repairs nothing.
    """
    if server is None and resumes:
        controller = MemoryController.open(
            memory, compressor=compressor, policy=policy, state_key=state_key()
        )
    else:
        from acc.stores.chroma.store import ChromaArtifactStore

        if server is None:
            store = ChromaArtifactStore.embedded(memory, looks=True)
        else:
            store = ChromaArtifactStore.server(*server)
        controller = MemoryController(
            store,
            compressor,
            Settings(policy=policy, audit=memory.absolute() / "audit", state_key=state_key()),
        )
    with controller:
        if server is not None and resumes:
            controller.resumed = resumed(controller)
        yield controller


def policy_of(
    record: Record | None,
    *,
    schema: type[CompressedCognitiveState] | None = None,
    max_tokens: int | None = None,
    style: str | None = None,
) -> Policy:
    """The policy of ``record``, with the given values instead of its own.

    Raises:
        ConfigurationError: The command does not know the record's schema or token counter, or a
            limit is too small.
    """
    made = record["policy"] if record else {}
    if (counter := made.get("counter", utf8_quarter.name)) != utf8_quarter.name:
        raise ConfigurationError(
            f"the thread counts tokens by {counter!r}, which this command does not know",
            where=f"policy {made['fingerprint']}",
            hint="use the library with that counter in its Policy",
        )
    if schema is None:
        schema = _recorded_schema(made["schema"]) if made else CompressedCognitiveState
    return Policy(
        schema=schema,
        max_tokens=max_tokens or made.get("max_tokens", 0),
        style=cast(Style, style or made.get("style", "toon")),
        lifting=cast(Lifting, made.get("lifting", "confirm")),
    )


def _recorded_schema(name: str) -> type[CompressedCognitiveState]:
    is_published = any(entry.value == name for entry in published().values())
    if name.partition(":")[0].partition(".")[0] not in OURS and not is_published:
        raise ConfigurationError(
            "the thread has a schema of its own", where=name, hint=f"give --schema {name}"
        )
    return schema_named(name)
