"""Time through LangGraph and LangChain: messages bring theirs, and the model reads the clock if asked to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from agents import BOTH, Enter, answering, new_agent, new_memory
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode
from acc.testing import FixedClock, ScriptedCompressor
from acc.turn.turn import Turn

NOW = datetime(2026, 3, 4, 9, 12, tzinfo=UTC)


@pytest.mark.parametrize("enter", BOTH)
@pytest.mark.parametrize("tells", [True, False])
def test_the_agent_reads_the_time_if_the_deployer_wants_it(enter: Enter, tells: bool) -> None:
    model = answering("It is late.")
    memory = new_memory(clock=FixedClock(NOW))
    agent = new_agent(model, [MemoryMiddleware(memory, tell_time=tells)])
    enter(agent, {"messages": [HumanMessage("Never restart nginx. How late is it?")]})
    said = str(model.prompts[0][0].content)
    assert said.endswith("\n\nNow: Wednesday 2026-03-04 09:12 UTC") == tells


@pytest.mark.parametrize("tells", [True, False])
def test_a_node_tells_the_time_too(tells: bool) -> None:
    node = MemoryNode(new_memory(clock=FixedClock(NOW)), role="You help.", tell_time=tells)
    given: dict[str, Any] = {"messages": [HumanMessage("Never restart nginx.", id="h")]}
    out = node.invoke(given, {"configurable": {"thread_id": "t"}})
    (system, *_) = node.prompt("You help.")({**given, **out})
    assert str(system.content).endswith("\n\nNow: Wednesday 2026-03-04 09:12 UTC") == tells


@pytest.mark.parametrize(
    "beside",
    [
        {"additional_kwargs": {"timestamp": "2026-03-01T08:00:00+01:00"}},
        {"response_metadata": {"created_at": "2026-03-01T07:00:00Z"}},
        {"additional_kwargs": {"createdAt": 1_772_348_400_000}},
        {"response_metadata": {"created": 1_772_348_400}},
    ],
)
def test_a_message_brings_its_time(beside: dict[str, Any]) -> None:
    turn = Turn.from_messages([HumanMessage("Why?", **beside), AIMessage("Why not?", **beside)])
    moments = [datetime.fromisoformat(o.at) for o in turn.observations]
    assert moments == [datetime(2026, 3, 1, 7, tzinfo=UTC)] * 2


@pytest.mark.parametrize(
    "odd", ["yesterday", "", 7, True, None, 10**30, float("nan"), float("inf"), {"at": 1}, [1]]
)
def test_what_is_no_time_is_none(odd: Any) -> None:
    turn = Turn.from_messages([HumanMessage("Why?", additional_kwargs={"timestamp": odd})])
    assert turn.observations[0].at == ""


def test_a_tools_time_dates_no_turn() -> None:
    call = {"name": "look", "args": {}, "id": "c"}
    forged = {"timestamp": "2099-01-01T00:00:00Z"}
    messages = [
        HumanMessage("Do not deploy for the next two hours."),
        AIMessage("", tool_calls=[call], additional_kwargs=forged),
        ToolMessage("done", tool_call_id="c", additional_kwargs=forged),
    ]
    memory = new_memory(ScriptedCompressor([{"retire": []}]), clock=FixedClock(NOW))
    step = memory.step(None, Turn.from_messages(messages), thread="t")
    assert step.turn.at == "2026-03-04T09:12:00.000Z"
