"""LangChain messages: what in them is evidence, what belongs together, what a model accepts.

Observations are read by `acc.turn.transcript`, as everywhere; here is what LangGraph adds to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from acc.errors import InputError
from acc.integrations.reviews import NO_RESULT, fates, human_words, quoted_words
from acc.turn.observations import Channel, Observation
from acc.turn.redact import Redact, redacted
from acc.turn.transcript import checked_speakers, named_channels, speaks_for_user, tell

EVIDENCE_TOOL = "open_evidence"
"""The tool that shows stored evidence; what it shows is a document unless configured otherwise."""


@dataclass(frozen=True)
class Voices:
    """Who speaks on which channel.

    Attributes:
        channels: Channel by tool name, where a tool is no more than a document; also by the
            name of a human message that another agent wrote.
        speakers: Names of the people whose messages are the user's; None for whoever writes.
            A message without a name is the user's too.
        human: Channel of what a human says who reviews a call or answers an interrupt.
        redact: Takes secrets out of what they say, as the memory does, so that both know it by one identity.
    """

    channels: Mapping[str, Channel] = field(default_factory=dict)
    speakers: Collection[str] | None = None
    human: Channel = Channel.USER
    redact: Redact | None = None

    @classmethod
    def of(
        cls,
        channels: Mapping[str, Channel] | None,
        speakers: Collection[str] | None,
        human: Channel | str = Channel.USER,
    ) -> Self:
        """The voices that a deployer configures.

        Raises:
            ConfigurationError: A channel that is none, or speakers that are one text.
        """
        human = named_channels({"a human": human})["a human"]  # type: ignore[dict-item]
        return cls(named_channels(channels), checked_speakers(speakers), human)


def as_messages(messages: Sequence[Any]) -> list[BaseMessage]:
    """``messages`` as LangChain's objects, each with an id.

    A message without an id, as in a channel without LangGraph's reducer, gets one from the message
    before it, its kind and its words: the same the next time, and another one where the same
    words are said again later.

    Raises:
        InputError: One is neither a message nor a dict that stands for one.
    """
    try:
        converted = convert_to_messages(list(messages))
    except (ValueError, NotImplementedError, LookupError, TypeError, AttributeError) as error:
        told = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(
            f"a message that LangChain cannot read: {told}",
            where="messages",
            hint='pass LangChain messages, or dicts with "role" and "content"',
        ) from error
    whole: list[BaseMessage] = []
    for message in converted:
        whole.append(message if message.id else _identified(message, whole[-1:]))
    return whole


def observed(messages: Sequence[BaseMessage], voices: Voices) -> tuple[Observation, ...]:
    """The observations that ``messages`` make, in order; summaries and removals make none.

    A call that failed, never ran, or was changed or refused by a human says so in front.

    Args:
        messages: Any stretch of a conversation, with the results of the calls in it.
        voices: Who speaks on which channel.
    """
    channels = {EVIDENCE_TOOL: Channel.DOCUMENT, **voices.channels}
    kept = [m for m in messages if not (is_summary(m) or isinstance(m, RemoveMessage))]
    became = {id(step[0]): fates(step) for step in steps(kept)}
    told = tell(kept, channels=channels, speakers=voices.speakers)
    seen = [
        observation
        for message, (_, made, _) in zip(kept, told, strict=True)
        for observation in _as_it_was(message, made, became.get(id(message), ()), voices.human)
    ]
    return redacted(seen, voices.redact)


def _as_it_was(
    message: BaseMessage, made: Sequence[Observation], became: Sequence[str], human: Channel
) -> Iterator[Observation]:
    """What a message makes, with what became of its calls, and a human's words as theirs."""
    if (words := human_words(message)) is not None:
        given = str(message.id or "")
        yield from (Observation(channel=human, text=text, message=given) for text in words)
        return
    fate = iter(became)
    for observation in made:
        said = next(fate, "") if observation.is_call else ""
        prefixed = {"text": f"[{said}] {observation.text}"}
        yield observation.model_copy(update=prefixed) if said else observation
    for text in quoted_words(message):
        yield Observation(channel=human, text=text, message=str(message.id or ""))


