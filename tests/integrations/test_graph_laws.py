"""Whatever clients, crashes and forks do: each message is committed once, and the model reads what is open."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from acc.integrations.langchain import MemoryMiddleware
from acc.memory import Memory
from acc.testing.chat_model import ScriptedChatModel
from graphs import CONFIG, agent, evidence, memory_of


class Client:
    """A conversation as a client sees it, over a graph with the memory in it."""

    def __init__(self, middleware: bool) -> None:
        self.memory: Memory = memory_of()
        self.model = ScriptedChatModel(script=self._answer)
        self.fails, self.sent = False, 0
        if middleware:
            own = MemoryMiddleware(self.memory)  # type: ignore[arg-type]
            self.graph: Any = create_agent(
                self.model, [], middleware=[own], checkpointer=InMemorySaver()
            )
        else:
            self.graph = agent(self.memory, self.model, checkpointer=InMemorySaver())  # type: ignore[arg-type]
        self.history: list[BaseMessage] = []
        self.places: list[tuple[Any, list[BaseMessage]]] = []

    def _answer(self, _: list[BaseMessage]) -> AIMessage:
        if self.fails:
            raise RuntimeError("429")
        return AIMessage(f"answer {len(self.model.prompts)}")

    def send(self, count: int, window: int, *, fails: bool) -> None:
        """Send ``count`` new messages, and ``window`` of what was there before them."""
        before = list(self.history)
        for _ in range(count):
            self.sent += 1
            self.history.append(HumanMessage(f"Question {self.sent}?", id=f"u{self.sent}"))
        given = [*(before[-window:] if window else ()), *self.history[len(before) :]]
        self.fails = fails
        try:
            out = self.graph.invoke({"messages": given}, CONFIG)
        except RuntimeError:
            return
        self.history.append(out["messages"][-1])
        self._check(out)
        self.places.append((self.graph.get_state(CONFIG).config, list(self.history)))

    def fork(self, place: int) -> None:
        """Go on from where an earlier answer was given."""
        if self.places:
            config, self.history = self.places[place % len(self.places)]
            self.graph.update_state(config, {}, as_node=self._last_node())
            self.history = list(self.history)

    def _last_node(self) -> str:
        return "model" if "model" in self.graph.nodes else "reason"

    def _check(self, out: Any) -> None:
        asked = [m.text for m in self.history if m.type == "human"]
        kept = Counter(a.text for a in evidence(self.memory, out["ccs"]) if a.channel == "user")
        assert kept == Counter(asked)
        answers = [i for i, m in enumerate(self.history[:-1]) if m.type == "ai"]
        since = self.history[answers[-1] + 1 if answers else 0 : -1]
        shown = [m.text for m in self.model.prompts[-1] if m.type == "human"]
        assert shown == [m.text for m in since]


SENDS = st.tuples(st.integers(1, 3), st.integers(0, 6), st.booleans())
FORKS = st.integers(0, 5)


@pytest.mark.parametrize("middleware", [False, True])
@given(st.lists(st.one_of(SENDS, SENDS, FORKS), min_size=1, max_size=7))
def test_each_message_is_committed_once_and_what_is_open_is_read(
    middleware: bool, acts: list[Any]
) -> None:
    client = Client(middleware)
    for act in acts:
        if isinstance(act, int):
            client.fork(act)
        else:
            count, window, fails = act
            client.send(count, window, fails=fails)
    client.send(1, 99, fails=False)
