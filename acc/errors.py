"""Every error that leaves the library.

    AccError
    |-- ConfigurationError     the deployer's settings are invalid or contradict each other
    |   |-- SchemaError        a state class or a slot is declared wrongly
    |   `-- AuthenticationError an endpoint rejects the key
    |-- InputError             an input, such as a file or a turn, is malformed
    |-- StateError             a state does not load, was changed, or is not of this memory
    |-- PinnedOverflow         rules and goals do not fit (law 7); everything else was committed
    |-- ConflictError          another worker committed first (law 2)
    |-- CompressionError       a compressor failed; the step handles it (law 9)
    |-- AuditError             a journal is damaged, or a commit does not recompute (law 10)
    |-- EvaluationError        an evaluation cannot continue, or a memory missed a required result
    `-- StoreError             the journal or the artifact store cannot be used
        |-- StoreLockedError   another process holds it
        `-- StoreMismatchError the artifact store was written with another embedder

No vendor's exception escapes: adapters translate it and keep the original as ``__cause__``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from acc.text.lines import inert


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
    """A state does not load, differs from what was committed, or is not one of this memory's."""


class PinnedOverflow(AccError):
    """Rules, goals and their later words exceed their room (law 7). Everything else was committed.

    What is raised is `acc.overflow.PinnedOverflow`, which has the step.

    Attributes:
        refused: The words that did not fit.
    """

    def __init__(
        self, what: str, *, where: str = "", hint: str = "", refused: tuple[str, ...] = ()
    ) -> None:
        self.refused = refused
        super().__init__(what, where=where, hint=hint)


class ConflictError(AccError):
    """Another worker committed to the same thread first. Repeat the step.

    Attributes:
        retry_after: Seconds after which to try again; None for at once.
    """

    def __init__(
        self, what: str, *, where: str = "", hint: str = "", retry_after: float | None = None
    ) -> None:
        self.retry_after = retry_after
        super().__init__(what, where=where, hint=hint)


class CompressionError(AccError):
    """A compressor or judge failed. The step catches this error, and the tail carries the agent (law 9).

    Attributes:
        outcome: One word for how it ended, as the commit's record has it.
        usage: Tokens by kind that the failed attempt still cost.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        hint: str = "",
        outcome: str = "error",
        usage: Mapping[str, int] | None = None,
    ) -> None:
        self.outcome = str(outcome)
        self.usage = dict(usage or {})
        super().__init__(what, where=where, hint=hint)


class AuditError(AccError):
    """A journal is damaged, or a commit does not recompute."""


class EvaluationError(AccError):
    """An evaluation cannot continue, or a memory missed a required result."""


class StoreError(AccError):
    """The journal or the artifact store cannot be used."""


class StoreLockedError(StoreError):
    """Another process holds the journal or the artifact store."""


class StoreMismatchError(StoreError):
    """The artifact store was written with another embedder."""


def raise_interrupt(error: BaseException) -> None:
    """Raise the interrupt, as of Ctrl-C, that ``error`` was made of, if there is one.

    pydantic turns an interrupt that arrives in a field's serializer into a `PydanticSerializationError`.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt | SystemExit):
        cause = cause.__cause__
    if cause is not None:
        raise cause
