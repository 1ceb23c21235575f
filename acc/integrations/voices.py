"""Chat messages as observations: who said what, on which channel, and how it is recognised later.

`acc.turn.transcript` reads the messages of every provider. This module adds what a graph knows: which human message
is the user's, a task of another agent's, or something that a tool or a middleware wrote; and what became of a call.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, ChatMessage, HumanMessage, ToolMessage

from acc.errors import InputError
from acc.integrations.messages import MADE, is_marked, with_fields
from acc.integrations.notes import NONE, Note
from acc.integrations.reviews import ReviewMarks, outcome
from acc.logs import log_event
from acc.state.policy import Policy
from acc.state.tail import digest_of
from acc.turn.chat_messages import LANGCHAIN, TIMES, time_in
from acc.turn.observations import GIVEN_TASK, Channel, Observation, asked
from acc.turn.redact import Redact, redacted
from acc.turn.transcript import checked_speakers, named_channels, read_transcript

EVIDENCE_TOOL = "open_evidence"
"""The tool that shows stored evidence; its result is a document unless configured otherwise."""


_LOG = logging.getLogger(__name__)

WRITTEN = "not the user"
"""Name of a human message that a tool or a middleware wrote, or that a guard kept from the agent: a document."""


class Read(NamedTuple):
    """A message with its observations and their digests.

    A message of the same id and the same digests is the same message.
    """

    message: BaseMessage
    observations: tuple[Observation, ...]
    digests: tuple[str, ...]

    @property
    def id(self) -> str:
        """The message's id, as the journal stores it."""
        return str(self.message.id)

    @property
    def told(self) -> list[tuple[Observation, str]]:
        """Each observation with its digest."""
        return list(zip(self.observations, self.digests, strict=True))

    @property
    def words(self) -> str:
        """The digests, as notes hold them."""
        return " ".join(self.digests)


Noted = Mapping[str, Note]
"""What a run noted of its messages, by their ids."""

MOST_READ = 512
"""Messages that were read last and are known: a channel is read again at each pass and each prompt."""


class Voices:
    """Assigns speakers to channels.

    Attributes:
        channels: Channel by tool name, and by name of a human message that is not the user's.
        speakers: Names of people who speak as the user; None accepts every name.
        human: Channel of a human who reviews a call or answers an interrupt.
        marks: Knows what the middleware wrote beside a result; None believes nothing that stands there.
    """

    def __init__(
        self,
        channels: Mapping[str, Channel] | None = None,
        speakers: Collection[str] | None = None,
        human: Channel | str = Channel.OPERATOR,
        policy: Policy | None = None,
        redact: Redact | None = None,
    ) -> None:
        """Hear as a memory with this policy and redaction does.

        Raises:
            ConfigurationError: A channel is unknown, or ``speakers`` is one text.
        """
        own = {WRITTEN: Channel.DOCUMENT, EVIDENCE_TOOL: Channel.DOCUMENT}
        self.channels = {**own, **named_channels(channels)}
        self.speakers = checked_speakers(speakers)
        self.human = named_channels({"a human": human})["a human"]  # type: ignore[dict-item]
        self.marks: ReviewMarks | None = None
        self._policy, self._redact = policy or Policy(), redact
        self._known: OrderedDict[Any, tuple[Any, tuple[Read, ...]]] = OrderedDict()

    def read(self, messages: Sequence[BaseMessage], noted: Noted = {}) -> list[Read]:  # noqa: B006
        """Return each message with its observations; ``messages`` are any part of a conversation.

        Raises:
            InputError: A message cannot be read.
        """
        found: list[Read] = []
        for group in _groups(messages):
            notes = [noted.get(str(m.id), NONE) for m in group]
            given = group, [(note.who, note.speaker) for note in notes]
            known = self._known.get(group[0].id)
            reads = known[1] if known is not None and known[0] == given else None
            if reads is None:
                reads = tuple(self._read(group, notes))
                self._known[group[0].id] = given, reads
                while len(self._known) > MOST_READ:
                    self._known.popitem(last=False)
            found += reads
        return found

    def _read(self, group: Sequence[BaseMessage], notes: Sequence[Note]) -> Iterator[Read]:
        spoken = [_named(_readable(m), note) for m, note in zip(group, notes, strict=True)]
        told = read_transcript(spoken, channels=self.channels, speakers=self.speakers)
        for message, note, (_, made, _) in zip(group, notes, told, strict=True):
            seen = tuple(self._voiced(message, note, made))
            if self._policy.pasted == "ask":
                seen = tuple(asked(seen))
            clean = redacted(seen, self._redact)
            yield Read(message, seen, tuple(digest_of(o, self._policy.digest_key) for o in clean))

    def _voiced(
        self, message: BaseMessage, note: Note, made: Sequence[Observation]
    ) -> Iterator[Observation]:
        if isinstance(message, ToolMessage):
            yield from self._result(message, note, made)
            return
        is_task = note.who == "task" or is_marked(message)
        said = (
            {"channel": Channel.AGENT, "name": GIVEN_TASK}
            if is_task
            else {"name": _speaker(message, note)}
        )
        for each in made:
            yield each.model_copy(update=said) if each.channel is Channel.USER else each

    def _result(
        self, message: ToolMessage, note: Note, made: Sequence[Observation]
    ) -> Iterator[Observation]:
        """Yield a tool's result with what became of the call, and a human's words on their own channel."""
        became = outcome(message, self.marks)
        for observation in made:
            text = observation.text if became.is_tools else ""
            said = " ".join(part for part in (became.fate and f"[{became.fate}]", text) if part)
            yield observation.model_copy(update={"text": said}) if said else observation
        origin = {"message": str(message.id or ""), "name": became.who or note.speaker}
        for words in became.words:
            yield Observation(channel=self.human, text=words, **origin)


def _groups(messages: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    """Group each message with the results behind it: healed, no group needs another to be read."""
    found: list[list[BaseMessage]] = []
    for message in messages:
        if isinstance(message, ToolMessage) and found:
            found[-1].append(message)
        else:
            found.append([message])
    return found


def _readable(message: BaseMessage) -> BaseMessage:
    """Return a message without what would stop its thread for good: nobody mends a checkpoint.

    A time that is none is no time. A role that no provider knows is a name, and its words are a document.
    """
    fields: dict[str, Any] = {}
    if isinstance(message, ChatMessage) and message.role not in LANGCHAIN:
        told = message.additional_kwargs
        message = HumanMessage(
            message.content, id=message.id, name=message.role, additional_kwargs=told
        )
        fields[MADE] = True
    for name in TIMES & message.additional_kwargs.keys():
        try:
            time_in(message.additional_kwargs[name], "")
        except InputError as error:
            fields[name] = None
            log_event(
                _LOG, logging.WARNING, "no_time", f"the time of a message is left out: {error}"
            )
    return with_fields(message, fields)


def _named(message: BaseMessage, note: Note) -> BaseMessage:
    if not isinstance(message, HumanMessage):
        return message
    is_written = note.who == "written" or bool(message.additional_kwargs.get(MADE))
    name = WRITTEN if is_written else _speaker(message, note)
    return message.model_copy(update={"name": name}) if name else message


def _speaker(message: BaseMessage, note: Note) -> str:
    return note.speaker or message.name or ""
