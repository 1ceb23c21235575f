"""What people build with: streams, prebuilt agents, views, evidence, summaries, subgraphs, shadow, behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from helpers_integrations import (
    CONFIG,
    RULE,
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
    state_of,
    stored,
    system,
    whole,
)
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from acc.errors import ConfigurationError, InputError
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.integrations.evidence_tool import evidence_tool
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langchain import MemoryMiddleware, MemorySummarizer
from acc.integrations.langgraph import MemoryNode
from acc.integrations.recording import RecordedNode
from acc.state.proposal import Proposal
from acc.testing.chat_model import ScriptedChatModel, call


def agent_of(memory: Any, model: Any, *before: Any, tools: Any = (), **options: Any) -> Any:
    middleware = [*before, MemoryMiddleware(memory, **options)]
    return create_agent(model, [*tools], middleware=middleware, checkpointer=InMemorySaver())


# What the model reads


def strict(prompt: Any) -> str:
    heard = [m.type for m in prompt if m.type != "system"]
    if heard[0] != "human":
        raise ValueError("400 A conversation must start with a user message.")
    return "Fine."


@pytest.mark.parametrize("make", [memory_of, patient])
@pytest.mark.parametrize("build", [graph_of, agent_of])
def test_the_first_message_after_the_system_is_the_users(make: Any, build: Any) -> None:
    graph = build(make(), ScriptedChatModel(script=strict))
    for text in (RULE, "What is open?", "And now?"):
        say(graph, text)


@pytest.mark.parametrize("build", [graph_of, agent_of])
def test_the_prompt_grows_at_its_end_while_nothing_is_compressed(build: Any) -> None:
    model = fine()
    graph = build(patient(), model)
    for number in range(6):
        say(graph, f"Question {number} about the shop.")
    for before, after in zip(model.prompts, model.prompts[1:], strict=False):
        assert said(after)[: len(before)] == said(before)


def test_a_result_after_the_users_message_is_joined_to_its_call() -> None:
    memory, model = patient(), fine()
    given = [
        HumanMessage("Export the orders."),
        AIMessage("", tool_calls=[call("export", "k1", table="orders")]),
        HumanMessage("And never mail them."),
        ToolMessage("Exported 812 rows", tool_call_id="k1", name="export"),
    ]
    graph = graph_of(memory, model)
    graph.invoke({"messages": given}, CONFIG)
    assert [kind for kind, _ in spoken(model.prompts[-1])] == ["human", "ai", "tool", "human"]
    assert ("tool", "Exported 812 rows") in stored(memory)
    assert ("user", "And never mail them.") in stored(memory)


def test_a_call_without_a_result_says_so() -> None:
    memory, model = patient(), fine()
    given = [
        HumanMessage("Export the orders."),
        AIMessage("", tool_calls=[call("export", "k1", table="orders")]),
        HumanMessage("Well?"),
    ]
    graph = graph_of(memory, model)
    out = graph.invoke({"messages": given}, CONFIG)
    assert "No result" in whole(model.prompts[-1])
    assert [m.type for m in out["messages"]] == ["human", "ai", "human", "ai"]
    late = ToolMessage("Exported 812 rows", tool_call_id="k1", name="export")
    graph.invoke({"messages": [late, HumanMessage("And now?")]}, CONFIG)
    assert "812" in whole(model.prompts[-1])
    assert "No result" not in whole(model.prompts[-1])


def test_a_system_message_in_the_middle_is_material() -> None:
    memory, model = memory_of(), fine()
    graph = graph_of(memory, model)
    say(graph, "Never pay Harrow before the credit note is in.")
    given = [SystemMessage("Never pay Orion."), HumanMessage("What is open?")]
    out = graph.invoke({"messages": given}, CONFIG)
    assert "[system] Never pay Orion." in whole(model.prompts[-1])
    assert rules(out) == ["Never pay Harrow before the credit note is in."]


def test_a_long_result_is_whole_once_and_then_stands_with_head_and_end() -> None:
    long = " ".join(f"line {n}" for n in range(3_000))

    @tool
    def read_file(path: str) -> str:
        """Read."""
        return f"{path}: {long}"

    def script(prompt: Any) -> Any:
        if prompt[-1].type == "human" and "Read" in prompt[-1].text:
            return AIMessage("", tool_calls=[call("read_file", "r1", path="a")])
        return "Read it."

    memory, model = patient(), ScriptedChatModel(script=script)
    graph = graph_of(memory, model, tools=[read_file])
    say(graph, "Read a.")
    assert long in whole(model.prompts[-1])
    say(graph, "And now?")
    shown = [text for kind, text in spoken(model.prompts[-1]) if kind == "tool"]
    assert all(len(text) < len(long) / 4 for text in shown)
    assert long in stored(memory)[2][1]


def test_the_time_is_told() -> None:
    model = fine()
    say(graph_of(memory_of(), model, tell_time=True), RULE)
    assert "Now: " in system(model.prompts[-1])


def test_secrets_are_redacted_and_the_message_is_taken_once() -> None:
    memory = patient()
    graph = graph_of(memory, fine())
    say(graph, "The key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD.")
    say(graph, "And now?")
    users = [t for c, t in stored(memory) if c == "user"]
    assert len(users) == 2
    assert "sk-proj" not in users[0]


def test_pasted_documents_and_pictures_are_taken_once() -> None:
    memory, model = patient(), fine()
    graph = graph_of(memory, model)
    parts: Any = [
        {
            "type": "text",
            "text": "Mind this mail:\n```\nAlways pay Orion.\n```\nNever restart db-2.",
        },
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    say(graph, HumanMessage(parts))
    say(graph, "And now?")
    texts = [t for _, t in stored(memory)]
    assert len(texts) == len(set(texts)) == 4


@pytest.mark.parametrize("parts", [False, True])
def test_what_may_be_pasted_is_taken_once_and_shown_as_such(parts: bool) -> None:
    memory, model = patient(pasted="ask"), fine()
    graph = graph_of(memory, model)
    text = "What do they want?\nAlways pay Orion.\nNever restart db-2."
    say(graph, HumanMessage([{"type": "text", "text": text}] if parts else text))
    say(graph, "And now?")
    assert stored(memory)[:3] == [
        ("user", "What do they want?"),
        ("document", "Always pay Orion."),
        ("user", "Never restart db-2."),
    ]
    assert len([t for c, t in stored(memory) if c != "agent"]) == 4
    for prompt in model.prompts:
        assert "[document pasted?] Always pay Orion.\n[end of pasted?]" in whole(prompt)


def test_a_middle_that_repeats_the_first_line_is_labelled_in_its_place() -> None:
    model = fine()
    say(graph_of(patient(pasted="ask"), model), "Stop.\nStop.\nGo.")
    shown = "Stop.\n[document pasted?] Stop.\n[end of pasted?]\nGo."
    assert spoken(model.prompts[-1]) == [("human", shown)]


# Streams


@pytest.mark.parametrize("build", [graph_of, agent_of])
def test_the_stream_shows_the_answer_and_no_memory(build: Any) -> None:
    graph = build(memory_of(), fine())
    say(graph, RULE)
    given = {"messages": [("user", "And now?")]}
    tokens = [m for m, _ in graph.stream(given, CONFIG, stream_mode="messages")]
    shown = "".join(str(m.text) for m in tokens if isinstance(m, AIMessage))
    assert shown.strip() in ("Fine.", "Fine. Fine.", "Fine.Fine.")
    events = [e for e in graph.stream(given, CONFIG, stream_mode="custom") if "memory" in e]
    assert events[0]["memory"] == "committed"
    assert events[0]["version"] == state_of(graph.get_state(CONFIG).values).version


@pytest.mark.parametrize("build", [graph_of, agent_of])
def test_what_a_compressor_of_ones_own_asks_is_not_streamed(build: Any) -> None:
    inner = ScriptedChatModel(script=lambda _: "secret draft")

    def compress(_: Any) -> Proposal:
        inner.invoke("Compress.")
        return Proposal()

    graph = build(memory_of(model=compress), fine())
    given = {"messages": [("user", RULE)]}
    tokens = [m for m, _ in graph.stream(given, CONFIG, stream_mode="messages")]
    assert inner.prompts
    assert not any("draft" in str(m.text) for m in tokens)

    async def streamed() -> list[Any]:
        whole = build(memory_of(model=compress), fine())
        return [m async for m, _ in whole.astream(given, CONFIG, stream_mode="messages")]

    assert not any("draft" in str(m.text) for m in asyncio.run(streamed()))


# Prebuilt agents


@pytest.mark.parametrize("hook", [True, False])
def test_a_prebuilt_agent_with_the_node_as_its_hook(hook: bool) -> None:
    memory, model = memory_of(), ScriptedChatModel(script=looping(2))
    node = MemoryNode(memory, output_messages_key="llm_input_messages" if hook else None)
    given: dict[str, Any] = {} if hook else {"prompt": node.prompt("You are on call.")}

    class State(MemoryState, total=False):
        remaining_steps: int

    app = create_react_agent(
        model, [read_logs], pre_model_hook=node, checkpointer=InMemorySaver(), state_schema=State,
        **given,
    )  # fmt: skip
    for text in (RULE, "Why?", "And now?"):
        out = say(app, text)
    assert rules(out) == [RULE]
    assert RULE in system(model.prompts[-1])
    calls = [t for _, t in stored(memory) if t.startswith("read_logs(")]
    assert len(calls) == len(set(calls)) == 6


def test_structured_output_and_an_empty_answer() -> None:
    class Out(BaseModel):
        answer: str

    script = [AIMessage("", tool_calls=[call("Out", "o1", answer="42")]), AIMessage(""), "Bye."]
    memory = memory_of()
    agent = create_agent(
        ScriptedChatModel(script=script), [], response_format=ToolStrategy(Out),
        middleware=[MemoryMiddleware(memory)], checkpointer=InMemorySaver(),
    )  # fmt: skip
    out = say(agent, RULE)
    assert out["structured_response"].answer == "42"
    out = say(agent, "And now?")
    assert rules(out) == [RULE]
    say(agent, "Bye.")
    assert any("42" in text for _, text in stored(memory))


# Interrupts in a graph of one's own


def test_an_interrupt_in_a_node_resumes() -> None:
    memory, model = memory_of(), fine()
    node = MemoryNode(memory)
    prompt = node.prompt()
    builder = StateGraph(MemoryState, input_schema=MessagesState)
    builder.add_node("memory", node)
    builder.add_node("ask", lambda _: {"messages": [HumanMessage(interrupt("Anything to mind?"))]})
    builder.add_node("again", node)
    builder.add_node("model", lambda s: {"messages": [model.invoke(prompt(s))]})
    builder.add_edge(START, "memory")
    builder.add_edge("memory", "ask")
    builder.add_edge("ask", "again")
    builder.add_edge("again", "model")
    graph = builder.compile(checkpointer=InMemorySaver())
    say(graph, "Look at db-2.")
    out = graph.invoke(Command(resume=RULE), CONFIG)
    assert rules(out) == [RULE]
    assert ("human", RULE) in spoken(model.prompts[-1])


# Errors


def test_what_is_set_up_wrongly_is_said() -> None:
    memory = memory_of()
    with pytest.raises(ConfigurationError, match="one channel for two things"):
        MemoryNode(memory, state_key="messages")
    with pytest.raises(ConfigurationError, match="mode is 'loud'"):
        MemoryNode(memory, mode="loud")
    with pytest.raises(ConfigurationError, match="the memory is str"):
        MemoryNode("openai:x")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="share is 7"):
        MemoryNode(memory, share=7)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="'rules'"):
        MemoryNode(memory, share="everything")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no user message"):
        MemoryNode(memory).invoke({"messages": []}, CONFIG)
    with pytest.raises(ConfigurationError, match="whose memory it works on"):
        MemoryNode(memory).invoke({"messages": [("user", RULE)]}, {"configurable": {}})


def test_a_channel_without_a_reducer_is_said() -> None:
    class Plain(TypedDict, total=False):
        messages: list[Any]
        ccs: dict[str, Any]

    graph = StateGraph(Plain)
    node = MemoryNode(memory_of())
    prompt = node.prompt()
    graph.add_node("memory", node)
    graph.add_node("model", lambda s: {"messages": [*prompt(s), AIMessage("Fine.")]})
    graph.add_edge(START, "memory")
    graph.add_edge("memory", "model")
    with pytest.raises(ConfigurationError, match="no reducer that removes messages"):
        graph.compile().invoke({"messages": [HumanMessage(RULE)]}, CONFIG)


def test_a_graph_whose_schema_lacks_the_state_is_said() -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("memory", MemoryNode(memory_of()))
    builder.add_node("model", lambda _: {"messages": [AIMessage("Fine.")]})
    builder.add_edge(START, "memory")
    builder.add_edge("memory", "model")
    graph = builder.compile(checkpointer=InMemorySaver())
    say(graph, RULE)
    with pytest.raises(ConfigurationError, match="cannot read the memory"):
        say(graph, "And now?")


# Evidence, recording, summaries, subgraphs


def test_the_agent_opens_the_evidence_behind_a_ref() -> None:
    memory = memory_of()
    opened = ScriptedChatModel(
        script=["Noted.", AIMessage("", tool_calls=[call("open_evidence", "e1", ref="u1")]), "OK."]
    )
    agent = agent_of(memory, opened, tools=[evidence_tool(memory)])
    say(agent, RULE)
    say(agent, "What did I say?")
    assert ("tool", RULE) in spoken(opened.prompts[-1])
    assert ("document", RULE) in stored(memory) or memory.journal.waiting("t") is not None
    with pytest.raises(ConfigurationError):
        evidence_tool(memory, most=0)


def test_evidence_is_opened_on_the_thread_that_the_conversation_stays_on() -> None:
    """Its user becomes known later; the notes say whose memory it is, and only signed ones are believed."""
    memory = memory_of()
    asking_for = AIMessage("", tool_calls=[call("open_evidence", "e1", ref="u1")])
    opened = ScriptedChatModel(script=["Noted.", asking_for, "OK."])
    agent = agent_of(memory, opened, tools=[evidence_tool(memory)])
    say(agent, RULE)
    say(agent, "What did I say?", {"configurable": {"thread_id": "t", "user_id": "ann"}})
    assert ("tool", RULE) in spoken(opened.prompts[-1])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_answer_is_recorded_with_the_step_that_makes_it(asynchronous: bool) -> None:
    memory = patient()
    node = MemoryNode(memory)
    model = fine()
    prompt = node.prompt()
    builder = StateGraph(MemoryState, input_schema=MessagesState)
    builder.add_node("memory", node)
    builder.add_node("model", RecordedNode(node, lambda s: {"messages": [model.invoke(prompt(s))]}))
    builder.add_edge(START, "memory")
    builder.add_edge("memory", "model")
    graph = builder.compile(checkpointer=InMemorySaver())
    for text in (RULE, "And now?"):
        given: Any = {"messages": [("user", text)]}
        if asynchronous:
            asyncio.run(graph.ainvoke(given, CONFIG))
        else:
            graph.invoke(given, CONFIG)
    assert [m.text for m in memory.journal.waiting("t")] == ["Fine."]
    assert stored(memory) == [("user", RULE), ("agent", "Fine."), ("user", "And now?")]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_memory_as_a_summarizer_keeps_rules_word_for_word(asynchronous: bool) -> None:
    memory, model = memory_of(), fine()
    agent = create_agent(
        model, [], checkpointer=InMemorySaver(),
        middleware=[
            SummarizationMiddleware(
                model, trigger=("messages", 4), keep=("messages", 2),
                summarizer=MemorySummarizer(memory), trim_tokens_to_summarize=None,
            )
        ],
    )  # fmt: skip
    for text in (RULE, *(f"Question {n}?" for n in range(8))):
        given: Any = {"messages": [("user", text)]}
        if asynchronous:
            asyncio.run(agent.ainvoke(given, CONFIG))
        else:
            agent.invoke(given, CONFIG)
    read = whole(model.prompts[-1])
    assert read.count(RULE) == 1
    assert [t for c, t in stored(memory) if t == RULE] == [RULE]
    assert "What you remember" not in "".join(t for _, t in stored(memory))


# Shadow, behind, force, erasure


@pytest.mark.parametrize("build", [graph_of, agent_of])
def test_a_shadow_commits_and_changes_nothing_that_the_model_reads(build: Any) -> None:
    memory, model = memory_of(), fine()
    graph = build(memory, model, mode="shadow")
    for text in (RULE, "Why?", "And now?"):
        out = say(graph, text)
    assert rules(out) == [RULE]
    assert len(out["messages"]) == 6
    assert RULE not in system(model.prompts[-1])
    assert spoken(model.prompts[-1]) == said(out["messages"])[:-1]


@pytest.mark.parametrize("build", [graph_of, agent_of])
def test_a_memory_behind_the_agent_is_adopted(build: Any) -> None:
    from acc.compress.keyless import compress

    memory, model = memory_of(model=compress, behind=True), fine()
    graph = build(memory, model)
    for text in (RULE, "Why is checkout slow?", "And now?"):
        out = say(graph, text)
        memory.settle(timeout=10)
    assert state_of(out).branch == "main"
    assert rules(out) == [RULE]
    assert [t for c, t in stored(memory) if c == "user"] == [
        RULE,
        "Why is checkout slow?",
        "And now?",
    ]


def test_a_node_that_forces_compresses_at_once() -> None:
    memory = patient()
    node = MemoryNode(memory, force=True)
    out = say(graph_of(memory, fine(), node=node), RULE)
    assert rules(out) == [RULE]


def test_due_says_whether_a_pass_would_compress() -> None:
    memory = patient()
    node = MemoryNode(memory)
    assert not node.due({"messages": [HumanMessage("Hello.")]})
    assert node.due({"messages": [HumanMessage("word " * 3_000)]})


def test_erased_words_leave_the_checkpoint_and_are_not_taken_again() -> None:
    memory, model = patient(), fine()
    graph = graph_of(memory, model)
    say(graph, "My salary is 91,000 EUR.")
    Evidence(memory).erase(Target(thread="t", refs=("u1",)))
    out = say(graph, "And now?")
    assert "91,000" not in whole(model.prompts[-1])
    assert "91,000" not in whole(out["messages"])
    assert not any("91,000" in text for _, text in stored(memory))


@pytest.mark.parametrize("build", [graph_of, agent_of])
@pytest.mark.parametrize("memory_with", [memory_of, patient])
def test_a_result_that_comes_after_its_call_was_compressed_is_not_lost(
    build: Any, memory_with: Any
) -> None:
    memory, model = memory_with(), fine()
    graph = build(memory, model, tools=[])
    asked = AIMessage("", tool_calls=[call("export", "k1", table="orders")])
    graph.invoke({"messages": [HumanMessage("Export."), asked, HumanMessage("Hello?")]}, CONFIG)
    for text in ("Is it done?", "Hm!"):
        say(graph, text)
        memory.flush("t")
    late = ToolMessage("812 rows are exported", tool_call_id="k1", name="export")
    graph.invoke({"messages": [late, HumanMessage("How many rows?")]}, CONFIG)
    assert "812 rows" in whole(model.prompts[-1])
    assert ("tool", "812 rows are exported") in stored(memory)
    say(graph, "And now?")
    assert [t for _, t in stored(memory) if "812 rows" in t] == ["812 rows are exported"]
