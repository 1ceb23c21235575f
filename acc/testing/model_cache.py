"""The prompt cache of a provider, as far as its bill shows."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from threading import Lock

BLOCK_TOKENS = 128
"""Prompts are cached in blocks of so many tokens."""

_BLOCK_BYTES = BLOCK_TOKENS * 4


class PromptCache:
    """Remembers the prompts of each model by their leading blocks.

    Tokens are UTF-8 bytes / 4. A token is cached if its block and all before it, byte for byte,
    opened an earlier prompt of the same model: the longest common prefix, rounded down to whole
    blocks. Nothing ever leaves the cache. Safe for many threads.
    """

    def __init__(self, minimum: int = 0) -> None:
        """Take the prompt length in tokens below which a provider caches nothing."""
        self._minimum = minimum
        self._known: defaultdict[str, set[bytes]] = defaultdict(set)
        self._lock = Lock()

    def read(self, model: str, prompt: str) -> int:
        """Cached tokens of ``prompt``; remembers it."""
        data = prompt.encode("utf-8", "surrogatepass")
        if len(data) < self._minimum * 4:
            return 0
        chain, digests = hashlib.sha256(), []
        for start in range(0, len(data) - _BLOCK_BYTES + 1, _BLOCK_BYTES):
            chain.update(data[start : start + _BLOCK_BYTES])
            digests.append(chain.digest())
        with self._lock:
            known = self._known[model]
            new = next((place for place, one in enumerate(digests) if one not in known), None)
            known.update(digests)
        return (len(digests) if new is None else new) * BLOCK_TOKENS
