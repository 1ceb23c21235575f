"""The node that commits behind the model: the order ``after`` in a graph."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from acc import AsyncMemoryController, InMemoryStore, MemoryController, Settings
from acc.background import AsyncBackgroundMemory, BackgroundMemory
from acc.errors import ConfigurationError, StateError
from acc.integrations.background_node import BackgroundMemoryNode
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langgraph import MemoryNode
from acc.keyless.compressor import RuleCompressor
from acc.state.proposal import Proposal
from acc.testing import FailingCompressor, FixedClock
from graphs import CONFIG, RULE

WHY = "Checkout is slow. Why?"


class Held:
    """The keyless rules, held up until they are let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.turns: list[int] = []

    def __call__(self, turn: Any, state: Any, evidence: Any) -> Proposal:
        assert self.go.wait(10)
        self.turns.append(turn.number)
        return RuleCompressor()(turn, state, evidence)

    async def acompress(self, turn: Any, state: Any, evidence: Any) -> Proposal:
        while not self.go.is_set():
            await asyncio.sleep(0)
        self.turns.append(turn.number)
        return RuleCompressor()(turn, state, evidence)


class Chat:
    """A graph with the node in front of a model that notes what it reads."""

    def __init__(self, node: Any, saver: Any = None) -> None:
        self.node = node
        self.prompt = self.node.prompt("You are an operator.")
        self.read: list[str] = []
        builder = StateGraph(MemoryState)
        builder.add_node("memory", self.node)
        builder.add_node("model", self._answer)
        builder.add_edge(START, "memory")
        builder.add_edge("memory", "model")
        self.graph = builder.compile(checkpointer=saver or InMemorySaver())

    def _answer(self, state: MemoryState) -> dict[str, Any]:
        self.read.append(str(self.prompt(state)[0].content))
        return {"messages": [AIMessage(f"answer {len(self.read)}")]}

    def say(self, words: str, config: Any = CONFIG) -> Any:
        return self.graph.invoke({"messages": [("user", words)]}, config)

    @property
    def state(self) -> Any:
        return self.node.loaded(self.graph.get_state(CONFIG).values)


@contextmanager
def talking(compressor: Any, folder: Path | None = None, **settings: Any) -> Iterator[Chat]:
    memory = MemoryController(
        InMemoryStore(), compressor, Settings(clock=FixedClock(), audit=folder)
    )
    with memory, BackgroundMemory(memory) as background:
        yield Chat(BackgroundMemoryNode(background, **settings))


def test_the_model_answers_before_the_commit_and_reads_the_turn() -> None:
    held = Held()
    with talking(held) as chat:
        chat.say(RULE)
        chat.say(WHY)
        assert held.turns == []
        assert [o.text for o in chat.state.pending] == [RULE, "answer 1", WHY]
        assert RULE in chat.read[1]  # no commit has read it: it stands there as it was said
        held.go.set()
        assert chat.node.background.drain()
        assert held.turns == [1, 2]
        chat.say("And now?")
        assert [rule.text for rule in chat.state.constraints] == [RULE.rstrip(".")]
        assert len(chat.graph.get_state(CONFIG).values["messages"]) <= 3


def test_what_it_ends_with_is_what_commits_before_the_model_would_have_made(tmp_path: Path) -> None:
    said = (RULE, WHY, "The db runs on db-7.", "Use ticket INC-5.", "What was the ticket?")
    held = Held()
    held.go.set()
    with talking(held, tmp_path / "behind", wait=None) as chat:
        for words in said:
            chat.say(words)
        assert chat.node.background.drain()
        last = chat.node.background.last_state(chat.node.thread(CONFIG))
    memory = MemoryController(InMemoryStore(), RuleCompressor(), Settings(clock=FixedClock()))
    before = Chat(MemoryNode(memory))
    for words in said:
        before.say(words)
    assert last is not None
    assert last.render() == before.state.render()


