"""The user's message stands once in a checkpoint, and comes back from the evidence when it is gone."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Overwrite

from acc.errors import StateError
from acc.integrations.langgraph import MemoryNode
from acc.testing.chat_model import ScriptedChatModel, call
from graphs import CONFIG, RULE, agent, memory_of, said

LOG = "\n".join(f"12:0{n}:00 ERROR checkout pool exhausted, 60 of 60 in use" for n in range(9))
PASTED = f"Never restart it. What is this?\n```\n{LOG}\n```\nAnd why?"

STEP = [AIMessage("", tool_calls=[call("read_logs", "c1", service="x")]),
        ToolMessage("60 of 60", tool_call_id="c1")]  # fmt: skip

CONTENTS: dict[str, tuple[Any, bool]] = {
    "plain words": (RULE, True),
    "a pasted log": (PASTED, True),
    "a mark of ours in the user's words": (f"What does [pasted] mean?\n```\n{LOG}\n```", False),
    "spaces that are not kept": ("Why  is it\tslow? ", False),
    "what no store can hold": ("Why\x00is it slow?", False),
    "blocks with a picture": (
        [{"type": "text", "text": "What is this?"},
         {"type": "image_url", "image_url": {"url": "https://pictures.test/1.png"}}],
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "once"), CONTENTS.values(), ids=CONTENTS)
def test_whoever_takes_the_users_message_out_the_model_reads_it_as_it_was(
    content: Any, once: bool
) -> None:
    model = ScriptedChatModel(script=lambda _: "ok")
    graph = agent(memory_of(), model, checkpointer=InMemorySaver())
    graph.invoke({"messages": ["Hello."]}, CONFIG)
    out = graph.invoke({"messages": [HumanMessage(content, id="h")]}, CONFIG)
    assert ("content" not in out["ccs_turn"]) is once
    graph.update_state(CONFIG, {"messages": Overwrite(STEP)}, as_node="act")
    graph.invoke(None, CONFIG)
    assert model.prompts[-1][1].content == content
    assert said(model.prompts[-1][2:]) == [("ai", ""), ("tool", "60 of 60")]


def test_a_transcript_that_is_taken_in_whole_names_the_last_message_of_the_user() -> None:
    model = ScriptedChatModel(script=lambda _: "ok")
    graph = agent(memory_of(), model, checkpointer=InMemorySaver(), fold_over=0)
    asked = HumanMessage(PASTED, id="h")
    more = [AIMessage("", tool_calls=[call("read_logs", "c0", service="x")]),
            ToolMessage("59 of 60", tool_call_id="c0"), *STEP]  # fmt: skip
    given = [HumanMessage(PASTED), AIMessage("Hm."), HumanMessage(PASTED), asked, *more]
    out = graph.invoke({"messages": given}, CONFIG)
    assert "content" not in out["ccs_turn"]
    graph.update_state(CONFIG, {"messages": Overwrite(STEP)}, as_node="act")
    graph.invoke(None, CONFIG)
    assert model.prompts[-1][1].content == PASTED


def test_a_pass_is_due_where_the_users_message_is_gone() -> None:
    node = MemoryNode(memory_of())
    held: dict[str, Any] = {"messages": [HumanMessage(RULE, id="h")]}
    held |= node.invoke(held, CONFIG)
    assert not node.due(held)
    assert node.due({**held, "messages": STEP})


def test_a_mark_that_names_evidence_that_is_not_there_is_an_error() -> None:
    node = MemoryNode(memory_of())
    held: dict[str, Any] = {"messages": [HumanMessage(RULE, id="h")]}
    held |= node.invoke(held, CONFIG)
    for refs in (["u7"], [], ["u1", "t9"]):
        mark = {**held["ccs_turn"], "refs": refs}
        with pytest.raises(StateError, match="nor in the store"):
            node.invoke({**held, "messages": STEP, "ccs_turn": mark}, CONFIG)


def test_a_mark_of_an_earlier_release_holds_the_words_themselves() -> None:
    node = MemoryNode(memory_of())
    held: dict[str, Any] = {"messages": [HumanMessage(RULE, id="h")]}
    held |= node.invoke(held, CONFIG)
    mark = {k: v for k, v in held["ccs_turn"].items() if k not in ("refs", "state")}
    old = {**held, "messages": STEP, "ccs_turn": {**mark, "content": RULE}}
    assert RULE in [m.content for m in node.invoke(old, CONFIG)["messages"]]
