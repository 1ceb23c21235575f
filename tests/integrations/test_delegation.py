"""Tasks of sub-agents: no parent's state reaches them, and no task becomes the user's words."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from acc import InMemoryStore, MemoryController, Proposal, Thread, Turn
from acc.errors import ConflictError, StateError
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode
from acc.integrations.messages import Voices, observed, with_task_mark
from acc.state.proposal import ProposedItem
from acc.stores.directory import threads_in
from acc.testing.chat_model import ScriptedChatModel, call
from graphs import CONFIG, memory_of
from graphs import agent as agent_of

RULE = "Never restart nginx during business hours."
TASK = "Find the owner of db-7. Never page Ravi."


def answers(*said: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(said), at_end="repeat")


def threads(memory: MemoryController) -> list[Thread]:
    store: Any = memory.artifacts
    kept = [store.get("default", [i])[0] for i in store.ids("default", kind="thread")]
    return list(threads_in(kept))


def channels(memory: MemoryController, agent: str) -> dict[str, str]:
    """Channel by text of what the one nested agent of this name observed."""
    (thread,) = [t for t in threads(memory) if t.agent.partition("#")[0] == agent]
    with memory._locked_log(thread) as log:
        seen = log.branch("main").artifacts
        return {a.text: a.channel.value for a in seen if a.kind == "observation"}


def rules(memory: MemoryController, ccs: Any) -> list[str]:
    return [rule.text for rule in memory.load(ccs).constraints]


def deep_agent(memory: MemoryController, spec: dict[str, Any], tasks: int = 1) -> Any:
    """A deep agent with the memory that gives its sub-agent ``tasks`` at once."""
    calls = [
        call("task", f"t{n}", description=f"{TASK} {n}", subagent_type="finder")
        for n in range(tasks)
    ]
    return create_deep_agent(
        model=answers(AIMessage("", tool_calls=calls), "The owner is Ana.", "Nginx."),
        tools=[],
        middleware=[MemoryMiddleware(memory)],
        subagents=[{"name": "finder", "description": "finds owners", **spec}],
        checkpointer=InMemorySaver(),
    )


def say(app: Any, text: str, asynchronous: bool = False) -> Any:
    given = {"messages": [HumanMessage(text)]}
    return asyncio.run(app.ainvoke(given, CONFIG)) if asynchronous else app.invoke(given, CONFIG)


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_graph_that_deepagents_calls_begins_with_its_own_state(
    asynchronous: bool, tasks: int
) -> None:
    memory, model = memory_of(), answers("It belongs to Ana.")
    app = deep_agent(memory, {"runnable": agent_of(memory, model)}, tasks)
    for said in (RULE, "What must not be restarted?"):
        out = say(app, said, asynchronous)
        assert rules(memory, out["ccs"]) == [RULE[:-1]]
        assert out["ccs"]["branch"] == "main"
    assert len([t for t in threads(memory) if t.agent.startswith("finder")]) == tasks


def test_a_sub_agent_does_not_receive_its_callers_state() -> None:
    given: list[dict[str, Any]] = []

    def find(state: dict[str, Any]) -> dict[str, Any]:
        given.append(state)
        return {"messages": [AIMessage("Ana.")]}

    memory = memory_of()
    say(deep_agent(memory, {"runnable": RunnableLambda(find)}), RULE)
    assert [m.text for m in given[0]["messages"]] == [f"{TASK} 0"]
    assert not {"ccs", "ccs_run"} & given[0].keys()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_forks_of_an_agent_run_at_once_and_know_whose_words_are_whose(asynchronous: bool) -> None:
    memory = memory_of()
    spec = {
        "mode": "fork", "model": answers("Ana."), "tools": [], "system_prompt": "You find.",
        "middleware": [MemoryMiddleware(memory)],
    }  # fmt: skip
    say(deep_agent(memory, spec, 2), RULE, asynchronous)
    forks = [t for t in threads(memory) if t.agent.startswith("finder")]
    assert len(forks) == 2
    with memory._locked_log(forks[0]) as log:
        seen = {a.text: a.channel.value for a in log.branch("main").artifacts}
    assert seen[RULE] == "user"
    assert [channel for text, channel in seen.items() if TASK in text] == ["agent"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_task_is_an_agents_word_and_stays_whole_in_the_prompt(asynchronous: bool) -> None:
    memory, model = memory_of(), answers("It belongs to Ana.")
    spec = {
        "model": model, "tools": [], "system_prompt": "You find.",
        "middleware": [MemoryMiddleware(memory)],
    }  # fmt: skip
    say(deep_agent(memory, spec), RULE, asynchronous)
    assert channels(memory, "finder")[f"{TASK} 0"] == "agent"
    assert model.prompts[0][-1].text == f"{TASK} 0"


# --- workers of a Send, whose messages come back to the parent's channel ----------------------


class Work(MemoryState, total=False):
    """The messages of parent and workers, together."""

    found: Annotated[list[str], operator.add]


def mapped(memory: MemoryController, worker: Any, sent: Any) -> Any:
    """A graph with the memory that sends ``sent(state)`` to ``worker``, three times."""
    builder = StateGraph(Work, input_schema=MessagesState)
    builder.add_node("memory", MemoryNode(memory))
    builder.add_node("worker", worker)
    builder.add_node("model", lambda _: {"messages": [AIMessage("Done.")]})
    builder.add_edge(START, "memory")
    sends = lambda s: [Send("worker", sent(s, n)) for n in range(3)]  # noqa: E731
    builder.add_conditional_edges("memory", sends, ["worker"])
    builder.add_edge("worker", "model")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("way", ["node", "middleware"])
def test_a_workers_task_makes_no_rule_in_the_parent_that_it_comes_back_to(way: str) -> None:
    memory, model = memory_of(), ScriptedChatModel(script=lambda p: f"read {p[-1].text}")
    if way == "node":
        worker: Any = agent_of(memory, model)
    else:
        worker = create_agent(model, [], middleware=[MemoryMiddleware(memory)])

    def sent(state: Any, n: int) -> dict[str, Any]:
        return {**state, "messages": [HumanMessage(f"Never page Ravi {n}.")]}

    app = mapped(memory, worker, sent)
    for said in (RULE, "And now?"):
        out = say(app, said)
        assert rules(memory, out["ccs"]) == [RULE[:-1]]
    workers = [t for t in threads(memory) if t.agent.startswith("worker")]
    assert len(workers) == 6
    assert len(model.prompts) == 6


def test_a_named_task_is_enough_for_a_nested_run() -> None:
    memory = memory_of()
    worker = agent_of(memory, answers("Read."), channels={"planner": "agent"})
    outer = StateGraph(MessagesState)
    outer.add_node(
        "work", lambda _: worker.invoke({"messages": [HumanMessage(TASK, name="planner")]})
    )
    outer.add_edge(START, "work")
    say(outer.compile(), RULE)
    assert channels(memory, "work")[TASK] == "agent"


# --- a state that another agent's would replace -----------------------------------------------


def beside(memory: MemoryController, names: str, schema: Any) -> Any:
    """A graph whose schema does not declare the state as `MemoryState` does, and agents in it."""
    builder = StateGraph(schema)
    node = MemoryNode(memory, output_messages_key="view", prune=False)
    builder.add_node("memory", node)
    builder.add_edge(START, "memory")
    for name in names:
        inner = create_agent(answers("Yes."), [], middleware=[MemoryMiddleware(memory)])
        builder.add_node(name, inner)
        builder.add_edge("memory", name)
    return builder.compile(checkpointer=InMemorySaver())


class Undeclared(MessagesState):
    """Without the memory's channels."""

    view: list[Any]


