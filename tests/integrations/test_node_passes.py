"""A pass of the node that finds nothing to do writes nothing, and an edge may lead past it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.prebuilt import ToolNode, tools_condition

from acc.errors import InputError
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langgraph import MemoryNode
from acc.integrations.messages import pruned
from acc.testing.chat_model import ScriptedChatModel, call
from graphs import CONFIG, RULE, agent, evidence, looping, memory_of, read_logs, said


def bypassing(
    node: MemoryNode, model: ScriptedChatModel, schema: type[Any] = MemoryState, **given: Any
) -> Any:
    """The agent's loop, with an edge that leads past the node where nothing is due."""
    graph = StateGraph(schema, **given)
    prompt = node.prompt("You are on call.")
    graph.add_node("memory", node)
    graph.add_node("reason", lambda state: {"messages": [model.invoke(prompt(state))]})
    graph.add_node("act", ToolNode([read_logs]))
    graph.add_edge(START, "memory")
    graph.add_edge("memory", "reason")
    graph.add_conditional_edges("act", node.due, {True: "memory", False: "reason"})
    ends = {"tools": "act", "__end__": "__end__"}
    graph.add_conditional_edges("reason", tools_condition, ends)
    return graph.compile(checkpointer=InMemorySaver())


def writers(graph: Any, channel: str) -> list[str]:
    """Which task wrote to ``channel``, for every checkpoint of the thread."""
    saved = graph.checkpointer.list(CONFIG)
    return [channel for s in saved for _, name, _ in s.pending_writes or () if name == channel]


@pytest.mark.parametrize("fold_over", [0, 60, None])
def test_an_edge_past_the_node_changes_nothing_but_the_passes(fold_over: int | None) -> None:
    def run(made: Any, model: ScriptedChatModel, memory: Any) -> tuple[Any, ...]:
        for n in range(3):
            given = {"messages": [HumanMessage(f"{RULE} Question {n}?", id=f"h{n}")]}
            out = made.invoke(given, CONFIG)
        texts = [a.text for a in evidence(memory, out["ccs"])]
        return [said(p) for p in model.prompts], texts, out["ccs"]

    memory, model = memory_of(), ScriptedChatModel(script=looping(4))
    node = MemoryNode(memory, fold_over=fold_over)
    short = run(bypassing(node, model), model, memory)
    memory, model = memory_of(), ScriptedChatModel(script=looping(4))
    graph = agent(memory, model, checkpointer=InMemorySaver(), fold_over=fold_over)
    assert short == run(graph, model, memory)


def test_the_state_is_written_once_a_commit_and_the_mark_with_it() -> None:
    model = ScriptedChatModel(script=looping(4))
    for graph in (
        bypassing(MemoryNode(memory_of()), model),
        agent(memory_of(), model, checkpointer=InMemorySaver()),
    ):
        for n in range(3):
            graph.invoke({"messages": [f"Question {n}?"]}, CONFIG)
        assert len(writers(graph, "ccs")) == len(writers(graph, "ccs_turn")) == 3


def test_a_call_without_a_result_makes_a_pass_due_that_heals_it() -> None:
    node = MemoryNode(memory_of())
    held: dict[str, Any] = {"messages": [HumanMessage(RULE, id="h")]}
    assert node.due(held)
    held |= node.invoke(held, CONFIG)
    assert not node.due(held)
    calls = [call("read_logs", f"c{n}", service="x") for n in range(2)]
    held["messages"] = add_messages(held["messages"], [AIMessage("", tool_calls=calls, id="a")])
    assert node.due(held)
    held["messages"] = add_messages(held["messages"], node.invoke(held, CONFIG)["messages"])
    assert [m.type for m in held["messages"]] == ["human", "ai", "tool", "tool"]
    assert not node.due(held)


def test_a_view_is_made_anew_before_each_call() -> None:
    node = MemoryNode(memory_of(), output_messages_key="view")
    held: dict[str, Any] = {"messages": [HumanMessage(RULE, id="h")]}
    held |= node.invoke(held, CONFIG)
    assert node.due(held)


def test_the_edge_sees_the_mark_though_the_graphs_schema_does_not_name_it() -> None:
    class Told(MessagesState, total=False):
        ccs: dict[str, Any]

    model = ScriptedChatModel(script=looping(3))
    graph = bypassing(MemoryNode(memory_of()), model, Told, input_schema=MessagesState)
    out = graph.invoke({"messages": [RULE]}, CONFIG)
    history = [s.next for s in graph.get_state_history(CONFIG)]
    assert "ccs_turn" not in out
    assert history.count(("memory",)) == 1


def test_an_edge_without_a_user_message_is_an_error_that_says_so() -> None:
    with pytest.raises(InputError, match="no user message"):
        MemoryNode(memory_of()).due({"messages": []})


HELD = [HumanMessage("a", id="1"), AIMessage("b", id="2"), HumanMessage("c", id="3")]
CUT = AIMessage("b [...]", id="2")
NEW = AIMessage("d", id="4")


@pytest.mark.parametrize(
    ("before", "kept", "named"),
    [
        (HELD, HELD, []),
        (HELD, HELD[2:], ["1", "2"]),
        (HELD, [CUT, HELD[2]], ["1", "2"]),
        (HELD, [HELD[2], NEW], ["1", "2", "4"]),
        (HELD, [], ["1", "2", "3"]),
        ([], [NEW], ["4"]),
        (HELD, [NEW, HELD[2]], [REMOVE_ALL_MESSAGES, "4", "3"]),  # in front of what stays
        (HELD, [HELD[2], HELD[1]], [REMOVE_ALL_MESSAGES, "3", "2"]),
        ([{"role": "user", "content": "a"}], [NEW], [REMOVE_ALL_MESSAGES, "4"]),
        ([HumanMessage("no id")], [NEW], [REMOVE_ALL_MESSAGES, "4"]),
        ([HELD[0], HELD[0]], [HELD[0]], [REMOVE_ALL_MESSAGES, "1"]),
    ],
)
def test_pruning_names_what_goes_and_the_reducer_leaves_what_is_kept(
    before: list[Any], kept: list[Any], named: list[str]
) -> None:
    update = pruned(before, kept)
    assert [m.id for m in update] == named
    if all(getattr(m, "id", None) for m in before):
        assert add_messages(before, update) == kept
    removed = [m for m in update if isinstance(m, RemoveMessage)]
    assert update[: len(removed)] == removed
