"""x_t, the turn interaction signal: what happened since the last commit.

A `Turn` is a tuple of `Observation`s, each with the channel it came through. The channel
decides how far it is trusted (law 6); nothing inside a text ever does.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, field_validator

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """``text`` with lone surrogates and NUL, which no store can hold, as U+FFFD."""
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
        return _WORDS[self]


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
        return _TRUSTS[self]


_WORDS = {trust: trust.name.lower() for trust in Trust}
_TRUSTS = {channel: Trust[channel.name] for channel in Channel}


@dataclass(frozen=True)
class _Split:
    """The words out of which pasted passages were taken; any two are equal, so that observations are."""

    words: str | None = field(default=None, compare=False)


class Observation(BaseModel):
    """One thing seen, said or done in a turn.

    Attributes:
        channel: How it came in.
        text: Its words. Lone surrogates and NUL, which no store can hold, become U+FFFD.
        name: Name of the tool or document; empty for speech.
        call_id: Id of the tool call, on the call (agent) and on its result (tool).
        ref: What compressors cite: the channel's letter, the turn, and from the second on
            a running index: ``u7``, ``t7``, ``t7.1``. Empty until `Turn.numbered`.
        left_out: Characters left out of ``text`` to fit the input budget.
        message: Id of the chat message it came from, if known. Bookkeeping of who reads messages:
            not part of `identity`, and no compressor reads it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    channel: Channel
    text: str
    name: str = ""
    call_id: str = ""
    ref: str = ""
    left_out: int = 0
    message: str = ""
    _split: _Split = PrivateAttr(default=_Split())

    @field_validator("text", "name", "call_id", "message", mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        return storable(value) if isinstance(value, str) else value

    @property
    def trust(self) -> Trust:
        """Trust by channel."""
        return self.channel.trust

    @property
    def is_split(self) -> bool:
        """Whether pasted passages were taken out of these very words (`as_split`)."""
        return self._split.words == self.text

    def as_split(self) -> Self:
        """The same, marked as words out of which pasted passages were taken.

        No field says so: neither a dump nor its validation has the mark, and other words put in
        their place lose it. `acc.incoming` sets it, and who reads what was stored.
        """
        marked = self.model_copy()
        marked._split = _Split(self.text)
        return marked

    @property
    def is_call(self) -> bool:
        """Whether this is the agent calling a tool, not the agent speaking."""
        return self.channel is Channel.AGENT and bool(self.call_id or self.name)

    @property
    def identity(self) -> str:
        """Hash of channel, tool, call id and words: equal when a retry sends it again."""
        parts = (self.channel.value, self.name, self.call_id, self.text)
        return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


class Turn(BaseModel):
    """What happened since the last commit.

    Attributes:
        observations: In the order in which they happened.
        number: The turn's number, from 1; 0 until `numbered`.
        reply: The agent's reply just before, where it belongs to an earlier turn. It is
            read (so that "yes, do that" refers to something), and stored already.
        heard: What tools and documents told the agent for that reply, to see whose words it
            repeats. Not citable.
        pending: Observations of earlier turns whose compression failed (law 9).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    observations: tuple[Observation, ...]
    number: int = 0
    reply: Observation | None = None
    heard: tuple[Observation, ...] = ()
    pending: tuple[Observation, ...] = ()

    @classmethod
    def from_messages(
        cls,
        messages: Sequence[Any],
        *,
        channels: Mapping[str, Channel] | None = None,
        speakers: Collection[str] | None = None,
    ) -> Self:
        """The current turn of a chat transcript; `all_from_messages` reads every turn.

        The turn is the last user message with what came after it, and the user messages right
        before it that nobody has answered. Where the last one has no answer yet, also what came
        after the user message before (tool results and reply), which no commit has seen.

        Args:
            messages: The whole transcript or its tail: OpenAI chat messages or Responses items,
                Anthropic's, Gemini's, the AI SDK's or LangChain's, as dicts or as objects, or
                ``("user", text)``. The model's reasoning is left out.
            channels: Channel by tool name, where a tool is no more than a document.
            speakers: Names on user messages that speak for the user; the others are documents
                under their name, unless ``channels`` names them. None: all are the user's.

        Raises:
            InputError: No user message, or a message that cannot be read.
            ConfigurationError: A tool's channel is none, or the speakers are no names.
        """
        from acc.transcript import checked_speakers, current_turn, named_channels

        known = checked_speakers(speakers)
        turn = current_turn(messages, channels=named_channels(channels), speakers=known)
        return cls(**dict(turn))

    @classmethod
    def all_from_messages(
        cls,
        messages: Sequence[Any],
        *,
        channels: Mapping[str, Channel] | None = None,
        speakers: Collection[str] | None = None,
    ) -> list[Self]:
        """All turns of a chat transcript in order, one for each user message.

        To be stepped one after the other. Arguments and errors are those of `from_messages`;
        a transcript without a user message has no turns.
        """
        from acc.transcript import checked_speakers, completed_turns, named_channels

        known = checked_speakers(speakers)
        turns = completed_turns(messages, channels=named_channels(channels), speakers=known)
        return [cls(**dict(turn)) for turn in turns]

    @classmethod
    def said(cls, text: str, *, pasted: str | Iterable[str] | Mapping[str, str] = ()) -> Self:
        """A turn in which the user says ``text``; pasted passages become documents.

        Args:
            text: The message as the user sent it.
            pasted: What is known to be pasted or attached: texts, or texts by name. Each is a
                document, and is taken out of ``text`` wherever it stands there. Marks in what is
                left are looked for all the same.

        Raises:
            InputError: The message, or what was pasted, is no text.
        """
        from acc.incoming import user_observations

        return cls(observations=user_observations(text, pasted))

    def numbered(self, number: int) -> Self:
        """The same turn as turn ``number``, each observation with its `Observation.ref`."""
        count: Counter[str] = Counter()
        named = []
        for observation in self.observations:
            letter = observation.channel.value[0]
            index = count[letter]
            count[letter] += 1
            ref = f"{letter}{number}" + (f".{index}" if index else "")
            named.append(observation.model_copy(update={"ref": ref}))
        reply = self.reply
        if reply is not None and not reply.ref:
            reply = reply.model_copy(update={"ref": f"a{number - 1}"})
        return self.model_copy(
            update={"observations": tuple(named), "number": number, "reply": reply}
        )

    @property
    def readable(self) -> tuple[Observation, ...]:
        """All that may be cited: pending turns, the reply before, this turn."""
        before = (self.reply,) if self.reply is not None else ()
        return (*self.pending, *before, *self.observations)

    @property
    def user_words(self) -> str:
        """The user's own words of this turn, joined by line breaks: the recall query."""
        return "\n".join(o.text for o in self.observations if o.channel is Channel.USER)

    def reply_before(self, ref: str) -> Observation | None:
        """The agent's reply that the user's observation ``ref`` answers, if any."""
        last: Observation | None = None
        for observations, before in ((self.pending, None), (self.observations, self.reply)):
            last = before or last
            for observation in observations:
                if observation.ref == ref:
                    return last
                if observation.channel is Channel.AGENT and not observation.is_call:
                    last = observation
        return None


class Evidence(Observation):
    """An artifact that the gate admitted, as the compressor reads it.

    Attributes:
        turn: Turn it comes from.
        standing: Trust of an item set aside earlier, or of a tool's or document's words that
            the agent repeated; None where the channel decides.
    """

    turn: int = 0
    standing: Trust | None = None

    @property
    def trust(self) -> Trust:
        """Trust of the item it was, or by channel."""
        return self.channel.trust if self.standing is None else self.standing
