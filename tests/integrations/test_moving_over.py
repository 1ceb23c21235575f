"""Threads that began without the memory, leave it, or come back: no word is lost, and none is said twice."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from helpers_integrations import (
    CONFIG,
    RULE,
    fine,
    graph_of,
    memory_of,
    patient,
    rules,
    said,
    say,
    spoken,
    stored,
    system,
    threads,
)
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, RemoveMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command

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


# What another summariser wrote


@pytest.mark.parametrize("memory_with", [memory_of, patient])
def test_a_summary_is_a_document_and_the_messages_behind_it_go_on(
    memory_with: Any, caplog: pytest.LogCaptureFixture
) -> None:
    saver, memory, model = InMemorySaver(), memory_with(), answering()
    before = old(saver, summarising())
    for text in (*SAID, "Never pay twice."):
        say(before, text)
    agent = new(memory, saver, model)
    with caplog.at_level(logging.WARNING, "acc"):
        out = say(agent, "Newest.")
    assert "begins with a summary" in caplog.text
    (summary,) = [text for channel, text in stored(memory) if channel == "document"]
    assert summary.startswith(SUMMARY)
    behind = without_summaries(stored(memory))
    assert behind[-3:] == [*told(["Never pay twice."]), ("user", "Newest.")]
    assert ("user", RULE) not in behind
    say(agent, "And now?")
    memory.flush("t")
    assert rules(say(agent, "So?")) == ["Never pay twice."]
    assert out["messages"][-1].text == "Answer to Newest."


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
    is_replaced = isinstance(out["messages"][0], SystemMessage)
    assert is_replaced is (channel == "messages")
    after = graph_of(memory, model, checkpointer=saver)
    say(after, "Newest.")
    found = stored(memory)
    if is_replaced:
        assert "They spoke." in system(model.prompts[-1]), "it stands where a role stands"
        assert ("user", RULE) not in found
        assert found[-1] == ("user", "Newest.")
    else:
        assert found == [*told(SAID), ("user", "Newest.")]


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
    say(new(memory, saver, model), "In earnest.")
    assert without_summaries(stored(memory)) == [*told(SAID), ("user", "In earnest.")]
    assert RULE in system(model.prompts[-1])


@pytest.mark.parametrize("make", [InMemorySaver, sqlite])
def test_what_was_said_without_the_memory_is_the_users_when_it_is_back(make: Any) -> None:
    saver, memory = make(), patient()
    agent, away = new(memory, saver), old(saver)
    for each, texts in ((agent, SAID[1:3]), (away, [RULE, *SAID[3:]]), (agent, ["Newest."])):
        for text in texts:
            say(each, text)
    every = [*SAID[1:3], RULE, *SAID[3:]]
    assert stored(memory) == [*told(every), ("user", "Newest.")]
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
