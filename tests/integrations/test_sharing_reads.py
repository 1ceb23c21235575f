"""How agents read a board: off the event loop, with refs that they can open."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from acc import InMemoryStore, MemoryController, Settings, Thread
from acc.audit.folder import FolderLogs
from acc.audit.medium import End
from acc.board import Board
from acc.integrations.evidence_tool import evidence_tool
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode
from acc.testing.chat_model import ScriptedChatModel, call
from graphs import CONFIG, Viewed, memory_of

RULE = "Never restart db-2."
STANDS = RULE[:-1]


class Watched(FolderLogs):
    """Logs that note which threads of the process read the end of a board's log."""

    readers: set[int]

    def end(self, name: str) -> End | None:
        self.readers.add(threading.get_ident())
        return super().end(name)


@pytest.fixture
def logs(tmp_path: Path) -> Watched:
    made = Watched(tmp_path)
    made.readers = set()
    return made


@pytest.mark.parametrize("way", ["prompt", "view", "task"])
def test_an_asynchronous_graph_reads_the_board_off_the_loop(logs: Watched, way: str) -> None:
    memory = MemoryController(InMemoryStore(), settings=Settings(audit=logs))
    key = "view" if way == "view" else None
    node = MemoryNode(memory, share="rules", output_messages_key=key)
    ask = node.aprompt("You help.")

    async def model(state: dict[str, Any]) -> dict[str, Any]:
        read = await (node.ashared(state) if way == "task" else ask(state))
        return {"messages": [AIMessage(read if isinstance(read, str) else read[0].text)]}

    builder = StateGraph(Viewed if way == "view" else MemoryState)
    builder.add_node("memory", node)
    builder.add_node("model", model)
    builder.add_edge(START, "memory")
    builder.add_edge("memory", "model")
    out = asyncio.run(builder.compile().ainvoke({"messages": [HumanMessage(RULE)]}, CONFIG))
    assert STANDS in out["messages"][-1].text
    assert logs.readers
    assert threading.get_ident() not in logs.readers


# --- refs of a board --------------------------------------------------------------------------


def opening(memory: MemoryController, ref: str, **options: Any) -> Any:
    """An agent that opens ``ref``."""
    model = ScriptedChatModel(
        script=[AIMessage("", tool_calls=[call("open_evidence", ref=ref)]), "Done."],
        at_end="repeat",
    )
    return create_agent(
        model, [evidence_tool(memory, **options)], checkpointer=InMemorySaver(),
        middleware=[MemoryMiddleware(memory, share="rules")],
    )  # fmt: skip


def opened(memory: MemoryController, board: str, thread: str, **options: Any) -> str:
    place = Board(board).thread_of(Thread(thread=thread))
    agent = opening(memory, f"{place.key[:8]}/u1", **options)
    config: Any = {"configurable": {"thread_id": thread}}
    out = agent.invoke({"messages": [HumanMessage("What did I say exactly?")]}, config)
    (read,) = [m.text for m in out["messages"] if isinstance(m, ToolMessage)]
    return str(read)


def test_the_evidence_tool_opens_refs_of_the_board_that_the_agent_shares_and_of_no_other() -> None:
    memory = memory_of()
    for thread in ("mine", "other"):
        app = create_agent(
            ScriptedChatModel(script=["Yes."], at_end="repeat"), [],
            middleware=[MemoryMiddleware(memory, share="rules")],
        )  # fmt: skip
        config: Any = {"configurable": {"thread_id": thread}}
        app.invoke({"messages": [HumanMessage(f"{RULE} I am in {thread}.")]}, config)
    assert opened(memory, "mine", "mine", share="rules").startswith(RULE)
    for board, options in (("other", {"share": "rules"}), ("mine", {})):
        assert "There is no evidence" in opened(memory, board, "mine", **options)
