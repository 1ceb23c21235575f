"""The conversation that ways to keep an agent's memory are measured on, and who answers in it."""

from __future__ import annotations

import random
import re

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from workload import observed

from acc.testing.chat_model import ScriptedChatModel, call

ROLE = "You are the on-call agent of a shop. You look things up, and answer in a few sentences."

_NUMBER = re.compile(r"turn (\d+)")


class Workload:
    """The texts of each turn; the same however often, and by whichever way, they are asked for."""

    def __init__(self, is_chat: bool = False, size: float = 1.0) -> None:
        """Prepare a conversation; in a chat the agent calls no tool. ``size``: the part of each text that is said."""
        self.is_chat, self._size = is_chat, size

    def said(self, number: int) -> str:
        """What the user says: 300 bytes."""
        return f"turn {number}: {self._text(number, 0)}" if self.is_chat else self._text(number, 0)

    def found(self, number: int) -> str:
        """What the tool returns: 1.5 KB."""
        return f"turn {number}: {self._text(number, 1)}"

    def answer(self, number: int) -> str:
        """What the agent answers: 600 bytes."""
        return self._text(number, 3)

    def tool(self) -> BaseTool:
        """The agent's tool."""

        def look_up(number: int) -> str:
            """What is known of a turn."""
            return self.found(number)

        return StructuredTool.from_function(look_up)

    def model(self) -> ScriptedChatModel:
        """The agent's model: calls the tool, then answers."""

        def decide(prompt: list[BaseMessage]) -> AIMessage:
            last = prompt[-1]
            number = int(_NUMBER.findall(str(last.text))[0])
            if self.is_chat or isinstance(last, ToolMessage):
                return AIMessage(self.answer(number))
            return AIMessage("", tool_calls=[call("look_up", f"call-{number}", number=number)])

        return ScriptedChatModel(script=decide)

    def summarizer(self) -> ScriptedChatModel:
        """A model that writes summaries as long as the memory's state may be: 800 tokens."""

        def summarize(prompt: list[BaseMessage]) -> AIMessage:
            words = " ".join(str(m.text) for m in prompt).split()
            return AIMessage(" ".join(words)[-3_200:])

        return ScriptedChatModel(script=summarize)

    def _text(self, number: int, place: int) -> str:
        text = observed(number, random.Random(number)).observations[place].text
        return text[: int(len(text) * self._size)]
