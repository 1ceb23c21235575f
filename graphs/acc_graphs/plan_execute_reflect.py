"""A planning agent with the memory before the plan, and between ACT and REFLECT (Figure 4b).

    memory -> plan -> act <-> tools         each step of the plan in turn
                       |
                    commit -> reflect -> act, plan again, or end

What a step brought in is compressed and committed before it is reflected upon, whatever its size. PLAN and REFLECT read
the state and the user's message, and nothing of what the tools said: what the commit refused cannot sway them. The
words around the state are in `planning_prompts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import (
    Runnable,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, RetryPolicy

from acc.board.memory import Controller
from acc.integrations.langgraph import MemoryNode, MemoryState, worth_retrying
from acc.integrations.recording import RecordedNode
from acc_graphs.deployment import chat_model, opening_evidence, served_memory, served_model
from acc_graphs.planning_prompts import Plan, Prompts, Reflection, structured

Graph = CompiledStateGraph[Any, Any, Any, Any]


class PlanState(MemoryState, total=False):
    """The memory's channels, and of this turn: the steps left and done, and how often was planned."""

    plan: list[str]
    done: list[str]
    rounds: int


def build(
    model: BaseChatModel | str,
    tools: Sequence[BaseTool],
    memory: Controller,
    *,
    role: str,
    rounds: int = 3,
    checkpointer: Any = None,
    **options: Any,
) -> Graph:
    """Compile the graph; it runs with ``invoke`` and ``ainvoke``.

    Args:
        model: A chat model with tools and structured output, or its name: ``provider:model``.
        tools: What ACT may use, beside the tool that opens the evidence behind a ref of the state.
        memory: The memory.
        role: The agent's role, which stands before the state in every prompt.
        rounds: Plans at the most for one message of the user; then REFLECT's answer stands.
        checkpointer: Any LangGraph checkpointer. Its ``thread_id`` names the memory's thread.
        options: As `MemoryNode` takes them: ``channels``, ``identity`` and so on.

    Raises:
        ConfigurationError: No such model, or options that do not fit together.
    """
    chat = chat_model(model)
    remember = MemoryNode(memory, **options)
    commit = MemoryNode(memory, **{**options, "force": True})
    prompts = Prompts(remember, role)
    tools = [*tools, opening_evidence(remember)]

    # Callers hand in messages alone: a state of their own making would pass for the memory's.
    graph = StateGraph(PlanState, input_schema=MessagesState)
    again = RetryPolicy(retry_on=worth_retrying)
    graph.add_node("memory", commit, retry_policy=again)
    graph.add_node("begin", _BEGIN)
    graph.add_node("plan", _asking(prompts.plan, structured(chat, Plan)) | _planned)
    graph.add_node("act", _asking(prompts.act, chat.bind_tools(tools)) | _acted)
    graph.add_node("tools", ToolNode(tools))
    graph.add_node("fold", remember, retry_policy=again)
    graph.add_node("commit", commit, retry_policy=again)
    reflecting = _asking(prompts.reflect, structured(chat, Reflection)) | _decided(rounds)
    graph.add_node("reflect", RecordedNode(remember, reflecting), destinations=("act", "plan", END))
    for edge in ((START, "memory"), ("memory", "begin"), ("begin", "plan"), ("tools", "fold"),
                 ("fold", "act"), ("commit", "reflect")):  # fmt: skip
        graph.add_edge(*edge)
    graph.add_conditional_edges("plan", _anything_planned, {True: "act", False: "reflect"})
    graph.add_conditional_edges("act", tools_condition, {"tools": "tools", END: "commit"})
    return graph.compile(checkpointer=checkpointer)


def _asking(prompt: Callable[..., Any], model: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """The model's answer to a prompt, and the state that it was made of."""
    # A run named as its node would have LangGraph stream the prompt to the user.
    made = RunnableLambda(prompt, name="prompt")
    return RunnableParallel(found=made | model, state=RunnablePassthrough())


_BEGIN: Runnable[Any, Any] = RunnableLambda(lambda _: {"plan": [], "done": [], "rounds": 0})


def _planned(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"plan": of["found"].steps, "rounds": of["state"]["rounds"] + 1}


def _anything_planned(state: PlanState) -> bool:
    return bool(state["plan"])


def _acted(of: Mapping[str, Any]) -> dict[str, Any]:
    """What ACT said; once it calls nothing more, the step is done, and all of it may be committed."""
    said, state = of["found"], of["state"]
    if said.tool_calls:
        return {"messages": [said]}
    step = state["plan"][0]
    return {"messages": [said, AIMessage(f"Done: {step}")], "done": [*state["done"], step]}


def _decided(rounds: int) -> Callable[[Mapping[str, Any]], Command[Any]]:
    def decided(of: Mapping[str, Any]) -> Command[Any]:
        found, left = of["found"], of["state"]["plan"][1:]
        if found.decision == "continue" and left:
            return Command(goto="act", update={"plan": left})
        if found.decision == "revise" and of["state"]["rounds"] < rounds:
            return Command(goto="plan")
        return Command(goto=END, update={"messages": [AIMessage(found.answer)]})

    return decided


async def make_graph() -> Graph:
    """What ``langgraph.json`` serves: planning a remediation; settings in `deployment`."""
    from acc_graphs import remediation

    memory = await served_memory("plan_execute_reflect", **remediation.SETTINGS)
    return build(
        served_model(remediation.decide), remediation.TOOLS, memory,
        role=remediation.ROLE, channels=remediation.CHANNELS,
    )  # fmt: skip
