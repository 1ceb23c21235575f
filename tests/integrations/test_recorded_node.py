"""The model's node that records its answer in the step that gives it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore as GraphStore
from langgraph.types import Command, StreamWriter

from acc import AsyncMemoryController, InMemoryStore, MemoryController
from acc.errors import ConfigurationError, StoreError
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langgraph import MemoryNode
from acc.integrations.recording import RecordedNode, RecordNode
from acc.stores import Artifact
from acc.testing.chat_model import ScriptedChatModel
from graphs import CONFIG, evidence, looping, read_logs

SAID = {"messages": [HumanMessage("Never restart the database. Why is it slow?", id="h")]}


def graph_of(memory: Any, *, inside: bool, schema: Any = MemoryState, command: bool = False) -> Any:
    """A ReAct graph that records its answer: inside the model's step, or in a node behind it."""
    node, model = MemoryNode(memory), ScriptedChatModel(script=looping(2))
    prompt = node.prompt("You are on call.")

    def reason(state: Any) -> Any:
        update = {"messages": [model.invoke(prompt(state))]}
        return Command(update=update) if command else update

    graph = StateGraph(schema)
    graph.add_node("memory", node)
    graph.add_node("reason", RecordedNode(node, reason) if inside else reason)
    graph.add_node("act", ToolNode([read_logs]))
    graph.add_edge(START, "memory")
    graph.add_edge("memory", "reason")
    graph.add_edge("act", "reason")
    if not inside:
        graph.add_node("record", RecordNode(node))
        graph.add_edge("record", END)
    ends = {"tools": "act", END: END if inside else "record"}
    graph.add_conditional_edges("reason", tools_condition, ends)
    return graph.compile(checkpointer=InMemorySaver())


def entered(graph: Any, given: Any, asynchronous: bool = False) -> Any:
    """What the graph comes to, either way."""
    if asynchronous:
        return asyncio.run(graph.ainvoke(given, CONFIG))
    return graph.invoke(given, CONFIG)


@pytest.mark.parametrize("command", [False, True])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_it_stores_what_a_node_behind_it_would_store(asynchronous: bool, command: bool) -> None:
    found = []
    for inside in (True, False):
        memory: Any = (AsyncMemoryController if asynchronous else MemoryController)(InMemoryStore())
        graph = graph_of(memory, inside=inside, command=inside and command)
        out = entered(graph, SAID, asynchronous)
        once = [(a.turn, a.ref, a.channel, a.text) for a in evidence(memory, out["ccs"])]
        out = entered(graph, {"messages": [HumanMessage("And now?", id="h2")]}, asynchronous)
        then = [(a.turn, a.ref, a.channel, a.text) for a in evidence(memory, out["ccs"])]
        found.append((once, then, out["ccs"]["hash"]))
    assert found[0] == found[1]
    assert [channel.value for _, _, channel, _ in found[0][0]][-1] == "agent"


def test_only_the_answer_that_ends_the_turn_is_recorded() -> None:
    class Counting(InMemoryStore):
        adds = 0

        def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
            self.adds += 1
            super().add(tenant, artifacts)

    store = Counting()
    memory = MemoryController(store)
    entered(graph_of(memory, inside=True), SAID)
    with_calls = store.adds
    store.adds = 0
    node = MemoryNode(memory)
    alone = RecordedNode(node, lambda _: {"messages": [AIMessage("It is the pool.")]})
    state = {**SAID, **node.invoke(SAID, {"configurable": {"thread_id": "other"}})}
    before = store.adds
    alone.invoke(state, {"configurable": {"thread_id": "other"}})
    assert store.adds == before + 1
    assert with_calls == before + 1  # two calls of tools stored nothing of their own


