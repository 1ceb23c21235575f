"""Counting tokens: bounds are stated in tokens, and the counter is passed in.

A counter is somebody else's code, and it reads what users and tools wrote: tiktoken, for one,
refuses a text that has ``<|endoftext|>`` in it. So a counter that is passed in is `guarded`.
"""

from __future__ import annotations

import logging
import math
import operator
from typing import Any, Protocol, runtime_checkable

_LOG = logging.getLogger(__name__)


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text. ``name`` becomes part of the policy fingerprint."""

    @property
    def name(self) -> str:
        """Identifies the counter, with its version where that changes counts."""
        ...

    def __call__(self, text: str) -> int:
        """Number of tokens in ``text``; deterministic, and 0 for an empty text."""
        ...


class Utf8Quarter:
    """UTF-8 bytes divided by four, rounded up: no vocabulary, no download, stable for ever."""

    name = "utf8/4"

    def __call__(self, text: str) -> int:
        """Tokens of ``text``; lone surrogates count as their three-byte form."""
        return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


utf8_quarter = Utf8Quarter()


def guarded(counter: TokenCounter) -> TokenCounter:
    """``counter``, with an estimate for each text that it does not count.

    It has the name of ``counter`` and gives the same counts, so fingerprints and states stay as
    they are. Where ``counter`` raises, or returns anything but a whole number from 0, the text
    is estimated: by `utf8_quarter`, and by more where ``counter`` counts more than that for
    the lines of the text that it does count. The first time is a warning in the log.
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
        """What the counter returns, or how it failed."""
        try:
            return self._counter(text)
        except Exception as error:
            return _Failure(error)
        except BaseException as error:  # a panic of a counter written in Rust is no Exception
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
"""Lines of a text, from its beginning, that are counted one by one for an estimate."""


class _Failure:
    """How a counter failed. The error's message may hold the text, so only its kind is kept."""

    def __init__(self, error: BaseException) -> None:
        self.kind = type(error).__name__


def _whole(told: Any) -> int | None:
    """A count as it has to be; numpy's integers are some too."""
    if isinstance(told, bool):
        return None
    try:
        count = operator.index(told)
    except Exception:  # no integer, or somebody's value that only looks like one
        return None
    return count if count >= 0 else None
