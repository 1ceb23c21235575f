"""Every error that leaves the library.

    AccError
    |-- ConfigurationError     the deployer's settings are invalid or contradict each other
    |   |-- SchemaError        a state class or a slot is declared wrongly
    |   `-- AuthenticationError an endpoint rejects the key
    |-- InputError             an input, such as a file or a turn, is malformed
    |-- StateError             a stored state does not load, or was changed
    |-- PinnedOverflow         rules and active goals alone exceed the bounds (law 7)
    |-- ConflictError          a second writer stepped the same thread (law 2)
    |-- CompressionError       a compressor failed; the controller handles it (law 9)
    |-- AuditError             an audit log cannot be read or does not recompute (law 10)
    |-- EvaluationError        an evaluation cannot continue, or a memory missed a required result
    `-- StoreError             the artifact store cannot be used
        |-- StoreLockedError   another process holds the path
        `-- StoreMismatchError the store was written with another schema or embedder

No vendor's exception escapes: adapters translate it and keep the original as ``__cause__``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acc.text.lines import inert

if TYPE_CHECKING:
    from acc.state.model import CompressedCognitiveState
    from acc.state.proposal import Account
    from acc.stores.protocol import Thread


class AccError(Exception):
    """An error that states in one line what happened, where, and how to fix it.

    Args:
        what: What happened, as a sentence without a full stop.
        where: File and line, path, thread or item ids; may be empty.
        hint: How to fix it; may be empty.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        message = what + (f" ({where})" if where else "") + (f". To fix: {hint}" if hint else "")
        super().__init__(inert(" ".join(message.split())))


class ConfigurationError(AccError):
    """The deployer's settings are invalid or contradict each other."""


@contextmanager
def extra(name: str, what: str, *, where: str) -> Iterator[None]:
    """Raise a `ConfigurationError` if an import in the block fails: the extra ``name`` is to be installed.

    ``what`` may name the import's ``{error}``.
    """
    try:
        yield
    except ImportError as error:
        raise ConfigurationError(
            what.format(error=error),
            where=where,
            hint=f"pip install 'agent-cognitive-compressor[{name}]'",
        ) from error


class SchemaError(ConfigurationError):
    """A state class, an item type or a slot is declared wrongly."""


class AuthenticationError(ConfigurationError):
    """An endpoint rejects the key, or the key may not use the model."""


class InputError(AccError):
    """An input is malformed: a file, a message, a turn."""


class StateError(AccError):
    """A stored state does not load, or differs from the committed state."""


class PinnedOverflow(AccError):
    """Constraints and active goals alone exceed the bounds (law 7). Nothing was committed.

    Attributes:
        items: Ids of the pinned items of ``state`` that take the room.
        slot: The slot with too few places; empty if the token bound is exceeded.
        needed: Places or tokens that the pinned items need, including those of this turn.
        limit: Places or tokens available.
        refused: The rules and goals of this turn that did not fit.
        state: CCS_t-1. It stays valid, and the thread continues from it.
        thread: The conversation; None if the error did not come from a controller.
        turn: Number of the turn that could not be committed.
        places: Branch and number of the turn that the step began in the agent's thread, and of abandoned ones
            that it took up.
    """

    places: tuple[tuple[str, int], ...] = ()

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        hint: str = "",
        items: tuple[str, ...] = (),
        slot: str = "",
        needed: int = 0,
        limit: int = 0,
        refused: tuple[str, ...] = (),
        state: CompressedCognitiveState | None = None,
        thread: Thread | None = None,
        turn: int = 0,
    ) -> None:
        self.items = items
        self.slot = slot
        self.needed = needed
        self.limit = limit
        self.refused = refused
        self.state = state
        self.thread = thread
        self.turn = turn
        super().__init__(what, where=where, hint=hint)


class ConflictError(AccError):
    """A second writer stepped the same thread from the same state.

    Attributes:
        retry_after: Seconds after which a step succeeds even if the other writer has died. None if
            another step of this process is running, or if the other writer has committed.
    """

    def __init__(
        self, what: str, *, where: str = "", hint: str = "", retry_after: float | None = None
    ) -> None:
        self.retry_after = retry_after
        super().__init__(what, where=where, hint=hint)


class CompressionError(AccError):
    """A compressor failed. The controller catches this error and uses the fallback (law 9).

    Attributes:
        outcome: Name of the outcome in the audit record: one of `acc.state.proposal.Outcome`, or
            the compressor's own.
        usage: Tokens by kind that the failed attempt still cost.
        account: The model's requests and how they ended, if a model was asked.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        hint: str = "",
        outcome: str = "error",
        usage: Mapping[str, int] | None = None,
        account: Account | None = None,
    ) -> None:
        self.outcome = str(outcome)
        self.usage = dict(usage or {})
        self.account = account
        super().__init__(what, where=where, hint=hint)


class AuditError(AccError):
    """An audit log cannot be read, or a commit does not recompute."""


class EvaluationError(AccError):
    """An evaluation cannot continue, or a memory missed a required result."""


class StoreError(AccError):
    """The artifact store cannot be used."""


class StoreLockedError(StoreError):
    """Another process holds the store's path."""


class StoreMismatchError(StoreError):
    """The store was written under another schema or embedder."""


def raise_interrupt(error: BaseException) -> None:
    """Raise the interrupt, as of Ctrl-C, that ``error`` was made of, if there is one.

    pydantic turns an interrupt that arrives in a field's serializer into a `PydanticSerializationError`.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt | SystemExit):
        cause = cause.__cause__
    if cause is not None:
        raise cause
