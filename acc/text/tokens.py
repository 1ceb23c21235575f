"""Token counting. Limits are in tokens, and the caller passes the counter.

A counter is foreign code that reads text from users and tools. tiktoken, for example, refuses a
text that contains ``<|endoftext|>``. Passed counters are therefore wrapped by `guarded`.
"""

from __future__ import annotations

import logging
import math
import operator
from typing import Any, Protocol, runtime_checkable

_LOG = logging.getLogger(__name__)


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text. ``name`` is part of the policy fingerprint."""

    @property
    def name(self) -> str:
        """Identifies the counter, with its version if the version changes counts."""
        ...

    def __call__(self, text: str) -> int:
        """Return the number of tokens in ``text``; deterministic, and 0 for an empty text."""
        ...


class Utf8Quarter:
    """UTF-8 bytes divided by four, rounded up. Needs no vocabulary and no download; the count never changes."""

    name = "utf8/4"

    def __call__(self, text: str) -> int:
        """Return the tokens of ``text``; lone surrogates count as three bytes."""
        return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


utf8_quarter = Utf8Quarter()


def guarded(counter: TokenCounter) -> TokenCounter:
    """Wrap ``counter`` so that every text gets a count, under the same name.

    If ``counter`` raises or returns anything but a count, the wrapper estimates: at least `utf8_quarter`, and
    more if ``counter`` counts more for lines of the text. Only the first estimate logs a warning.
    """
    return counter if type(counter) in (Utf8Quarter, _Guarded) else _Guarded(counter)


class _Guarded:
    """A counter that never fails."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter: Any = counter
        self._name: str = getattr(counter, "name", type(counter).__name__)
        self._has_warned = False

    @property
    def name(self) -> str:
        return self._name

    def __call__(self, text: str) -> int:
        told = self._told(text)
        tokens = _whole(told)
        if tokens is not None:
            return tokens
        self._warn(text, told)
        if isinstance(told, float) and math.isfinite(told):
            return max(utf8_quarter(text), math.ceil(told))
        return self._estimated(text)

    def _told(self, text: str) -> Any:
        """The counter's return value, or a `_Failure`."""
        try:
            return self._counter(text)
        except Exception as error:
            return _Failure(error)
        except BaseException as error:  # a panic in Rust code is not an Exception
            if type(error).__name__ != "PanicException":
                raise
            return _Failure(error)

    def _estimated(self, text: str) -> int:
        lines = text.splitlines()[:_MOST_LINES]
        counted = [(line, n) for line in lines if (n := _whole(self._told(line))) is not None]
        letters = sum(len(line.encode("utf-8", "surrogatepass")) for line, _ in counted)
        tokens = sum(n for _, n in counted)
        estimate = utf8_quarter(text)
        return max(estimate, -(-4 * estimate * tokens // letters)) if letters else estimate

    def _warn(self, text: str, told: Any) -> None:
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        is_int = isinstance(told, int) and not isinstance(told, bool)
        returned = "a negative number" if is_int else f"a value of type {type(told).__name__}"
        why = f"it raised {told.kind}" if isinstance(told, _Failure) else f"it returned {returned}"
        _LOG.log(
            level,
            "the token counter %r does not count a text of %d characters (%s); "
            "its tokens are estimated, as %s counts or higher",
            self.name, len(text), why, utf8_quarter.name,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Guarded) and self._counter == other._counter

    def __hash__(self) -> int:
        return hash(self.name)


_MOST_LINES = 1_000
"""Lines from the start of a text that an estimate counts one by one."""


class _Failure:
    """A counter's failure. The error's message may contain the text, so only its type is kept."""

    def __init__(self, error: BaseException) -> None:
        self.kind = type(error).__name__


def _whole(told: Any) -> int | None:
    """Return a valid count, including numpy integers, or None."""
    if isinstance(told, bool):
        return None
    try:
        count = operator.index(told)
    except Exception:  # not an integer, or an object with a broken __index__
        return None
    return count if count >= 0 else None
