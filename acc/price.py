"""What tokens cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from acc.errors import ConfigurationError


@dataclass(frozen=True)
class Price:
    """Money per million tokens, in whatever currency the caller counts.

    Attributes:
        input: For what the model read.
        output: For what it wrote.
        cached: For what it read out of the provider's prompt cache; as ``input`` if None.

    Raises:
        ConfigurationError: A price that is negative, endless or no number.
    """

    input: float
    output: float
    cached: float | None = None

    def __post_init__(self) -> None:
        given = (self.input, self.output, 0.0 if self.cached is None else self.cached)
        if not all(_is_price(value) for value in given):
            raise ConfigurationError(
                "a price is negative or no number", where="Price", mend="per million tokens, from 0"
            )

    def of(self, usage: Mapping[str, int]) -> float:
        """Money for ``usage``: tokens by kind, of which ``cached`` are part of ``input``."""
        read, wrote, cached = (_count(usage, kind) for kind in ("input", "output", "cached"))
        cached = min(cached, read)
        rate = self.input if self.cached is None else self.cached
        money = (read - cached) * self.input + cached * rate + wrote * self.output
        return round(money / 1_000_000, 9)


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0


def _count(usage: Mapping[str, int], kind: str) -> int:
    """Tokens of a kind, as far as such a count can be: an endpoint may say anything."""
    return min(max(0, usage.get(kind, 0)), 1 << 53)
