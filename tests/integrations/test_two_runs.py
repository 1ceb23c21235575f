"""Two runs of one conversation at once: what LangGraph's checkpointer makes of them, and a queue that helps."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from helpers_integrations import CONFIG, RULE, fine, graph_of, memory_of, rules
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from acc.controller.queues import Queues
from acc.errors import ConflictError
from acc.integrations.langchain import MemoryMiddleware
from acc.testing.chat_model import ScriptedChatModel

SECOND = "Never page Ann before 6."


class Held:
    """A chat model that waits, as it answers the rule, until it is told to go on."""

    def __init__(self) -> None:
        self.asked, self.goes_on = threading.Event(), threading.Event()

    def __call__(self, prompt: list[BaseMessage]) -> str:
        if str(prompt[-1].text) == RULE:
            self.asked.set()
            assert self.goes_on.wait(20)
        return "Fine."


def node(memory: Any, model: ScriptedChatModel, saver: Any) -> Any:
    return graph_of(memory, model, checkpointer=saver)


def middleware(memory: Any, model: ScriptedChatModel, saver: Any) -> Any:
    return create_agent(model, [], middleware=[MemoryMiddleware(memory)], checkpointer=saver)


@contextmanager
def file(kind: str) -> Iterator[Any]:
    if kind == "memory":
        yield InMemorySaver()
    else:
        with SqliteSaver.from_conn_string(":memory:") as saver:
            yield saver


def given(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


def users(memory: Any, branch: str = "main") -> Counter[str]:
    stored = memory.journal.messages("t", branch=branch)
    return Counter(m.message.text for m in stored if m.message.observation.channel == "user")


@pytest.mark.parametrize("saver", ["memory", "sqlite"])
@pytest.mark.parametrize("build", [node, middleware])
def test_a_queue_around_the_runs_keeps_both(build: Any, saver: str) -> None:
    memory, model, queues = memory_of(), Held(), Queues(wait=20)
    with file(saver) as checkpoints, ThreadPoolExecutor(2) as pool:
        graph = build(memory, ScriptedChatModel(script=model), checkpoints)

        def answer(text: str) -> Any:
            with queues.place("t"):
                return graph.invoke(given(text), CONFIG)

        first = pool.submit(answer, RULE)
        assert model.asked.wait(20)
        second = pool.submit(answer, SECOND)
        model.goes_on.set()
        assert rules(second.result(20)) == [RULE, SECOND]
        assert first.exception() is None
        assert rules(graph.invoke(given("And now?"), CONFIG)) == [RULE, SECOND]
        assert users(memory) == Counter([RULE, SECOND, "And now?"])


def test_a_queue_in_an_event_loop_tells() -> None:
    memory, queues = memory_of(), Queues(wait=0)
    graph = middleware(memory, fine(), InMemorySaver())

    async def answer(text: str) -> Any:
        async with queues.place("t"):
            return await graph.ainvoke(given(text), CONFIG)

    async def both() -> list[Any]:
        return await asyncio.gather(answer(RULE), answer(SECOND), return_exceptions=True)

    first, second = asyncio.run(both())
    assert rules(first) == [RULE]
    assert isinstance(second, ConflictError)
    assert rules(asyncio.run(answer(SECOND))) == [RULE, SECOND]
    assert users(memory) == Counter([RULE, SECOND])


@pytest.mark.parametrize("build", [node, middleware])
def test_without_one_the_checkpoint_of_the_run_that_ends_last_wins(build: Any) -> None:
    """The conversation goes on without the other run, as if time had been turned back; the journal has its branch."""
    memory, model = memory_of(), Held()
    graph = build(memory, ScriptedChatModel(script=model), InMemorySaver())
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(graph.invoke, given(RULE), CONFIG)
        assert model.asked.wait(20)
        assert rules(graph.invoke(given(SECOND), CONFIG)) == [RULE, SECOND]
        model.goes_on.set()
        first.result(20)
    assert rules(graph.invoke(given("And now?"), CONFIG)) == [RULE]
    own, fork = (head.branch for head in memory.journal.branches("t"))
    assert users(memory, own) == Counter([RULE, SECOND])
    assert users(memory, fork) == Counter([RULE, "And now?"])