def test_asynchronous_graphs_do_the_same() -> None:
    async def run() -> tuple[Any, ...]:
        held = Held()
        memory = AsyncMemoryController(InMemoryStore(), held, Settings(clock=FixedClock()))
        async with memory, AsyncBackgroundMemory(memory) as background:
            chat = Chat(BackgroundMemoryNode(background))
            await chat.graph.ainvoke({"messages": [("user", RULE)]}, CONFIG)
            waiting = [o.text for o in chat.state.pending]
            held.go.set()
            assert await background.drain()
            await chat.graph.ainvoke({"messages": [("user", WHY)]}, CONFIG)
            with pytest.raises(ConfigurationError, match="ainvoke"):
                chat.node.invoke({"messages": [("user", WHY)]}, CONFIG)
            return waiting, [rule.text for rule in chat.state.constraints]

    assert asyncio.run(run()) == ([RULE], [RULE.rstrip(".")])


def test_a_synchronous_memory_serves_asynchronous_graphs() -> None:
    held = Held()
    held.go.set()
    with talking(held) as chat:
        asyncio.run(chat.graph.ainvoke({"messages": [("user", RULE)]}, CONFIG))
        assert chat.node.background.drain()
        asyncio.run(chat.graph.ainvoke({"messages": [("user", WHY)]}, CONFIG))
        assert len(chat.state.constraints) == 1


def test_without_a_checkpointer_it_goes_on_behind_what_no_commit_has_seen(tmp_path: Path) -> None:
    held = Held()
    with talking(held, tmp_path, resume=True) as chat:
        graph = chat.graph.builder.compile()
        for words in (RULE, WHY, "And now?"):
            out = graph.invoke({"messages": [("user", words)]}, CONFIG)
        assert (out["ccs"]["turn"], RULE in chat.read[-1]) == (3, True)
        held.go.set()
        assert chat.node.background.drain()
        last = chat.node.background.last_state(chat.node.thread(CONFIG))
        assert [rule.text for rule in last.constraints] == [RULE.rstrip(".")]


def test_a_node_that_is_run_again_commits_nothing_twice(tmp_path: Path) -> None:
    held = Held()
    with talking(held, tmp_path) as chat:
        given = {"messages": [("user", RULE)]}
        first = chat.node.invoke(given, CONFIG)
        again = chat.node.invoke(given, CONFIG)
        assert first["ccs"] == again["ccs"]
        held.go.set()
        assert chat.node.background.drain()
        last = chat.node.invoke(given, CONFIG)
        assert chat.node.background.drain()
        assert chat.node.background.last_state(chat.node.thread(CONFIG)).turn == 1
    lines = [line for path in tmp_path.glob("*.jsonl") for line in path.read_text().splitlines()]
    assert len(lines) == 1
    assert last["ccs"]["turn"] == 1


def test_another_process_goes_on_from_the_checkpoint(tmp_path: Path) -> None:
    """What the first one did not commit, since it was killed, the next one does."""
    saver, store = InMemorySaver(), InMemoryStore()
    never = FailingCompressor(ConfigurationError("killed", hint="start again"))
    memory = MemoryController(store, never, Settings(clock=FixedClock(), audit=tmp_path))
    lost = Chat(BackgroundMemoryNode(BackgroundMemory(memory)), saver)
    lost.say(RULE)
    with pytest.raises(ConfigurationError, match="killed"):
        lost.node.background.drain()
    other = MemoryController(store, RuleCompressor(), Settings(clock=FixedClock(), audit=tmp_path))
    with BackgroundMemory(other) as background:
        chat = Chat(BackgroundMemoryNode(background, wait=None), saver)
        chat.say(WHY)
        chat.say("And now?")
        assert background.drain()
        assert [rule.text for rule in chat.state.constraints] == [RULE.rstrip(".")]


def test_a_rewind_leaves_the_abandoned_future_behind() -> None:
    held = Held()
    held.go.set()
    with talking(held, wait=None) as chat:
        chat.say("Hello.")
        early = chat.graph.get_state(CONFIG).config
        chat.say(RULE)
        assert chat.node.background.drain()
        chat.say(WHY, early)
        chat.say("And now?")
        assert chat.state.constraints == ()


def test_an_edited_state_is_an_error() -> None:
    held = Held()
    held.go.set()
    with talking(held, wait=None) as chat:
        out = chat.say(RULE)
        edited = {**out["ccs"], "turn": 9}
        chat.graph.update_state(CONFIG, {"ccs": edited}, as_node="model")
        with pytest.raises(StateError):
            chat.say(WHY)
