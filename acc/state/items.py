"""The items in the slots of a state.

Two kinds matter. A `Pinned` item is somebody's own sentence, which nobody rewrites (law 7). A `Record` is the
compressor's own words with computed sources and trust (law 5). A domain adds a type by subclassing `Record`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, StringConstraints

from acc.text.lines import one_line
from acc.turn.observations import Channel, Trust

LONGEST = 600
"""Maximum length of a record's field in characters. A longer one is cut, and a note says so."""

LONGEST_WORDS = 4_000
"""Maximum length of somebody's words in characters: a list's heading and three sentences."""

LONGEST_MARK = 80


def _if_text(change: Callable[[str], Any]) -> BeforeValidator:
    """Return the validator that changes a text, and leaves anything else to pydantic."""
    return BeforeValidator(lambda value: change(value) if isinstance(value, str) else value)


TrustWord = Annotated[
    Trust,
    _if_text(lambda word: Trust.__members__.get(word.upper(), word)),
    PlainSerializer(lambda trust: trust.word, return_type=str),
]
"""A `Trust`, stored by its name."""

Text = Annotated[str, _if_text(one_line), StringConstraints(max_length=LONGEST)]
"""One line of text. Control, bidirectional and invisible characters become spaces."""

Name = Annotated[Text, StringConstraints(min_length=1)]
"""A `Text` that is not empty: what an item is about."""

Verbatim = Annotated[
    str,
    _if_text(lambda text: " ".join(text.split())),
    StringConstraints(max_length=LONGEST_WORDS),
]
"""Somebody's words as given, white space folded. What is invisible in them stays: it is theirs."""

Mark = Annotated[str, _if_text(lambda text: one_line(text)[:LONGEST_MARK])]
"""What stands beside words: a name, a time. One short line, so that it can look like nothing else."""


class Part(BaseModel):
    """A frozen part of a state."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Words(Part):
    """Somebody's own words, verbatim: a whole sentence, or a span of one.

    Attributes:
        speaker: Who said it, where several people speak through one channel.
        at: When it was said, in ISO 8601; empty if unknown.
    """

    text: Verbatim
    ref: str
    channel: Channel
    speaker: Mark = ""
    at: Mark = ""
    turn: int = 0

    @property
    def trust(self) -> Trust:
        """How far the speaker is trusted."""
        return self.channel.trust


Verdict = Literal["", "ends", "stays", "unclear"]


class Ending(Part):
    """A claim that a rule no longer binds (law 7).

    Attributes:
        kind: ``"lifted"``: later ``words`` end the rule. ``"no_rule"``: its sentence never was a standing rule.
        asked: The agent's question to which ``words`` say yes; None if nobody was asked.
        begins: From when it ends: a date, or words of the same message; empty for at once. Shown, it decides nothing.
        since: Turn in which the claim came. The rule stays for at least one turn after it.
        verdict: What the second reading said; empty while there is none.
    """

    kind: Literal["lifted", "no_rule"] = "lifted"
    words: Words | None = None
    asked: Words | None = None
    begins: Mark = ""
    since: int = 0
    verdict: Verdict = ""


class Item(Part):
    """What every item carries.

    Attributes:
        id: Slot letter and a number never reused in the thread, such as ``c17``.
        turn: Turn of its source.
        touched: Turn in which a compression last wrote it.
    """

    id: str = ""
    turn: int = 0
    touched: int = 0

    @classmethod
    @cache
    def own_fields(cls) -> tuple[str, ...]:
        """Return the fields of the item's content, in the order of their declaration."""
        return tuple(name for name in cls.model_fields if name not in _COMPUTED)

    @property
    def text_of(self) -> str:
        """The item's content on one line, without marks."""
        raise NotImplementedError


class Pinned(Item):
    """A sentence of user or operator that stands until it ends.

    Attributes:
        about: What the sentence is about, where its own words do not name it: a verbatim span of a message.
        scope: Another sentence of the same or a more trusted speaker that limits it.
        later: Later words of somebody at least as trusted, in order.
    """

    words: Words
    about: Words | None = None
    scope: Words | None = None
    later: tuple[Words, ...] = ()
    ending: Ending | None = None

    @property
    def text_of(self) -> str:
        """The sentence with what belongs to it, without later words."""
        about = f" (about: {self.about.text})" if self.about else ""
        scope = f" ({self.scope.text})" if self.scope else ""
        return f"{self.words.text}{about}{scope}"


