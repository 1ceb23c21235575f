"""The memory inside another graph, and in the hook of `create_react_agent`."""

from __future__ import annotations

import asyncio
import warnings
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.types import Command, interrupt

from acc.errors import ConfigurationError
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langgraph import MemoryNode
from acc.integrations.recording import RecordNode
from acc.integrations.subgraph import PrunedSubgraph
from acc.testing.chat_model import ScriptedChatModel, call
from graphs import CONFIG, agent, evidence, looping, memory_of, read_logs

ROLE = "You are on call."


def parent_of(node: Any, lengths: list[int]) -> Any:
    """A graph that runs ``node``, then counts the messages that its next node sees."""

    def count(state: MessagesState) -> dict[str, Any]:
        lengths.append(len(state["messages"]))
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("agent", node)
    graph.add_node("count", count)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "count")
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("asynchronous", [False, True])
def test_trap_pruning_inside_a_subgraph_does_not_reach_the_parent(asynchronous: bool) -> None:
    memory = memory_of()
    model = ScriptedChatModel(script=looping(1))
    lengths: list[int] = []
    parent = parent_of(PrunedSubgraph(agent(memory, model)), lengths)
    for n in range(4):
        given = {"messages": [HumanMessage(f"Question {n}?")]}
        asyncio.run(parent.ainvoke(given, CONFIG)) if asynchronous else parent.invoke(given, CONFIG)
    assert lengths == [4, 5, 5, 5]
    saved = parent.checkpointer.get_tuple(CONFIG).checkpoint["channel_values"]
    assert memory.load(saved["ccs"]).turn == 4
    held = [a.text for a in evidence(memory, saved["ccs"])]
    assert len(held) == len(set(held)) == 4 + 3 * 3
    assert max(map(len, model.prompts)) == 5


def test_a_subgraph_added_as_it_is_leaks_which_is_why_there_is_a_node_for_it() -> None:
    lengths: list[int] = []
    model = ScriptedChatModel(script=looping(1))
    parent = parent_of(agent(memory_of(), model), lengths)
    for n in range(4):
        parent.invoke({"messages": [HumanMessage(f"Question {n}?")]}, CONFIG)
    assert lengths == [4, 8, 12, 16]


def test_an_interrupt_in_the_subgraph_resumes_in_it() -> None:
    memory = memory_of()
    inner = StateGraph(MemoryState)
    inner.add_node("memory", MemoryNode(memory))
    inner.add_node("ask", lambda _: {"messages": [AIMessage(interrupt("Sure?"))]})
    inner.add_edge(START, "memory")
    inner.add_edge("memory", "ask")
    lengths: list[int] = []
    parent = parent_of(PrunedSubgraph(inner.compile()), lengths)
    parent.invoke({"messages": ["Restart it."]}, CONFIG)
    parent.invoke(Command(resume="Granted."), CONFIG)
    saved = parent.checkpointer.get_tuple(CONFIG).checkpoint["channel_values"]
    assert lengths == [2]
    assert [a.text for a in evidence(memory, saved["ccs"])] == ["Restart it."]


def test_a_subgraph_that_cannot_be_handed_the_state_is_refused() -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("memory", MemoryNode(memory_of()))
    graph.add_edge(START, "memory")
    with pytest.raises(ConfigurationError, match="MemoryState"):
        PrunedSubgraph(graph.compile())


class HookState(AgentState):
    """A prebuilt agent's state with the memory's."""

    ccs: dict[str, Any]
    llm_input_messages: Annotated[list[Any], EphemeralValue]


def prebuilt(model: Any, node: MemoryNode, **options: Any) -> Any:
    """`create_react_agent` with the node in its hook; it is deprecated, and works."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return create_react_agent(
            model, [read_logs], pre_model_hook=node, post_model_hook=RecordNode(node),
            checkpointer=InMemorySaver(), **options,
        )  # fmt: skip


FORMS: dict[str, tuple[dict[str, Any], Any]] = {
    "pruned, with the prompt made of the state": ({}, True),
    "a view beside the transcript": (
        {"output_messages_key": "llm_input_messages", "prune": False, "role": ROLE}, None,
    ),
    "a view, and pruned": ({"output_messages_key": "llm_input_messages", "role": ROLE}, None),
}  # fmt: skip


@pytest.mark.parametrize(("options", "prompted"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_trap_a_pre_model_hook_runs_before_every_call_and_commits_once_a_turn(
    options: dict[str, Any], prompted: Any, asynchronous: bool
) -> None:
    memory = memory_of()
    node = MemoryNode(memory, **options)
    model = ScriptedChatModel(script=looping(2))
    prompt = node.prompt(ROLE) if prompted else None
    graph = prebuilt(model, node, prompt=prompt, state_schema=HookState)
    for n in range(4):
        given = {"messages": [HumanMessage(f"Never restart shard-{n}. Why is it slow?")]}
        out = (
            asyncio.run(graph.ainvoke(given, CONFIG))
            if asynchronous
            else graph.invoke(given, CONFIG)
        )
    assert out["ccs"]["turn"] == 4
    assert max(map(len, model.prompts)) == 1 + 1 + 1 + 4
    for p in model.prompts:
        assert [m.type for m in p].count("system") == 1
        assert str(p[0].content).startswith(ROLE)
        assert "Never restart shard-0" in str(p[0].content)
    held = [a.text for a in evidence(memory, out["ccs"])]
    assert len(held) == len(set(held)) == 4 * (1 + 4 + 1)
    saved = graph.checkpointer.get_tuple(CONFIG).checkpoint["channel_values"]
    assert "llm_input_messages" not in saved


def test_trap_the_prebuilt_agent_refuses_unanswered_calls_after_a_crash() -> None:
    memory = memory_of()
    node = MemoryNode(memory, output_messages_key="llm_input_messages", prune=False)
    model = ScriptedChatModel(script=lambda _: "Better now.")
    graph = prebuilt(model, node)
    crashed = [
        HumanMessage("Look."),
        AIMessage("", tool_calls=[call("read_logs", "c1", service="x")]),
    ]
    graph.update_state(CONFIG, {"messages": crashed})
    out = graph.invoke({"messages": ["Are you there?"]}, CONFIG)
    assert out["messages"][-1].text == "Better now."
