"""`MemoryNode` in a graph. In the tests beside it, each trap of LangGraph has a test with its name."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import (
    HumanMessage,
    SystemMessage,
)
from langgraph.checkpoint.memory import InMemorySaver

from acc import AsyncMemoryController, InMemoryStore, MemoryController
from acc.errors import ConfigurationError, InputError
from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode
from acc.integrations.summarizer import MemorySummarizer
from acc.stores import Artifact
from acc.testing.chat_model import ScriptedChatModel
from graphs import CONFIG, RULE, agent, evidence, looping, memory_of, said


@pytest.mark.parametrize("made", [MemoryNode, MemoryMiddleware, MemorySummarizer])
@pytest.mark.parametrize("controller", ["./memory", None, MemoryController])
def test_what_is_no_memory_is_refused_at_once(made: Any, controller: Any) -> None:
    with pytest.raises(ConfigurationError, match="To fix: open one"):
        made(controller)


def test_the_prompt_is_role_state_last_reply_and_turn_however_long_the_thread() -> None:
    model = ScriptedChatModel(script=looping(1))
    graph = agent(memory_of(), model, checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage(f"{RULE} Why is checkout slow?")]}, CONFIG)
    for n in range(8):
        graph.invoke({"messages": [HumanMessage(f"And shard {n}?")]}, CONFIG)
    kinds = [[m.type for m in prompt] for prompt in model.prompts[2:]]
    assert kinds == [["system", "ai", "human"], ["system", "ai", "human", "ai", "tool"]] * 8
    for prompt in model.prompts:
        assert str(prompt[0].content).startswith("You are on call.\n\n")
        assert "Never restart the database" in str(prompt[0].content)
    assert model.prompts[-1][1].text == "answer 16"


def test_async_does_exactly_what_sync_does() -> None:
    def run(asynchronous: bool) -> tuple[list[Any], Any, list[str]]:
        memory: Any = AsyncMemoryController if asynchronous else MemoryController
        memory = memory(InMemoryStore())
        model = ScriptedChatModel(script=looping(3, parallel=2))
        graph = agent(memory, model, checkpointer=InMemorySaver(), fold_over=0, record=True)
        out: dict[str, Any] = {}
        for n in range(3):
            given = {"messages": [HumanMessage(f"Question {n}?", id=f"h{n}")]}
            out = (
                asyncio.run(graph.ainvoke(given, CONFIG))
                if asynchronous
                else graph.invoke(given, CONFIG)
            )
        prompts = [said(prompt) for prompt in model.prompts]
        return prompts, out["ccs"], [a.text for a in evidence(memory, out["ccs"])]

    assert run(True) == run(False)


def test_trap_async_io_on_the_event_loop_is_a_blocking_error_when_served() -> None:
    class NotOnTheLoop(InMemoryStore):
        """A store whose calls block, as every real one's."""

        calls = 0

        def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
            self._check()
            super().add(tenant, artifacts)

        def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
            self._check()
            return super().get(tenant, ids)

        def _check(self) -> None:
            NotOnTheLoop.calls += 1
            with pytest.raises(RuntimeError):
                asyncio.get_running_loop()

    for kind in (MemoryController, AsyncMemoryController):
        memory: Any = kind(NotOnTheLoop())
        model = ScriptedChatModel(script=looping(2))
        graph = agent(memory, model, checkpointer=InMemorySaver(), fold_over=0, record=True)
        asyncio.run(graph.ainvoke({"messages": [HumanMessage("Why?")]}, CONFIG))
    assert NotOnTheLoop.calls > 4


def test_an_async_memory_in_a_sync_graph_says_how_to_mend_it() -> None:
    memory = AsyncMemoryController(InMemoryStore())
    with pytest.raises(ConfigurationError, match="ainvoke"):
        agent(memory, ScriptedChatModel(script=["hi"])).invoke({"messages": ["hello"]}, CONFIG)


def test_outside_of_a_graph_the_node_is_a_function() -> None:
    node = MemoryNode(memory_of())
    out = node({"messages": [HumanMessage("Hello", id="h")]}, CONFIG)
    assert out["ccs"]["turn"] == 1
    assert "messages" not in out  # nothing to prune
    again = {"messages": [HumanMessage("Hello", id="h")], **out}
    assert asyncio.run(node.ainvoke(again, CONFIG)) == {}  # committed: nothing changes


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"prune": False}, "nothing bounds"),
        ({"output_messages_key": "messages"}, "one channel for two things"),
        ({"fold_over": -1}, "0 folds each step"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(options: Any, match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        MemoryNode(memory_of(), **options)


def test_no_user_message_is_an_error_that_says_so() -> None:
    with pytest.raises(InputError, match="no user message"):
        MemoryNode(memory_of()).invoke({"messages": [SystemMessage("x")]}, CONFIG)


def test_a_prompt_without_its_state_in_the_schema_says_what_to_declare() -> None:
    node = MemoryNode(memory_of())
    with pytest.raises(ConfigurationError, match="declare ccs"):
        node.prompt()({"messages": [HumanMessage("Hello")]})
