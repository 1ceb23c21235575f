"""x_t, the turn interaction signal: what happened since the last commit, as one value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from acc.errors import InputError
from acc.turn.observations import Channel, Observation, split, user_observations
from acc.turn.transcript import checked_speakers, named_channels, read_exchanges


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
        found = read_exchanges(
            messages, channels=named_channels(channels), speakers=checked_speakers(speakers)
        )
        exchanges = list(found)
        if not exchanges:
            raise InputError(
                "no user message among the messages",
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
        """All turns of a chat transcript in order, one for each user message.

        To be stepped one after the other. Arguments and errors are those of `from_messages`;
        a transcript without a user message has no turns.
        """
        found = read_exchanges(
            messages, channels=named_channels(channels), speakers=checked_speakers(speakers)
        )
        turns: list[Self] = []
        before: tuple[Observation, ...] = ()
        for exchange in found:
            turns.append(cls._after(exchange, before))
            before = exchange
        return turns

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
        return cls(observations=user_observations(text, pasted))

    @classmethod
    def _after(cls, exchange: tuple[Observation, ...], before: Sequence[Observation]) -> Self:
        """The turn of ``exchange``, with the reply that ended the exchange before it."""
        replies = [o for o in before if o.channel is Channel.AGENT and not o.is_call]
        heard = tuple(o for o in before if o.channel in (Channel.TOOL, Channel.DOCUMENT))
        return cls(observations=exchange, reply=replies[-1] if replies else None, heard=heard)

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


def normalize(turn: Any, where: str) -> Turn:
    """The turn with what the user pasted split off, however the turn was made.

    Args:
        turn: The turn as a caller gave it.
        where: What an error names as the place.

    Raises:
        InputError: It is no turn.
    """
    if not isinstance(turn, Turn):
        raise InputError(
            f"the turn is {type(turn).__name__}",
            where=where,
            hint="make one: Turn.said(text) or Turn.from_messages(messages)",
        )
    own = tuple(split(turn.observations))
    if all(one is other for one, other in zip(own, turn.observations, strict=False)):
        return turn
    return turn.model_copy(update={"observations": own})


def refs_of(some: Sequence[Observation], turn: Turn) -> tuple[str, ...]:
    """The refs that ``some`` observations have in ``turn``."""
    wanted = {observation.identity for observation in some}
    return tuple(o.ref for o in turn.observations if o.identity in wanted)


def _said(exchange: Sequence[Observation]) -> int:
    """How many observations an exchange has up to the end of the user's message that it begins with."""
    own = [i for i, o in enumerate(exchange) if o.channel is Channel.USER]
    return own[0] + 1 if own else 0


def _is_answered(exchange: Sequence[Observation]) -> bool:
    return any(o.channel is Channel.AGENT for o in exchange[_said(exchange) :])
