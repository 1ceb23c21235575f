"""Crashes, interrupts, retries, forks and races: nothing lost, nothing twice, nothing silent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt

from acc import AsyncMemoryController, InMemoryStore, MemoryController, Thread, Turn
from acc.errors import ConflictError, StateError, StoreError
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langgraph import MemoryNode
from acc.integrations.stepping import worth_retrying
from acc.stores import Artifact
from acc.testing.chat_model import ScriptedChatModel, call
from graphs import CONFIG, Slow, agent, evidence, looping, memory_of, read_logs


def test_trap_an_interrupted_node_reruns_from_its_top_and_stores_nothing_twice() -> None:
    class DiesOnce(MemoryController):
        died = False

        def step(self, state: Any, turn: Turn, *, thread: str | Thread) -> Any:
            done = super().step(state, turn, thread=thread)
            if not DiesOnce.died and turn.observations[-1].text == "Question 1?":
                DiesOnce.died = True
                raise OSError("killed behind the commit")
            return done

    memory = DiesOnce(InMemoryStore())
    graph = agent(memory, ScriptedChatModel(script=looping(1)), checkpointer=InMemorySaver())
    graph.invoke({"messages": ["Question 0?"]}, CONFIG)
    with pytest.raises(OSError, match="killed"):
        graph.invoke({"messages": ["Question 1?"]}, CONFIG)
    out = graph.invoke(None, CONFIG)
    held = [a.text for a in evidence(memory, out["ccs"])]
    assert held == [
        "Question 0?",
        'read_logs({"service": "s1-0"})',
        "s1-0: pool exhausted, 60 of 60 connections in use",
        "answer 2",
        "Question 1?",
    ]
    assert memory.load(out["ccs"]).branch == "main"


def test_trap_a_crash_between_call_and_result_leaves_dangling_calls_for_the_next_input() -> None:
    memory = memory_of()

    def broken(service: str) -> str:
        """Never answers."""
        raise SystemError(service)

    model = ScriptedChatModel(
        script=[AIMessage("", tool_calls=[call("broken", "c1", service="x")]), "Better now."]
    )
    graph = agent(memory, model, [read_logs.model_copy(update={"name": "broken", "func": broken})],
                  checkpointer=InMemorySaver())  # fmt: skip
    with pytest.raises(SystemError):
        graph.invoke({"messages": ["Look."]}, CONFIG)
    out = graph.invoke({"messages": ["Never mind. Are you there?"]}, CONFIG)
    assert out["messages"][-1].text == "Better now."  # the model refuses calls without results
    held = [a.text for a in evidence(memory, out["ccs"])]
    assert held == ["Look.", '[no result] broken({"service": "x"})', "Never mind. Are you there?"]


def test_trap_with_exit_durability_a_killed_turn_is_sent_again_under_a_new_message_id() -> None:
    memory = memory_of()
    model = ScriptedChatModel(script=["Hi.", OSError("killed"), "Back again."])
    graph = agent(memory, model, checkpointer=InMemorySaver())
    graph.invoke({"messages": ["Hello."]}, CONFIG, durability="exit")
    config = graph.get_state(CONFIG).config
    with pytest.raises(OSError, match="killed"):
        graph.invoke({"messages": ["Why is it slow?"]}, CONFIG, durability="exit")
    out = graph.invoke({"messages": ["Why is it slow?"]}, config, durability="exit")
    held = [a.text for a in evidence(memory, out["ccs"])]
    assert held == ["Hello.", "Hi.", "Why is it slow?"]
    assert memory.load(out["ccs"]).branch == "main"


def test_trap_a_user_message_whose_commit_never_came_is_swept_with_the_next() -> None:
    memory = memory_of()
    graph = agent(memory, ScriptedChatModel(script=["Hi."]), checkpointer=InMemorySaver())
    graph.update_state(CONFIG, {"messages": [HumanMessage("Lost before the first node.")]})
    out = graph.invoke({"messages": ["Hello?"]}, CONFIG)
    held = [a.text for a in evidence(memory, out["ccs"])]
    assert held == ["Lost before the first node.", "Hello?"]


def test_trap_equal_messages_one_after_the_other_are_two_turns() -> None:
    memory = memory_of()
    graph = agent(memory, ScriptedChatModel(script=lambda _: "ok"), checkpointer=InMemorySaver())
    for _ in range(3):
        out = graph.invoke({"messages": ["continue"]}, CONFIG)
    held = [a.text for a in evidence(memory, out["ccs"])]
    assert held == ["continue", "ok", "continue", "ok", "continue"]


def test_trap_an_interrupt_replays_its_node_and_a_resume_commits_nothing_again() -> None:
    memory = memory_of()
    model = ScriptedChatModel(script=["Done."])
    node = MemoryNode(memory)
    graph = StateGraph(MemoryState)
    graph.add_node("memory", node)
    graph.add_node("ask", lambda _: {"messages": [AIMessage(interrupt("Sure?"))]})
    graph.add_node("again", node)
    graph.add_node("reason", lambda s: {"messages": [model.invoke(node.prompt()(s))]})
    for edge in ((START, "memory"), ("memory", "ask"), ("ask", "again"), ("again", "reason")):
        graph.add_edge(*edge)
    compiled = graph.compile(checkpointer=InMemorySaver())
    compiled.invoke({"messages": ["Restart it."]}, CONFIG)
    out = compiled.invoke(Command(resume="Asked, and granted."), CONFIG)
    assert out["ccs"]["turn"] == 1
    assert [m.type for m in model.prompts[0]] == ["system", "human", "ai"]


def test_trap_two_invocations_at_once_on_one_thread_lose_updates_loudly() -> None:
    memory = AsyncMemoryController(InMemoryStore(), Slow())
    graph = agent(memory, ScriptedChatModel(script=lambda _: "ok"), checkpointer=InMemorySaver())

    async def both() -> list[Any]:
        runs = (graph.ainvoke({"messages": [text]}, CONFIG) for text in ("one", "two"))
        return await asyncio.gather(*runs, return_exceptions=True)

    found = asyncio.run(both())
    assert [type(f) for f in found].count(ConflictError) == 1


def test_trap_a_fork_from_an_earlier_checkpoint_sees_nothing_of_the_abandoned_future() -> None:
    memory = memory_of()
    graph = agent(memory, ScriptedChatModel(script=lambda _: "ok"), checkpointer=InMemorySaver())
    for n in range(4):
        graph.invoke({"messages": [f"Question {n} about shard-{n}?"]}, CONFIG)
    past = next(
        s for s in graph.get_state_history(CONFIG) if not s.next and s.values["ccs"]["turn"] == 2
    )
    out: dict[str, Any] = {}
    for n in range(4):
        config = past.config if n == 0 else CONFIG
        out = graph.invoke({"messages": [f"Other question {n}?"]}, config)
    held = [a.text for a in evidence(memory, out["ccs"])]
    assert memory.load(out["ccs"]).branch != "main"
    assert held.count("ok") == 5
    assert [t for t in held if t != "ok"] == [
        "Question 0 about shard-0?", "Question 1 about shard-1?",
        *(f"Other question {n}?" for n in range(4)),
    ]  # fmt: skip


def test_trap_the_default_retry_policy_retries_what_can_only_fail_again() -> None:
    class Failing(InMemoryStore):
        failures = 2

        def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
            if self.failures:
                self.failures -= 1
                raise StoreError("not reachable")
            super().add(tenant, artifacts)

    memory = MemoryController(Failing())
    graph = StateGraph(MemoryState)
    policy = RetryPolicy(initial_interval=0, jitter=False, max_attempts=3, retry_on=worth_retrying)
    graph.add_node("memory", MemoryNode(memory), retry_policy=policy)
    graph.add_edge(START, "memory")
    out = graph.compile().invoke({"messages": ["Hello"]}, CONFIG)
    assert [a.text for a in evidence(memory, out["ccs"])] == ["Hello"]
    assert not worth_retrying(StateError("edited"))
    assert not worth_retrying(ConflictError("under way"))
