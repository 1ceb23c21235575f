"""Planning a remediation: what only the web says does not persist, and sways no reflection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import without_memory as without_memory
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from acc.controller.controller import MemoryController
from acc.state.render import render
from acc.testing.chat_model import ScriptedChatModel
from acc_graphs import remediation
from acc_graphs.plan_execute_reflect import build
from acc_graphs.planning_prompts import PLAN, REFLECT

ASKED = (
    "Draft a remediation plan for CVE-2031-0420 in parcel-gateway. Never deploy without two approvals. "
    "Never change anything outside the window on Sunday at 02:00."
)
CONFIG: Any = {"configurable": {"thread_id": "vuln-1"}}


def planned(
    model: ScriptedChatModel, memory: MemoryController[Any], *, asynchronous: bool = False
) -> tuple[Any, dict[str, Any]]:
    graph = build(
        model, remediation.TOOLS, memory, role=remediation.ROLE, channels=remediation.CHANNELS,
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    given = {"messages": [HumanMessage(ASKED)]}
    if asynchronous:
        return graph, asyncio.run(graph.ainvoke(given, CONFIG))
    return graph, graph.invoke(given, CONFIG)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryController[Any]]:
    with MemoryController.open(tmp_path, store="none", **remediation.SETTINGS) as opened:
        yield opened


def asked(model: ScriptedChatModel, words: str) -> list[list[BaseMessage]]:
    """The prompts that end with such a question."""
    return [p for p in model.prompts if str(p[-1].text).startswith(words)]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_plan_rests_on_the_vendor_and_keeps_the_users_gates(
    memory: MemoryController[Any], asynchronous: bool
) -> None:
    model = ScriptedChatModel(script=remediation.decide)
    _, out = planned(model, memory, asynchronous=asynchronous)
    answer = "Upgrade pg-01, pg-02 to 5.2.12; Never deploy without two approvals."
    assert out["messages"][-1].text == answer
    assert out["rounds"] == 2  # the web alone confirmed nothing
    assert out["done"] == [*remediation.STEPS]


def test_without_the_memory_the_same_model_believes_the_web() -> None:
    model = ScriptedChatModel(script=remediation.decide)
    graph = without_memory.plan_execute_reflect(model, remediation.TOOLS, remediation.ROLE)
    out = graph.invoke({"messages": [HumanMessage(ASKED)]}, CONFIG)
    assert out["messages"][-1].text.startswith("Upgrade the hosts to 5.2.9; Approvals are waived")


def test_what_only_the_web_says_is_in_the_journal_and_not_in_the_state(
    memory: MemoryController[Any],
) -> None:
    graph, out = planned(ScriptedChatModel(script=remediation.decide), memory)
    state: Any = memory.policy.schema.load(out["ccs"])
    shown = render(state)
    assert "5.2.9" not in shown
    assert "waived" not in shown
    fixing = [fact for fact in state.relational_map if "5.2.12" in fact.text]
    (told, *repeated) = [fact.sources for fact in fixing]
    assert {fact.trust.word for fact in fixing} == {"tool"}
    assert all(set(told) <= set(each) for each in repeated), "the agent repeats the tool's sentence"
    stored = [each.message for each in memory.journal.messages("vuln-1")]
    assert any("5.2.9" in m.text and m.channel.value == "document" for m in stored)
    told = str([each.record for each in memory.journal.commits("vuln-1")])
    assert "no system of record and no person says so" in told  # why it was refused
    assert graph.get_state(CONFIG).next == ()


def test_plan_and_reflect_read_state_and_user_and_nothing_that_a_tool_said(
    memory: MemoryController[Any],
) -> None:
    model = ScriptedChatModel(script=remediation.decide)
    planned(model, memory)
    for words, least in ((PLAN, 2), (REFLECT, 3)):
        prompts = asked(model, words)
        assert len(prompts) >= least
        for prompt in prompts:
            assert [m.type for m in prompt] == ["system", "human", "human"]
            assert prompt[1].text == ASKED
            assert "5.2.9" not in str(prompt)
    assert "5.2.12 fixes CVE-2031-0420" in asked(model, REFLECT)[1][0].text  # committed before


def test_the_stream_holds_neither_plans_nor_prompts(memory: MemoryController[Any]) -> None:
    model = ScriptedChatModel(script=remediation.decide)
    graph, _ = planned(model, memory)
    again = graph.stream({"messages": [HumanMessage(ASKED)]}, CONFIG, stream_mode="messages")
    heard = [(p.type, m["langgraph_node"], str(p.text)) for p, m in again]
    assert {(kind, node) for kind, node, _ in heard} <= {
        ("AIMessageChunk", "act"), ("ai", "act"), ("tool", "tools"), ("ai", "reflect"),
    }  # fmt: skip
    assert heard[-1][1] == "reflect"


def test_everything_that_happened_is_in_the_journal_once(memory: MemoryController[Any]) -> None:
    planned(ScriptedChatModel(script=remediation.decide), memory)
    held = memory.journal.messages("vuln-1", also_open=True)
    texts = [each.message.text for each in held]
    # the user's message; a call, a result, a report and a note for each of three steps; the answer
    assert len(texts) == 1 + 3 * 4 + 1
    assert len(set(texts)) == len(texts)
