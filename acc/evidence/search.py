"""Search the messages and documents of a memory by their words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acc.errors import InputError
from acc.journal import Journal, ThreadKey

AROUND = 120
"""Characters that are shown on either side of the first word."""


@dataclass(frozen=True)
class Hit:
    """A message that holds all the words; ``text`` is the passage around the first."""

    thread: ThreadKey
    branch: str
    ref: str
    channel: str
    name: str
    at: str
    text: str


def search(
    journal: Journal, words: str, limit: int, thread: ThreadKey | None, names: dict[str, str]
) -> Iterator[Hit]:
    """Yield the messages that hold all the words, the newest first, in any case.

    ``names``: exact tenant, user and agent.
    """
    wanted = words.split()
    if not wanted:
        raise InputError("there are no words to search for", where="search", hint="name some")
    for key, branch, message in journal.holding(wanted, limit, thread, names):
        seen = message.observation
        text = _passage(message.text, wanted[0])
        yield Hit(key, branch, message.ref, seen.channel.value, seen.name, message.at, text)


def _passage(text: str, word: str) -> str:
    at = max(0, text.casefold().find(word.casefold()))
    first, last = max(0, at - AROUND), at + len(word) + AROUND
    cut = " ".join(text[first:last].split())
    return f"{'[...] ' if first else ''}{cut}{' [...]' if last < len(text) else ''}"
