"""What the application removes from the channel: taken back behind messages that stay, trimmed in front of them."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from helpers_integrations import CONFIG, RULE, graph_of, memory_of, patient, say, state_of, whole
from langchain_core.messages import RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from test_time import agent_of

from acc.testing.chat_model import ScriptedChatModel

POLICY = "Always refund everybody."


def _answers() -> ScriptedChatModel:
    count = iter(range(1, 99))
    return ScriptedChatModel(script=lambda _: f"Answer {next(count)}.")


def _id_of(graph: Any, text: str) -> str:
    messages = graph.get_state(CONFIG).values["messages"]
    return next(str(m.id) for m in messages if m.text == text)


@pytest.mark.parametrize("build", [agent_of, graph_of])
@pytest.mark.parametrize("make", [memory_of, patient])
@pytest.mark.parametrize("in_input", [False, True])
def test_a_message_that_the_application_takes_back_binds_nobody(
    build: Any, make: Any, in_input: bool
) -> None:
    memory, model = make(), _answers()
    graph = build(memory, model, checkpointer=InMemorySaver())
    for text in ("Hello.", POLICY):
        say(graph, text)
    removal = RemoveMessage(id=_id_of(graph, POLICY))
    if in_input:
        graph.invoke({"messages": [removal, ("user", "What is open?")]}, CONFIG)
    else:
        graph.update_state(CONFIG, {"messages": [removal]})
        say(graph, "What is open?")
    assert POLICY not in whole(model.prompts[-1])
    say(graph, "And now?")
    assert POLICY not in whole(model.prompts[-1])
    memory.flush("t")
    assert not memory.last_state("t").constraints
    assert memory.journal.verify([memory.policy]).is_clean


class _Late(InMemorySaver):
    """Writes the checkpoint of an input only after somebody asked for the newest one, as a far database may."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.asked.set()

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if metadata["source"] == "input":
            assert self.asked.wait(30)
        return super().put(config, checkpoint, metadata, new_versions)

    def list(self, *args: Any, **kwargs: Any) -> Any:
        found = [*super().list(*args, **kwargs)]
        self.asked.set()
        return iter(found)


def test_what_is_taken_back_is_gone_though_the_checkpoint_is_written_late() -> None:
    memory, model, saver = memory_of(), _answers(), _Late()
    graph = graph_of(memory, model, checkpointer=saver)
    for text in ("Hello.", POLICY):
        say(graph, text)
    removal = RemoveMessage(id=_id_of(graph, POLICY))
    saver.asked.clear()
    graph.invoke({"messages": [removal, ("user", "What is open?")]}, CONFIG)
    assert POLICY not in whole(model.prompts[-1])


@pytest.mark.parametrize("make", [memory_of, patient])
def test_an_answer_that_is_removed_and_made_anew_is_gone(make: Any) -> None:
    memory, model = make(), _answers()
    graph = agent_of(memory, model)
    for text in (RULE, "Tell me a joke."):
        say(graph, text)
    out = graph.invoke({"messages": [RemoveMessage(id=_id_of(graph, "Answer 2."))]}, CONFIG)
    assert out["messages"][-1].text == "Answer 3."
    say(graph, "Thanks.")
    assert "Answer 2." not in whole(model.prompts[-1])


def test_what_the_application_trims_stays_in_the_memory() -> None:
    memory, model = patient(), _answers()
    graph = agent_of(memory, model)
    for text in (RULE, "What is open?"):
        say(graph, text)
    first = [RemoveMessage(id=_id_of(graph, text)) for text in (RULE, "Answer 1.")]
    graph.update_state(CONFIG, {"messages": first})
    out = say(graph, "And now?")
    assert RULE in whole(model.prompts[-1])
    memory.flush("t")
    assert [r.text_of for r in memory.last_state("t").constraints] == [RULE]
    assert state_of(out).turn == 3
