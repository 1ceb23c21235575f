"""A graph's messages hold a secret; the memory knows the same messages by their redacted words."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from acc import InMemoryStore, MemoryController
from acc.integrations.langchain import MemoryMiddleware
from acc.stores.protocol import Thread
from acc.testing.chat_model import ScriptedChatModel

SECRET = "hunter2-Correct-Horse"


def test_each_message_is_stored_once_and_without_its_secret() -> None:
    memory = MemoryController(InMemoryStore())
    model = ScriptedChatModel(
        script=[AIMessage(f"It is {n}, password: {SECRET}") for n in range(3)]
    )
    agent: Any = create_agent(
        model, [], middleware=[MemoryMiddleware(memory)], checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": "t"}}
    for said in (f"The db password: {SECRET}", "And again?", "So?"):
        agent.invoke({"messages": [("user", said)]}, config)
    held = list(memory._log_of(Thread(thread="t")).branch("main").artifacts)
    texts = [a.text for a in held if a.kind == "observation"]
    assert len(texts) == len({(a.ref, a.part) for a in held if a.kind == "observation"}) == 6
    assert not any(SECRET in text for text in texts)
    assert sum("[secret:" in text for text in texts) == 4
