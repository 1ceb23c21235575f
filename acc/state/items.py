"""The items in the slots of a state.

An item type is a frozen model with fields of its own. The fields of `Item` state its provenance; only
`acc.commit.commit` fills them (law 5). A domain adds a type by subclassing `Item` with a ``head`` (the field
shown first) and a ``key`` (the fields that name its subject: a later value replaces an earlier one).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter

from acc.errors import SchemaError
from acc.text.lines import Line, Name, Referent
from acc.text.lines import Quote as Quote
from acc.text.lines import one_line as one_line
from acc.text.times import moment
from acc.turn.observations import Channel, Observation, Trust


def _read_trust(value: Any) -> Any:
    return Trust.__members__.get(value.upper(), value) if isinstance(value, str) else value


TrustWord = Annotated[
    Trust, BeforeValidator(_read_trust), PlainSerializer(lambda trust: trust.word, return_type=str)
]
"""A `Trust`, stored by its name."""


class Dated(BaseModel):
    """The time of an item whose words depend on it; commit fills it.

    Attributes:
        said: When its source was said, in ISO 8601.
        until: Until when a rule or goal holds by its own words (`acc.text.times.end_of`).
        expired: Whether that time has passed. The item then stays, but no longer binds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    said: str
    until: str = Field(default="", exclude_if=operator.not_)
    expired: bool = Field(default=False, exclude_if=operator.not_)

    def __str__(self) -> str:
        word = "expired" if self.expired else "until" if self.until else "said"
        at = moment(self.until or self.said)
        if at is None:
            return ""
        return f"{word} {at:%a %Y-%m-%d}" + (f" {at:%H:%M}" if self.until else "")


class Item(BaseModel):
    """What every item carries beside what it says. Filled by commit alone.

    Attributes:
        id: Slot letter and a number never reused in the thread, such as ``c17``.
        turn: Turn in which it came.
        touched: Turn in which it was last cited or updated; eviction goes by it.
        sources: Refs of the observations it rests on.
        trust: That of the least trusted source; never rises by rewriting (law 6).
        endorsed: Whether the user assented to it when the agent proposed it.
        dated: Its time, where its words depend on it; like the asides it is stored only if it is there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: ClassVar[tuple[str, ...]] = ()
    head: ClassVar[str] = ""
    unseen: ClassVar[tuple[str, ...]] = ("quote",)
    """Fields kept for the record and not rendered."""
    computed: ClassVar[tuple[str, ...]] = ()
    """Fields that commit derives from the cited source; never on the wire."""

    asides: ClassVar[tuple[str, ...]] = ()
    """Fields for the compressor's reading of the item, which are not part of its words. They are stored only if
    they are filled, so that states from before these fields existed keep their hashes."""

    id: str = ""
    turn: int = 0
    touched: int = 0
    sources: tuple[str, ...] = ()
    trust: TrustWord = Trust.DOCUMENT
    endorsed: bool = False
    dated: Dated | None = Field(default=None, exclude_if=operator.not_)

    @classmethod
    @cache
    def own_fields(cls) -> tuple[str, ...]:
        """Return the fields of the item's content, in the order of their declaration."""
        known = (*Item.model_fields, *cls.asides)
        return tuple(name for name in cls.model_fields if name not in known)

    @classmethod
    @cache
    def shown_fields(cls) -> tuple[str, ...]:
        """Return the fields that are rendered."""
        return tuple(name for name in cls.own_fields() if name not in cls.unseen)

    @classmethod
    @cache
    def wire_fields(cls) -> tuple[str, ...]:
        """Return the fields that a compressor writes, without the asides."""
        return tuple(name for name in cls.own_fields() if name not in cls.computed)

    @classmethod
    @cache
    def asked_fields(cls) -> tuple[str, ...]:
        """Return the fields that a model fills: `wire_fields`, then the asides."""
        return (*cls.wire_fields(), *cls.asides)

    @classmethod
    def settled(cls, fields: dict[str, Any], source: Observation, trust: Trust) -> dict[str, Any]:
        """Return the proposed ``fields``, limited to what ``source`` and ``trust`` allow."""
        return fields

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with changed fields, without the cached properties of the original."""
        copied = super().model_copy(update=update, deep=deep)
        for name in ("about", "words", "row"):
            copied.__dict__.pop(name, None)
        return copied

    @cached_property
    def about(self) -> tuple[str, ...]:
        """The item's subject: the case-folded values of its key. Items with equal subjects replace each other."""
        return self._subject()

    def _subject(self) -> tuple[str, ...]:
        return tuple(str(getattr(self, name)).casefold() for name in self.key)

    @cached_property
    def words(self) -> str:
        """The item's content on one line."""
        shown = [(name, getattr(self, name)) for name in self.shown_fields()]
        return " ".join(name if v is True else str(v) for name, v in shown if v is not False)

    @cached_property
    def row(self) -> Mapping[str, Any]:
        """The rendered fields as JSON values. Do not modify the mapping."""
        shown = self.shown_fields()
        dumped = self.model_dump(mode="json", include=set(shown))
        return {name: dumped[name] for name in shown}

    @property
    def head_text(self) -> str:
        """The value of the ``head`` field as text."""
        return str(getattr(self, self.head))

    @property
    def is_expired(self) -> bool:
        """Whether its own words ended it, such as "until Friday 18:00"."""
        return self.dated is not None and self.dated.expired

    @property
    def is_open(self) -> bool:
        """Whether the item still applies; of a pinned slot's items, only open ones bind."""
        return not self.is_expired


