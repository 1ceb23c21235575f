"""Read LangChain messages: extract evidence, group steps, repair sequences for providers.

`acc.turn.transcript` reads the observations. This module adds the parts specific to LangGraph.
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
from acc.integrations.reviews import NO_RESULT, calls_of, fates, human_words, quoted_words
from acc.turn.observations import GIVEN_TASK, Channel, Observation
from acc.turn.redact import Redact, redacted
from acc.turn.transcript import checked_speakers, named_channels, read_transcript, speaks_for_user

EVIDENCE_TOOL = "open_evidence"
"""The tool that shows stored evidence; its result is a document unless configured otherwise."""


TASK = "acc_task"
"""Key in a human message's ``additional_kwargs``: the agent for which another agent wrote it."""


@dataclass(frozen=True)
class Voices:
    """Assigns speakers to channels.

    Attributes:
        channels: Channel by tool name; a tool is a document by default. Also by the name of a
            human message that another agent wrote.
        speakers: Names of people who speak as the user; None accepts every name. A message
            without a name is always the user's.
        human: Channel of a human who reviews a call or answers an interrupt.
        redact: Removes secrets as the memory does; both then compute the same identity.
        agent: The agent that listens; a task marked for it opens a turn (`with_task_mark`).
    """

    channels: Mapping[str, Channel] = field(default_factory=dict)
    speakers: Collection[str] | None = None
    human: Channel = Channel.USER
    redact: Redact | None = None
    agent: str = ""

    @classmethod
    def of(
        cls,
        channels: Mapping[str, Channel] | None,
        speakers: Collection[str] | None,
        human: Channel | str = Channel.USER,
    ) -> Self:
        """Build the voices from a deployer's configuration.

        Raises:
            ConfigurationError: A channel is unknown, or ``speakers`` is one text.
        """
        human = named_channels({"a human": human})["a human"]  # type: ignore[dict-item]
        return cls(named_channels(channels), checked_speakers(speakers), human)


def as_messages(messages: Sequence[Any]) -> list[BaseMessage]:
    """Convert ``messages`` to LangChain's objects, each with an id.

    A message without an id (from a channel without LangGraph's reducer) gets one derived from the
    previous message, its kind and its words. The id is stable across calls, and differs if the same
    words occur again later.

    Raises:
        InputError: An entry is neither a message nor a dict that represents one.
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
    """Return the observations of ``messages`` in order; summaries and removals make none.

    The text of a call that failed, never ran, or was changed or refused by a human starts with a
    note of that. ``messages`` are any part of a conversation, with the results of its calls.
    """
    channels = {EVIDENCE_TOOL: Channel.DOCUMENT, **voices.channels}
    kept = [m for m in messages if not (is_summary(m) or isinstance(m, RemoveMessage))]
    became = {id(step[0]): fates(step) for step in steps(kept)}
    told = read_transcript(kept, channels=channels, speakers=voices.speakers)
    seen = [
        observation
        for message, (_, made, _) in zip(kept, told, strict=True)
        for observation in _as_it_was(message, made, became.get(id(message), ()), voices.human)
    ]
    return redacted(seen, voices.redact)


def _as_it_was(
    message: BaseMessage, made: Sequence[Observation], became: Sequence[str], human: Channel
) -> Iterator[Observation]:
    """Yield a message's observations, with the fate of its calls and a human's words separate."""
    if (words := human_words(message)) is not None:
        given = str(message.id or "")
        yield from (Observation(channel=human, text=text, message=given) for text in words)
        return
    fate = iter(became)
    for observation in made if not task_for(message) else map(_as_agents, made):
        said = next(fate, "") if observation.is_call else ""
        prefixed = {"text": f"[{said}] {observation.text}"}
        yield observation.model_copy(update=prefixed) if said else observation
    for text in quoted_words(message):
        yield Observation(channel=human, text=text, message=str(message.id or ""))


def _as_agents(observation: Observation) -> Observation:
    """Lower a user's words to an agent's."""
    if observation.channel is not Channel.USER:
        return observation
    return observation.model_copy(update={"channel": Channel.AGENT, "name": GIVEN_TASK})


def task_for(message: BaseMessage) -> str:
    """Return the agent for which another agent wrote the message; empty if it is no task."""
    agent = message.additional_kwargs.get(TASK) if isinstance(message, HumanMessage) else None
    return agent if isinstance(agent, str) else ""


def with_task_mark(message: BaseMessage, agent: str) -> BaseMessage:
    """Return the message, marked as a task that another agent wrote for ``agent``."""
    marked = {**message.additional_kwargs, TASK: agent}
    return message.model_copy(update={"additional_kwargs": marked})


def is_summary(message: BaseMessage) -> bool:
    """Return whether a summarizing middleware wrote it; a summary is not evidence."""
    return message.additional_kwargs.get("lc_source") == "summarization"


def is_users(message: BaseMessage, voices: Voices) -> bool:
    """Return whether the message opens a turn: the user's words, or a task for this agent."""
    if not isinstance(message, HumanMessage) or is_summary(message):
        return False
    if agent := task_for(message):
        return agent == voices.agent
    if isinstance(message.content, str):
        return speaks_for_user(message.name, voices.speakers, voices.channels)
    return any(
        t.opens
        for t in read_transcript([message], channels=voices.channels, speakers=voices.speakers)
    )


