"""The policy of a commit: schema, bounds, counter, renderer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from acc.errors import ConfigurationError
from acc.state.model import CompressedCognitiveState
from acc.state.render import Style, render
from acc.state.slots import SlotField, describe
from acc.text.lines import sha256_of
from acc.text.tokens import TokenCounter, guarded, utf8_quarter

Lifting = Literal["confirm", "accept"]

RENDERER_VERSION = 1
"""Increases whenever the same state would render differently."""


@dataclass(frozen=True)
class Policy:
    """The rules that commit applies to a state. Equal policies have equal fingerprints.

    Attributes:
        schema: The state class.
        max_tokens: Token bound on the rendered state; 0 uses the bound of the class.
        counter: Counts tokens. If it fails, tokens are estimated (`acc.text.tokens.guarded`).
        style: The notation that the agent reads and that the bound applies to.
        lifting: "confirm" requires that the quoted words show the end of a rule or goal, and has
            the agent ask about a doubtful one. "accept" trusts the compressor's judgement.

    Raises:
        ConfigurationError: A bound is too small, or a value is invalid.
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
                f"max_tokens is {self.max_tokens}", where="Policy", hint="set it to 64 or more"
            )

    def _check(self) -> None:
        styles = get_args(Style)
        fits = {
            "schema": (isinstance(self.schema, type), "a subclass of CompressedCognitiveState"),
            "max_tokens": (isinstance(self.max_tokens, int), "a number of tokens"),
            "counter": (
                isinstance(self.counter, TokenCounter)
                and isinstance(self.counter.name, str)
                and bool(self.counter.name),
                'a callable of a text, with an attribute such as name = "my-tokens/1"',
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
        """Maximum tokens of pending observations in a state; rendering shows as many as fit (law 9)."""
        return 2 * self.max_tokens

    def places(self, slot: SlotField) -> int:
        """Return the maximum number of items of a slot.

        It is the slot's ``max_items``. A token bound above that of the class gives an unpinned slot of several
        places as many more in proportion.
        """
        rules = slot.rules
        ratio = self.max_tokens / self.schema.max_tokens
        if ratio <= 1 or rules.max_items == 1 or rules.pinned or rules.ephemeral:
            return rules.max_items
        return int(rules.max_items * ratio)

    def rendered(self, state: CompressedCognitiveState) -> str:
        """Return the text of ``state`` that the agent reads."""
        return render(state, self.style)

    def tokens(self, state: CompressedCognitiveState) -> int:
        """Return the number of tokens that the agent reads."""
        return self.counter(self.rendered(state))

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that identify everything that affects the result of a commit."""
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
        return sha256_of(body)[:16]


def policy_with(
    policy: Policy | None,
    schema: type[CompressedCognitiveState] | None = None,
    max_tokens: int | None = None,
) -> Policy:
    """Return ``policy``, or the default policy, with another schema or bound where one is given.

    A schema without ``max_tokens`` brings its own bound.

    Raises:
        ConfigurationError: A bound is too small, or a value is invalid.
    """
    policy = policy or Policy()
    if schema is not None:
        policy = replace(policy, schema=schema, max_tokens=0)
    return policy if max_tokens is None else replace(policy, max_tokens=max_tokens)


@lru_cache(maxsize=64)
def _described(schema: type[CompressedCognitiveState]) -> list[dict[str, Any]]:
    """Return the schema's declaration; cached because it is the same for all policies and costly."""
    return describe(schema.slots())