class Event(Item):
    """What happened in the turn. Paper: episodic trace."""

    key = ("text",)
    head = "text"
    text: Line


class Gist(Item):
    """The dominant topic or intent. Paper: semantic gist."""

    key = ("text",)
    head = "text"
    text: Line


class Entity(Item):
    """A typed thing or person under its canonical name. Paper: focal entities."""

    key = ("type", "name")
    head = "name"
    type: Name
    name: Name


Status = Literal["stated", "observed", "reported", "decided", "hypothesis"]

_STATUS: dict[Trust, tuple[Status, ...]] = {
    Trust.DOCUMENT: ("reported", "hypothesis"),
    Trust.TOOL: ("observed", "reported", "hypothesis"),
    Trust.AGENT: ("decided", "observed", "reported", "hypothesis"),
    Trust.USER: ("stated", "decided", "observed", "reported", "hypothesis"),
    Trust.OPERATOR: ("stated", "decided", "observed", "reported", "hypothesis"),
}


def status_of(trust: Trust) -> Status:
    """Return the status of a fact whose source has this trust, unless its author states another."""
    return "reported" if trust is Trust.AGENT else _STATUS[trust][0]


class Relation(Item):
    """A fact: subject, predicate, object. Paper: relational map.

    Keyed by subject and predicate, so that a later value replaces an earlier one. ``status``
    says on whose word it stands, and cannot claim more than its trust allows.
    """

    key = ("subject", "predicate")
    head = "subject"
    subject: Name
    predicate: Name
    object: Line
    status: Status = "stated"

    @classmethod
    def settled(cls, fields: dict[str, Any], source: Observation, trust: Trust) -> dict[str, Any]:
        """Replace a status that ``trust`` does not allow by the strongest allowed one."""
        allowed = _STATUS[trust]
        status = fields.get("status")
        return {**fields, "status": status if status in allowed else status_of(trust)}

    def _subject(self) -> tuple[str, ...]:
        """Subject and predicate; for a hypothesis also the object, so that it does not replace a settled fact."""
        own = super()._subject()
        return (*own, self.object.casefold()) if self.status == "hypothesis" else own


class Goal(Item):
    """An objective of the user or operator, active or done. Paper: goal orientation."""

    key = ("text",)
    head = "text"
    text: Quote
    quote: Quote
    done: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the goal is active."""
        return not self.done and super().is_open


Kind = Literal["prohibition", "requirement", "limit", "format", "preference"]


class Constraint(Item):
    """A rule that holds until it is lifted, beside the words that made it. Paper: constraints."""

    key = ("text",)
    head = "text"
    unseen = ("quote", "kind")
    asides = ("refers_to",)
    text: Quote
    kind: Kind = "requirement"
    quote: Quote
    refers_to: Referent = Field(default="", exclude_if=operator.not_)
    """What a pronoun of the rule refers to, in the compressor's reading. It is shown as such; no law treats it as
    the user's words."""


class Cue(Item):
    """What comes next. Paper: predictive cue."""

    key = ("text",)
    head = "text"
    text: Line


class Uncertainty(Item):
    """What is not known, and how much that matters. Paper: uncertainty signal."""

    key = ("gap",)
    head = "gap"
    level: Literal["low", "medium", "high"] = "medium"
    gap: Line


class ArtifactReference(Item):
    """A pointer to evidence: its ref, a label, its channel; no raw content."""

    key = ("artifact",)
    head = "artifact"
    computed = ("artifact", "channel")
    artifact: Name
    label: Name
    channel: Channel

    @classmethod
    def settled(cls, fields: dict[str, Any], source: Observation, trust: Trust) -> dict[str, Any]:
        """Point to the cited source."""
        return {**fields, "artifact": source.ref, "channel": source.channel}


def number_of(item: Item) -> int:
    """Return the number in an item's id: a newer item has a higher one. 0 without an id."""
    digits = re.search(r"\d+$", item.id)
    return int(digits.group()) if digits else 0


EXPRESSIBLE = ("string", "integer", "number", "boolean")
_DROPPED = ("default", "title", "minLength", "maxLength", "pattern", "format")


def wire_field(item: type[Item], name: str) -> dict[str, Any]:
    """Return the JSON Schema of a field without lengths and defaults; `SchemaError` if there is none."""
    return dict(_wire_field(item, name))


@cache
def _wire_field(item: type[Item], name: str) -> dict[str, Any]:
    annotation: Any = item.model_fields[name].annotation
    try:
        found = TypeAdapter(annotation).json_schema()
    except Exception as error:  # pydantic's, of several kinds, and those of a type's own hooks
        raise _inexpressible(item, name) from error
    if found.get("type") not in EXPRESSIBLE:
        raise _inexpressible(item, name)
    return {key: value for key, value in found.items() if key not in _DROPPED}


def _inexpressible(item: type[Item], name: str) -> SchemaError:
    return SchemaError(
        f"a model cannot fill field {name!r} of {item.__name__}",
        where=item.__qualname__,
        hint="use str, int, float, bool or a Literal of strings; for optional text use OptionalLine "
        "or OptionalName of acc.state.items",
    )
