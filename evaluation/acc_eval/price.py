"""What a memory costs a turn: its own model's requests, and the agent that reads it.

The compressor's money is the price of what it reports (`EvaluatedMemory`, ``usage``). A memory
without a model costs nothing there.

The agent's prompt in a turn is its role and what the memory gives it to read after that turn. A
provider serves the beginning that equals the last turn's prompt from its cache::

    prefix = length of the longest common prefix of both prompts, in UTF-8 bytes
    cached = 128 x floor(prefix / 4 / 128)                      tokens, in blocks of 128
    agent  = (tokens - cached) x IN + cached x CACHED           per million

The user's message, the tools' outputs and the agent's answer cost the same with every memory and
are left out. So are evictions from the cache, and the least length from which a provider caches
(often 1,024 tokens): a short prompt may cost more than this says, up to IN for each token.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acc.errors import ConfigurationError
from acc.models.protocol import Usage
from acc.text.tokens import utf8_quarter
from acc_eval.probe_results import MemoryResult, ScenarioResult


@dataclass(frozen=True)
class Price:
    """Money per million tokens, in any currency. ``cached`` is ``input`` if it is None.

    Raises:
        ConfigurationError: A price is negative, infinite or not a number.
    """

    input: float
    output: float
    cached: float | None = None

    def __post_init__(self) -> None:
        given = (self.input, self.output, self.cached or 0)
        if not all(isinstance(n, int | float) and math.isfinite(n) and n >= 0 for n in given):
            hint = "give money per million tokens, 0 or more"
            raise ConfigurationError("a price is no number from 0 on", where="Price", hint=hint)

    def of(self, usage: Usage) -> float:
        """Return the money for ``usage``."""
        cached = min(usage.cached, usage.input)
        rate = self.input if self.cached is None else self.cached
        money = (usage.input - cached) * self.input + cached * rate + usage.output * self.output
        return round(money / 1_000_000, 9)


TYPICAL = Price(1.25, 10.0, 0.125)
"""Dollars per million tokens of a made-up, typical model."""

BLOCK = 128
"""Tokens in a block of a provider's cache."""

_BLOCK_BYTES = 4 * BLOCK


class AgentPrompts:
    """Counts the prompts of an agent that reads a memory, turn by turn."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._last = b""
        self._usage = {"requests": 0, "input": 0, "output": 0, "cached": 0}

    def read(self, text: str) -> None:
        """Count the prompt with ``text`` as what the agent reads of its memory."""
        prompt = f"{self._role}\n\n{text}"
        encoded = prompt.encode(errors="surrogatepass")
        self._usage["requests"] += 1
        self._usage["input"] += utf8_quarter(prompt)
        self._usage["cached"] += BLOCK * _equal_blocks(self._last, encoded)
        self._last = encoded

    @property
    def usage(self) -> Mapping[str, int]:
        """The prompts so far: ``requests``, ``input`` and ``cached`` tokens."""
        return dict(self._usage)


def _equal_blocks(one: bytes, other: bytes) -> int:
    """The number of whole blocks at the beginning that are equal."""
    fewest, most = 0, min(len(one), len(other)) // _BLOCK_BYTES
    while fewest < most:
        middle = (fewest + most + 1) // 2
        end = middle * _BLOCK_BYTES
        is_equal = one[:end] == other[:end]
        fewest, most = (middle, most) if is_equal else (fewest, middle - 1)
    return fewest


def costs(results: Sequence[ScenarioResult], price: Price) -> dict[str, float]:
    """What a memory costs over all turns of ``results``: requests of a scenario, the rest a turn."""
    turns = sum(len(result.turns) for result in results) or 1
    used = [result.usage or {} for result in results]
    compressor = sum(_money(usage, price) for usage in used) / turns
    agent = sum(_money(result.agent, price) for result in results) / turns

    def each(kind: str, of: Sequence[Mapping[str, int]]) -> float:
        return sum(usage.get(kind, 0) for usage in of) / turns

    prompts = [result.agent for result in results]
    found = {
        "requests": each("requests", used) * turns / (len(results) or 1),
        "read": each("input", used),
        "written": each("output", used),
        "agent_read": each("input", prompts),
        "agent_cached": each("cached", prompts),
        "compressor_money": compressor,
        "agent_money": agent,
        "money": compressor + agent,
    }
    return {name: round(value, 9) for name, value in found.items()}


def _money(usage: Mapping[str, int], price: Price) -> float:
    return price.of(Usage(**{kind: usage.get(kind, 0) for kind in ("input", "output", "cached")}))


_SHOWN: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "requests": ("requests in a scenario", "{:,.1f}".format),
    "read": ("tokens that its model reads a turn", "{:,.0f}".format),
    "written": ("tokens that its model writes a turn", "{:,.0f}".format),
    "agent_read": ("tokens that the agent reads a turn", "{:,.0f}".format),
    "agent_cached": ("  of these from the prompt cache", "{:,.0f}".format),
    "compressor_money": ("money a turn: its model", "{:.6f}".format),
    "agent_money": ("money a turn: the agent's reading", "{:.6f}".format),
    "money": ("money a turn: both", "{:.6f}".format),
}


def price_rows(results: Sequence[MemoryResult], price: Price) -> Iterator[list[str]]:
    """The rows of a table of costs, with a cell for each memory. Several runs are averaged."""
    found = [costs([s for run in r.runs for s in run.scenarios], price) for r in results]
    for name, (words, shown) in _SHOWN.items():
        yield [words, *(shown(each[name]) for each in found)]


def price_text(price: Price) -> str:
    """The price in words; says so if it is the made-up one."""
    cached = price.input if price.cached is None else price.cached
    text = f"{price.input:g} in, {price.output:g} out, {cached:g} cached, per million tokens"
    return f"{text} (a made-up, typical model)" if price == TYPICAL else text
