"""The settings of a memory, and how its states are signed."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import NoneType

from acc.artifacts.chroma import ChromaStore
from acc.clock import Clock
from acc.controller.watching import Observer
from acc.errors import ConfigurationError, PinnedOverflow, check_types
from acc.journal import ThreadKey
from acc.state.model import CompressedCognitiveState
from acc.step.update import Options

OnOverflow = Callable[[PinnedOverflow], Sequence[str]]
StateKey = bytes | str | Sequence[bytes | str] | None

LEAST = 16
"""Bytes of a state key at least."""


def keys_of(given: StateKey) -> tuple[bytes, ...]:
    """Return the keys that sign states.

    Raises:
        ConfigurationError: A key is too short.
    """
    if given is None:
        return ()
    each = [given] if isinstance(given, bytes | str) else list(given)
    keys = tuple(key.encode() if isinstance(key, str) else key for key in each)
    if not keys or any(not isinstance(key, bytes) or len(key) < LEAST for key in keys):
        raise ConfigurationError(
            f"a state_key has fewer than {LEAST} bytes",
            where="Settings",
            hint="give secrets.token_bytes(32), from where your secrets are",
        )
    return keys


@dataclass(frozen=True)
class Settings(Options):
    """What a memory needs beside its place; every field has a default.

    Attributes:
        model: Who compresses and judges, as in `acc.step.update.Options`, like ``judge``, ``policy`` and ``redact``.
        store: Where artifacts are indexed, which `close` closes: a store, or the address of a Chroma server such as
            ``http://chroma:8000``; None for Chroma in the memory's folder; ``"none"`` for nowhere: recall reads the
            journal alone, and finds by words.
        on_overflow: Gets the `PinnedOverflow` that would end a step, and returns ids of items to retire as the
            operator. The words that found no room are then read again. Without ids the error is raised.
        behind: Whether workers ask the model and fill the index after the step. The tail carries the agent until then.
        fork: Whether a step from a state that another step went on from begins a branch of its own. If False, it is
            a `ConflictError`: for callers without checkpoints.
        busy_wait: Seconds that a step waits for other steps of its thread. In this process it queues behind them; if
            another process commits first, the step is made again from there. 0: a `ConflictError` tells the caller.
        state_key: Signs states: 16 random bytes or more, or a list of keys, of which the first signs. A state that the
            journal does not hold is then taken if its signature is right, and only then.
        telemetry: Is told of each step, such as `acc.telemetry.OpenTelemetry`; None for the log alone.
        clock: Dates turns that carry no time.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    store: ChromaStore | str | None = field(default=None, repr=False)
    on_overflow: OnOverflow | None = None
    behind: bool = False
    fork: bool = True
    busy_wait: float = 30.0
    state_key: StateKey = field(default=None, repr=False)
    telemetry: Observer | None = None
    clock: Clock | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_types(
            "Settings", ("store", self.store, (ChromaStore, str, NoneType)),
            ("on_overflow", self.on_overflow, (Callable, NoneType)), ("behind", self.behind, bool),
            ("fork", self.fork, bool), ("busy_wait", self.busy_wait, (int, float)),
        )  # fmt: skip
        keys_of(self.state_key)
        if self.telemetry is not None and not callable(getattr(self.telemetry, "begins", None)):
            raise ConfigurationError(
                "telemetry is no observer", where="Settings", hint="give an OpenTelemetry()"
            )


def signature(state: CompressedCognitiveState, thread: ThreadKey, key: bytes) -> str:
    """Return what signs a state of a thread.

    The journal knows the states that it committed by their hashes. The signature is for the others: after a restore
    from a backup, or in another memory of the same deployment.
    """
    body = f"{thread.digest(b'')}\x00{state.hash}".encode()
    return hmac.new(key, body, hashlib.sha256).hexdigest()