class Rule(Pinned):
    """A rule, limit, format, preference or permission that stands. Paper: constraints.

    Attributes:
        offer: The agent's sentence, where ``words`` only assent to it (an agreement).
    """

    offer: Words | None = None

    @property
    def text_of(self) -> str:
        """The sentence, or offer and assent of an agreement."""
        said = super().text_of
        if self.offer is None:
            return said
        return f'agent: "{self.offer.text}" {self.words.channel.value}: "{said}"'


class Goal(Pinned):
    """What the user wants achieved. Paper: goal orientation.

    Attributes:
        done: The message that says it is reached or given up: ref and channel, without text; None while open.
    """

    done: Words | None = None

    @property
    def is_closed(self) -> bool:
        """Whether somebody at least as trusted as its speaker says so. The word of another is a claim, and is shown."""
        return self.done is not None and self.done.channel.trust >= self.words.channel.trust

    def done_before(self, turn: int) -> bool:
        """Whether somebody said so before ``turn``: the agent was shown it since."""
        return self.done is not None and self.done.turn < turn


class Was(Part):
    """What a more trusted source said before a lesser one gave another value."""

    text: Text
    trust: TrustWord


class Record(Item):
    """The compressor's own words about its sources. Subclass it for a domain's slot.

    Attributes:
        key: Names of the fields that say what the record is about. One with the same values there replaces the held
            one, also where the compressor does not name its id. Empty: only an id does.
        trust: That of the least trusted source.
        was: The value of a more trusted source that this one follows, until somebody as trusted speaks.
        minor: Whether the compressor marked it as the first to leave.
        uses: Number of compressions that wrote it or asked to keep it.
    """

    key: ClassVar[tuple[str, ...]] = ()

    sources: tuple[str, ...] = ()
    trust: TrustWord = Trust.DOCUMENT
    was: Was | None = None
    minor: bool = False
    uses: int = 1

    def used(self, turn: int) -> dict[str, int | bool]:
        """Return what changes when a compression of ``turn`` writes or keeps the record."""
        uses = self.uses + (self.touched != turn)
        return {"touched": turn, "uses": uses, "minor": False}

    @property
    def text_of(self) -> str:
        """The own fields on one line: the first value, then the others as ``name value``."""
        parts = [(n, getattr(self, n)) for n in type(self).own_fields()]
        shown = [(n, v) for n, v in parts if v not in ("", None, False)]
        said = [str(value) for _, value in shown[:1]]
        for name, value in shown[1:]:
            whole = name if value is True else f"{name} {value}"
            said.append(str(value) if name == "text" else whole)
        return " ".join(said)


class Fact(Record):
    """A fact: "subject: value". Paper: relational map."""

    text: Text


class Question(Record):
    """What is not known, and matters. Paper: uncertainty signal."""

    text: Text


class Entity(Record):
    """A thing or person under its canonical name. Paper: focal entities."""

    text: Text


class Gist(Record):
    """The dominant topic. Paper: semantic gist."""

    text: Text


class Cue(Item):
    """A next step that somebody announced, until it is dropped or newer ones take its place. Paper: predictive cue."""

    words: Words

    @property
    def text_of(self) -> str:
        return self.words.text


class Computed(Item):
    """An item that no compressor writes."""


class Event(Computed):
    """What a compression read: the first and the last ref, and how many messages. Paper: episodic trace."""

    first: str
    last: str
    count: int

    @property
    def text_of(self) -> str:
        return f"{self.first} to {self.last}"


class Artifact(Computed):
    """Evidence that the gate admitted: its ref and channel, no content. Paper: retrieved artifacts."""

    ref: str
    channel: Channel

    @property
    def text_of(self) -> str:
        return self.ref


_COMPUTED = frozenset({*Item.model_fields, *Record.model_fields, "ending", "later", "done"})
"""Fields that commit alone fills."""
