"""A checkpoint whose state is ahead of the store: the node and the middleware refuse, until it is adopted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import agents
import pytest
from langgraph.checkpoint.memory import InMemorySaver

import graphs
from acc import MemoryController, Turn
from acc.errors import StoreError
from acc.integrations.langchain import MemoryMiddleware
from acc.pipeline.update import update_state
from acc.testing.chat_model import ScriptedChatModel

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def node(memory: MemoryController, saver: InMemorySaver) -> Any:
    model = ScriptedChatModel(script=lambda _: "ok")
    return graphs.agent(memory, model, checkpointer=saver)


def middleware(memory: MemoryController, saver: InMemorySaver) -> Any:
    model = ScriptedChatModel(script=lambda _: "ok")
    return agents.new_agent(model, [MemoryMiddleware(memory)], checkpointer=saver)


@pytest.mark.parametrize("made", [node, middleware])
def test_a_checkpoint_on_a_fresh_volume(
    made: Callable[[MemoryController, InMemorySaver], Any], tmp_path: Path
) -> None:
    saver = InMemorySaver()
    with MemoryController.open(tmp_path / "lost") as memory:
        for said in ("Never restart nginx.", "Why is it slow?"):
            made(memory, saver).invoke({"messages": [said]}, CONFIG)
    with MemoryController.open(tmp_path / "fresh") as memory:
        graph = made(memory, saver)
        with pytest.raises(StoreError, match=r"past of the state is not in the store.*adopt"):
            graph.invoke({"messages": ["May I restart it?"]}, CONFIG)
        memory.adopt(graph.get_state(CONFIG).values["ccs"], thread="t")
        graph.invoke({"messages": ["May I restart it?"]}, CONFIG)
        state = memory.last_state("t")
        assert state is not None
        assert [c.text for c in state.constraints] == ["Never restart nginx"]
        assert graph.get_state(CONFIG).values["ccs"]["hash"] == state.hash


def test_the_update_without_a_store_has_no_past_to_miss(tmp_path: Path) -> None:
    state = update_state(None, Turn.said("Never restart nginx.")).state
    state = update_state(state.canonical(), Turn.said("Why is it slow?")).state
    with MemoryController.open(tmp_path) as memory:
        assert memory.step(state, Turn.said("On."), thread="t").state.turn == 3
