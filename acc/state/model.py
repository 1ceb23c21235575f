"""The Compressed Cognitive State: nine slots of typed items, frozen, hashed, chained.

Only `acc.commit.commit` makes the next state (law 2). `canonical` returns JSON with provenance, which is
stored and which `load` reads. The agent reads the rendered text (`acc.state.render`) and the tail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import ValidationError

from acc.errors import StateError
from acc.state.items import (
    LONGEST,
    Artifact,
    Cue,
    Entity,
    Event,
    Fact,
    Gist,
    Goal,
    Item,
    Part,
    Question,
    Record,
    Rule,
)
from acc.state.slots import Slot, SlotField, check_tightens, read_slots
from acc.text.lines import sha256_of

UNHASHED = ("hash", "signature")
"""Fields that the hash does not cover."""

OWNER = "owner"
"""Key that a graph's channel adds to a canonical state: whose memory it is. `load` ignores it."""

LABEL_WORDS = 8
"""Words by which a record that left is named."""

TailStatus = Literal["unread", "read", "provisional"]


class TailRef(Part):
    """One message of the tail: where its text is, and how to recognise it.

    Attributes:
        digest: Keyed digest of channel, name and text (`acc.state.tail.digest_of`).
        tokens: Its tokens, by the policy's counter.
        status: ``"unread"``: no compression has read it. ``"read"``: it is in the state, and stands until the next
            compression, so that an answer such as "yes" refers to something. ``"provisional"``: only the fallback
            has read it; the next working compressor reads it again.
        tries: Compressions that read it and left an item of it unsettled (law 9).
    """

    ref: str
    digest: str
    tokens: int = 0
    status: TailStatus = "unread"
    tries: int = 0


class Gone(Part):
    """A record that left for want of room: its first words and its JSON. The compressor can bring it back by its id."""

    id: str
    slot: str
    label: str
    data: str

    @classmethod
    def of(cls, slot: str, record: Record) -> Self:
        """Return what brings ``record`` back."""
        label = " ".join(record.text_of.split()[:LABEL_WORDS])
        return cls(
            id=record.id, slot=slot, label=label, data=record.model_dump_json(exclude_defaults=True)
        )


class CompressedCognitiveState(Part):
    """CCS_t. Subclass it to add slots for a domain, or to tighten these.

    Attributes:
        schema_name: Name of the class.
        version: Number of commits since the first state.
        turn: Number of the last turn that the state or its tail holds.
        branch: Branch of the thread; a fork gets its own.
        counter: Last item number given out.
        policy: Fingerprint of the policy of the last commit.
        parent: Hash of the previous state; empty for the first.
        hash: SHA-256 of the canonical JSON without hash and signature.
        signature: Who vouches for the state outside of the journal (`acc.controller.settings`); may be empty.
        unread: The tail: messages that stand word for word beside the state (law 1).
        gone: Records that left for want of room, the newest last.
        feedback: What the last compression's commit refused or evicted. The next request shows it.
    """

    max_tokens: ClassVar[int] = 1_100

    schema_name: str = ""
    version: int = 0
    turn: int = 0
    branch: str = "main"
    counter: int = 0
    policy: str = ""
    parent: str = ""
    hash: str = ""
    signature: str = ""

    constraints: Annotated[tuple[Rule, ...], Slot("rules", "c", "Rules", places=60)] = ()
    goal_orientation: Annotated[tuple[Goal, ...], Slot("goals", "g", "Goals", places=20)] = ()
    semantic_gist: Annotated[
        tuple[Gist, ...], Slot("gist", "s", "Topic", places=1, guidance="the topic")
    ] = ()
    relational_map: Annotated[tuple[Fact, ...], Slot("facts", "r", "Facts", places=120)] = ()
    focal_entities: Annotated[
        tuple[Entity, ...], Slot("entities", "f", "Names", places=24, share=0.2)
    ] = ()
    uncertainty_signal: Annotated[
        tuple[Question, ...], Slot("open", "q", "Open questions", places=16, share=0.25)
    ] = ()
    predictive_cue: Annotated[tuple[Cue, ...], Slot("next", "p", "Next steps", places=3)] = ()
    retrieved_artifacts: Annotated[
        tuple[Artifact, ...], Slot("artifacts", "k", "Evidence", places=8)
    ] = ()
    episodic_trace: Annotated[tuple[Event, ...], Slot("trace", "e", "Trace", places=1)] = ()

    unread: tuple[TailRef, ...] = ()
    gone: tuple[Gone, ...] = ()
    feedback: tuple[str, ...] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        check_tightens(cls, read_slots(cls))

    @classmethod
    @cache
    def slots(cls) -> dict[str, SlotField]:
        """Return the slots by name, in rendering order."""
        return read_slots(cls)

    @classmethod
    def empty(cls) -> Self:
        """Return an empty CCS_0 with its hash."""
        return cls(schema_name=cls.__name__).sealed()

    @classmethod
    def load(cls, raw: Any, known: Callable[[str], Self | None] = lambda _: None) -> Self:
        """Load a stored state. The only loader.

        A state of another class goes on as one of this class, and one of an earlier form as one of its present form.
        Records that do not fit it are facts then, and words of user or operator are rules.

        Args:
            raw: None (the empty state), a state, its `canonical` dict, or that dict as JSON text.
            known: Returns the state with a hash, if the caller has it: what hashes to it is not validated again.

        Raises:
            StateError: ``raw`` is not a state, or was edited after its commit.
        """
        if raw is None:
            return cls.empty()
        if type(raw) is cls:
            return raw
        body = {k: v for k, v in _body_of(raw, cls).items() if k != OWNER}
        if not isinstance(body.get("schema_name"), str):
            raise StateError("this is no state", where=cls.__name__, hint="pass canonical()")
        if body.get("hash") != sha256_of({k: v for k, v in body.items() if k not in UNHASHED}):
            raise StateError(
                "the state was changed after its commit",
                where=f"version {body.get('version')}",
                hint="use the state as it was stored",
            )
        held = known(body["hash"])
        if held is not None and held.signature == body.get("signature", ""):
            return held
        return _validated(cls, body)

    def canonical(self) -> dict[str, Any]:
        """Return the state as plain JSON values with all provenance; fields at their defaults are left out."""
        signature = {"signature": self.signature} if self.signature else {}
        return {"hash": self.hash, **signature, **self._body()}

    def _body(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude=set(UNHASHED), exclude_defaults=True)

    def sealed(self) -> Self:
        """Return a copy with its hash."""
        return self.model_copy(update={"hash": sha256_of(self._body()), "signature": ""})

    def items(self) -> Iterator[tuple[SlotField, Item]]:
        """Yield every item with its slot, in order."""
        for name, slot in self.slots().items():
            for item in getattr(self, name):
                yield slot, item

    def find(self, item_id: str) -> tuple[SlotField, Item] | None:
        """Return the slot and the item with this id, or None."""
        return next(((s, i) for s, i in self.items() if i.id == item_id), None)


