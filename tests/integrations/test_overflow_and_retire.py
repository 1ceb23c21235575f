"""In a graph: what operators retired stays retired, and rules that find no room stop one turn only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from acc import AsyncMemoryController, InMemoryStore, MemoryController, Policy, Settings
from acc.errors import PinnedOverflow
from acc.integrations.langchain import MemoryMiddleware
from acc.memory import Memory
from acc.testing.chat_model import ScriptedChatModel
from graphs import CONFIG, agent, memory_of

Made = tuple[Any, ScriptedChatModel]

RULE = "Never pay Harrow before Friday."


def node_graph(memory: Any, saver: Any) -> Made:
    model = ScriptedChatModel(script=lambda _: "ok")
    return agent(memory, model, checkpointer=saver), model


def middleware_agent(memory: Any, saver: Any) -> Made:
    model = ScriptedChatModel(script=lambda _: "ok")
    made = create_agent(model, [], middleware=[MemoryMiddleware(memory)], checkpointer=saver)
    return made, model


BOTH = pytest.mark.parametrize("build", [node_graph, middleware_agent])


def said(graph: Any, text: str, config: Any = CONFIG) -> dict[str, Any]:
    out: dict[str, Any] = graph.invoke({"messages": [HumanMessage(text)]}, config)
    return out


def rules(memory: Memory, out: Any) -> list[str]:
    return [rule.text for rule in memory.load(out["ccs"]).constraints]


# --- operators ------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("audited", [False, True])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_an_operator_retired_is_not_undone_by_the_graphs_next_turn(
    build: Callable[..., Made], audited: bool, asynchronous: bool, tmp_path: Path
) -> None:
    kind = AsyncMemoryController if asynchronous else MemoryController
    memory: Any = kind(InMemoryStore(), settings=Settings(audit=tmp_path if audited else None))
    graph, model = build(memory, InMemorySaver())

    def say(text: str) -> Any:
        if not asynchronous:
            return said(graph, text)
        return asyncio.run(graph.ainvoke({"messages": [HumanMessage(text)]}, CONFIG))

    state = memory.load(say(RULE)["ccs"])
    done = memory.retire([state.constraints[0].id], "audit", thread="t", state=state)
    done = asyncio.run(done) if asynchronous else done
    assert done.state.constraints == ()
    out = say("What is open?")
    assert rules(memory, out) == []
    assert out["ccs"]["branch"] == "main"
    assert RULE[:-1] not in str(model.prompts[-1][0].content).split("lifted")[0]
    assert "audit" in str(model.prompts[-1][0].content)  # why, in the agent's next turn
    say("Anything else?")
    assert "audit" not in str(model.prompts[-1][0].content)
    assert rules(memory, say(RULE)) == [RULE[:-1]]  # the user may say it again


@BOTH
def test_a_fork_from_before_the_retirement_has_it_done_too(build: Callable[..., Made]) -> None:
    memory = memory_of()
    graph, _ = build(memory, InMemorySaver())
    state = memory.load(said(graph, RULE)["ccs"])
    before = graph.get_state(CONFIG).config
    said(graph, "What is open?")
    newest = memory.load(said(graph, "And now?")["ccs"])
    memory.retire([state.constraints[0].id], "audit", thread="t", state=newest)
    out = said(graph, "Something else.", before)
    assert rules(memory, out) == []
    assert out["ccs"]["branch"] != "main"


# --- rules that find no room ------------------------------------------------------------------


def crowded() -> Policy:
    return Policy(max_tokens=90)


def fill(say: Callable[[str], Any]) -> tuple[int, str]:
    """Say rules until one finds no room; how many were kept, and the words of that one."""
    for n in range(30):
        text = f"Never deploy service-{n} to region-{n} without approval from Ana."
        try:
            say(text)
        except PinnedOverflow:
            return n, text
    raise AssertionError("every rule found room")


@BOTH
def test_a_rule_without_room_stops_its_own_turn_only(
    build: Callable[..., Made], caplog: pytest.LogCaptureFixture
) -> None:
    memory = memory_of(policy=crowded())
    graph, model = build(memory, InMemorySaver())
    kept, refused = fill(lambda text: said(graph, text))
    with pytest.raises(PinnedOverflow):
        said(graph, refused)  # loud each time it is said
    out = said(graph, "What is the weather?")
    assert len(rules(memory, out)) == kept
    shown = [m.text for m in model.prompts[-1] if m.type == "human"]
    assert shown == ["What is the weather?"]
    assert "refused" in caplog.text
    assert out["ccs"]["turn"] == kept + 1


@BOTH
def test_an_operator_makes_room_and_the_rule_is_said_again(build: Callable[..., Made]) -> None:
    memory = memory_of(policy=crowded())
    graph, _ = build(memory, InMemorySaver())
    kept, refused = fill(lambda text: said(graph, text))
    state = memory.load(graph.get_state(CONFIG).values["ccs"])
    memory.retire([rule.id for rule in state.constraints[:2]], "room", thread="t", state=state)
    out = said(graph, refused)
    assert len(rules(memory, out)) == kept - 2 + 1
    assert rules(memory, out)[-1] == refused[:-1]


@BOTH
def test_the_user_makes_room(build: Callable[..., Made]) -> None:
    memory = memory_of(policy=crowded())
    graph, _ = build(memory, InMemorySaver())
    kept, refused = fill(lambda text: said(graph, text))
    out = said(graph, "Forget the rule about service-0.")
    assert len(rules(memory, out)) == kept - 1
    assert rules(memory, said(graph, refused))[-1] == refused[:-1]


def test_several_messages_of_which_one_finds_no_room() -> None:
    memory = memory_of(policy=crowded())
    graph, model = node_graph(memory, InMemorySaver())
    kept, refused = fill(lambda text: said(graph, text))
    given: Any = {"messages": [HumanMessage(refused + " Again."), HumanMessage("The weather?")]}
    with pytest.raises(PinnedOverflow):
        graph.invoke(given, CONFIG)
    out = said(graph, "Hello?")
    assert len(rules(memory, out)) == kept
    assert [m.text for m in model.prompts[-1] if m.type == "human"] == ["The weather?", "Hello?"]
