"""The reference graphs with the memory taken out: the same model and tools on the transcript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command

from acc.testing.chat_model import ScriptedChatModel
from acc_graphs.planning_prompts import PLAN, REFLECT, STEP, Plan, Reflection


class PlanState(MessagesState, total=False):
    plan: list[str]
    done: list[str]


def react(model: ScriptedChatModel, tools: Sequence[BaseTool], role: str) -> Any:
    """LangChain's own agent, which replays the conversation."""
    return create_agent(model, list(tools), system_prompt=role, checkpointer=InMemorySaver())


def plan_execute_reflect(model: ScriptedChatModel, tools: Sequence[BaseTool], role: str) -> Any:
    """Plan, act, reflect; each reads all that was said."""

    def asked(state: Mapping[str, Any], words: str) -> list[BaseMessage]:
        return [SystemMessage(role), *state["messages"], HumanMessage(words)]

    def plan(state: PlanState) -> dict[str, Any]:
        done = "; ".join(state.get("done", [])) or "nothing"
        found = model.with_structured_output(Plan).invoke(
            asked(state, f"{PLAN} Done so far: {done}.")
        )
        return {"plan": found.steps}

    def act(state: PlanState) -> dict[str, Any]:
        step = state["plan"][0]
        said = model.invoke(asked(state, STEP + step))
        done = [] if said.tool_calls else [step]
        return {"messages": [said], "done": [*state.get("done", []), *done]}

    def reflect(state: PlanState) -> Command[Any]:
        left = state["plan"][1:]
        words = f"{REFLECT} Steps left: {'; '.join(left) or 'none'}."
        found = model.with_structured_output(Reflection).invoke(asked(state, words))
        if found.decision == "stop":
            return Command(goto=END, update={"messages": [AIMessage(found.answer)]})
        return Command(goto="act" if left else "plan", update={"plan": left})

    graph = StateGraph(PlanState)
    graph.add_node("plan", plan)
    graph.add_node("act", act)
    graph.add_node("reflect", reflect, destinations=("act", "plan", END))
    graph.add_node("tools", ToolNode(list(tools)))
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "act")
    graph.add_edge("tools", "act")
    graph.add_conditional_edges("act", tools_condition, {"tools": "tools", END: "reflect"})
    return graph.compile(checkpointer=InMemorySaver())
