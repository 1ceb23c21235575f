"""A peer as an evaluated memory: LangChain's SummarizationMiddleware. It needs the extra ``langchain``.

    acc eval probe SCENARIO --memory langchain,model=NAME@http://HOST/v1
    acc eval probe SCENARIO --memory langchain,answers=FILE,trigger=4000,keep=20

The middleware itself runs, before each model call of an agent that asks its tools once a turn. What it asks a model
goes through the same client as ACC's compressor, so that answers are recorded and replayed in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph.message import add_messages

from acc.errors import ConfigurationError
from acc.models.endpoints import as_model
from acc.models.protocol import ChatModel, PromptMessage
from acc.models.recorded import RecordedModel, RecordingModel
from acc.turn.observations import Channel
from acc.turn.turn import Turn
from acc_eval.memories.protocol import HeldItem, Reading


class _Through(BaseChatModel):
    """A LangChain chat model that asks one of ACC's clients, and counts what it costs."""

    inner: Any
    usage: Any

    @property
    def _llm_type(self) -> str:
        return "through"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> ChatResult:
        roles = {"human": "user", "ai": "assistant", "system": "system"}
        asked = [PromptMessage(roles.get(m.type, "user"), str(m.text)) for m in messages]  # type: ignore[arg-type]
        done = self.inner.complete(asked, None)
        spent = done.usage
        self.usage.update(
            requests=spent.requests, input=spent.input, output=spent.output, cached=spent.cached
        )
        return ChatResult(generations=[ChatGeneration(message=AIMessage(done.text))])


class LangChainSummary:
    """The messages of a thread with SummarizationMiddleware in front of the model.

    Attributes:
        usage: The summariser's requests and tokens so far.
    """

    has_slots = False

    def __init__(self, model: ChatModel, trigger: int = 4_000, keep: int = 20) -> None:
        """Create a memory.

        Args:
            model: Writes the summaries.
            trigger: Tokens of messages over which it summarises. The documentation's example has 4,000.
            keep: Messages that stay; its default is 20.
        """
        self.usage: Counter[str] = Counter()
        through = _Through(inner=model, usage=self.usage)
        self._middleware: Any = SummarizationMiddleware(
            model=through, trigger=("tokens", trigger), keep=("messages", keep)
        )
        self._messages: list[AnyMessage] = []
        self._turns = 0

    def observe(self, turn: Turn) -> None:
        """Let the turn happen: the user speaks, tools answer, the agent answers."""
        self._turns += 1
        for number, group in enumerate(_as_messages(turn, self._turns)):
            self._add(group)
            if number < 2:
                self._before_model()

    def held(self) -> Reading:
        """The messages that the next model call begins with."""
        texts = [f"{m.type}: {m.text}" for m in self._messages if str(m.text).strip()]
        verbatim = frozenset(
            int(str(m.id).partition(".")[0])
            for m in self._messages
            if m.type == "human" and str(m.id).partition(".")[0].isdigit()
        )
        return Reading("\n\n".join(texts), tuple(map(HeldItem, texts)), verbatim=verbatim)

    def read(self, question: str) -> Reading:
        """The same for any question."""
        return self.held()

    def close(self) -> None:
        """Nothing to release."""

    def _add(self, messages: Sequence[AnyMessage | RemoveMessage]) -> None:
        merged: Any = add_messages(self._messages, list(messages))  # type: ignore[arg-type]
        self._messages = list(merged)

    def _before_model(self) -> None:
        update = self._middleware.before_model({"messages": self._messages}, None)
        if update:
            self._add(update["messages"])


def _as_messages(turn: Turn, number: int) -> Iterator[list[AnyMessage]]:
    """Yield the user's message, the calls with their results, and the answer."""
    said = [o for o in turn.observations if o.channel in (Channel.USER, Channel.DOCUMENT)]
    yield [HumanMessage("\n\n".join(o.text for o in said), id=f"{number}.u")]
    tools = [o for o in turn.observations if o.channel is Channel.TOOL]
    calls = [
        {"name": o.name or "tool", "args": {}, "id": f"{number}.{i}"} for i, o in enumerate(tools)
    ]
    results = [
        ToolMessage(o.text, tool_call_id=f"{number}.{i}", id=f"{number}.t{i}")
        for i, o in enumerate(tools)
    ]
    yield [AIMessage("", tool_calls=calls, id=f"{number}.c"), *results] if tools else []
    answers = [o.text for o in turn.observations if o.channel is Channel.AGENT and not o.is_call]
    yield [AIMessage("\n".join(answers), id=f"{number}.a")]


def langchain(
    *,
    asked: Any = None,
    model: str = "",
    answers: str = "",
    record: str = "",
    trigger: int = 4_000,
    keep: int = 20,
) -> LangChainSummary:
    """Create a memory for a specification: a ``model`` to ask, or ``answers`` recorded with ``record``.

    Raises:
        ConfigurationError: No model is named.
    """
    inner: ChatModel | None = RecordedModel(answers) if answers else asked
    inner = as_model(model) if model and not answers else inner
    if inner is None:
        hint = "add model=NAME or answers=FILE"
        raise ConfigurationError("a summariser needs a model", where="langchain", hint=hint)
    return LangChainSummary(RecordingModel(inner, record) if record else inner, trigger, keep)
