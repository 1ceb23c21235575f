"""Counting tokens: bounds are stated in tokens, and the counter is passed in."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


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
