"""How a model is asked to compress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, get_args

from acc.compress import Mode
from acc.compressors.prompt import Prompt
from acc.compressors.retrying import Retries
from acc.errors import ConfigurationError
from acc.named_settings import settings_of
from acc.policy import Policy
from acc.price import Price

LEAST_OUTPUT = 1_024
"""Tokens of an answer that a schema full of empty lists, and some reasoning, may take."""

OUTPUT_OF = {"revise": 2, "rewrite": 4}
"""Tokens of an answer for each token of the bound: ids, cites, quotes and field names are not rendered."""


@dataclass(frozen=True)
class ModelSettings:
    """How a model is asked to compress.

    Attributes:
        mode: ``revise`` (what changes) or ``rewrite`` (the whole next state).
        guidance: What else the model is to heed; the deployer's words, in the stable part.
        prompt: In place of the whole prompt; a callable of a `Reading`.
        price: What tokens cost; None counts no money.
        skip_idle: Whether turns of courtesies alone are not sent to the model (`acc.compressors.idle`).
        deadline: Seconds for the whole compression: calls, waits, retries and the repair.
        timeout: Seconds that one call may wait for the next byte.
        max_output_tokens: Bound on an answer; by default derived from the state's bound
            (`output_bound`). A model that reasons at length needs more.
        input_chars: Characters of turn, evidence and unread sources that the model reads.
        retries: How often failed calls are repeated; it also holds the clock.

    Raises:
        ConfigurationError: A value that makes no sense.
    """

    mode: Mode = "revise"
    guidance: str = ""
    prompt: Prompt | None = None
    price: Price | None = None
    skip_idle: bool = False
    deadline: float = 120.0
    timeout: float = 60.0
    max_output_tokens: int | None = None
    input_chars: int = 24_000
    retries: Retries = field(default_factory=Retries)

    def __post_init__(self) -> None:
        wrong = {
            f"mode {self.mode!r}": self.mode not in get_args(Mode),
            f"a deadline of {self.deadline!r}": not _is_time(self.deadline),
            f"a timeout of {self.timeout!r}": not _is_time(self.timeout),
            f"an output of {self.max_output_tokens!r}": self.max_output_tokens is not None
            and not _is_count(self.max_output_tokens),
            f"an input of {self.input_chars!r}": not _is_count(self.input_chars),
            f"the guidance {self.guidance!r}": not isinstance(self.guidance, str),
            "guidance beside a prompt of your own": bool(self.guidance and self.prompt),
            "a prompt that cannot be called": not (self.prompt is None or callable(self.prompt)),
            f"the price {self.price!r}": not isinstance(self.price, Price | None),
            f"the retries {self.retries!r}": not isinstance(self.retries, Retries),
            f"skip_idle {self.skip_idle!r}": not isinstance(self.skip_idle, bool),
        }
        if said := [what for what, is_wrong in wrong.items() if is_wrong]:
            raise ConfigurationError(
                f"the model cannot be asked with {said[0]}",
                where="ModelSettings",
                mend='mode "revise" or "rewrite", positive numbers, Price(...), Retries(...), '
                "and either guidance or a prompt",
            )

    @classmethod
    def of(cls, changed: Mapping[str, Any]) -> Self:
        """Settings by name; the defaults for the rest.

        Raises:
            ConfigurationError: An unknown one, or a value that makes no sense.
        """
        return settings_of(cls, changed, "what else an endpoint takes goes into its own arguments")


LONGEST_WAIT = 86_400.0
"""Seconds that a deadline or time-out may be at the most: a day."""


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and 0 < value <= LONGEST_WAIT


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def output_bound(policy: Policy, mode: Mode) -> int:
    """Tokens that an answer under ``policy`` takes at the most."""
    return OUTPUT_OF[mode] * policy.max_tokens + LEAST_OUTPUT
