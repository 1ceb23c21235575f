"""The Compressed Cognitive State: nine slots of typed items, frozen, hashed, chained.

It is the only persistent variable in the agent's input (law 1). Only `acc.commit.commit` makes the
next state. `canonical` returns JSON with provenance, which is stored, checkpointed and read by
`load`. `render` returns the text that the agent reads.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from pydantic.json_schema import SkipJsonSchema

from acc.state.declaration import check_fields, check_slots
from acc.state.items import (
    ArtifactReference,
    Constraint,
    Cue,
    Entity,
    Event,
    Gist,
    Goal,
    Item,
    Relation,
    TrustWord,
    Uncertainty,
)
from acc.state.migrations import Migrations, check_versions, stored_name
from acc.state.slots import Slot, SlotField, read_slots
from acc.text.lines import Line, Quote, sha256_of
from acc.turn.observations import Observation, Trust


class RetiredRule(BaseModel):
    """A pinned item retired in this turn; the agent reads it once (law 7)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Quote
    because: Quote


class Doubted(BaseModel):
    """A rule or goal that the user perhaps ended in ``turn``. It stays in force, and the agent asks the user."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    text: Quote
    because: Quote
    turn: int = Field(default=0, exclude_if=operator.not_)


class Evicted(BaseModel):
    """What an item that left for want of room was about.

    Attributes:
        id: The item's id.
        text: Its subject, cut.
        ref: Evidence that it rests on, which can be opened.
        trust: The item's trust.
        shown: Whether the rendered state has room for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    text: Line
    ref: str
    trust: TrustWord
    shown: bool = True


class Pending(Observation):
    """An observation that no compression has read yet.

    Attributes:
        shown: Whether the rendered state has room for it.
    """

    shown: bool = True
    # The stored evidence has these. A stored state must keep its form and its hash.
    message: SkipJsonSchema[str] = Field(default="", exclude=True)
    at: SkipJsonSchema[str] = Field(default="", exclude=True)

    def plain(self) -> Observation:
        """Return the observation in the form that a turn carries."""
        return Observation(**self.model_dump(exclude={"shown"}))


ROOT = "main"
"""The root branch of a thread."""

UNLESS_EMPTY = ("bound_to", "signature", "doubted", "evicted", "feedback")
"""Fields that a stored state has only if they are filled: states from before these fields existed keep their hashes."""


