"""Every error that leaves the library. No vendor's exception escapes: adapters keep it as ``__cause__``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from types import NoneType
from typing import Any, ClassVar


class AccError(Exception):
    """An error that states in one line what happened, where, and how to fix it.

    Args:
        what: What happened, as a sentence without a full stop.
        where: File and line, path, thread or item ids; may be empty.
        hint: How to fix it; may be empty.

    All three are for the operator: they may name paths, and quote what somebody said.

    Attributes:
        http_status: The status of a service's answer, of the usual meaning.
        retryable: Whether the same request may succeed later without anybody's act.
        retry_after: Seconds after which to send it again, if it is retryable.
        user_action: A sentence for the end user, with nothing internal in it.
    """

    http_status: ClassVar[int] = HTTPStatus.INTERNAL_SERVER_ERROR
    retryable: ClassVar[bool] = False
    retry_after: ClassVar[int] = 1
    user_action: ClassVar[str] = "Something is wrong in this service. Please tell its support."

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        message = what + (f" ({where})" if where else "") + (f". To fix: {hint}" if hint else "")
        told = " ".join(message.split())
        # a terminal would obey what is not printable, or not show it
        super().__init__("".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in told))


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

    http_status = HTTPStatus.BAD_REQUEST
    user_action = "This message cannot be read. Please change it and send it again."


class StateError(AccError):
    """A state does not load, differs from what was committed, or is not one of this memory's."""


class PinnedOverflow(AccError):
    """Rules, goals and their later words exceed their room (law 7). Everything else of the turn was committed.

    Attributes:
        step: The step. Its state is valid, and the thread goes on from it.
        refused: The words that did not fit.
        refs: Refs of their messages, which left the tail.
    """

    http_status = HTTPStatus.UNPROCESSABLE_ENTITY
    user_action = (
        "There is no room for another rule or goal. Please say which older one is over, and then"
        " say the new one again."
    )

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        hint: str = "",
        refused: tuple[str, ...] = (),
        refs: tuple[str, ...] = (),
        step: Any = None,
    ) -> None:
        self.refused, self.refs, self.step = refused, refs, step
        super().__init__(what, where=where, hint=hint)


class ConflictError(AccError):
    """Another worker committed to the same thread first, or is at work on it. Repeat the step."""

    http_status = HTTPStatus.CONFLICT
    retryable = True
    user_action = "An earlier message is still being answered. Please send this one again."


class CompressionError(AccError):
    """A compressor or judge failed. The step catches this error, and the tail carries the agent (law 9).

    Attributes:
        outcome: One word for how it ended, as the commit's record has it.
        usage: Tokens by kind that the failed attempt still cost.
    """

    http_status = HTTPStatus.SERVICE_UNAVAILABLE
    retryable = True
    retry_after = 5
    user_action = "This service is busy at the moment. Please try again in a minute."

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        hint: str = "",
        outcome: str = "error",
        usage: Mapping[str, int] | None = None,
    ) -> None:
        self.outcome, self.usage = outcome, dict(usage or {})
        super().__init__(what, where=where, hint=hint)


class AuditError(AccError):
    """A journal is damaged, or a commit does not recompute."""


class EvaluationError(AccError):
    """An evaluation cannot continue, or a memory missed a required result."""


class StoreError(AccError):
    """The journal or the artifact store cannot be used until somebody acts."""

    http_status = HTTPStatus.SERVICE_UNAVAILABLE


class StoreLockedError(StoreError):
    """Another store, here or in another process, holds the folder of the index until it is closed."""


class StoreUnavailableError(StoreError):
    """The journal or the artifact store does not answer now."""

    retryable = True
    retry_after = 5
    user_action = CompressionError.user_action


class StoreMismatchError(StoreError):
    """The artifact store was written with another embedder."""

    http_status = HTTPStatus.INTERNAL_SERVER_ERROR


def problem(error: BaseException) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return status, headers and body of a service's answer to ``error``: a problem of RFC 9457.

    It says nothing internal. What happened, where, and how to fix it is for the service's own log: ``str(error)``.
    """
    kind = error if isinstance(error, AccError) else AccError
    status = HTTPStatus(kind.http_status)
    headers = {"Content-Type": "application/problem+json"}
    if kind.retryable:
        headers["Retry-After"] = str(kind.retry_after)
    body = {
        "type": "about:blank", "title": status.phrase, "status": int(status),
        "detail": kind.user_action, "error": type(error).__name__, "retryable": kind.retryable,
    }  # fmt: skip
    return int(status), headers, body


def check_types(where: str, *given: tuple[str, object, Any]) -> None:
    """Check settings: the name, the value and the type of each, or its types.

    Raises:
        ConfigurationError: A value is not of its type.
    """
    wrong = [
        f"{name} is a {type(value).__name__}, not a {_named(kind)}"
        for name, value, kind in given
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
    ]
    if wrong:
        raise ConfigurationError("; ".join(wrong), where=where, hint=f"see the fields of {where}")


def _named(kind: Any) -> str:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(each.__name__ for each in kinds if each is not NoneType)