def _body_of(raw: Any, cls: type) -> Mapping[str, Any]:
    if isinstance(raw, CompressedCognitiveState):
        return raw.canonical()
    try:
        body = json.loads(raw) if isinstance(raw, str | bytes) else raw
    except ValueError as error:
        raise StateError("this is not JSON", where=cls.__name__, hint="pass canonical()") from error
    if not isinstance(body, Mapping):
        what = f"{type(body).__name__} is no state"
        raise StateError(what, where=cls.__name__, hint="pass canonical()")
    return body


S = TypeVar("S", bound=CompressedCognitiveState)


def _validated(cls: type[S], body: Mapping[str, Any]) -> S:
    with suppress(ValidationError):
        return cls.model_validate(body)
    try:
        return cls.model_validate(_fitted(cls, body))
    except ValidationError as error:
        raise StateError(
            f"the state does not fit the schema: {_first_of(error)}",
            where=cls.__name__,
            hint="load it with the class that wrote it",
        ) from error


def _first_of(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


# What a stored state holds that its schema no longer takes is kept as facts, with the reason for the next compression.
# So a thread goes on after its schema got required fields, fewer choices or fewer slots, and with another class.

_KEPT = ("id", "turn", "touched", "sources", "trust", "minor", "uses")
FACTS, RULES = "relational_map", "constraints"


def _fitted(cls: type[CompressedCognitiveState], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored state's body with the records that do not fit as facts, and why in ``feedback``."""
    found: dict[str, Any] = {name: body[name] for name in body if name in cls.model_fields}
    kept: dict[str, list[Any]] = {FACTS: [], RULES: [], "feedback": []}
    for name, value in sorted(body.items()):  # the journal's order and a checkpoint's may differ
        for item in value if isinstance(value, list) else ():
            if not (why := _problem(cls, name, item)):
                continue
            is_rule = "words" in item  # words of user or operator bind whatever class reads them
            kept[RULES if is_rule else FACTS].append(item if is_rule else _fact(name, item))
            kind = "rule" if is_rule else "fact"
            kept["feedback"].append(f"{item['id']} of {name} is a {kind} now: {why}"[:160])
            if name in found:
                found[name] = [each for each in found[name] if each is not item]
    if not kept["feedback"]:
        return dict(body)
    return found | {name: [*found.get(name, ()), *more] for name, more in kept.items()}


def _problem(cls: type[CompressedCognitiveState], name: str, item: Any) -> str:
    """Return why a state of this class cannot hold an item; empty if it can."""
    if not isinstance(item, Mapping) or "id" not in item:
        return ""
    if name not in cls.model_fields:
        return "the schema has no such slot"
    slot = cls.slots().get(name)
    if slot is not None and slot.is_record and "words" not in item:
        try:
            slot.item.model_validate(item)
        except ValidationError as error:
            return _first_of(error)
    return ""


def _fact(slot: str, item: Mapping[str, Any]) -> dict[str, Any]:
    own = {n: v for n, v in item.items() if n not in Record.model_fields}
    said = "; ".join(f"{n} {v}" for n, v in own.items() if v not in ("", None, False))
    kept = {name: item[name] for name in _KEPT if name in item}
    return {**kept, "text": f"{slot}: {said}"[:LONGEST]}
