"""x_t, the turn interaction signal: everything that happened since the last commit."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from acc.errors import InputError
from acc.turn.observations import Channel, Observation, identities, refs, split, user_observations
from acc.turn.transcript import checked_speakers, named_channels, read_exchanges

UNDATED = "unknown"
"""`Turn.at` of a turn whose time nobody knows, such as one of a recorded conversation."""


class Turn(BaseModel):
    """Everything that happened since the last commit.

    Attributes:
        observations: The observations in chronological order.
        number: The turn's number, from 1; 0 until `numbered`.
        reply: The agent's previous reply, if it belongs to an earlier turn. Compressors read it
            to resolve references such as "yes, do that". It is already persisted.
        heard: Tool and document observations before that reply, to detect words that the reply
            repeats. Not citable.
        pending: Observations of earlier turns whose compression failed (law 9).
        at: When the turn happened, in ISO 8601, with the user's offset from UTC if it is known; empty if unknown. A
            controller fills it from the user's message, else from its clock. Commit dates words such as "tomorrow"
            by it, and ends rules that hold "until Friday 18:00".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    observations: tuple[Observation, ...]
    number: int = 0
    reply: Observation | None = None
    heard: tuple[Observation, ...] = ()
    pending: tuple[Observation, ...] = ()
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
                of Anthropic, Gemini, the AI SDK or LangChain, as dicts or as objects, or ``("user", text)``.
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
            return cls._after(now, before)
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
        found = list(_exchanges(messages, channels, speakers))
        return [cls._after(exchange, before) for before, exchange in pairwise([(), *found])]

    @classmethod
    def said(
        cls, text: str, *, pasted: str | Iterable[str] | Mapping[str, str] = (), at: str = ""
    ) -> Self:
        """Return a turn in which the user says ``text``; pasted passages become documents.

        Args:
            text: The message as the user sent it.
            pasted: Passages known to be pasted or attached: texts, or texts by name. Each becomes a document
                and is removed from ``text``. The rest of ``text`` is still searched for pasted passages.
            at: When the user said it, in ISO 8601, best with the user's offset from UTC; empty for the controller's
                clock.

        Raises:
            InputError: The message or a passage is not text.
        """
        return cls(observations=user_observations(text, pasted), at=at)

    @classmethod
    def _after(cls, exchange: tuple[Observation, ...], before: Sequence[Observation]) -> Self:
        """The turn of ``exchange``, with the reply that ended the previous exchange."""
        replies = [o for o in before if o.channel is Channel.AGENT and not (o.is_call or o.is_task)]
        heard = tuple(o for o in before if o.channel in (Channel.TOOL, Channel.DOCUMENT))
        return cls(observations=exchange, reply=replies[-1] if replies else None, heard=heard)

    def numbered(self, number: int) -> Self:
        """Return the turn with this number; each observation gets its `Observation.ref`."""
        found = refs(self.observations, identities(self.observations), {}, number)
        named = [
            observation.model_copy(update={"ref": ref})
            for observation, ref in zip(self.observations, found, strict=True)
        ]
        reply = self.reply
        if reply is not None and not reply.ref:
            reply = reply.model_copy(update={"ref": f"a{number - 1}"})
        return self.model_copy(
            update={"observations": tuple(named), "number": number, "reply": reply}
        )

    @property
    def unread(self) -> tuple[Observation, ...]:
        """What no compression has read: pending turns, then this turn."""
        return (*self.pending, *self.observations)

    @property
    def readable(self) -> tuple[Observation, ...]:
        """All citable observations: pending turns, the previous reply, this turn."""
        before = (self.reply,) if self.reply is not None else ()
        return (*self.pending, *before, *self.observations)

    @property
    def user_words(self) -> str:
        """The user's own words of this turn, joined by line breaks: the recall query."""
        return "\n".join(o.text for o in self.observations if o.channel is Channel.USER)

    def reply_before(self, ref: str) -> Observation | None:
        """Return the agent's reply that the user's observation ``ref`` answers, if any."""
        last: Observation | None = None
        for observations, before in ((self.pending, None), (self.observations, self.reply)):
            last = before or last
            for observation in observations:
                if observation.ref == ref:
                    return last
                if observation.channel is not Channel.AGENT:
                    continue
                if not (observation.is_call or observation.is_task):
                    last = observation
        return None


def _exchanges(
    messages: Sequence[Any],
    channels: Mapping[str, Channel] | None,
    speakers: Collection[str] | None,
) -> Iterator[tuple[Observation, ...]]:
    """Check the arguments of `Turn.from_messages`, and yield the exchanges of the transcript."""
    named, known = named_channels(channels), checked_speakers(speakers)
    return read_exchanges(messages, channels=named, speakers=known)


def normalize(turn: Any, where: str) -> Turn:
    """Split pasted passages off the user's words of a turn, and date it by the user's last message.

    Raises:
        InputError: ``turn`` is not a `Turn`; the error names ``where``.
    """
    if not isinstance(turn, Turn):
        raise InputError(
            f"the turn is {type(turn).__name__}",
            where=where,
            hint="create one with Turn.said(text) or Turn.from_messages(messages)",
        )
    times = [o.at for o in turn.observations if o.channel is Channel.USER]
    timed: Turn = dated(turn, next(filter(None, reversed(times)), ""))
    own = tuple(split(timed.observations))
    if all(one is other for one, other in zip(own, timed.observations, strict=False)):
        return timed
    return timed.model_copy(update={"observations": own})


def refs_of(some: Sequence[Observation], turn: Turn) -> tuple[str, ...]:
    """Return the refs in ``turn`` of observations with the same identity as ``some``."""
    wanted = {observation.identity for observation in some}
    return tuple(o.ref for o in turn.observations if o.identity in wanted)


def _said(exchange: Sequence[Observation]) -> int:
    """Number of observations up to and including the first user observation."""
    own = [i for i, o in enumerate(exchange) if o.channel is Channel.USER]
    return own[0] + 1 if own else 0


def _is_answered(exchange: Sequence[Observation]) -> bool:
    return any(o.channel is Channel.AGENT for o in exchange[_said(exchange) :])


def dated(turn: Turn, at: str) -> Turn:
    """Return ``turn`` with the time ``at``, unless it has one."""
    return turn if turn.at or not at else turn.model_copy(update={"at": at})
