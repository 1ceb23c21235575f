"""What a board is, and a role of a team: plain values."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal, get_args

from pydantic import create_model

from acc.errors import ConfigurationError
from acc.journal import ThreadKey
from acc.journal.opened import key_of
from acc.state.items import Item, Pinned, Record, Rule, Words
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.slots import SlotField
from acc.step.update import check_types
from acc.turn.observations import Channel

AGENT = "board"
"""The agent of a board's thread."""

Share = Literal["rules", "rules and goals", "all"]
To = Literal["", "all"]


class BoardState(CompressedCognitiveState):
    """The state of a board. It is the generic one with a smaller bound: each agent reads it beside its own."""

    max_tokens: ClassVar[int] = 600


@dataclass(frozen=True)
class Shareable:
    """What a filter (`Board.allow`) decides about.

    Attributes:
        slot: Name of the slot, such as ``constraints``.
        item: The rule, goal or fact. Of later words: the rule of the board that they are about.
        words: The sentence that would go to the board, with its speaker; None for a fact.
        thread: The agent's thread.
    """

    slot: str
    item: Item
    words: Words | None
    thread: ThreadKey

    @property
    def text(self) -> str:
        """What the other agents would read."""
        return self.words.text if self.words is not None else self.item.text_of


Allow = Callable[[Shareable], bool]


@dataclass(frozen=True)
class Board:
    """A board that agents share. A plain value: equal boards are the same board.

    Attributes:
        name: The name of the board's thread.
        share: ``"rules"`` shares rules that somebody said to all, in their whole sentences, and nothing else;
            ``"rules and goals"`` goals likewise; ``"all"`` also **every fact and open question** of each agent, in
            its own words, but for those that rest on a message with private words. Without a model nobody knows which
            are private: what a user told one agent in confidence may be among them.
        allow: The deployer's filter for what nobody said to all; True shares it. None: it is private. Of facts, with
            ``"all"``, those go that it allows. A filter that fails shares nothing. What a listener calls private is
            not asked about.
        policy: Schema and bounds of the board; by default `BoardState`. Slots of records are shared under their names.
        user: The user whom the board belongs to; empty for the user of the agent's thread. Another name serves all
            users of the tenant.

    Raises:
        ConfigurationError: The name is empty, or a value is none of these.
    """

    name: str
    share: Share = "rules"
    allow: Allow | None = field(default=None)
    policy: Policy = field(default_factory=lambda: Policy(schema=BoardState))
    user: str = ""

    def __post_init__(self) -> None:
        check_types(
            "Board", ("name", self.name, str), ("allow", self.allow, Callable),
            ("policy", self.policy, Policy),
        )  # fmt: skip
        if not self.name.strip() or self.share not in get_args(Share):
            raise ConfigurationError(
                f"name is {self.name!r}, share is {self.share!r}", where="Board",
                hint=f"give a name, and one of {', '.join(map(repr, get_args(Share)))}",
            )  # fmt: skip

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

    def shares(self, slot: SlotField) -> bool:
        """Return whether items of an agent's slot may go to the board."""
        if slot.name not in self.policy.schema.slots():
            return False
        if issubclass(slot.item, Pinned):
            return issubclass(slot.item, Rule) or self.share != "rules"
        is_own = slot.name in ("semantic_gist", "focal_entities")  # the agent's alone
        return issubclass(slot.item, Record) and self.share == "all" and not is_own


@dataclass(frozen=True)
class Role:
    """One agent of a team.

    Attributes:
        name: Names the role. It is the agent of the role's thread.
        text: What the agent is for. It opens what the role reads.
        schema: State class of the role's memory; None for the memory's. Slots that name other roles are left out.
        max_tokens: Bound of the role's state; None for that of ``schema``, or of the memory.
        shares: Channels of this role's messages that the other roles may open. By default they are private.

    Raises:
        ConfigurationError: The name is empty, a board's, or holds a slash; or the schema is none.
    """

    name: str
    text: str = ""
    schema: type[CompressedCognitiveState] | None = None
    max_tokens: int | None = None
    shares: Set[Channel] = field(default=frozenset())

    def __post_init__(self) -> None:
        name, schema = self.name, self.schema or CompressedCognitiveState
        is_name = isinstance(name, str) and name.strip() == name != "" and "/" not in name
        if (
            not is_name
            or name.casefold() == AGENT
            or not issubclass(schema, CompressedCognitiveState)
        ):
            raise ConfigurationError(
                f"a role cannot have the name {name!r} or the schema {schema!r}", where="Role",
                hint=f"give letters without a slash, and not {AGENT!r}; and a state class",
            )  # fmt: skip


@cache
def for_role(schema: type[CompressedCognitiveState], role: str) -> type[CompressedCognitiveState]:
    """Return a state class without the slots that name other roles (`Slot.roles`); ``schema`` if there are none."""
    hidden = {n for n, s in schema.slots().items() if s.rules.roles and role not in s.rules.roles}
    if not hidden:
        return schema
    base = CompressedCognitiveState
    own = {
        name: (info.rebuild_annotation(), info)
        for name, info in schema.model_fields.items()
        if name not in hidden and repr(base.model_fields.get(name)) != repr(info)
    }
    create: Any = create_model
    made: type[CompressedCognitiveState] = create(
        f"{schema.__name__}[{role}]", __base__=base, **own
    )
    made.max_tokens = schema.max_tokens
    return made
