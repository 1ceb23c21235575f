"""What tracers such as LangSmith see: runs of the memory and of its compressor, with their metadata."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from acc import (
    InMemoryStore,
    LangChainCompressor,
    MemoryController,
    MemoryMiddleware,
    PinnedOverflow,
    Policy,
    Settings,
    Thread,
    Turn,
)
from acc.background import BackgroundMemory
from acc.testing.chat_model import ScriptedChatModel
from graphs import CONFIG, agent


class Runs(BaseCallbackHandler):
    """The runs that a tracer is told of: name, metadata, parent and error."""

    def __init__(self) -> None:
        self.runs: dict[Any, dict[str, Any]] = {}

    def on_chain_start(self, _: Any, inputs: Any, **about: Any) -> None:
        self._begun(about)

    def on_chat_model_start(self, _: Any, messages: Any, **about: Any) -> None:
        self._begun({**about, "name": "model"})

    def on_chain_end(self, outputs: Any, *, run_id: Any, **_: Any) -> None:
        self.runs[run_id]["outputs"] = outputs

    def on_chain_error(self, error: BaseException, *, run_id: Any, **_: Any) -> None:
        self.runs[run_id]["error"] = type(error).__name__

    def _begun(self, about: dict[str, Any]) -> None:
        kept = {name: about.get(name) for name in ("name", "metadata", "parent_run_id", "tags")}
        self.runs[about["run_id"]] = kept

    def named(self, name: str) -> list[dict[str, Any]]:
        return [run for run in self.runs.values() if run["name"] == name]

    def above(self, run: dict[str, Any]) -> list[str]:
        """The names of the runs around a run, the innermost first."""
        found = []
        while (run := self.runs.get(run["parent_run_id"], {})) and run:
            found.append(run["name"])
        return found


def compressing() -> LangChainCompressor:
    return LangChainCompressor(ScriptedChatModel(script=lambda _: "{}"))


def answers(_: Any) -> str:
    return "It is up."


def asked(graph: Any, runs: Runs, how: str, **config: Any) -> None:
    given: Any = {**CONFIG, **config, "callbacks": [runs]}
    said = {"messages": [HumanMessage("Never restart nginx.")]}
    if how == "sync":
        graph.invoke(said, given)
    else:
        asyncio.run(graph.ainvoke(said, given))


@pytest.mark.parametrize("how", ["sync", "async"])
def test_the_nodes_step_and_the_compressor_are_runs_with_their_metadata(how: str) -> None:
    runs = Runs()
    memory = MemoryController(InMemoryStore(), compressing())
    model = ScriptedChatModel(script=answers)
    asked(agent(memory, model, checkpointer=InMemorySaver()), runs, how)
    (step,) = runs.named("acc_memory")
    assert step["metadata"]["thread_id"] == "t"
    assert step["metadata"]["lc_source"] == "acc_memory"
    assert step["metadata"]["langgraph_node"] == "memory"
    assert runs.above(step)[0] == "memory"
    assert [event["memory"] for event in step["outputs"]][2] == "committed"
    compressor = runs.named("acc_compressor")
    assert compressor
    for run in compressor:
        assert run["metadata"]["thread_id"] == "t"
        assert run["metadata"]["lc_source"] == "acc_compressor"
        assert "acc_memory" in runs.above(run)
    models = [run for run in runs.named("model") if "acc_memory" in runs.above(run)]
    assert models
    assert {run["metadata"]["lc_source"] for run in models} == {"acc_compressor"}
    (own,) = [run for run in runs.named("model") if run not in models]
    assert "lc_source" not in own["metadata"], "the agent's own model is no part of the memory"


@pytest.mark.parametrize("how", ["sync", "async"])
def test_the_middleware_has_the_same_runs(how: str) -> None:
    runs = Runs()
    memory = MemoryController(InMemoryStore(), compressing())
    model = ScriptedChatModel(script=answers)
    graph = create_agent(model, middleware=[MemoryMiddleware(memory)], checkpointer=InMemorySaver())
    asked(graph, runs, how)
    (step,) = runs.named("acc_memory")
    assert (step["metadata"]["thread_id"], step["metadata"]["lc_source"]) == ("t", "acc_memory")
    assert runs.named("acc_compressor")


def test_the_graphs_own_thread_id_stays() -> None:
    runs = Runs()
    memory = MemoryController(InMemoryStore(), compressing())
    graph = agent(memory, ScriptedChatModel(script=answers), checkpointer=InMemorySaver())
    asked(graph, runs, "sync", metadata={"thread_id": "of-the-trace", "release": "7"})
    for name in ("acc_memory", "acc_compressor"):
        about = runs.named(name)[0]["metadata"]
        assert (about["thread_id"], about["release"]) == ("of-the-trace", "7")


def test_a_refused_step_is_a_run_with_its_error() -> None:
    runs = Runs()
    memory = MemoryController(InMemoryStore(), settings=Settings(policy=Policy(max_tokens=64)))
    graph = agent(memory, ScriptedChatModel(script=answers), checkpointer=InMemorySaver())
    many = " ".join(f"Never restart service-{n} before noon." for n in range(20))
    with pytest.raises(PinnedOverflow):
        graph.invoke({"messages": [HumanMessage(many)]}, {**CONFIG, "callbacks": [runs]})
    assert runs.named("acc_memory")[0]["error"] == "PinnedOverflow"


def test_without_a_graph_the_compressors_runs_name_the_thread() -> None:
    runs = Runs()
    model = ScriptedChatModel(script=lambda _: "{}", callbacks=[runs])
    memory = MemoryController(InMemoryStore(), LangChainCompressor(model))
    memory.step(None, Turn.said("Hello."), thread=Thread(thread="t-9", user="jane"))
    with BackgroundMemory(memory) as background:
        background.finish(background.begin(None, Turn.said("Hello."), thread="t-10"), [])
    found = [run["metadata"] for run in runs.named("model")]
    assert {about["thread_id"] for about in found} == {"t-9", "t-10"}
    assert {about["lc_source"] for about in found} == {"acc_compressor"}
