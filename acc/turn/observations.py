"""Observations: what was said, done or seen in a turn, each with its channel.

The channel decides how far an observation is trusted (law 6). The text never does.
"""

from __future__ import annotations

import hashlib
import operator
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator

from acc.errors import InputError
from acc.turn.paste import framed, split_pasted, without_html

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Replace lone surrogates and NUL, which no store can hold, by U+FFFD."""
    if text.isascii() and "\0" not in text:  # mostly, and told at once
        return text
    return _UNSTORABLE.sub("\ufffd", text)


class Trust(IntEnum):
    """How far a source is trusted: operator > user > agent > tool > document."""

    DOCUMENT = 1
    TOOL = 2
    AGENT = 3
    USER = 4
    OPERATOR = 5

    @property
    def word(self) -> str:
        """The name in lower case, as it is stored and shown."""
        return self.name.lower()


class Channel(StrEnum):
    """The way by which an observation came in. Operator comes from configuration only."""

    OPERATOR = "operator"
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    DOCUMENT = "document"

    @property
    def trust(self) -> Trust:
        """The trust of what comes through this channel."""
        return Trust[self.name]


LAWFUL = (Channel.OPERATOR, Channel.USER)
"""Channels whose words can be a rule, a goal or a later word."""

SPEECH = (*LAWFUL, Channel.AGENT)
"""Channels of somebody who speaks: no tool and no document."""

GIVEN_TASK = "given task"
"""Name of an agent's words that are the task of a sub-agent. No tool has a name with a space."""

THROUGH_A_CLIENT = "through a client"
"""Name of an agent's words that a client stored: no user of another client has read them."""

_NOT_TO_THE_USER = (GIVEN_TASK, THROUGH_A_CLIENT)


@dataclass(frozen=True)
class _Split:
    """The words left after pasted passages were removed. The mark does not affect equality of observations."""

    words: str | None = field(default=None, compare=False)


