"""What a board is: plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from acc.errors import ConfigurationError
from acc.journal import ThreadKey
from acc.journal.boards import AGENT, BoardState
from acc.journal.names import key_of
from acc.state.items import Rule, Words
from acc.state.policy import Policy
from acc.step.update import check_types

To = Literal["", "all"]


@dataclass(frozen=True)
class Shareable:
    """What a filter (`Board.allow`) decides about.

    Attributes:
        rule: The rule. Of later words: the rule of the board that they are about.
        words: The sentence that would go to the board, with its speaker.
        thread: The agent's thread.
    """

    rule: Rule
    words: Words
    thread: ThreadKey

    @property
    def text(self) -> str:
        """What the other agents would read."""
        return self.words.text


Allow = Callable[[Shareable], bool]


@dataclass(frozen=True)
class Board:
    """A board that agents share: the rules that somebody said to all, in their whole sentences, and nothing else.

    A plain value: equal boards are the same board.

    Attributes:
        name: The name of the board's thread.
        allow: The deployer's filter for what nobody said to all; True shares it. None: it is private. A filter that
            fails shares nothing. What a listener calls private is not asked about.
        policy: Schema and bounds of the board; by default `BoardState`.
        user: The user whom the board belongs to; empty for the user of the agent's thread. Another name serves all
            users of the tenant.

    Raises:
        ConfigurationError: The name is empty, or a value has another type.
    """

    name: str
    allow: Allow | None = field(default=None)
    policy: Policy = field(default_factory=lambda: Policy(schema=BoardState))
    user: str = ""

    def __post_init__(self) -> None:
        check_types(
            "Board", ("name", self.name, str), ("allow", self.allow, Callable),
            ("policy", self.policy, Policy),
        )  # fmt: skip
        if not self.name.strip():
            raise ConfigurationError("the name is empty", where="Board", hint="give a name")

    def key_of(self, thread: ThreadKey | str) -> ThreadKey:
        """Return the board's own thread, as seen from an agent's thread: of the same tenant.

        Raises:
            ConfigurationError: ``thread`` is the board's own.
        """
        key = key_of(thread)
        own = ThreadKey(self.name, key.tenant, self.user or key.user, AGENT)
        if own == key:
            raise ConfigurationError(
                "an agent cannot have the board's own thread",
                where=f"board {self.name!r}",
                hint=f"give the agent's thread another agent than {AGENT!r}",
            )
        return own
