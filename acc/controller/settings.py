"""The settings of a memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from acc.artifacts.filling import Index
from acc.artifacts.protocol import ArtifactStore
from acc.clock import Clock
from acc.compress.protocol import AskingCompressor, AskingJudge, Compressor, Judge
from acc.controller.signing import StateKey, keys_of
from acc.errors import ConfigurationError, PinnedOverflow
from acc.gate import Gate
from acc.state.policy import Policy
from acc.step import Cadence
from acc.telemetry.observer import Observer
from acc.turn.redact import Redact
from acc.update import check_types

OnOverflow = Callable[[PinnedOverflow], Sequence[str]]


@dataclass(frozen=True)
class Settings:
    """What a memory needs beside its place; every field has a default.

    Attributes:
        model: A model that compresses and judges (`acc.models.choosing.as_model`); None for the keyless rules.
        compressor: Proposes what changes, instead of ``model``.
        judge: Reads claims that rules ended a second time; None asks ``model``, or the keyless judge.
        policy: Schema, bounds, how rules end; by default with the bound that `acc.update` names.
        cadence: When to compress; by default that of the same.
        redact: Removes secrets before anything is kept.
        store: Where artifacts are indexed, which `close` closes: a store, or the address of a Chroma server such as
            ``http://chroma:8000``; None for Chroma in the memory's folder.
        index: ``now``: a step returns when the store has its messages; ``behind``: a worker adds them; ``none``:
            recall reads the journal alone, and finds by words.
        gate: Bounds of the evidence that is admitted.
        on_overflow: Gets the `PinnedOverflow` that would end a step, and returns ids of items to retire as the
            operator. The words that found no room are then read again. Without ids the error is raised.
        behind: Whether the model is asked after the step, by a worker. The tail carries the agent until then.
        fork: Whether a step from a state that another step went on from begins a branch of its own. If False, it is
            a `ConflictError`: for callers without checkpoints.
        busy_wait: Seconds that a step waits for other steps of its thread. In this process it queues behind them; if
            another process commits first, the step is made again from there. 0: a `ConflictError` tells the caller.
        state_key: Signs states: 16 random bytes or more, or a list of keys, of which the first signs. A state that the
            journal does not hold is then taken if its signature is right, and only then.
        telemetry: Is told of each step, such as `acc.telemetry.otel.OpenTelemetry`; None for the log alone.
        clock: Dates turns that carry no time.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    model: Any = None
    compressor: Compressor | AskingCompressor | None = None
    judge: Judge | AskingJudge | None = None
    policy: Policy | None = None
    cadence: Cadence | None = None
    redact: Redact | Literal["secrets"] | None = "secrets"
    store: ArtifactStore | str | None = field(default=None, repr=False)
    index: Index = "now"
    gate: Gate = field(default_factory=Gate)
    on_overflow: OnOverflow | None = None
    behind: bool = False
    fork: bool = True
    busy_wait: float = 30.0
    state_key: StateKey = field(default=None, repr=False)
    telemetry: Observer | None = None
    clock: Clock | None = None

    def __post_init__(self) -> None:
        check_types(
            "Settings", ("policy", self.policy, Policy), ("cadence", self.cadence, Cadence),
            ("store", self.store, (ArtifactStore, str)), ("gate", self.gate, Gate),
            ("on_overflow", self.on_overflow, Callable), ("behind", self.behind, bool),
            ("fork", self.fork, bool), ("busy_wait", self.busy_wait, (int, float)),
        )  # fmt: skip
        keys_of(self.state_key)
        if self.telemetry is not None and not callable(getattr(self.telemetry, "begins", None)):
            raise ConfigurationError(
                "telemetry is no observer", where="Settings", hint="give an OpenTelemetry()"
            )
        if self.index not in get_args(Index):
            raise ConfigurationError(
                f"index is {self.index!r}", where="Settings", hint="give now, behind or none"
            )

    @classmethod
    def of(cls, given: dict[str, Any]) -> Settings:
        """Return settings by name.

        Raises:
            ConfigurationError: There is no such setting, or one is invalid.
        """
        names = [each.name for each in fields(cls)]
        if unknown := given.keys() - set(names):
            raise ConfigurationError(
                f"there is no setting {', '.join(sorted(unknown))}",
                where="open",
                hint=f"the settings are {', '.join(names)}",
            )
        return cls(**given)