class CompressedCognitiveState(BaseModel):
    """CCS_t. Subclass it to add slots for a domain, or to tighten these.

    Attributes:
        schema_name: Name of the class, with its version from 2 on (`acc.state.migrations`).
        version: Number of commits since the first state, including operators' acts.
        turn: Number of turns in the state.
        branch: Branch of the thread; a fork gets its own.
        bound_to: `acc.stores.protocol.Thread.owner_key` of the thread; empty if no controller made the state.
        counter: Last item number given out.
        policy: Fingerprint of the schema, bounds, counter and renderer of the last commit.
        parent: Hash of the previous state; empty for the first.
        hash: SHA-256 of the canonical JSON without hash and signature.
        signature: Signature by ``Settings.state_key`` (`acc.state.loading`); empty without a key.
        lifted: Rules and goals retired in this turn.
        doubted: Rules and goals that the user perhaps wanted to end in this turn. They stay, and the agent asks.
        pending: Observations of turns that no compression has read yet (law 9).
        evicted: What left lately for want of room, the newest first.
        feedback: What the last commit refused, changed or evicted of a model's proposal. The next request to
            the model shows it; the agent does not read it.

    The canonical JSON leaves out the fields of `UNLESS_EMPTY` if they are empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: ClassVar[int] = 1
    migrations: ClassVar[Migrations] = {}
    max_tokens: ClassVar[int] = 800
    projected_for: ClassVar[str] = ""

    schema_name: str = ""
    version: int = 0
    turn: int = 0
    branch: str = ROOT
    bound_to: str = ""
    counter: int = 0
    policy: str = ""
    parent: str = ""
    hash: str = ""
    signature: str = ""

    _vouched: bool = PrivateAttr(default=False)
    _stored_hash: str = PrivateAttr(default="")

    episodic_trace: Annotated[
        tuple[Event, ...],
        Slot(
            max_items=4,
            ephemeral=True,
            eviction_priority=20,
            id_prefix="e",
            guidance="what happened in this turn, and what earlier evidence answers it",
        ),
    ] = ()
    semantic_gist: Annotated[
        tuple[Gist, ...],
        Slot(
            max_items=1, eviction_priority=90, id_prefix="s", guidance="the topic, when it changed"
        ),
    ] = ()
    focal_entities: Annotated[
        tuple[Entity, ...],
        Slot(
            max_items=16,
            eviction_priority=40,
            id_prefix="f",
            guidance="things and people by one canonical name",
        ),
    ] = ()
    relational_map: Annotated[
        tuple[Relation, ...],
        Slot(
            max_items=32,
            eviction_priority=50,
            id_prefix="r",
            guidance="facts that matter later: identifiers, versions, numbers, owners, decisions, "
            "findings; one relation a fact, keyed by subject and predicate",
        ),
    ] = ()
    goal_orientation: Annotated[
        tuple[Goal, ...],
        Slot(
            max_items=6,
            min_trust=Trust.USER,
            pinned=True,
            quote=True,
            eviction_priority=60,
            id_prefix="g",
            join=" & ",
            guidance="what the user wants achieved; mark done when it is",
        ),
    ] = ()
    constraints: Annotated[
        tuple[Constraint, ...],
        Slot(
            max_items=24,
            min_trust=Trust.USER,
            pinned=True,
            quote=True,
            id_prefix="c",
            guidance="standing rules, limits, formats and preferences of the user, "
            "with scope, condition and deadline; not one-off requests",
        ),
    ] = ()
    predictive_cue: Annotated[
        tuple[Cue, ...],
        Slot(
            max_items=3,
            min_trust=Trust.AGENT,
            ephemeral=True,
            eviction_priority=30,
            id_prefix="p",
            guidance="what comes next",
        ),
    ] = ()
    uncertainty_signal: Annotated[
        tuple[Uncertainty, ...],
        Slot(
            max_items=6,
            eviction_priority=35,
            id_prefix="q",
            guidance="open questions, and what would settle them",
        ),
    ] = ()
    retrieved_artifacts: Annotated[
        tuple[ArtifactReference, ...],
        Slot(
            max_items=6,
            ephemeral=True,
            eviction_priority=10,
            id_prefix="k",
            guidance="evidence worth opening, by its ref",
        ),
    ] = ()

    lifted: tuple[RetiredRule, ...] = ()
    doubted: tuple[Doubted, ...] = ()
    pending: tuple[Pending, ...] = ()
    evicted: tuple[Evicted, ...] = ()
    feedback: tuple[str, ...] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        undefaulted = [name for name in read_slots(cls) if cls.model_fields[name].is_required()]
        for name in undefaulted:
            cls.model_fields[name].default = ()
        if undefaulted:
            cls.model_rebuild(force=True)
        slots = read_slots(cls)
        for base in cls.__bases__:
            check_slots(cls, slots, _slots_of(base), cls.max_tokens)
        check_fields(cls, slots, _BOOKKEEPING)
        check_versions(cls)

    @classmethod
    def slots(cls) -> dict[str, SlotField]:
        """Return the slots by name, in rendering order."""
        return _slots_of(cls)

    @classmethod
    def for_role(cls, role: str) -> type[Self]:
        """Return the class as ``role`` sees it: without the slots that name other roles (`Slot.roles`).

        A projection is a subclass named ``Class[role]``. A compressor is asked for the role's slots only, commit
        refuses the others, and nothing else is rendered or stored. If the role sees every slot, it is the class itself.

        Raises:
            SchemaError: ``role`` cannot name a role, or the class is a projection for another role.
        """
        from acc.state.projection import projected

        return projected(cls, role)

    @classmethod
    def empty(cls) -> Self:
        """Return an empty CCS_0 with its hash."""
        return cls(schema_name=stored_name(cls)).sealed()

    @classmethod
    def load(cls, raw: Any, *, adopt: Trust | None = None) -> Self:
        """Load a stored state, and migrate it from an earlier schema version. The only loader.

        Args:
            raw: None (the empty state), a state, its `canonical` dict, or that dict as JSON text.
            adopt: Accept a state that was edited after its commit, and cap every item's trust at this
                value. If None, an edited state is an error.

        Raises:
            StateError: ``raw`` is not a state, has another schema or a later version, was edited, or its
                migrations cannot convert it.
        """
        from acc.state.loading import load_state

        return load_state(cls, raw, adopt)

    def __eq__(self, other: object) -> bool:
        """Compare all fields; ignore whether a state is vouched for and how it was stored."""
        return type(other) is type(self) and self.__dict__ == other.__dict__

    __hash__ = BaseModel.__hash__

    def vouched(self) -> Self:
        """Return a copy that needs no commit record or signature, because this process made or chose it.

        The mark belongs to that object: serialized, copied or rehashed states do not have it.
        """
        made = self.model_copy()
        made._vouched = True
        return made

    @property
    def is_vouched(self) -> bool:
        """Whether `vouched` returned this object."""
        return self._vouched

    @property
    def stored_hash(self) -> str:
        """The hash under which the state was stored, before any migration."""
        return self._stored_hash or self.hash

    def on_branch(self, name: str) -> Self:
        """Return the state as the first of a fork: a hashed child that the chain shows."""
        copy = self.model_copy(update={"branch": name, "parent": self.hash}).sealed()
        return copy.vouched() if self._vouched else copy

    def unread(self) -> tuple[Observation, ...]:
        """Return the pending observations for the next turn."""
        return tuple(observation.plain() for observation in self.pending)

    def canonical(self) -> dict[str, Any]:
        """Return the state as plain JSON values with all provenance."""
        return self._body(set())

    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON without `hash` and `signature`, keys sorted."""
        return sha256_of(self._body({"hash", "signature"}))

    def sealed(self) -> Self:
        """Return a copy with its hash and without a signature."""
        return self.sealed_and_canonical()[0]

    def sealed_and_canonical(self) -> tuple[Self, dict[str, Any]]:
        """Return `sealed` and its `canonical` dict, which the hash requires anyway."""
        body = self._body({"hash", "signature"})
        digest = sha256_of(body)
        sealed = self.model_copy(update={"hash": digest, "signature": ""})
        sealed._vouched, sealed._stored_hash = False, ""
        return sealed, {**body, "hash": digest}

    def _body(self, without: set[str]) -> dict[str, Any]:
        absent = {name for name in UNLESS_EMPTY if not getattr(self, name)}
        return self.model_dump(mode="json", exclude=without | absent)

    def render(self, style: Literal["toon", "predicates"] = "toon") -> str:
        """Return the text that the agent reads."""
        from acc.state.render import render

        return render(self, style)

    def items(self) -> Iterator[tuple[SlotField, Item]]:
        """Yield every item with its slot, in order."""
        for name, slot in self.slots().items():
            for item in getattr(self, name):
                yield slot, item

    def find(self, item_id: str) -> tuple[SlotField, Item] | None:
        """Return the slot and the item with this id, or None."""
        return next(((s, i) for s, i in self.items() if i.id == item_id), None)


_BOOKKEEPING = tuple(
    name
    for name in CompressedCognitiveState.model_fields
    if name not in read_slots(CompressedCognitiveState)
)


@cache
def _slots_of(state: type) -> dict[str, SlotField]:
    if not issubclass(state, BaseModel):
        return {}
    role = getattr(state, "projected_for", "")
    return {n: s for n, s in read_slots(state).items() if s.rules.is_for(role)}
