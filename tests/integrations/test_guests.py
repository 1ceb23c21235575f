"""Several users in one thread: each one's words are theirs, in rules, in the prompt and for an erasure."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_integrations import fine, graph_of, memory_of, patient, stored, whole
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from test_time import agent_of

from acc.errors import InputError
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode
from acc.state.policy import Policy

BUILDERS = [agent_of, graph_of]
ANN, BOB = "Never restart nginx.", "Never page Ravi."


def _as(user: str) -> Any:
    return {"configurable": {"thread_id": "t", **({"user_id": user} if user else {})}}


def _talk(graph: Any, *said: tuple[str, str]) -> Any:
    for user, text in said:
        out = graph.invoke({"messages": [("user", text)]}, _as(user))
    return out


def _rules(memory: Any) -> list[tuple[str, str]]:
    (key,) = memory.threads()
    return [(r.words.speaker, r.words.text) for r in memory.last_state(key).constraints]


@pytest.mark.parametrize("build", BUILDERS)
def test_a_guests_words_carry_the_guests_name(build: Any) -> None:
    memory, model = memory_of(), fine()
    graph = build(memory, model)
    _talk(graph, ("ann", ANN), ("bob", BOB), ("ann", "And now?"))
    assert _rules(memory) == [("", ANN), ("bob", BOB)], "the thread's own user needs no name"
    assert f"[bob] {BOB}" in whole(model.prompts[1])
    assert "[ann] And now?" in whole(model.prompts[-1]), "from then on everybody is named"
    assert "Rules and goals without a name are ann's." in whole(model.prompts[-1])


@pytest.mark.parametrize("build", BUILDERS)
def test_a_guest_is_erased_from_the_threads_of_others(build: Any) -> None:
    memory = memory_of()
    graph = build(memory, fine())
    _talk(graph, ("ann", ANN), ("bob", BOB), ("ann", "And now?"))
    Evidence(memory).erase(Target(user="bob"))
    assert _rules(memory) == [("", ANN)]
    assert BOB not in str(stored(memory))
    with pytest.raises(InputError, match="holds nothing"):
        Evidence(memory).erase(Target(user="carl"))
    assert memory.journal.verify([memory.policy]).is_clean


def test_words_from_before_the_user_was_known_are_not_passed_over() -> None:
    memory = memory_of()
    graph = graph_of(memory, fine())
    _talk(graph, ("", ANN), ("bob", BOB))
    with pytest.raises(InputError, match="is not known"):
        Evidence(memory).erase(Target(user="bob"))
    (key,) = memory.threads()
    Evidence(memory).erase(Target(thread=key))


@pytest.mark.parametrize("first", ["ann", "bob"])
def test_speakers_decides_by_the_runs_user(first: str) -> None:
    other = {"ann": "bob", "bob": "ann"}[first]
    said = {"ann": ANN, "bob": BOB}
    for memory, options in (
        (memory_of(), {"speakers": ["ann"]}),
        (memory_of(policy=Policy(speakers=frozenset(["ann"]))), {}),
    ):
        graph = agent_of(memory, fine(), middleware=[MemoryMiddleware(memory, **options)])
        _talk(graph, (first, said[first]), (other, said[other]), (first, "And now?"))
        assert _rules(memory) == [("ann", ANN)]


def test_a_failed_runs_message_keeps_its_speaker() -> None:
    memory, model = patient(), fine()
    graph = agent_of(memory, model)
    _talk(graph, ("ann", "Hello."))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory.journal, "append_and_commit", _down)
        with pytest.raises(RuntimeError):
            _talk(graph, ("bob", BOB))
    _talk(graph, ("ann", ANN))
    (key,) = memory.threads()
    memory.flush(key)
    assert ("bob", BOB) in _rules(memory)


def _down(*_: Any, **__: Any) -> Any:
    raise RuntimeError("down")


def test_the_user_of_an_ordinary_thread_is_not_named() -> None:
    memory, model = memory_of(), fine()
    graph = agent_of(memory, model)
    _talk(graph, ("ann", ANN), ("ann", "And now?"))
    assert "ann" not in whole(model.prompts[-1])


class _Limiter(AgentMiddleware[Any, Any, Any]):
    """Stops the first run of bob's before the memory sees it."""

    is_open = True

    def before_agent(self, state: Any, runtime: Any) -> None:
        if state["messages"][-1].text == BOB and self.is_open:
            self.is_open = False
            raise RuntimeError("too many requests")


@pytest.mark.parametrize("options", [{}, {"speakers": ["ann"]}])
def test_the_message_of_a_run_that_failed_before_the_memory_is_not_the_next_ones(
    options: Any,
) -> None:
    memory = memory_of()
    graph = agent_of(
        memory, fine(), middleware=[_Limiter(), MemoryMiddleware(memory, **options)]
    )  # fmt: skip
    _talk(graph, ("ann", ANN))
    with pytest.raises(RuntimeError):
        _talk(graph, ("bob", BOB))
    _talk(graph, ("ann", "Go on."), ("ann", "And now?"))
    assert ("ann", BOB) not in _rules(memory)
    assert (("bob", BOB) in _rules(memory)) == (not options)


def test_what_a_node_writes_at_a_runs_end_is_not_the_users() -> None:
    memory, model = memory_of(), fine()
    node = MemoryNode(memory)
    prompt = node.prompt()
    builder = StateGraph(MemoryState, input_schema=MessagesState)
    builder.add_node("memory", node)
    builder.add_node("model", lambda state: {"messages": [model.invoke(prompt(state))]})
    builder.add_node(
        "reflect", lambda _: {"messages": [HumanMessage("Always cite three sources.")]}
    )
    builder.add_edge(START, "memory")
    builder.add_edge("memory", "model")
    builder.add_edge("model", "reflect")
    graph = builder.compile(checkpointer=InMemorySaver())
    _talk(graph, ("", ANN), ("", "And now?"), ("", "And then?"))
    assert _rules(memory) == [("", ANN)]
