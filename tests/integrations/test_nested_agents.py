"""Agents inside agents: each has a memory of its own, without any configuration."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Sequence
from typing import Annotated, Any

import langgraph_swarm
import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import EmptyChannelError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send
from langgraph_supervisor import create_supervisor
from typing_extensions import TypedDict

from acc import MemoryController, Thread
from acc.integrations.graph_channels import MemoryState, OwnProgress, OwnState
from acc.integrations.identity import Identity, nested_agent, owner
from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode
from acc.stores.directory import namespace, threads_in
from acc.stores.shelf import Shelf
from acc.testing.chat_model import ScriptedChatModel, call
from graphs import CONFIG, agent, looping, memory_of

RULE = "Never restart nginx during business hours."


def rules(memory: MemoryController, ccs: Any) -> list[str]:
    return [rule.text for rule in memory.load(ccs).constraints]


def answers(*said: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(said), at_end="repeat")


def task(text: str, call_id: str) -> Any:
    return call("task", call_id, description=text, subagent_type="finder")


# --- sub-agents that a tool calls -------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_sub_agents_task_is_no_word_of_the_users(asynchronous: bool) -> None:
    memory = memory_of()
    helper = create_agent(answers("Found two."), [], middleware=[MemoryMiddleware(memory)])
    seen: list[Any] = []

    @tool
    def research(task: str) -> str:
        """Ask the helper."""
        out = helper.invoke({"messages": [("user", task)]})
        seen.append(out["ccs"])
        return str(out["messages"][-1].text)

    asked = AIMessage("", tool_calls=[call("research", task="Never mention prices. Look.")])
    boss = create_agent(
        answers("Noted.", asked, "Two.", "Bye."), [research],
        middleware=[MemoryMiddleware(memory)], checkpointer=InMemorySaver(),
    )  # fmt: skip
    for said in (RULE, "Who are the vendors?", "Thanks."):
        given = {"messages": [("user", said)]}
        out = (
            asyncio.run(boss.ainvoke(given, CONFIG)) if asynchronous else boss.invoke(given, CONFIG)
        )
        assert rules(memory, out["ccs"]) == [RULE[:-1]]
        assert out["ccs"]["branch"] == "main"
    assert rules(memory, seen[0]) == []
    assert seen[0]["bound_to"] != out["ccs"]["bound_to"]


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_deepagents_needs_no_configuration(parallel: bool, asynchronous: bool) -> None:
    memory = memory_of()
    tasks = [task("Find the owner of db-7. Never page Ravi.", "t1")]
    tasks += [task("Find the owner of db-8.", "t2")] if parallel else []
    boss = answers(AIMessage("", tool_calls=tasks), "The owner is Ana.", "Nginx.")
    finder = {
        "name": "finder", "description": "finds owners", "system_prompt": "You find owners.",
        "model": answers("It belongs to Ana."), "tools": [], "middleware": [MemoryMiddleware(memory)],
    }  # fmt: skip
    deep = create_deep_agent(
        model=boss, tools=[], middleware=[MemoryMiddleware(memory)], subagents=[finder],
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    for said in (f"{RULE} Who owns db-7?", "What must not be restarted?"):
        given = {"messages": [HumanMessage(said)]}
        out = (
            asyncio.run(deep.ainvoke(given, CONFIG)) if asynchronous else deep.invoke(given, CONFIG)
        )
        assert rules(memory, out["ccs"]) == [RULE[:-1]]
    names = [t.agent.partition("#")[0] for t in _threads(memory)]
    assert names.count("finder") == len(tasks)


def _threads(memory: MemoryController) -> list[Thread]:
    store: Any = memory.artifacts
    kept = [store.get("default", [i])[0] for i in store.ids("default", kind="thread")]
    return list(threads_in(kept))


# --- agents of one conversation ---------------------------------------------------------------


def swarm_of(memory: MemoryController, schema: Any = None) -> tuple[Any, list[list[BaseMessage]]]:
    handed = AIMessage("", tool_calls=[call("transfer_to_bob", "h1")])
    models = {"alice": answers(handed, "a2"), "bob": answers("I will not restart.", "Bob 2")}
    agents = [
        create_agent(
            models[name],
            [langgraph_swarm.create_handoff_tool(agent_name=other)],
            name=name,
            middleware=[MemoryMiddleware(memory)],
            system_prompt=f"You are {name}.",
        )
        for name, other in (("alice", "bob"), ("bob", "alice"))
    ]
    given = {"state_schema": schema} if schema else {}
    made = langgraph_swarm.create_swarm(agents, default_active_agent="alice", **given)
    return made.compile(checkpointer=InMemorySaver()), models["bob"].prompts


@pytest.mark.parametrize("declared", [False, True])
def test_a_swarm_keeps_a_memory_for_each_agent_and_commits_each_message_once(
    declared: bool,
) -> None:
    schema = None
    if declared:
        schema = type("S", (langgraph_swarm.SwarmState,), {"__annotations__": {"ccs": dict}})
    memory = memory_of()
    app, prompts = swarm_of(memory, schema)
    for said in (f"{RULE} Let me speak to Bob.", "Which rule did I give?", "And now?", "Well?"):
        app.invoke({"messages": [HumanMessage(said)]}, CONFIG)
    assert [m.text for m in prompts[-1] if m.type == "human"] == ["Well?"]
    assert RULE[:-1] in str(prompts[-1][0].content)
    assert sorted(t.agent.partition("#")[0] for t in _threads(memory)) == ["alice", "bob"]
    (bob,) = [t for t in _threads(memory) if t.agent.startswith("bob")]
    with memory._lock:
        log = memory._log_of(bob).branch("main")
    said_once = [a.text for a in log.artifacts if a.channel.value == "user"]
    assert said_once == [
        f"{RULE} Let me speak to Bob.",
        "Which rule did I give?",
        "And now?",
        "Well?",
    ]


def test_a_supervisors_worker_keeps_its_memory() -> None:
    memory = memory_of()
    to_bob = [AIMessage("", tool_calls=[call("transfer_to_bob", f"h{n}")]) for n in range(2)]
    worker = answers("I will not restart.", "As I said.")
    bob = create_agent(worker, [], name="bob", middleware=[MemoryMiddleware(memory)])
    boss = answers(to_bob[0], "Done.", to_bob[1], "Done again.")
    app = create_supervisor([bob], model=boss).compile(checkpointer=InMemorySaver())
    for said in (f"{RULE} Ask Bob.", "Ask him again."):
        app.invoke({"messages": [HumanMessage(said)]}, CONFIG)
    assert RULE[:-1] in str(worker.prompts[-1][0].content)
    (bobs,) = [t for t in _threads(memory) if t.agent.startswith("bob")]
    with memory._lock:
        log = memory._log_of(bobs).branch("main")
    users = [a.text for a in log.artifacts if a.channel.value == "user"]
    assert users == [f"{RULE} Ask Bob.", "Ask him again."]


class Topics(TypedDict):
    """What the workers of a map-reduce share."""

    topics: list[str]
    found: Annotated[list[str], operator.add]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_workers_of_a_send_run_at_once(asynchronous: bool) -> None:
    memory = memory_of()
    worker = agent(memory, ScriptedChatModel(script=lambda p: f"found {p[-1].text}"))

    def work(state: Any) -> Any:
        return {
            "found": [worker.invoke({"messages": [("user", state["topic"])]})["messages"][-1].text]
        }

    async def awork(state: Any) -> Any:
        out = await worker.ainvoke({"messages": [("user", state["topic"])]})
        return {"found": [out["messages"][-1].text]}

    outer = StateGraph(Topics)
    outer.add_node("plan", lambda _: {})
    outer.add_node("work", awork if asynchronous else work)
    outer.add_edge(START, "plan")
    outer.add_conditional_edges(
        "plan", lambda s: [Send("work", {"topic": t}) for t in s["topics"]], ["work"]
    )
    outer.add_edge("work", END)
    graph = outer.compile(checkpointer=InMemorySaver())
    given: Any = {"topics": ["same topic"] * 6, "found": []}
    out = asyncio.run(graph.ainvoke(given, CONFIG)) if asynchronous else graph.invoke(given, CONFIG)
    assert out["found"] == ["found same topic"] * 6
    assert len(_threads(memory)) == 6


def test_a_subgraph_with_checkpoints_of_its_own_is_one_agent() -> None:
    memory = memory_of()
    model = ScriptedChatModel(script=looping(0))
    inner = agent(memory, model, checkpointer=True)
    parent = StateGraph(MessagesState).add_node("desk", inner).add_edge(START, "desk")
    graph = parent.compile(checkpointer=InMemorySaver())
    for said in (RULE, "And now?"):
        graph.invoke({"messages": [HumanMessage(said)]}, CONFIG)
    assert [t.agent for t in _threads(memory)] == ["desk"]
    assert RULE[:-1] in str(model.prompts[-1][0].content)


def test_a_graph_with_a_memory_inside_a_graph_with_a_memory() -> None:
    memory = memory_of()
    models = {name: ScriptedChatModel(script=lambda p: f"read {len(p)}") for name in ("in", "out")}
    graphs = {}
    for name, model in models.items():
        node = MemoryNode(memory)
        builder = StateGraph(MemoryState, input_schema=MessagesState)
        builder.add_node("memory", node)
        builder.add_node("model", _asking(model, node.prompt(name)))
        builder.add_edge(START, "memory")
        if name == "out":
            builder.add_node("inner", graphs["in"])
            builder.add_edge("memory", "inner").add_edge("inner", "model")
        else:
            builder.add_edge("memory", "model")
        graphs[name] = builder.compile(checkpointer=InMemorySaver() if name == "out" else None)
    for said in (RULE, "And now?", "Well?"):
        out = graphs["out"].invoke({"messages": [HumanMessage(said)]}, CONFIG)
        assert rules(memory, out["ccs"]) == [RULE[:-1]]
    # What runs inside reads the parent's messages, and these are pruned: its memory is of this turn.
    assert RULE[:-1] in str(models["in"].prompts[0][0].content)
    assert RULE[:-1] in str(models["out"].prompts[-1][0].content)


def _asking(model: ScriptedChatModel, prompt: Any) -> Any:
    return lambda state: {"messages": [model.invoke(prompt(state))]}


# --- whose it is ------------------------------------------------------------------------------


def config(namespace: str = "", **configurable: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": "t", "checkpoint_ns": namespace, **configurable}}


FIRST: Sequence[BaseMessage] = [HumanMessage("Hello", id="h")]


def test_the_place_in_the_graph_tells_the_agent() -> None:
    assert nested_agent(config("memory:1"), FIRST) == ""
    assert nested_agent(config("desk|memory:1"), FIRST) == "desk"
    one, two = (nested_agent(config(f"work:{n}|memory:1"), FIRST) for n in (1, 2))
    assert one == two  # entered with the same message: the same run
    other = nested_agent(config("work:1|memory:1"), [HumanMessage("Hello", id="h2")])
    assert other != one
    assert one.startswith("work#")
    assert nested_agent(config("a:1|2|b:3|memory:1"), FIRST).startswith("a/b#")


def test_a_thread_that_began_before_its_user_was_known_goes_on_without_one() -> None:
    known = owner(config(user_id="ana"), Identity(), agent=None)
    assert known == Thread(thread="t", user="ana")
    old = Thread(thread="t")
    assert owner(config(user_id="ana"), Identity(), agent=None, bound_to=old.owner_key) == old
    assert owner(config(user_id="ana"), Identity(), agent=None, bound_to="x.y") == known


def test_the_user_that_a_server_authenticated_comes_first() -> None:
    given = config(user_id="mallory", langgraph_auth_user_id="ana")
    assert owner(given, Identity(), agent=None).user == "ana"
    assert owner(config(), Identity(), agent=None).user == "default"


def test_an_agent_that_the_deployer_names_is_not_renamed() -> None:
    given = config("work:1|memory:1", role="finder")
    named = owner(given, Identity(agent="role"), agent=None, messages=FIRST)
    assert named == Thread(thread="t", agent="finder")


def taken(channel: Any, *updates: Any) -> Any:
    """What a channel holds after ``updates``, each a step of a graph."""
    made = channel(dict, "c")
    for values in updates:
        made.update(values)
    return made.get()


def test_another_agents_state_does_not_replace_this_ones() -> None:
    mine, theirs = {"bound_to": "a.1", "turn": 1}, {"bound_to": "a.2", "turn": 9}
    later = {**mine, "turn": 2}
    assert taken(OwnState, [mine], [theirs, theirs]) == mine
    assert taken(OwnState, [mine], [later]) == later
    assert taken(OwnState, [mine], [theirs, later]) == later
    assert taken(OwnState, [theirs]) == theirs
    assert taken(OwnState, [{"bound_to": ""}], [mine]) == mine
    assert taken(OwnState, [mine], [None]) is None
    assert taken(OwnProgress, [{"id": "h"}], [{"id": "x", "agent": "finder#1"}]) == {"id": "h"}


def test_a_channel_without_a_state_holds_nothing() -> None:
    with pytest.raises(EmptyChannelError):
        taken(OwnState)


def test_users_do_not_share_what_they_said() -> None:
    memory = memory_of()
    builder = StateGraph(MemoryState, input_schema=MessagesState)
    builder.add_node("memory", MemoryNode(memory))
    builder.add_edge(START, "memory")
    graph = builder.compile(checkpointer=InMemorySaver())
    for user in ("alice", "bob"):
        given = {"messages": [HumanMessage(f"I am {user}.")]}
        graph.invoke(given, {"configurable": {"thread_id": f"{user}-1", "user_id": user}})
    shelves = {
        user: Shelf(memory.artifacts, namespace(user), "threads") for user in ("alice", "bob")
    }
    assert {user: len(shelf.records()) for user, shelf in shelves.items()} == {"alice": 1, "bob": 1}