def is_summary(message: BaseMessage) -> bool:
    """Whether a summarising middleware wrote it: no evidence, and nobody's words."""
    return message.additional_kwargs.get("lc_source") == "summarization"


def is_users(message: BaseMessage, voices: Voices) -> bool:
    """Whether the user says it, and neither a middleware nor another agent."""
    if not isinstance(message, HumanMessage) or is_summary(message):
        return False
    if isinstance(message.content, str):
        return speaks_for_user(message.name, voices.speakers, voices.channels)
    return any(t.opens for t in tell([message], channels=voices.channels, speakers=voices.speakers))


def is_answer(step: Sequence[BaseMessage]) -> bool:
    """Whether the last message is the agent's and calls nothing."""
    last = step[-1]
    return isinstance(last, AIMessage) and not (last.tool_calls or last.invalid_tool_calls)


def turn_of(messages: Sequence[BaseMessage], user_id: str) -> list[BaseMessage] | None:
    """The turn that the human message ``user_id`` begins, with it; None where it is not there."""
    for place, message in enumerate(messages):
        if message.id == user_id:
            return list(messages[place:])
    return None


def steps(messages: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    """The steps of a turn, each an answer of the model with the results of all its calls.

    What comes before the first answer is a step of its own, and what stands between results
    stays with them, so that a cut between two steps parts no call from its result.
    """
    found: list[list[BaseMessage]] = []
    for message in messages:
        if isinstance(message, AIMessage) or not found:
            found.append([])
        found[-1].append(message)
    return found


def healed(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """``messages`` as every provider accepts them: each call with one result behind it.

    A call without a result, after a crash say, gets a result that says so; a result without
    its call is left out.
    """
    whole: list[BaseMessage] = []
    for step in steps(messages):
        results = [m for m in step if isinstance(m, ToolMessage)]
        others = [m for m in step if not isinstance(m, ToolMessage)]
        answers = [_answer(call_id, name, step[0], results) for call_id, name in _calls(step[0])]
        whole += [*others[:1], *answers, *others[1:]]
    return whole


def replacing(kept: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The update that leaves ``kept`` and nothing else in a channel with LangGraph's reducer."""
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]


def pruned(before: Sequence[Any], kept: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The update that makes ``kept`` of ``before``; empty where they are the same.

    It names what goes by its id, as long as what stays keeps its order and what is new comes
    last: LangGraph's stream of messages shows whatever a node writes that it was not given, a
    removal of all too.
    """
    held = {m.id: m for m in before if isinstance(m, BaseMessage) and m.id}
    ids = [m.id for m in kept]
    stay = [name for name in held if name in {*ids}]
    if len(held) < len(before) or ids[: len(stay)] != stay or len({*ids}) < len(ids):
        return replacing(kept)
    gone = [RemoveMessage(id=name) for name in held if name not in {*ids}]
    return [*gone, *(m for m in kept if m != held.get(str(m.id)))]


def role_and_rest(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """The system message at the head of a conversation, which is the agent's role, and the others.

    Any other system message is material of the application, such as a retrieved context.
    """
    first = 1 if messages and isinstance(messages[0], SystemMessage) else 0
    return list(messages[:first]), list(messages[first:])


def _calls(message: BaseMessage) -> Iterator[tuple[str, str]]:
    """Ids and names of the calls that go out to a provider, the malformed ones included."""
    if isinstance(message, AIMessage):
        for call in (*message.tool_calls, *message.invalid_tool_calls):
            yield str(call["id"] or ""), str(call["name"] or "")


def _answer(
    call_id: str, name: str, calling: BaseMessage, results: list[ToolMessage]
) -> ToolMessage:
    """The result of a call, taken out of ``results``: some providers give two calls one id."""
    for place, result in enumerate(results):
        if result.tool_call_id == call_id:
            return results.pop(place)
    return ToolMessage(
        NO_RESULT, tool_call_id=call_id, name=name, status="error",
        id=f"{calling.id}.{call_id}",
    )  # fmt: skip


def _identified(message: BaseMessage, before: Sequence[BaseMessage]) -> BaseMessage:
    words = "\x00".join((*(str(m.id) for m in before), message.type, str(message.content)))
    return message.model_copy(update={"id": hashlib.sha256(words.encode()).hexdigest()[:24]})
