"""Messages that applications really send: a system message in front, an odd time, a role of one's own, an id again."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_integrations import (
    CONFIG,
    RULE,
    fine,
    graph_of,
    memory_of,
    patient,
    say,
    spoken,
    stored,
    system,
    whole,
)
from langchain_core.messages import ChatMessage, HumanMessage, SystemMessage
from langgraph.prebuilt import create_react_agent
from test_time import agent_of

from acc.integrations.langgraph import MemoryNode, MemoryState
from acc.testing.chat_model import ScriptedChatModel

BUILDERS = [agent_of, graph_of]
MEMORIES = [memory_of, patient]


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("make", MEMORIES)
def test_a_system_message_in_front_is_read_in_each_turn(make: Any, build: Any) -> None:
    model = fine()
    graph = build(make(), model)
    first = [SystemMessage("Only answer in French."), HumanMessage("Hello.")]
    graph.invoke({"messages": first}, CONFIG)
    say(graph, "And now?")
    assert all("Only answer in French." in system(prompt) for prompt in model.prompts)


@pytest.mark.parametrize("build", BUILDERS)
def test_a_time_that_is_none_stops_no_thread(build: Any) -> None:
    memory = memory_of()
    graph = build(memory, fine())
    for at in ("10:42 AM", {"seconds": 5}, "yesterday"):
        say(graph, HumanMessage(f"At {at}.", additional_kwargs={"timestamp": at}))
    assert [text for kind, text in stored(memory) if kind == "user"] == [
        "At 10:42 AM.", "At {'seconds': 5}.", "At yesterday.",
    ]  # fmt: skip


@pytest.mark.parametrize("build", BUILDERS)
def test_a_role_of_ones_own_is_a_name(build: Any) -> None:
    memory = memory_of()
    graph = build(memory, fine())
    critic = ChatMessage(role="critic", content="Always cite three sources.")
    graph.invoke({"messages": [critic, HumanMessage("And now?")]}, CONFIG)
    assert ("document", "Always cite three sources.") in stored(memory)


@pytest.mark.parametrize("build", BUILDERS)
def test_an_id_that_is_used_again_for_the_same_words_hides_none(build: Any) -> None:
    memory = memory_of()
    graph = build(memory, fine())
    for text in ("Yes.", RULE, "Yes."):
        say(graph, HumanMessage(text, id="1"))
    assert [text for kind, text in stored(memory) if kind == "user"] == ["Yes.", RULE, "Yes."]


class State(MemoryState):
    remaining_steps: int


def test_a_hooks_view_is_bounded() -> None:
    memory, model = memory_of(), ScriptedChatModel(script=lambda _: "Fine.")
    node = MemoryNode(memory, output_messages_key="llm_input_messages")
    graph = create_react_agent(
        model, [], pre_model_hook=node, state_schema=State, checkpointer=True
    )
    graph.checkpointer = graph_of(memory, model).checkpointer
    for text in (RULE, *(f"Message {n}." for n in range(9))):
        out = say(graph, text)
    assert len(out["messages"]) <= 4
    assert len(spoken(model.prompts[-1])) <= 4
    assert whole(model.prompts[-1]).count(RULE) == 1