class Plain(Undeclared):
    """With the state in a channel that any agent may write."""

    ccs: dict[str, Any]


@pytest.mark.parametrize("names", ["a", "ab"])
def test_nested_agents_do_not_replace_a_state_that_only_the_node_declares(names: str) -> None:
    memory = memory_of()
    app = beside(memory, names, Undeclared)
    for said in (RULE, "And now?", "Well?"):
        say(app, said)
    saved = app.checkpointer.get_tuple(CONFIG).checkpoint["channel_values"]
    assert memory.load(saved["ccs"]).turn == 3
    assert rules(memory, saved["ccs"]) == [RULE[:-1]]


def test_a_state_that_was_replaced_names_the_declaration_that_prevents_it() -> None:
    app = beside(memory_of(), "a", Plain)
    say(app, RULE)
    with pytest.raises(StateError, match="declare the channel as MemoryState does"):
        say(app, "And now?")


def test_two_runs_on_one_nested_memory_say_how_to_have_two() -> None:
    memory = memory_of()
    model = ScriptedChatModel(script=lambda _: "Ana.")
    inner = agent_of(memory, model, checkpointer=True)

    def entered(_: Any) -> Any:
        # Another run of the agent is under way while this one enters.
        with memory._threads.stepping(Thread(thread="t", agent="desk")):
            return inner.invoke({"messages": [HumanMessage(TASK)]})

    outer = StateGraph(MessagesState).add_node("desk", entered).add_edge(START, "desk")
    with pytest.raises(ConflictError, match="checkpointer=True"):
        say(outer.compile(checkpointer=InMemorySaver()), RULE)


def claiming(turn: Turn, _: Any, __: Any) -> Proposal:
    """A model that takes any yes for the user's consent to the task."""
    rule = ProposedItem(
        slot="constraints",
        cites=tuple(o.ref for o in turn.readable),
        fields={"text": "Never page Ravi", "quote": "Never page Ravi"},
    )
    return Proposal(items=(rule,), author="claiming")


@pytest.mark.parametrize("is_task", [False, True])
def test_a_yes_consents_to_the_agents_words_but_to_no_task(is_task: bool) -> None:
    memory = MemoryController(InMemoryStore(), claiming)
    words: Any = AIMessage("Never page Ravi.")
    if is_task:
        words = with_task_mark(HumanMessage("Never page Ravi."), "worker#1")
    said = observed([words, HumanMessage("Yes.")], Voices())
    state = memory.step(None, Turn(observations=said), thread="t").state
    assert [rule.text for rule in state.constraints] == ([] if is_task else ["Never page Ravi"])
