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

    If ``counter`` raises or returns anything but a count, `utf8_quarter` counts, or a number that it returned if that
    is higher. Only the first time logs a warning.
    """
    return counter if type(counter) in (Utf8Quarter, _Guarded) else _Guarded(counter)


class _Guarded:
    def __init__(self, counter: TokenCounter) -> None:
        self._counter: Any = counter
        self.name: str = getattr(counter, "name", type(counter).__name__)
        self._has_warned = False

    def __call__(self, text: str) -> int:
        value: Any = None
        why = "it returned no count"
        try:
            value = self._counter(text)
            if not isinstance(value, bool) and (tokens := operator.index(value)) >= 0:
                return int(tokens)
        except BaseException as error:  # a panic in Rust code is not an Exception
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            why = f"it failed with {type(error).__name__}"  # its message may contain the text
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        _LOG.log(
            level,
            "the token counter %r does not count a text of %d characters (%s); "
            "its tokens are estimated as %s counts",
            self.name, len(text), why, utf8_quarter.name,
        )  # fmt: skip
        is_number = isinstance(value, float) and math.isfinite(value)
        return max(utf8_quarter(text), math.ceil(value) if is_number else 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Guarded) and self._counter == other._counter

    def __hash__(self) -> int:
        return hash(self.name)
