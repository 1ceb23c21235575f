"""The policy of a memory: schema, bounds, how rules end; when it compresses, and what evidence it admits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from types import NoneType
from typing import Any, Literal, get_args

from acc.errors import ConfigurationError, check_types
from acc.state.model import CompressedCognitiveState
from acc.state.slots import fingerprint_of
from acc.text.lines import sha256_of
from acc.text.tokens import TokenCounter, guarded, utf8_quarter
from acc.turn.turn import Pasted

Lifting = Literal["show", "ask", "judge", "accept"]
Style = Literal["lines", "predicates"]

LAWS = 1
RENDERER = 1


@dataclass(frozen=True)
class Cadence:
    """When to compress, and how much a request may hold.

    Attributes:
        compress_over: Tokens of unread messages over which they are compressed; 0 compresses each turn, as the
            paper does.
        tail_bound: Tokens of the tail at most, the newest turn not counted. Over it, with a compressor that fails,
            the fallback commits provisionally. 0 for twice ``compress_over``, and at least 1,000.
        request_tokens: Tokens of messages that one request may hold; a larger tail is read by several requests.
        tool_share: Tokens of a tool's or document's text that stand in the tail; a longer one stands with its head
            and end. 0 for a quarter of ``compress_over``, and at least 200.

    Raises:
        ConfigurationError: A number is negative, or ``tail_bound`` is below ``compress_over``.
    """

    compress_over: int = 0
    tail_bound: int = 0
    request_tokens: int = 12_000
    tool_share: int = 0

    def __post_init__(self) -> None:
        _check_numbers(self, int)
        if self.tail_bound == 0:
            object.__setattr__(self, "tail_bound", max(1_000, 2 * self.compress_over))
        if self.tool_share == 0:
            object.__setattr__(self, "tool_share", max(200, self.compress_over // 4))
        if (
            self.compress_over < 0
            or self.tail_bound < self.compress_over
            or self.request_tokens < 500
        ):
            raise ConfigurationError(
                f"compress_over is {self.compress_over}, tail_bound {self.tail_bound}, "
                f"request_tokens {self.request_tokens}",
                where="Cadence",
                hint="give 0 <= compress_over <= tail_bound, and request_tokens of 500 or more",
            )


@dataclass(frozen=True)
class Gate:
    """Bounds of what is admitted.

    Attributes:
        tokens: Tokens of all that is admitted together, with a label for each message.
        label: Tokens of such a label, which says who spoke and when.
        opens: Score (`acc.artifacts.recall`) that the best passage has to reach; below it nothing is admitted.
        least: Score that each passage has to reach.
        news: Share of a passage's news that it has to have.
    """

    tokens: int = 300
    label: int = 6
    opens: float = 0.15
    least: float = 0.06
    news: float = 0.25

    def __post_init__(self) -> None:
        _check_numbers(self, int, float)


def _check_numbers(given: Any, *kinds: type) -> None:
    """Raise ConfigurationError if a field is no finite number of these kinds, or below 0."""
    where = type(given).__name__
    check_types(where, *((name, value, kinds) for name, value in vars(given).items()))
    for name, value in vars(given).items():
        if not isfinite(value) or value < 0:
            raise ConfigurationError(
                f"{name} is {value!r}", where=where, hint="give a number, 0 or more"
            )


@dataclass(frozen=True)
class Policy:
    """The rules that a memory applies to a state. Those that change what commit makes have a fingerprint.

    Attributes:
        schema: The state class.
        max_tokens: Token bound on the rendered state; 0 for that of the class. Where neither the policy nor the class
            names one, it is 1,100, or 1,600 in a memory that asks a model.
        counter: Counts tokens. If it fails, tokens are estimated (`acc.text.tokens.guarded`).
        style: The notation that the agent reads and that the bound applies to.
        lifting: How a rule leaves. ``"show"``: only by an operator. ``"ask"``: by the user's yes to the agent's
            question, and a second reading. ``"judge"``: by a second reading. ``"accept"``: by the compressor's word.
            In each case later words stand beside it first, for a turn at least.
        pinned_share: Share of the bound that rules, goals and later words may take together.
        speakers: Names of those whose words may become rules, where messages carry names; None for everybody.
        pasted: What of a user's message counts as pasted beside marked passages. ``""``: nothing. ``"ask"``: all but
            the first and the last line, and of a line over 400 characters all but its first or last sentence. It is
            kept and shown as the document "pasted?", of which no rule, goal or later word is made.
        digest_key: Key of the digests in the tail. Without one, a digest of a short message can be guessed.
        cadence: When to compress; None for over 2,000 tokens if a model is asked, else each turn.
        gate: Bounds of the evidence that is admitted.

    Raises:
        ConfigurationError: A bound is too small, or a value is invalid.
    """

    schema: type[CompressedCognitiveState] = CompressedCognitiveState
    max_tokens: int = 0
    counter: TokenCounter = field(default=utf8_quarter)
    style: Style = "lines"
    lifting: Lifting = "judge"
    pinned_share: float = 0.7
    speakers: frozenset[str] | None = None
    pasted: Pasted = ""
    digest_key: bytes = field(default=b"", repr=False)
    cadence: Cadence | None = None
    gate: Gate = field(default_factory=Gate)
    names_bound: bool = field(init=False, default=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.speakers, set | list | tuple):
            object.__setattr__(self, "speakers", frozenset(self.speakers))
        check_types(
            "Policy", ("schema", self.schema, type), ("max_tokens", self.max_tokens, int),
            ("pinned_share", self.pinned_share, (int, float)),
            ("speakers", self.speakers, (frozenset, NoneType)),
            ("digest_key", self.digest_key, bytes), ("cadence", self.cadence, (Cadence, NoneType)),
            ("gate", self.gate, Gate),
        )  # fmt: skip
        if not issubclass(self.schema, CompressedCognitiveState):
            raise ConfigurationError(
                f"the schema {self.schema.__name__} is no state",
                where="Policy",
                hint="give a subclass of CompressedCognitiveState",
            )
        object.__setattr__(self, "counter", guarded(self.counter))
        if self.max_tokens == 0:
            most = self.schema.max_tokens
            object.__setattr__(self, "max_tokens", most)
            object.__setattr__(self, "names_bound", most != CompressedCognitiveState.max_tokens)
        for name, hint in self._problems():
            what = f"{name} is {getattr(self, name)!r}"
            raise ConfigurationError(what, where="Policy", hint=f"give {hint}")

    def _problems(self) -> Iterator[tuple[str, str]]:
        if self.max_tokens < 64:
            yield "max_tokens", "64 or more"
        for name, kind in (("style", Style), ("lifting", Lifting), ("pasted", Pasted)):
            if getattr(self, name) not in get_args(kind):
                yield name, f"one of {', '.join(map(repr, get_args(kind)))}"
        if not 0 < self.pinned_share <= 1:
            yield "pinned_share", "a number above 0, up to 1"
        if not isinstance(self.counter.name, str) or not self.counter.name:
            yield "counter", "one that has a name"

    def usual(self, max_tokens: int, cadence: Cadence) -> Policy:
        """Return the policy with a bound and a cadence where it names none."""
        most = self.max_tokens if self.names_bound else max_tokens
        return replace(self, max_tokens=most, cadence=self.cadence or cadence)

    @property
    def pinned_tokens(self) -> int:
        """Tokens that rules, goals and later words may take together."""
        return int(self.max_tokens * self.pinned_share)

    @property
    def tool_share(self) -> int:
        """Tokens of a tool's or document's text that stand in the tail."""
        return (self.cadence or Cadence()).tool_share

    @property
    def body(self) -> dict[str, Any]:
        """Everything that affects the result of a commit, as plain JSON; code by name and version.

        Cadence and gate do not: they say what comes before it.
        """
        return {
            "laws": LAWS,
            "renderer": RENDERER,
            "schema": self.schema.__name__,
            "slots": fingerprint_of(self.schema.slots()),
            "max_tokens": self.max_tokens,
            "counter": self.counter.name,
            "style": self.style,
            "lifting": self.lifting,
            "pinned_share": self.pinned_share,
            "speakers": None if self.speakers is None else sorted(self.speakers),
            "pasted": self.pasted,
        }

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits of the digest of ``body``."""
        return sha256_of(self.body)[:16]
