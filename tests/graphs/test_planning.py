"""The planning graph where models fall short: no plan, no end to planning, nothing to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool

from acc.controller.controller import MemoryController
from acc.errors import InputError
from acc.testing.chat_model import ScriptedChatModel, call
from acc_graphs.plan_execute_reflect import build
from acc_graphs.planning_prompts import PLAN, REFLECT

CONFIG: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 200}


@tool
def look() -> str:
    """Look around."""
    return "nothing in sight"


def run(folder: Path, script: Any, **options: Any) -> dict[str, Any]:
    with MemoryController.open(folder, store="none") as memory:
        graph = build(ScriptedChatModel(script=script), [look], memory, role="A scout.", **options)
        found: dict[str, Any] = graph.invoke({"messages": [HumanMessage("What is there?")]}, CONFIG)
    return found


def answering(plan: list[str], decision: str) -> Any:
    """Plans, reports and reflects the same each time."""

    def script(prompt: list[BaseMessage]) -> AIMessage:
        asked = str(prompt[-1].text)
        if asked.startswith(PLAN):
            return AIMessage("", tool_calls=[call("Plan", steps=plan)])
        if asked.startswith(REFLECT):
            made = call("Reflection", decision=decision, answer="That is all.")
            return AIMessage("", tool_calls=[made])
        return AIMessage("Looked.")

    return script


def test_planning_anew_ends_after_the_rounds_that_were_given(tmp_path: Path) -> None:
    out = run(tmp_path, answering(["look"], "revise"), rounds=2)
    assert out["rounds"] == 2
    assert out["done"] == ["look", "look"]
    assert out["messages"][-1].text == "That is all."


def test_going_on_with_no_step_left_is_the_end(tmp_path: Path) -> None:
    out = run(tmp_path, answering(["look", "look again"], "continue"))
    assert out["done"] == ["look", "look again"]
    assert out["messages"][-1].text == "That is all."


def test_an_empty_plan_goes_to_reflection_at_once(tmp_path: Path) -> None:
    out = run(tmp_path, answering([], "stop"))
    assert out["done"] == []
    assert out["messages"][-1].text == "That is all."


def test_a_model_that_gives_no_plan_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gave no Plan"):
        run(tmp_path, lambda _: AIMessage("I would rather talk."))
