"""The policy a state is committed under: schema, bounds, counter, renderer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from acc.errors import ConfigurationError
from acc.state.model import CompressedCognitiveState
from acc.state.render import Style, render
from acc.state.slots import describe
from acc.text.lines import canonical_json
from acc.text.tokens import TokenCounter, guarded, utf8_quarter

Lifting = Literal["confirm", "accept"]

RENDERER_VERSION = 1
"""Raised whenever the same state would render differently."""


@dataclass(frozen=True)
class Policy:
    """What commit holds a state to. Equal policies have equal fingerprints.

    Attributes:
        schema: The state class.
        max_tokens: Bound on the rendered state; the class's own by default.
        counter: Counts tokens. What it does not count is estimated (`acc.text.tokens.guarded`).
        style: Notation that the agent reads, and that is counted.
        lifting: Whether words that are quoted for the end of a rule or goal have to bear it out
            ("confirm": a doubtful lifting is shown to the agent, who asks), or are taken at the
            compressor's word ("accept").

    Raises:
        ConfigurationError: A bound that nothing could meet, or a value that is none.
    """

    schema: type[CompressedCognitiveState] = CompressedCognitiveState
    max_tokens: int = 0
    counter: TokenCounter = field(default=utf8_quarter)
    style: Style = "toon"
    lifting: Lifting = "confirm"

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "counter", guarded(self.counter))
        if self.max_tokens == 0:
            object.__setattr__(self, "max_tokens", self.schema.max_tokens)
        if self.max_tokens < 64:
            raise ConfigurationError(
                f"max_tokens is {self.max_tokens}",
                where="Policy",
                hint="give the state 64 tokens or more",
            )

    def _check(self) -> None:
        styles = get_args(Style)
        fits = {
            "schema": (isinstance(self.schema, type), "a subclass of CompressedCognitiveState"),
            "max_tokens": (isinstance(self.max_tokens, int), "a number of tokens"),
            "counter": (
                isinstance(self.counter, TokenCounter) and _has_name(self.counter),
                'an object that is called with a text, with a text as its name: name = "my-tokens/1"',
            ),
            "style": (self.style in styles, f"one of {', '.join(styles)}"),
            "lifting": (self.lifting in get_args(Lifting), '"confirm" or "accept"'),
        }
        for name, (is_fit, hint) in fits.items():
            if not is_fit:
                value = getattr(self, name)
                raise ConfigurationError(
                    f"{name} is {value!r}", where="Policy", hint=f"give {hint}"
                )

    @property
    def pending_tokens(self) -> int:
        """Tokens of unread turns that a state carries; of these it shows what fits (law 9)."""
        return 2 * self.max_tokens

    def rendered(self, state: CompressedCognitiveState) -> str:
        """What the agent reads of ``state``."""
        return render(state, self.style)

    def tokens(self, state: CompressedCognitiveState) -> int:
        """Tokens of what the agent reads."""
        return self.counter(self.rendered(state))

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits over all that decides what a commit yields."""
        body = {
            "schema": self.schema.__name__,
            "version": self.schema.schema_version,
            "slots": _described(self.schema),
            "max_tokens": self.max_tokens,
            "counter": self.counter.name,
            "style": self.style,
            "renderer": RENDERER_VERSION,
        }
        if self.lifting != "confirm":
            body["lifting"] = self.lifting
        return hashlib.sha256(canonical_json(body).encode()).hexdigest()[:16]


def _has_name(counter: TokenCounter) -> bool:
    return isinstance(counter.name, str) and bool(counter.name)


@lru_cache(maxsize=64)
def _described(schema: type[CompressedCognitiveState]) -> list[dict[str, Any]]:
    """What a schema declares: the same for every policy of it, and costly to tell."""
    return describe(schema.slots())
