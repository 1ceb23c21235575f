"""Threads that began without the memory, leave it, or come back: no word is lost, and none is said twice."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from helpers_integrations import (
    CONFIG,
    PATIENT,
    RULE,
    amemory_of,
    fine,
    graph_of,
    looping,
    memory_of,
    patient,
    read_logs,
    rules,
    said,
    say,
    spoken,
    stored,
    system,
    threads,
    whole,
)
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command

from acc.integrations import history
from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode
from acc.testing.chat_model import ScriptedChatModel, call

SUMMARY = "Here is a summary of the conversation to date:"
SAID = [RULE, *(f"Message {number}." for number in range(1, 9))]


def sqlite() -> SqliteSaver:
    return SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))


def summarising(trigger: int = 6) -> SummarizationMiddleware:
    return SummarizationMiddleware(
        ScriptedChatModel(script=lambda _: "They spoke."),
        trigger=("messages", trigger),
        keep=("messages", 2),
    )


def answering() -> ScriptedChatModel:
    return ScriptedChatModel(script=lambda prompt: f"Answer to {prompt[-1].text}")


def old(saver: Any, *middleware: Any, model: Any = None, tools: Sequence[Any] = ()) -> Any:
    return create_agent(
        model or answering(), list(tools), middleware=list(middleware), checkpointer=saver
    )


def new(memory: Any, saver: Any, model: Any = None, *before: Any, **options: Any) -> Any:
    tools = options.pop("tools", ())
    middleware = [*before, MemoryMiddleware(memory, **options)]
    return create_agent(
        model or answering(), list(tools), middleware=middleware, checkpointer=saver
    )


def told(texts: Sequence[str]) -> list[tuple[str, str]]:
    """What a memory stores of these words of the user and the answers to them."""
    return [pair for t in texts for pair in (("user", t), ("agent", f"Answer to {t}"))]


def without_summaries(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(channel, text) for channel, text in pairs if not text.startswith(SUMMARY)]


# What another summariser removed


@pytest.mark.parametrize("make", [InMemorySaver, sqlite])
@pytest.mark.parametrize("memory_with", [memory_of, patient])
def test_what_a_summary_replaced_is_recovered_in_its_order(make: Any, memory_with: Any) -> None:
    saver, memory, model = make(), memory_with(), answering()
    before = old(saver, summarising())
    for text in SAID:
        out = say(before, text)
    assert RULE not in "".join(m.text for m in out["messages"])
    agent = new(memory, saver, model)
    out = say(agent, "Newest.")
    assert without_summaries(stored(memory)) == [*told(SAID), ("user", "Newest.")]
    assert [c for c, t in stored(memory) if t.startswith(SUMMARY)] == ["document"]
    assert RULE in whole(model.prompts[-1])
    assert RULE not in "".join(m.text for m in out["messages"])
    say(agent, "And now?")
    assert without_summaries(stored(memory)) == [*told([*SAID, "Newest."]), ("user", "And now?")]
    memory.flush("t")
    assert rules(say(agent, "So?")) == [RULE]


@pytest.mark.parametrize("make", [patient, lambda: amemory_of(policy=PATIENT)])
@pytest.mark.parametrize("is_node", [False, True])
def test_an_asynchronous_checkpointer_is_read_beside_the_loop(make: Any, is_node: bool) -> None:
    async def run() -> None:
        memory = make()
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            before = old(saver, summarising())
            for text in SAID:
                await before.ainvoke({"messages": [("user", text)]}, CONFIG)
            agent = graph_of(memory, fine(), checkpointer=saver) if is_node else new(memory, saver)
            await agent.ainvoke({"messages": [("user", "Newest.")]}, CONFIG)
        assert without_summaries(stored(memory)) == [*told(SAID), ("user", "Newest.")]

    asyncio.run(run())


def test_a_call_and_its_result_that_a_summary_parted_are_joined() -> None:
    saver, memory = InMemorySaver(), patient()
    before = old(saver, model=ScriptedChatModel(script=looping(1)), tools=[read_logs])
    messages = say(before, "Look.")["messages"]
    summary = HumanMessage("They looked.", additional_kwargs={"lc_source": "summarization"})
    gone = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    before.update_state(CONFIG, {"messages": [gone, summary, *messages[-2:]]})
    say(new(memory, saver, tools=[read_logs]), "And?")
    assert [channel for channel, _ in stored(memory)] == [
        "user", "agent", "tool", "document", "agent", "user",
    ]  # fmt: skip


def test_a_deleted_message_and_another_branch_stay_away() -> None:
    saver, memory = InMemorySaver(), patient()
    before = old(saver, summarising())
    out = say(before, "My password is 7hT.")
    before.update_state(CONFIG, {"messages": [RemoveMessage(id=out["messages"][0].id)]})
    for text in SAID[:3]:
        say(before, text)
    fork = before.get_state(CONFIG).config
    for text in SAID[3:]:
        say(before, text)
    say(new(memory, saver), "Another way.", fork)
    assert without_summaries(stored(memory)) == [
        ("agent", "Answer to My password is 7hT."), *told(SAID[:3]), ("user", "Another way."),
    ]  # fmt: skip


@pytest.mark.parametrize("left", [1, 12])
def test_of_a_pruned_history_what_is_there_is_recovered(left: int) -> None:
    saver, memory = InMemorySaver(), patient()
    before = old(saver, summarising())
    for text in SAID:
        say(before, text)
    kept = saver.storage["t"][""]
    for name in sorted(kept)[:-left]:
        del kept[name]
    say(new(memory, saver), "Newest.")
    found = [text for channel, text in stored(memory) if channel == "user"]
    assert found == [*SAID[-len(found) + 1 :], "Newest."]
    assert any(text.startswith(SUMMARY) for _, text in stored(memory))


def test_what_is_not_recovered_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    saver = InMemorySaver()
    before = old(saver, summarising())
    for text in SAID:
        say(before, text)
    monkeypatch.setattr(history, "MOST_MESSAGES", 4)
    memory = patient()
    with caplog.at_level(logging.WARNING, "acc"):
        say(new(memory, saver), "Newest.")
    assert "more than 4 messages that a summary removed" in caplog.text
    assert stored(memory)[0] == ("agent", f"Answer to {SAID[4]}")
    caplog.clear()
    monkeypatch.setattr(saver, "list", lambda *_, **__: 1 / 0)
    with caplog.at_level(logging.WARNING, "acc"):
        say(new(patient(), saver), "Newest.", {"configurable": {"thread_id": "t"}})
    assert "history cannot be read" in caplog.text


# Of other libraries


class Summarised(MessagesState, total=False):
    context: dict[str, Any]
    summarized_messages: list[Any]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("channel", ["summarized_messages", "messages"])
def test_a_thread_of_langmem_goes_on(channel: str) -> None:
    short_term = pytest.importorskip("langmem.short_term")
    saver, memory, model = InMemorySaver(), patient(), answering()
    node = short_term.SummarizationNode(
        model=ScriptedChatModel(script=lambda _: "They spoke."), max_tokens=6, max_summary_tokens=1,
        output_messages_key=channel, token_counter=len,
    )  # fmt: skip
    builder = StateGraph(Summarised)
    builder.add_node("summary", node)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state[channel])]})
    builder.add_edge(START, "summary")
    builder.add_edge("summary", "model")
    before = builder.compile(checkpointer=saver)
    for text in SAID:
        out = say(before, text)
    assert isinstance(out["messages"][0], SystemMessage) is (channel == "messages")
    after = graph_of(memory, model, checkpointer=saver)
    out = say(after, "Newest.")
    assert [p for p in stored(memory) if p[0] != "document"] == [*told(SAID), ("user", "Newest.")]
    assert "They spoke." not in system(model.prompts[-1])
    assert not any(isinstance(message, SystemMessage) for message in out["messages"])


def test_deepagents_reads_the_user_after_its_own_summary() -> None:
    deepagents = pytest.importorskip("deepagents")
    backends = pytest.importorskip("deepagents.backends")
    summarization = pytest.importorskip("deepagents.middleware.summarization")
    saver, memory, model = InMemorySaver(), memory_of(), answering()

    def summary(most: int) -> Any:
        return summarization.SummarizationMiddleware(
            ScriptedChatModel(script=lambda _: "They spoke."), backend=backends.StateBackend(),
            trigger=("messages", most), keep=("messages", 2),
        )  # fmt: skip

    before = deepagents.create_deep_agent(answering(), middleware=[summary(6)], checkpointer=saver)
    for text in SAID:
        say(before, text)
    after = deepagents.create_deep_agent(
        model, middleware=[summary(90), MemoryMiddleware(memory)], checkpointer=saver
    )
    for text in ("What is open?", "And now?"):
        out = say(after, text)
    assert spoken(model.prompts[-1])[-1] == ("human", "And now?")
    assert rules(out) == [RULE]


def test_deepagents_keeps_its_own_memory_of_files() -> None:
    deepagents = pytest.importorskip("deepagents")
    utils = pytest.importorskip("deepagents.backends.utils")
    model = fine()
    agent = deepagents.create_deep_agent(
        model, memory=["/AGENTS.md"], middleware=[MemoryMiddleware(patient())]
    )
    files = {"/AGENTS.md": utils.create_file_data("The depot is in Graz.")}
    agent.invoke({"messages": [("user", RULE)], "files": files}, CONFIG)
    assert "The depot is in Graz." in system(model.prompts[-1])


# An approval that waits

PAID: list[int] = []


@tool
def pay_out(amount_eur: int) -> str:
    """Pay money."""
    PAID.append(amount_eur)
    return "paid"


def paying() -> ScriptedChatModel:
    def script(prompt: Sequence[Any]) -> AIMessage:
        if "pay 650" in prompt[-1].text:
            return AIMessage("", tool_calls=[call("pay_out", amount_eur=650)])
        return AIMessage("OK.")

    return ScriptedChatModel(script=script)


def hitl() -> HumanInTheLoopMiddleware:
    return HumanInTheLoopMiddleware(interrupt_on={"pay_out": True})


def _deep(memory: Any, saver: Any) -> Any:
    deepagents = pytest.importorskip("deepagents")
    return deepagents.create_deep_agent(
        paying(), [pay_out], interrupt_on={"pay_out": True}, checkpointer=saver,
        middleware=[MemoryMiddleware(memory)] if memory else [],
    )  # fmt: skip


def _agent(memory: Any, saver: Any, *before: Any) -> Any:
    middleware = [*before, hitl(), *([MemoryMiddleware(memory)] if memory else [])]
    return old(saver, *middleware, model=paying(), tools=[pay_out])


def _summarised(memory: Any, saver: Any) -> Any:
    return _agent(memory, saver, summarising(4))


def _react(memory: Any, saver: Any) -> Any:
    hook = MemoryNode(memory, output_messages_key="llm_input_messages") if memory else None
    return create_react_agent(
        paying(), [pay_out], pre_model_hook=hook, checkpointer=saver, interrupt_before=["tools"]
    )  # type: ignore[deprecated]


APPROVED = Command(resume={"decisions": [{"type": "approve"}]})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("memory_with", [memory_of, patient])
@pytest.mark.parametrize(
    ("before_it", "with_it", "answer"),
    [
        (_agent, _agent, APPROVED),
        (_summarised, _agent, APPROVED),
        (_deep, _deep, APPROVED),
        (_react, _react, None),
        (_react, _agent, None),
    ],
)
def test_a_call_that_waits_for_a_human_is_made_once_with_the_memory(
    before_it: Callable[..., Any], with_it: Callable[..., Any], answer: Any, memory_with: Any
) -> None:
    saver, memory = InMemorySaver(), memory_with()
    PAID.clear()
    before = before_it(None, saver)
    for text in (RULE, "Please pay 650 for the tap."):
        say(before, text)
    after = with_it(memory, saver)
    after.invoke(answer, CONFIG)
    say(after, "When may craftsmen come?")
    assert PAID == [650]
    assert without_summaries(stored(memory)) == [
        ("user", RULE), ("agent", "OK."), ("user", "Please pay 650 for the tap."),
        ("agent", 'pay_out({"amount_eur": 650})'), ("tool", "paid"), ("agent", "OK."),
        ("user", "When may craftsmen come?"),
    ]  # fmt: skip


# Beside a summariser, away, and back


@pytest.mark.parametrize("memory_with", [memory_of, patient])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_shadow_takes_each_message_once_and_no_summary(memory_with: Any, is_first: bool) -> None:
    saver, memory, model = InMemorySaver(), memory_with(), answering()
    both = [summarising(), MemoryMiddleware(memory, mode="shadow")]
    agent = old(saver, *(both if is_first else both[::-1]), model=model)
    for text in SAID:
        out = say(agent, text)
    assert stored(memory) == told(SAID)[:-1]
    assert model.prompts[-1] == out["messages"][:-1]
    out = say(new(memory, saver, model), "In earnest.")
    assert stored(memory) == [*told(SAID), ("user", "In earnest.")]
    assert RULE in system(model.prompts[-1])
    assert not any(str(message.text).startswith(SUMMARY) for message in out["messages"])


@pytest.mark.parametrize("make", [InMemorySaver, sqlite])
@pytest.mark.parametrize("between", [(), (summarising(4),)])
def test_what_was_said_without_the_memory_is_the_users_when_it_is_back(
    make: Any, between: Any
) -> None:
    saver, memory = make(), patient()
    agent, away = new(memory, saver), old(saver, *between)
    for each, texts in ((agent, SAID[1:3]), (away, [RULE, *SAID[3:]]), (agent, ["Newest."])):
        for text in texts:
            say(each, text)
    every = [*SAID[1:3], RULE, *SAID[3:]]
    assert without_summaries(stored(memory)) == [*told(every), ("user", "Newest.")]
    assert len(threads(memory)) == 1


@pytest.mark.parametrize("make", [InMemorySaver, sqlite])
@pytest.mark.parametrize("memory_with", [memory_of, patient])
def test_a_thread_that_left_as_a_summary_comes_back(make: Any, memory_with: Any) -> None:
    saver, memory = make(), memory_with()
    agent, away = new(memory, saver), old(saver)
    for text in SAID[:3]:
        say(agent, text)
    gone = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    away.update_state(CONFIG, {"messages": [gone, *memory.export_messages("t")]})
    say(away, "Never pay twice.")
    say(agent, "Newest.")
    assert stored(memory) == [*told([*SAID[:3], "Never pay twice."]), ("user", "Newest.")]
    memory.flush("t")
    assert rules(say(agent, "So?")) == [RULE, "Never pay twice."]
    assert said(say(agent, "And?")["messages"])[-1] == ("ai", "Answer to And?")
