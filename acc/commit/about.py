"""What a rule or goal is about: the words and figures that can identify it."""

from __future__ import annotations

from acc.state.items import Item
from acc.text.wording import marks, stems

GENERIC = stems(
    """fine okay ok allowed need lifted cancelled over forget rule instead today again longer said say get go make use
    tell please thing want also here let idea may one"""
)
"""Stems that do not identify a rule."""

# More of them, for decisions that words alone make.
COMMON = GENERIC | stems(
    """can now know look ask new way time day work take give put keep goal limit thank yes no good first last next
    still just like"""
)


def about(item: Item) -> frozenset[str]:
    """Return the content words and marks of an item's text and quote, without the compressor's readings."""
    return content(says(item))


def says(item: Item) -> str:
    """Return an item's text and quote."""
    return f"{item.head_text} {getattr(item, 'quote', '')}"


def named(text: str) -> frozenset[str]:
    """The identifiers in ``text``: marks that begin with a letter."""
    return frozenset(mark for mark in marks(text) if mark[0].isalpha())


def content(text: str) -> frozenset[str]:
    """Return the content words and marks of a text that can identify a rule, without figures."""
    words = (stems(text) - COMMON) | marks(text)
    return frozenset(word for word in words if not word.isdigit())
