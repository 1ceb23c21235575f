"""A role of a team of agents: its name, what it is for, its schema, and what it shares."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acc.errors import ConfigurationError
from acc.state.model import CompressedCognitiveState
from acc.state.slots import is_role_name
from acc.stores.copies import BOARD
from acc.stores.protocol import UNNAMED, Thread
from acc.turn.observations import Channel

_TAKEN = (UNNAMED, BOARD)
"""Agents' names that stand for every agent, and for a board."""


@dataclass(frozen=True)
class Role:
    """One agent of a team (`acc.roles.memory.RoleMemory`).

    Attributes:
        name: Names the role. It is the agent of the role's thread, so documents ingested for this agent are the
            role's own.
        text: The role's description: what the agent is for. It opens what the role reads.
        schema: State class of the role's memory; None for the schema of the team's memory. Slots that name other
            roles (`Slot.roles`) are left out.
        max_tokens: Bound of the role's state; None for that of ``schema`` or, without one, of the team's memory.
        shares: Channels of this role's evidence that the other roles may recall and open. By default it is private.

    Raises:
        ConfigurationError: An attribute has an invalid value.
    """

    name: str
    text: str = ""
    schema: type[CompressedCognitiveState] | None = None
    max_tokens: int | None = None
    shares: frozenset[Channel] = frozenset()

    def __post_init__(self) -> None:
        if not is_role_name(self.name) or _folded(self.name) in _TAKEN:
            raise ConfigurationError(
                f"a role cannot have the name {self.name!r}",
                where="Role",
                hint="use 1 to 64 letters, digits and spaces, and .-_ within, and neither 'default' nor 'board'",
            )
        if not isinstance(self.text, str):
            raise self._wrong("text", "give the role's description as text")
        if self.schema is not None and not (
            isinstance(self.schema, type) and issubclass(self.schema, CompressedCognitiveState)
        ):
            raise self._wrong("schema", "give a subclass of CompressedCognitiveState")
        shares = self.shares
        if isinstance(shares, str) or not isinstance(shares, Iterable):
            raise self._wrong("shares", "give channels: shares={Channel.TOOL}")
        try:
            object.__setattr__(self, "shares", frozenset(map(Channel, shares)))
        except ValueError as error:
            raise self._wrong("shares", "give channels: shares={Channel.TOOL}") from error

    def thread(self, team: Thread) -> Thread:
        """Return the thread of this role in the conversation of ``team``."""
        # A role's name has no slash, so two teams' agents never have the same name.
        agent = self.name if team.agent == UNNAMED else f"{team.agent}/{self.name}"
        return team.model_copy(update={"agent": agent})

    def _wrong(self, what: str, hint: str) -> ConfigurationError:
        return ConfigurationError(
            f"{what} is {getattr(self, what)!r}", where=f"Role {self.name!r}", hint=hint
        )


def team_of(roles: Sequence[Role]) -> dict[str, Role]:
    """Return the roles by name.

    Raises:
        ConfigurationError: There is none, or two have one name but for case, spaces or Unicode form.
    """
    given = tuple(roles)
    if not given or not all(isinstance(role, Role) for role in given):
        raise ConfigurationError(
            f"the roles are {roles!r}", where="RoleMemory", hint='give roles: [Role("planner")]'
        )
    names: dict[str, str] = {}
    for name in (role.name for role in given):
        alike = names.setdefault(_folded(name), name)
        if alike != name or sum(role.name == name for role in given) > 1:
            raise ConfigurationError(
                f"two roles have the name {name!r}"
                + (f", but for its form: {alike!r}" if alike != name else ""),
                where="RoleMemory",
                hint="give each role a name of its own: a memory belongs to one role",
            )
    return {role.name: role for role in given}


def schema_of(role: Role, team: type[CompressedCognitiveState]) -> type[CompressedCognitiveState]:
    """Return the state class of a role's memory, without other roles' slots."""
    return (role.schema or team).for_role(role.name)


def check_slots(roles: Iterable[Role], team: type[CompressedCognitiveState]) -> None:
    """Raise `ConfigurationError` if a slot names a role that none of ``roles`` is: nobody would ever see it."""
    known = {role.name: role.schema or team for role in roles}
    for schema in dict.fromkeys(known.values()):
        for slot in schema.slots().values():
            if unknown := [name for name in slot.rules.roles if name not in known]:
                raise ConfigurationError(
                    f"slot {slot.name!r} is for the role {unknown[0]!r}, which the team does not have",
                    where=schema.__qualname__,
                    hint=f"add Role({unknown[0]!r}), or name one of these in roles=: {', '.join(known)}",
                )


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