def is_answer(step: Sequence[BaseMessage]) -> bool:
    """Return whether the last message is the agent's and makes no call."""
    last = step[-1]
    return isinstance(last, AIMessage) and not (last.tool_calls or last.invalid_tool_calls)


def steps(messages: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    """Group a turn into steps; each is a model answer with the results of all its calls.

    Messages before the first answer form their own step. Messages between results stay with them. A
    cut between two steps therefore never separates a call from its result.
    """
    found: list[list[BaseMessage]] = []
    for message in messages:
        if isinstance(message, AIMessage) or not found:
            found.append([])
        found[-1].append(message)
    return found


def healed(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return ``messages`` in a form that every provider accepts: one result after each call.

    A call without a result, for example after a crash, gets a result that says so. A result
    without a call is left out.
    """
    whole: list[BaseMessage] = []
    for step in steps(messages):
        results = [m for m in step if isinstance(m, ToolMessage)]
        others = [m for m in step if not isinstance(m, ToolMessage)]
        answers = [_answer(call_id, name, step[0], results) for call_id, name in calls_of(step[0])]
        whole += [*others[:1], *answers, *others[1:]]
    return whole


def replacing(kept: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the update that leaves only ``kept`` in a channel with LangGraph's reducer."""
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]


def pruned(before: Sequence[Any], kept: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the update that turns ``before`` into ``kept``; empty if they are equal.

    It removes messages by id if the remaining ones keep their order and new ones come last.
    Otherwise it replaces all, which LangGraph's message stream shows to the user as new output.
    """
    held = {m.id: m for m in before if isinstance(m, BaseMessage) and m.id}
    ids = [m.id for m in kept]
    stay = [name for name in held if name in {*ids}]
    if len(held) < len(before) or ids[: len(stay)] != stay or len({*ids}) < len(ids):
        return replacing(kept)
    gone = [RemoveMessage(id=name) for name in held if name not in {*ids}]
    return [*gone, *(m for m in kept if m != held.get(str(m.id)))]


def role_and_rest(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Split off the leading system message (the agent's role) from the other messages.

    Any other system message is application material, such as a retrieved context.
    """
    first = 1 if messages and isinstance(messages[0], SystemMessage) else 0
    return list(messages[:first]), list(messages[first:])


def _answer(
    call_id: str, name: str, calling: BaseMessage, results: list[ToolMessage]
) -> ToolMessage:
    """Remove and return the first matching result: some providers give two calls one id."""
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