class Observation(BaseModel):
    """One thing seen, said or done in a turn.

    Attributes:
        channel: The channel it came through.
        text: Its words. Lone surrogates and NUL, which no store can hold, become U+FFFD.
        name: Name of the tool or document; empty for speech.
        call_id: Id of the tool call, on the call (agent) and on its result (tool).
        ref: The ref that compressors cite: the channel's letter, the turn, and from the second observation on
            a running index: ``u7``, ``t7``, ``t7.1``. Empty until `Turn.numbered`.
        left_out: Characters removed from ``text`` to fit the input budget.
        message: Id of the chat message it came from, if known. It is not part of `identity`, and no
            compressor reads it.
        at: When it was said, in ISO 8601, if the message has a time; empty for the time of its turn. It is not part
            of `identity`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    channel: Channel
    text: str
    name: str = ""
    call_id: str = ""
    ref: str = ""
    left_out: int = 0
    message: str = ""
    at: str = Field(default="", exclude_if=operator.not_)
    _split: _Split = PrivateAttr(default_factory=_Split)

    @field_validator("text", "name", "call_id", "message", mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        return storable(value) if isinstance(value, str) else value

    @property
    def trust(self) -> Trust:
        """The trust of the channel."""
        return self.channel.trust

    @property
    def is_split(self) -> bool:
        """Whether pasted passages were removed from exactly these words (`as_split`)."""
        return self._split.words == self.text

    def as_split(self) -> Self:
        """Return a copy marked as words without pasted passages. Dumping or replacing the words drops the mark."""
        marked = self.model_copy()
        marked._split = _Split(self.text)
        return marked

    @property
    def is_call(self) -> bool:
        """Whether the agent calls a tool, as opposed to speaking."""
        named = self.name not in ("", *_NOT_TO_THE_USER)
        return self.channel is Channel.AGENT and bool(self.call_id or named)

    @property
    def is_task(self) -> bool:
        """Whether the agent did not say it to the user, as a task that another one gave it: no assent answers it."""
        is_aside = self.name in _NOT_TO_THE_USER
        return self.channel is Channel.AGENT and not self.call_id and is_aside

    @property
    def identity(self) -> str:
        """Hash of channel, name, call id and words. A retry that sends the observation again has
        the same hash.
        """
        parts = (self.channel.value, self.name, self.call_id, self.text)
        return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


class Evidence(Observation):
    """An artifact that the gate admitted, as the compressor reads it.

    Attributes:
        turn: The turn it comes from.
    """

    turn: int = 0


DOCUMENT = "doc."
"""Prefix of the refs of ingested documents. Refs of observations start with one letter and a number."""


def refs(observations: Sequence[Observation], number: int) -> list[str]:
    """Return the ref of each observation of turn ``number``."""
    used: Counter[str] = Counter()
    found = []
    for letter in (observation.channel.value[0] for observation in observations):
        found.append(f"{letter}{number}" + (f".{used[letter]}" if used[letter] else ""))
        used[letter] += 1
    return found


def is_ingested(ref: str) -> bool:
    """Whether ``ref`` names an ingested document (`acc.evidence.files`) or a part of one."""
    return ref.startswith(DOCUMENT)


PASTED = "pasted"
"""Name of a document that the user pasted into a message."""

MAYBE_PASTED = "pasted?"
"""Name of the middle of a user's message if the deployer does not take it for the user's (`asked`)."""


def user_observations(
    text: str, pasted: str | Iterable[str] | Mapping[str, str] = ()
) -> tuple[Observation, ...]:
    """Split a user's message into observations: pasted passages as documents, then the user's own words.

    ``pasted`` are passages known to be pasted, inside ``text`` or separate: texts, or texts by name.

    Raises:
        InputError: The message or a passage is not text.
    """
    if not isinstance(text, str):
        raise InputError(
            f"the user's message is {type(text).__name__}", where="turn", hint="pass a string"
        )
    known = tuple(_named(pasted))
    # In HTML, a passage that the caller knows is found as it was sent.
    said = text if known else without_html(text)
    own, passages = split_pasted(said, [passage for _, passage in known])
    documents = [*known, *((PASTED, passage) for passage in passages)]
    return (
        *(Observation(channel=Channel.DOCUMENT, text=p, name=name) for name, p in documents),
        Observation(channel=Channel.USER, text=own).as_split(),
    )


def as_observations(given: Any, where: str) -> tuple[Observation, ...]:
    """Return what is given if it holds observations and nothing else.

    Raises:
        InputError: It holds something else; the error names ``where``.
    """
    seen = tuple(given) if isinstance(given, Iterable) else (given,)
    if odd := [o for o in seen if not isinstance(o, Observation)]:
        raise InputError(
            f"an observation is expected, but {type(odd[0]).__name__} was given",
            where=where,
            hint="pass observations, such as Turn.from_messages(messages).observations",
        )
    return seen


def _named(pasted: Any) -> Iterator[tuple[str, str]]:
    """Yield name and text of each passage known to be pasted."""
    given = [pasted] if isinstance(pasted, str) else pasted
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        given = [given]
    for name, text in given.items() if isinstance(given, Mapping) else ((PASTED, t) for t in given):
        if not (isinstance(name, str) and isinstance(text, str)):
            raise InputError(
                f"a pasted passage is {type(text).__name__}",
                where="pasted",
                hint='pass strings, or strings by name: pasted={"mail": text}',
            )
        if text.strip():
            yield name, text


def split(observations: Iterable[Observation]) -> Iterator[Observation]:
    """Yield the observations, with pasted passages of the user's messages as documents before them."""
    for observation in observations:
        if observation.channel is not Channel.USER or observation.is_split:
            yield observation
            continue
        *documents, own = user_observations(observation.text)
        origin = {"message": observation.message, "at": observation.at}
        yield from (d.model_copy(update=origin) for d in documents)
        yield observation.model_copy(update={"text": own.text}).as_split()


def asked(observations: Iterable[Observation]) -> Iterator[Observation]:
    """Yield the observations; of a user's long message, the middle is a document between its first and last line."""
    for observation in observations:
        parts = framed(observation.text) if observation.channel is Channel.USER else None
        if parts is None:
            yield observation
            continue
        middle = {"channel": Channel.DOCUMENT, "name": MAYBE_PASTED, "text": parts.middle}
        yield observation.model_copy(update={"text": parts.first}).as_split()
        yield observation.model_copy(update=middle)
        yield observation.model_copy(update={"text": parts.last}).as_split()
