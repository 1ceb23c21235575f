"""A killed run said it, and the run that goes on says it again: by content and place it is one."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_integrations import CONFIG, RULE, graph_of, memory_of, patient, stored, whole
from langchain_core.messages import AIMessage, HumanMessage
from test_time import agent_of

from acc.integrations.notes import Notes
from acc.integrations.tailing import repeated
from acc.integrations.voices import Voices
from acc.journal.names import StoredMessage
from acc.state.tail import Message, digest_of
from acc.testing.chat_model import ScriptedChatModel

READ = Voices(None, None, "user").read


def since(*messages: HumanMessage | AIMessage) -> list[StoredMessage]:
    """What the journal took, from place 7 on."""
    said = [o for read in READ(messages) for o in read.observations]
    return [
        StoredMessage(Message(o, 1), "main", n, 1, digest_of(o), n) for n, o in enumerate(said, 7)
    ]


def test_words_that_are_sent_again_under_another_id_are_known() -> None:
    was = since(HumanMessage("Go.", id="1"), AIMessage("On it.", id="2"), AIMessage("Ok.", id="3"))
    (read,) = new = READ([HumanMessage("Go.", id="9")])
    assert repeated(new, was) == ({"9": " ".join(read.digests)}, 7)
    assert repeated(READ([AIMessage("On it.", id="8"), AIMessage("New.", id="9")]), was[1:])[1] == 8


def test_other_words_and_those_of_another_input_are_new() -> None:
    was = since(HumanMessage("Go.", id="1"), AIMessage("Ok.", id="2"), HumanMessage("Yes.", id="3"))
    assert repeated(READ([HumanMessage("Stop.", id="9")]), was) == ({}, 0)
    assert repeated(READ([HumanMessage("Go.", id="9")]), was) == ({}, 0)
    assert repeated(READ([HumanMessage("Go.", id="9")]), []) == ({}, 0)


def test_the_notes_keep_how_far_a_run_has_repeated() -> None:
    assert Notes.load(Notes(again=(7, 9)).dump()).again == (7, 9)
    assert "again" not in Notes().dump()


@pytest.mark.parametrize("build", [agent_of, graph_of])
@pytest.mark.parametrize("make", [memory_of, patient])
def test_a_client_that_sends_the_whole_history_without_ids_is_heard_once(
    build: Any, make: Any
) -> None:
    memory, history = make(), []
    model = ScriptedChatModel(script=lambda prompt: f"Answer to: {prompt[-1].text}")
    graph = build(memory, model)
    for text in (RULE, "What is open?", "And db-2?", "And db-3?"):
        history.append({"role": "user", "content": text})
        out = graph.invoke({"messages": list(history)}, CONFIG)
        history.append({"role": "assistant", "content": out["messages"][-1].text})
    said = [(kind, text) for kind, text in stored(memory) if kind != "agent"]
    assert said == [("user", m["content"]) for m in history if m["role"] == "user"]
    assert whole(model.prompts[-1]).count("And db-2?") == 2, "the question and its answer"


@pytest.mark.parametrize("make", [memory_of, patient])
def test_a_stateless_client_brings_answers_under_its_own_ids(make: Any) -> None:
    memory, history = make(), []
    model = ScriptedChatModel(script=lambda prompt: f"Answer to: {prompt[-1].text[:9]}")
    for number, text in enumerate((RULE, "What is open?", "And db-2?", "And db-3?")):
        graph = agent_of(memory, model, checkpointer=None)
        history.append(HumanMessage(text, id=f"u{number}"))
        out = graph.invoke({"messages": list(history)}, CONFIG)
        history.append(AIMessage(out["messages"][-1].text, id=f"a{number}"))
    said = [text for _, text in stored(memory)]
    assert said == [message.text for message in history[:-1]]
