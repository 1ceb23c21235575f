"""Planning a remediation: what only the web says does not persist, and sways no reflection."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import without_memory
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from acc import InMemoryStore, MemoryController, Settings, Thread
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
    model: ScriptedChatModel, memory: MemoryController, *, asynchronous: bool = False
) -> tuple[Any, dict[str, Any]]:
    graph = build(
        model, remediation.TOOLS, memory, role=remediation.ROLE, channels=remediation.CHANNELS,
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    given = {"messages": [HumanMessage(ASKED)]}
    if asynchronous:
        return graph, asyncio.run(graph.ainvoke(given, CONFIG))
    return graph, graph.invoke(given, CONFIG)


def memory_of(**settings: Any) -> MemoryController:
    return MemoryController(
        InMemoryStore(), settings=Settings(policy=remediation.POLICY, **settings)
    )


def asked(model: ScriptedChatModel, words: str) -> list[list[BaseMessage]]:
    """The prompts that end with such a question."""
    return [p for p in model.prompts if str(p[-1].text).startswith(words)]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_plan_rests_on_the_vendor_and_keeps_the_users_gates(asynchronous: bool) -> None:
    model, memory = ScriptedChatModel(script=remediation.decide), memory_of()
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


def test_what_only_the_web_says_is_in_the_store_and_not_in_the_state(tmp_path: Path) -> None:
    memory = memory_of(audit=tmp_path)
    graph, out = planned(ScriptedChatModel(script=remediation.decide), memory)
    state = memory.load(out["ccs"])
    assert "5.2.9" not in state.render()
    assert "waived" not in state.render()
    versions = {f.name: f.trust.word for f in state.focal_entities if f.type == "version"}
    assert versions["5.2.12"] == "tool"
    with memory._lock:
        stored = memory._log_of(Thread(thread="vuln-1")).branch(state.branch).artifacts
    assert any("5.2.9" in a.text and a.channel.value == "document" for a in stored)
    audit = "".join(p.read_text() for p in tmp_path.rglob("*.jsonl"))
    assert "a document's word alone" in audit  # why it was refused
    assert graph.get_state(CONFIG).next == ()


def test_plan_and_reflect_read_state_and_user_and_nothing_that_a_tool_said() -> None:
    model = ScriptedChatModel(script=remediation.decide)
    planned(model, memory_of())
    for words, least in ((PLAN, 2), (REFLECT, 3)):
        prompts = asked(model, words)
        assert len(prompts) >= least
        for prompt in prompts:
            assert [m.type for m in prompt] == ["system", "human", "human"]
            assert prompt[1].text == ASKED
            assert "5.2.9" not in str(prompt)
    assert "version,5.2.12,tool" in asked(model, REFLECT)[1][0].text  # committed before


def test_the_stream_holds_neither_plans_nor_prompts() -> None:
    model, memory = ScriptedChatModel(script=remediation.decide), memory_of()
    graph, _ = planned(model, memory)
    again = graph.stream({"messages": [HumanMessage(ASKED)]}, CONFIG, stream_mode="messages")
    heard = [(p.type, m["langgraph_node"], str(p.text)) for p, m in again]
    assert {(kind, node) for kind, node, _ in heard} <= {
        ("AIMessageChunk", "act"), ("ai", "act"), ("tool", "tools"), ("ai", "reflect"),
    }  # fmt: skip
    assert heard[-1][1] == "reflect"


def test_every_observation_is_stored_once() -> None:
    memory = memory_of()
    _, out = planned(ScriptedChatModel(script=remediation.decide), memory)
    state = memory.load(out["ccs"])
    with memory._lock:
        held = memory._log_of(Thread(thread="vuln-1")).branch(state.branch).artifacts
    texts = [a.text for a in held if a.kind == "observation"]
    # the user's message; a call, a result, a report and a note for each of three steps; the answer
    assert len(texts) == 1 + 3 * 4 + 1
    assert len(set(texts)) == len(texts)
