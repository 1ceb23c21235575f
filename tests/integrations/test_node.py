"""In node and middleware the messages since the last compression stay messages, behind the state."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_integrations import (
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
)
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from acc.integrations.langchain import MemoryMiddleware
from acc.testing.chat_model import ScriptedChatModel


def agent_of(memory: Any, model: Any) -> Any:
    """The same with `MemoryMiddleware`."""
    return create_agent(
        model, [read_logs], middleware=[MemoryMiddleware(memory)], checkpointer=InMemorySaver(),
        system_prompt="You are on call.",
    )  # fmt: skip


BUILDERS = [graph_of, agent_of]


@pytest.mark.parametrize("build", BUILDERS)
def test_below_the_limit_the_messages_are_untouched(build: Any) -> None:
    model = fine()
    graph = build(patient(), model)
    for text in (RULE, "Why is checkout slow?", "And now?"):
        out = say(graph, text)
    assert said(out["messages"]) == [
        ("human", RULE), ("ai", "Fine."), ("human", "Why is checkout slow?"), ("ai", "Fine."),
        ("human", "And now?"), ("ai", "Fine."),
    ]  # fmt: skip
    assert spoken(model.prompts[-1]) == said(out["messages"])[:-1]
    assert system(model.prompts[-1]) == "You are on call."


@pytest.mark.parametrize("build", BUILDERS)
def test_what_was_compressed_leaves_the_channel_and_stands_in_the_state(build: Any) -> None:
    model = fine()
    graph = build(memory_of(), model)
    for text in (RULE, "Why is checkout slow?", "And now?"):
        out = say(graph, text)
    assert rules(out) == [RULE]
    assert said(out["messages"]) == [
        ("human", "Why is checkout slow?"),
        ("ai", "Fine."),
        ("human", "And now?"),
        ("ai", "Fine."),
    ]
    assert RULE in system(model.prompts[-1])
    assert spoken(model.prompts[-1]) == said(out["messages"])[:-1], (
        "the last exchange stays messages"
    )


def test_every_message_is_committed_once() -> None:
    memory = memory_of()
    graph = graph_of(memory, ScriptedChatModel(script=looping(2)))
    for text in (RULE, "Why?", "And now?"):
        say(graph, text)
    texts = [text for _, text in stored(memory)]
    calls = [t for t in texts if t.startswith("read_logs(")]
    assert len(calls) == 6
    assert len(set(calls)) == 6
    assert [t for c, t in stored(memory) if c == "user"] == [RULE, "Why?", "And now?"]


def test_the_user_and_the_last_step_stay_in_a_long_loop() -> None:
    memory, model = memory_of(), ScriptedChatModel(script=looping(5))
    say(graph_of(memory, model), "Look at the logs.")
    assert [kind for kind, _ in spoken(model.prompts[-1])] == ["human", "ai", "tool"]
    assert spoken(model.prompts[-1])[0] == ("human", "Look at the logs.")


@pytest.mark.parametrize("build", BUILDERS)
def test_parallel_calls_stay_with_their_results(build: Any) -> None:
    memory, model = memory_of(), ScriptedChatModel(script=looping(3, parallel=3))
    graph = build(memory, model)
    for text in ("Look.", "Again."):
        say(graph, text)
    kinds = [kind for kind, _ in spoken(model.prompts[-1])]
    assert kinds == ["human", "ai", "tool", "tool", "tool"]
    texts = [text for _, text in stored(memory)]
    assert len(texts) == len(set(texts))


def test_the_tail_and_the_channel_agree() -> None:
    memory = patient()
    out = say(graph_of(memory, ScriptedChatModel(script=looping(1))), RULE)
    refs = [entry.ref for entry in state_of(out).unread]
    texts = [m.text for m in memory.journal.texts("t", refs)]
    assert texts[0] == RULE
    assert len(texts) == 3
    assert [m.type for m in out["messages"]] == ["human", "ai", "tool", "ai"]


def test_a_second_yes_is_a_second_yes() -> None:
    memory = patient()
    graph = graph_of(memory, fine())
    for _ in range(3):
        say(graph, "Yes.")
    assert [t for c, t in stored(memory) if c == "user"] == ["Yes."] * 3


def test_without_a_checkpointer_the_memory_alone_carries_the_conversation() -> None:
    memory, model = patient(), fine()
    graph = graph_of(memory, model, checkpointer=None, record=True)
    for text in (RULE, "Why is checkout slow?", "And now?"):
        say(graph, text)
    assert f"[user] {RULE}" in system(model.prompts[-1])
    assert "[agent] Fine." in system(model.prompts[-1])
    assert spoken(model.prompts[-1]) == [("human", "And now?")]
    assert [t for c, t in stored(memory) if c == "user"] == [
        RULE,
        "Why is checkout slow?",
        "And now?",
    ]


def test_a_whole_history_that_is_sent_again_is_taken_once() -> None:
    memory, model = patient(), fine()
    graph = graph_of(memory, model, checkpointer=None)
    history: list[object] = []
    for text in (RULE, "Why is checkout slow?", "And now?"):
        history.append(HumanMessage(text))
        graph.invoke({"messages": list(history)}, {"configurable": {"thread_id": "t"}})
        history.append(AIMessage("Fine."))
    assert stored(memory) == [
        ("user", RULE), ("agent", "Fine."), ("user", "Why is checkout slow?"), ("agent", "Fine."),
        ("user", "And now?"),
    ]  # fmt: skip


def test_ids_that_restart_drop_nothing() -> None:
    for memory in (memory_of(), patient()):
        graph = graph_of(memory, fine())
        texts = ("Never restart nginx.", "Is db-2 up?", "Never page Ravi.", "Is db-3 up?")
        for number, text in enumerate(texts):
            say(graph, HumanMessage(text, id=f"t:segment:{number % 2}"))
        assert [t for c, t in stored(memory) if c == "user"] == list(texts)


def test_words_that_were_said_before_are_said_again_after_a_run_that_failed() -> None:
    script = ["Fine.", "Fine.", RuntimeError("no model"), "Fine."]
    memory = patient()
    graph = graph_of(memory, ScriptedChatModel(script=script))
    for text in ("Continue.", "Continue."):
        say(graph, text)
    with pytest.raises(RuntimeError):
        say(graph, "Continue.")
    say(graph, "Well?")
    said = [t for c, t in stored(memory) if c == "user"]
    assert said == ["Continue.", "Continue.", "Continue.", "Well?"]


def test_a_history_under_new_ids_is_taken_once_and_what_was_changed_in_it_is_new() -> None:
    memory = patient()
    graph = graph_of(memory, fine(), checkpointer=None)
    first = [("user", RULE), ("ai", "Noted."), ("user", "Why is checkout slow?")]
    graph.invoke({"messages": first}, {"configurable": {"thread_id": "t"}})
    again = [*first, ("ai", "The pool is full."), ("user", "And now?")]
    again[1] = ("ai", "Noted, of course.")
    graph.invoke({"messages": again}, {"configurable": {"thread_id": "t"}})
    said = [t for c, t in stored(memory) if c == "user"]
    assert said == [RULE, "Why is checkout slow?", "And now?"]
    assert ("agent", "Noted, of course.") in stored(memory)


def test_the_users_message_is_taken_once_in_a_loop_of_many_steps() -> None:
    memory, model = memory_of(), ScriptedChatModel(script=looping(25, parallel=2))
    say(graph_of(memory, model), "Look at the logs.")
    assert [t for c, t in stored(memory) if c == "user"] == ["Look at the logs."]
    assert spoken(model.prompts[-1])[0] == ("human", "Look at the logs.")
