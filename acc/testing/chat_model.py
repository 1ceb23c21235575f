"""A LangChain chat model that follows a script and rejects prompts that providers reject.

model = ScriptedChatModel(script=lambda prompt: AIMessage("I see " + str(len(prompt))))
model = ScriptedChatModel(script=[AIMessage("", tool_calls=[call("search", q="pool")]), "Done."])
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import ConfigDict, PrivateAttr

Answer = AIMessage | str
Line = Answer | BaseException | Callable[[list[BaseMessage]], Answer]


class PromptRefused(ValueError):
    """A provider would answer this prompt with status 400."""


class ScriptedChatModel(BaseChatModel):
    """Answers with ``script``: a function of the prompt, or a list with a line for each call.

    A line is a message, a text, an exception to raise, or a function of the prompt. After the last line it fails with
    an AssertionError. A prompt that providers reject raises `PromptRefused`. The model streams word by word.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    script: Any

    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        """The prompt of each call."""
        return self._prompts

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Return this model: the script says which tools are called."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for piece in _pieces(self._next(messages)):
            chunk = ChatGenerationChunk(message=piece)
            if run_manager is not None:
                run_manager.on_llm_new_token(str(piece.text), chunk=chunk)
            yield chunk

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        place = len(self._prompts)
        self._prompts.append(list(messages))
        _check(messages)
        line = self.script if callable(self.script) else self._line(place)
        answer = line(messages) if callable(line) else line
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, str):
            return AIMessage(answer)
        return answer.model_copy(update={"id": None})

    def _line(self, place: int) -> Line:
        lines: Sequence[Line] = self.script
        if place >= len(lines):
            raise AssertionError(f"the script has {len(lines)} lines, and this is call {place + 1}")
        return lines[place]


def call(name: str, call_id: str | None = None, **args: Any) -> ToolCall:
    """Build a tool call. Without ``call_id``, the name and the arguments form its id."""
    named = "-".join(map(str, (name, *args.values())))
    made = "".join(char if char.isalnum() or char == "_" else "-" for char in named)[:40]
    return ToolCall(name=name, args=args, id=call_id or made, type="tool_call")


def _check(messages: Sequence[BaseMessage]) -> None:
    waiting: list[str] = []
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                raise PromptRefused(f"a tool result without its call: {message.tool_call_id}")
            waiting.remove(message.tool_call_id)
            continue
        if waiting:
            raise PromptRefused(f"calls without a result: {waiting}")
        if message.type == "system" and any(m.type != "system" for m in messages[:place]):
            raise PromptRefused("a system message inside the conversation")
        if isinstance(message, AIMessage):
            made = (*message.tool_calls, *message.invalid_tool_calls)
            waiting = [str(c["id"]) for c in made]
    if waiting or all(m.type == "system" for m in messages):
        raise PromptRefused(f"calls without a result: {waiting}" if waiting else "no message")


def _pieces(message: AIMessage) -> Iterator[AIMessageChunk]:
    first, *others = str(message.text).split(" ")
    words = [first, *(f" {word}" for word in others)]
    for word in words[:-1]:
        yield AIMessageChunk(content=word)
    chunks = [
        {"name": c["name"], "args": json.dumps(c["args"]), "id": c["id"], "index": i}
        for i, c in enumerate(message.tool_calls)
    ]
    yield AIMessageChunk(content=words[-1], tool_call_chunks=chunks, chunk_position="last")
