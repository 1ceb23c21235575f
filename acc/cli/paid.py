"""What a model was paid, as it is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


def told_money(money: float | None) -> str:
    """An amount; a dash where no price was given."""
    return "-" if money is None else f"{money:.6f}"


class Paid:
    """What the turns of this run cost together."""

    def __init__(self) -> None:
        self._usage: Counter[str] = Counter()
        self._money: float | None = None

    def add(self, usage: Mapping[str, int], money: float | None) -> None:
        """Add a turn's."""
        self._usage.update(usage)
        if money is not None:
            self._money = (self._money or 0.0) + money

    def __str__(self) -> str:
        if not self._usage:
            return ""
        read, wrote, cached = (self._usage[kind] for kind in ("input", "output", "cached"))
        money = "" if self._money is None else f", money {told_money(self._money)}"
        return f", model read {read:,} tokens ({cached:,} cached), wrote {wrote:,}{money}"
