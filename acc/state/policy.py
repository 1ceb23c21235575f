"""The policy of a commit: schema, bounds, counter, renderer, and how rules end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from acc.errors import ConfigurationError
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
class Policy:
    """The rules that commit applies to a state. Equal policies have equal fingerprints.

    Attributes:
        schema: The state class.
        max_tokens: Token bound on the rendered state; 0 uses the bound of the class.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "counter", guarded(self.counter))
        if self.max_tokens == 0:
            object.__setattr__(self, "max_tokens", self.schema.max_tokens)
        for name, hint in self._problems():
            raise ConfigurationError(
                f"{name} is {getattr(self, name)!r}", where="Policy", hint=f"give {hint}"
            )

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

    @property
    def pinned_tokens(self) -> int:
        """Tokens that rules, goals and later words may take together."""
        return int(self.max_tokens * self.pinned_share)

    @property
    def body(self) -> dict[str, Any]:
        """Everything that affects the result of a commit, as plain JSON; code by name and version."""
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
