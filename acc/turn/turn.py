"""x_t, the turn interaction signal: everything that happened since the last commit."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from acc.errors import InputError
from acc.turn.chat_messages import time_in
from acc.turn.observations import Channel, Observation, asked, refs, split, user_observations
from acc.turn.transcript import (
    checked_speakers,
    exchanges,
    named_channels,
    read_transcript,
    seen_in,
)

UNDATED = "unknown"
"""`Turn.at` of a turn whose time nobody knows, such as one of a recorded conversation."""


Pasted = Literal["", "ask"]
"""What counts as pasted beside marked passages: nothing, or the middle of long messages."""


class Turn(BaseModel):
    """Everything that happened since the last commit.

    Attributes:
        observations: The observations in chronological order.
        number: The turn's number, from 1; 0 until `numbered`.
        at: When the turn happened, in ISO 8601, with the user's offset from UTC if it is known; empty if unknown. A
            controller fills it from the user's message, else from its clock.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    observations: tuple[Observation, ...]
    number: int = 0
    at: str = Field(default="", exclude_if=operator.not_)

    @classmethod
    def from_messages(
        cls,
        messages: Sequence[Any],
        *,
        channels: Mapping[str, Channel] | None = None,
        speakers: Collection[str] | None = None,
    ) -> Self:
        """Return the current turn of a chat transcript; `all_from_messages` returns every turn.

        The turn is the last user message and everything after it, plus the unanswered user messages directly
        before it. If the last user message has no answer yet, the turn also includes the tool results and the
        reply after the previous user message, which no commit has seen.

        Args:
            messages: The whole transcript or its tail: OpenAI chat messages or Responses items, or messages
                of Anthropic or LangChain, as dicts or as objects, or ``("user", text)``.
                The model's reasoning is left out.
            channels: Channel by tool name, for tools that are trusted only as documents.
            speakers: Names on user messages that speak for the user. Messages with other names become
                documents under their name, unless ``channels`` has the name. None: all names speak for the
                user.

        Raises:
            InputError: There is no user message, or a message cannot be read.
            ConfigurationError: A channel is unknown, or ``speakers`` is not a collection of names.
        """
        exchanges = list(_exchanges(messages, channels, speakers))
        if not exchanges:
            raise InputError(
                "there is no user message",
                where=f"{len(messages)} messages",
                hint="pass the messages up to and including the user's current one",
            )
        first = len(exchanges) - 1
        while first and not _is_answered(exchanges[first - 1]):
            first -= 1
        now = tuple(o for exchange in exchanges[first:] for o in exchange)
        before = exchanges[first - 1] if first else ()
        if _is_answered(exchanges[-1]):
            return cls(observations=now)
        return cls(observations=(*before[_said(before) :], *now))

    @classmethod
    def all_from_messages(
        cls,
        messages: Sequence[Any],
        *,
        channels: Mapping[str, Channel] | None = None,
        speakers: Collection[str] | None = None,
    ) -> list[Self]:
        """Return all turns of a chat transcript in order, one for each user message.

        Commit them one after the other. Arguments and errors are those of `from_messages`, but a
        transcript without a user message returns an empty list.
        """
        return [cls(observations=each) for each in _exchanges(messages, channels, speakers)]

    @classmethod
    def said(
        cls,
        text: str,
        *,
        pasted: str | Iterable[str] | Mapping[str, str] = (),
        at: str | float | datetime = "",
        message_id: str = "",
    ) -> Self:
        """Return a turn in which the user says ``text``; pasted passages become documents.

        Args:
            text: The message as the user sent it.
            pasted: Passages known to be pasted or attached: texts, or texts by name. Each becomes a document
                and is removed from ``text``. The rest of ``text`` is still searched for pasted passages.
            at: When the user said it, best with the user's offset from UTC, in a form that `acc.clock.time_of` reads;
                empty for the controller's clock.
            message_id: Id of the message in the application, by which a step that is repeated without a state finds
                what was committed.

        Raises:
            InputError: The message or a passage is not text, or ``at`` is no time.
        """
        seen = user_observations(text, pasted)
        if message_id:
            seen = tuple(each.model_copy(update={"message": message_id}) for each in seen)
        return cls(observations=seen, at=time_in(at, "at"))

    def numbered(self, number: int) -> Self:
        """Return the turn with this number; each observation gets its `Observation.ref`."""
        names = refs(self.observations, number)
        named = tuple(
            each.model_copy(update={"ref": ref})
            for each, ref in zip(self.observations, names, strict=True)
        )
        return self.model_copy(update={"observations": named, "number": number})

    @property
    def user_words(self) -> str:
        """The user's own words of this turn, joined by line breaks."""
        return "\n".join(o.text for o in self.observations if o.channel is Channel.USER)


def _exchanges(
    messages: Sequence[Any],
    channels: Mapping[str, Channel] | None,
    speakers: Collection[str] | None,
) -> Iterator[tuple[Observation, ...]]:
    """Check the arguments of `Turn.from_messages`, and yield the observations of each exchange."""
    named, known = named_channels(channels), checked_speakers(speakers)
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InputError(
            f"messages are {type(messages).__name__}, not a list of messages",
            where="messages",
            hint='pass a list, [{"role": ..., "content": ...}, ...]; for one text, use Turn.said(text)',
        )
    return map(seen_in, exchanges(read_transcript(messages, channels=named, speakers=known)))


def normalize(turn: Any, where: str, pasted: Pasted = "") -> Turn:
    """Split pasted passages off the user's words of a turn, and date it by the user's last message.

    ``pasted`` says what else counts as pasted (`acc.state.policy.Policy.pasted`).

    Raises:
        InputError: ``turn`` is not a `Turn`; the error names ``where``.
    """
    if not isinstance(turn, Turn):
        raise InputError(
            f"the turn is {type(turn).__name__}",
            where=where,
            hint="create one with Turn.said(text) or Turn.from_messages(messages)",
        )
    times = [o.at for o in turn.observations if o.channel is Channel.USER and o.at]
    timed: Turn = dated(turn, times[-1] if times else "")
    own = split(timed.observations)
    seen = tuple(asked(own) if pasted == "ask" else own)
    if all(one is other for one, other in zip(seen, timed.observations, strict=False)):
        return timed
    return timed.model_copy(update={"observations": seen})


def _said(exchange: Sequence[Observation]) -> int:
    """Number of observations up to and including the first user observation."""
    own = [i for i, o in enumerate(exchange) if o.channel is Channel.USER]
    return own[0] + 1 if own else 0


def _is_answered(exchange: Sequence[Observation]) -> bool:
    return any(o.channel is Channel.AGENT for o in exchange[_said(exchange) :])


def dated(turn: Turn, at: str) -> Turn:
    """Return ``turn`` with the time ``at``, unless it has one."""
    return turn if turn.at or not at else turn.model_copy(update={"at": at})
