"""Long tool loops: the steps that the model has read are folded while the user's turn goes on."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from acc import Channel, InMemoryStore, MemoryController, Proposal, Turn
from acc.audit.verify import verify
from acc.integrations.evidence_tool import evidence_tool
from acc.memory import whose
from acc.state import ProposedItem
from acc.testing.chat_model import ScriptedChatModel, call
from graphs import CONFIG, agent, evidence, looping, memory_of, read_logs

ASKED = "Never restart the database. Look at every one of the 200 services."


@tool("read_logs")
def wordy(service: str) -> str:
    """The last lines of a service's log."""
    return "\n".join(f"{service}: 12:0{n} pool exhausted, 60 of 60 in use" for n in range(9))


def _read(message: Any) -> str:
    return f"{message.content} {getattr(message, 'tool_calls', '')}"


@pytest.mark.slow
def test_200_tool_calls_within_one_turn_keep_the_prompt_bounded() -> None:
    memory = memory_of()
    model = ScriptedChatModel(script=looping(200))
    graph = agent(memory, model, [wordy], checkpointer=InMemorySaver())
    out = graph.invoke({"messages": [ASKED]}, CONFIG, durability="exit")
    counter = memory.settings.policy.counter
    sizes = [sum(counter(_read(m)) for m in prompt) for prompt in model.prompts]
    assert len(model.prompts) == 201
    assert max(sizes) < 800 + 2_000 + 400
    assert sum(sizes[-20:]) < 1.1 * sum(sizes[60:80])
    for prompt in model.prompts:
        assert prompt[1].text == ASKED
        assert "Never restart the database" in str(prompt[0].content)
    held = [a.text for a in evidence(memory, out["ccs"])]
    assert len(held) == len(set(held)) == 1 + 2 * (200 - (len(out["messages"]) - 2) // 2)
    assert 8 < out["ccs"]["turn"] < 15


@pytest.mark.parametrize("asynchronous", [False, True])
def test_parallel_calls_fold_into_one_commit_and_only_what_was_read_is_folded(
    asynchronous: bool,
) -> None:
    memory = memory_of()
    model = ScriptedChatModel(script=looping(4, parallel=3))
    graph = agent(memory, model, checkpointer=InMemorySaver(), fold_over=0)
    given = {"messages": [ASKED]}
    out = asyncio.run(graph.ainvoke(given, CONFIG)) if asynchronous else graph.invoke(given, CONFIG)
    by_turn: dict[int, list[str]] = {}
    for artifact in evidence(memory, out["ccs"]):
        by_turn.setdefault(artifact.turn, []).append(artifact.call_id)
    calls = [f"c{n}.{i}" for n in (1, 2, 3) for i in (0, 1, 2)]
    assert by_turn == {1: [""], **{n + 1: calls[3 * n - 3 : 3 * n] * 2 for n in (1, 2, 3)}}
    # The latest step is verbatim in each prompt: the model read nothing of it yet.
    for before, prompt in pairwise(model.prompts[1:]):
        assert [m.type for m in prompt] == ["system", "human", "ai", "tool", "tool", "tool"]
        assert before[-1] not in prompt
    assert [m.type for m in out["messages"]] == ["human", "ai", "tool", "tool", "tool", "ai"]


def test_the_rest_of_the_loop_is_folded_with_the_next_turn_and_nothing_twice() -> None:
    memory = memory_of()
    model = ScriptedChatModel(script=looping(5))
    graph = agent(memory, model, checkpointer=InMemorySaver(), fold_over=0, record=True)
    for n in range(3):
        out = graph.invoke({"messages": [f"Question {n}?"]}, CONFIG)
    held = [a.text for a in evidence(memory, out["ccs"])]
    assert len(held) == len(set(held))
    # The last loop's last step and answer are recorded, and belong to a turn to come.
    assert len(held) == 3 * (1 + 2 * 5 + 1)
    assert memory.load(out["ccs"]).branch == "main"
    out = graph.invoke({"messages": ["And now?"]}, CONFIG)
    assert memory.load(out["ccs"]).branch == "main"
    assert len(evidence(memory, out["ccs"])) == 4 * (1 + 2 * 5 + 1)


def noting_what_the_user_asks(turn: Turn, *_: Any) -> Proposal:
    """Proposes an event that lives for the user's turn, where somebody speaks; else nothing."""
    asked = [o for o in turn.observations if o.channel is Channel.USER]
    items = [
        ProposedItem(slot="episodic_trace", fields={"text": o.text}, cites=(o.ref,)) for o in asked
    ]
    return Proposal(items=tuple(items), author="noting")


def test_what_lives_for_the_users_turn_lives_through_the_loop_and_no_longer() -> None:
    memory = MemoryController(InMemoryStore(), noting_what_the_user_asks)
    model = ScriptedChatModel(script=looping(4))
    graph = agent(memory, model, checkpointer=InMemorySaver(), fold_over=0)
    out = graph.invoke({"messages": ["Look at shard-one."]}, CONFIG)
    assert out["ccs"]["turn"] == 4
    assert all("Look at shard-one." in str(p[0].content) for p in model.prompts)
    graph.invoke({"messages": ["Look at shard-two."]}, CONFIG)
    assert all("Look at shard-one." not in str(p[0].content) for p in model.prompts[5:])
    assert all("Look at shard-two." in str(p[0].content) for p in model.prompts[5:])


def test_a_folded_loop_recomputes_from_its_audit_log(tmp_path: Path) -> None:
    memory = memory_of(audit=tmp_path)
    model = ScriptedChatModel(script=looping(6, parallel=2))
    graph = agent(memory, model, checkpointer=InMemorySaver(), fold_over=0)
    for n in range(2):
        out = graph.invoke({"messages": [f"Never restart shard-{n}. Look at it."]}, CONFIG)
    log = memory._audit_of(whose("t"))
    assert log is not None
    policy = memory.settings.policy
    assert verify(log, {policy.fingerprint: policy}, head=out["ccs"]["hash"]) == 2 * 6


def test_without_folding_the_whole_turn_stays_verbatim() -> None:
    memory = memory_of()
    model = ScriptedChatModel(script=looping(30))
    graph = agent(memory, model, checkpointer=InMemorySaver(), fold_over=None)
    out = graph.invoke({"messages": [ASKED]}, CONFIG)
    assert len(model.prompts[-1]) == 2 + 60
    assert out["ccs"]["turn"] == 1


def opening(ref: str, start: int = 0) -> Any:
    """A script that opens a reference once, then answers what it read."""

    def script(prompt: list[Any]) -> AIMessage:
        if prompt[-1].type == "tool":
            return AIMessage(prompt[-1].text)
        made = {"ref": ref, "start": start} if start else {"ref": ref}
        return AIMessage("", tool_calls=[call("open_evidence", "open-" + ref, **made)])

    return script


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_agent_opens_evidence_and_what_it_shows_gains_no_trust(asynchronous: bool) -> None:
    memory = memory_of()
    model = ScriptedChatModel(script=looping(1))
    tools = [read_logs, evidence_tool(memory, most=20)]
    graph = agent(memory, model, tools, checkpointer=InMemorySaver())

    def ask(text: str) -> Any:
        given = {"messages": [HumanMessage(text)]}
        return (
            asyncio.run(graph.ainvoke(given, CONFIG))
            if asynchronous
            else graph.invoke(given, CONFIG)
        )

    ask("Look at the logs.")
    ask("And once more.")
    whole = "s1-0: pool exhausted, 60 of 60 connections in use"
    for start in (0, 20):
        model.script = opening("t2", start)
        more = f"\n[{len(whole) - start - 20} more characters: start={start + 20}]"
        assert ask(f"Open it at {start}.")["messages"][-1].text == whole[start : start + 20] + more
    model.script = opening("t99")
    out = ask("Open another.")
    assert "no evidence 't99'" in out["messages"][-1].text
    out = ask("Thank you.")
    opened = [
        a for a in evidence(memory, out["ccs"]) if a.call_id == "open-t2" and a.channel != "agent"
    ]
    assert [a.channel for a in opened] == [Channel.DOCUMENT] * 2


def test_evidence_of_another_thread_is_not_opened() -> None:
    memory = memory_of()
    tools = [evidence_tool(memory)]
    graph = agent(
        memory, ScriptedChatModel(script=opening("u1")), tools, checkpointer=InMemorySaver()
    )
    mine = graph.invoke({"messages": ["The code is 7741."]}, CONFIG)
    other: Any = {"configurable": {"thread_id": "other"}}
    theirs = graph.invoke({"messages": ["Hello."]}, other)
    assert mine["messages"][-1].text == "The code is 7741."
    assert theirs["messages"][-1].text == "Hello."
