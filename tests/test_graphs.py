"""The ReAct graph: the model reads role, state and turn, and the rule of turn 1 is still there."""

from __future__ import annotations

from pathlib import Path

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from acc import MemoryArtifactStore, MemoryController
from acc_graphs.react import build


@tool
def read_logs(service: str) -> str:
    """The last lines of a service's log."""
    return f"{service}: pool exhausted at 12:04, 60 of 60 in use"


def test_the_prompt_stays_a_turn_long_and_holds_the_first_rule(tmp_path: Path) -> None:
    prompts: list[list[AnyMessage]] = []

    def model(messages: list[AnyMessage]) -> AnyMessage:
        prompts.append(messages)
        if isinstance(messages[-1], ToolMessage):
            return AIMessage("The pool of checkout is exhausted.")
        call = {"name": "read_logs", "args": {"service": "checkout"}, "id": f"c{len(prompts)}"}
        return AIMessage("", tool_calls=[{**call, "type": "tool_call"}])

    memory = MemoryController(MemoryArtifactStore(), audit=tmp_path)
    graph = build(model, [read_logs], memory, role="You are on call.", checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "inc-1"}}
    graph.invoke(
        {"messages": [HumanMessage("Never restart the database. Why is checkout slow?")]}, config
    )
    for n in range(5):
        graph.invoke({"messages": [HumanMessage(f"And what of shard {n}?")]}, config)

    assert max(len(prompt) for prompt in prompts) == 4
    assert all("Never restart the database" in str(prompt[0].content) for prompt in prompts)
    assert all(str(prompt[0].content).startswith("You are on call.") for prompt in prompts)
    state = memory.load(graph.get_state(config).values["ccs"])
    assert memory.open_evidence("t2", state, thread="inc-1").startswith("checkout: pool exhausted")