@pytest.mark.parametrize("asynchronous", [False, True])
def test_where_the_store_fails_the_answer_stands_and_the_next_turn_stores_it(
    asynchronous: bool,
) -> None:
    class Failing(InMemoryStore):
        is_full = False

        def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
            if self.is_full and any(a.text.startswith("answer") for a in artifacts):
                raise StoreError("no space left", where="disk", hint="free some")
            super().add(tenant, artifacts)

    store = Failing()
    memory = MemoryController(store)
    graph = graph_of(memory, inside=True)
    store.is_full = True
    with pytest.warns(RuntimeWarning, match="no space left"):
        out = entered(graph, SAID, asynchronous)
    answer = out["messages"][-1].text
    assert answer.startswith("answer")
    assert answer not in [a.text for a in evidence(memory, out["ccs"])]
    store.is_full = False
    out = entered(graph, {"messages": [HumanMessage("And now?", id="h2")]}, asynchronous)
    assert [a.text for a in evidence(memory, out["ccs"])].count(answer) == 1


def test_channels_that_the_graph_does_not_declare_are_asked_for_before_the_model_is() -> None:
    asked = []
    node = MemoryNode(MemoryController(InMemoryStore()))
    graph = StateGraph(MessagesState)
    graph.add_node("memory", node)
    graph.add_node("reason", RecordedNode(node, asked.append))
    graph.add_edge(START, "memory")
    graph.add_edge("memory", "reason")
    with pytest.raises(ConfigurationError, match="declare ccs_turn"):
        graph.compile().invoke(SAID, CONFIG)
    assert not asked


def test_a_node_that_says_nothing_records_nothing() -> None:
    memory = MemoryController(InMemoryStore())
    node = MemoryNode(memory)
    state = {**SAID, **node.invoke(SAID, CONFIG)}
    assert RecordedNode(node, lambda _: {"other": 1}).invoke(state, CONFIG) == {"other": 1}
    assert RecordedNode(node, lambda _: None).invoke(state, CONFIG) is None
    assert len(evidence(memory, state["ccs"])) == 1


@dataclass
class Context:
    """What a run is given."""

    who: str = ""


def asks_for_runtime(_: Any, runtime: Runtime[Context]) -> Any:
    return runtime.context.who


async def awaits_runtime(_: Any, runtime: Runtime[Context]) -> Any:
    return runtime.context.who


def asks_for_store(_: Any, *, store: BaseStore) -> Any:
    return store.get(("who",), "who").value["who"]  # type: ignore[union-attr]


def asks_for_writer(_: Any, config: RunnableConfig, writer: StreamWriter) -> Any:
    writer({"wrote": config["configurable"]["thread_id"]})
    return "ana"


@pytest.mark.parametrize(
    "asks", [asks_for_runtime, awaits_runtime, asks_for_store, asks_for_writer]
)
def test_the_models_function_gets_what_it_asks_langgraph_for(asks: Any) -> None:
    node = MemoryNode(MemoryController(InMemoryStore()))

    @wraps(asks)
    def model(*given: Any, **named: Any) -> Any:
        return {"messages": [AIMessage(asks(*given, **named))]}

    @wraps(asks)
    async def amodel(*given: Any, **named: Any) -> Any:
        return {"messages": [AIMessage(await asks(*given, **named))]}

    graph = StateGraph(MemoryState, context_schema=Context)
    graph.add_node("memory", node)
    graph.add_node("model", RecordedNode(node, amodel if asks is awaits_runtime else model))
    graph.add_edge(START, "memory").add_edge("memory", "model")
    store = GraphStore()
    store.put(("who",), "who", {"who": "ana"})
    compiled = graph.compile(checkpointer=InMemorySaver(), store=store)

    async def streamed() -> list[Any]:
        run = compiled.astream(
            SAID, CONFIG, context=Context("ana"), stream_mode=["values", "custom"]
        )
        return [event async for event in run]

    events = asyncio.run(streamed())
    assert events[-1][1]["messages"][-1].text == "ana"
    wrote = [event for kind, event in events if kind == "custom" and "wrote" in event]
    assert wrote == ([{"wrote": "t"}] if asks is asks_for_writer else [])
