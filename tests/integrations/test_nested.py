"""Agents inside agents: each has a memory of its own, without any configuration; a board reaches them all."""

from __future__ import annotations

import asyncio
import json
import operator
import re
from collections.abc import Sequence
from typing import Annotated, Any

import langgraph_swarm
import pytest
from deepagents import create_deep_agent
from helpers_integrations import (
    CONFIG,
    amemory_of,
    graph_of,
    looping,
    memory_of,
    patient,
    rules,
    stored,
    system,
    threads,
)
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import EmptyChannelError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt
from langgraph_supervisor import create_supervisor
from typing_extensions import TypedDict

from acc.board.board import Board
from acc.board.memory import BoardMemory
from acc.integrations.graph_channels import MemoryState, OwnState, owned
from acc.integrations.identity import Identity, nested_agent, owner
from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode
from acc.journal import ThreadKey
from acc.models.protocol import Completion, Usage
from acc.state.policy import Cadence, Policy
from acc.testing.chat_model import ScriptedChatModel, call

RULE = "Never restart nginx during business hours."
TASK = "Find the owner of db-7. Never page Ravi."
ASYNC = pytest.mark.parametrize("asynchronous", [False, True])


def answers(*said: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(said) * 9)


def asking(*calls: Any) -> AIMessage:
    return AIMessage("", tool_calls=list(calls))


def say(app: Any, text: str, asynchronous: bool = False, config: Any = None) -> Any:
    given, config = {"messages": [HumanMessage(text)]}, config or CONFIG
    return asyncio.run(app.ainvoke(given, config)) if asynchronous else app.invoke(given, config)


def nested(memory: Any, name: str) -> list[ThreadKey]:
    return [t for t in threads(memory) if t.agent.partition("#")[0] == name]


def sharing(memory: Any, **options: Any) -> list[MemoryMiddleware]:
    return [MemoryMiddleware(memory, share="rules", to="all", **options)]


def on_board(memory: Any, thread: str = "t") -> list[str]:
    state = BoardMemory(memory, Board(thread)).head(ThreadKey(thread)).state
    return [rule.text_of for rule in state.constraints] if state is not None else []


@ASYNC
def test_a_sub_agents_task_is_no_word_of_the_users(asynchronous: bool) -> None:
    memory = memory_of()
    helper = create_agent(answers("Found two."), [], middleware=[MemoryMiddleware(memory)])
    seen: list[Any] = []

    @tool
    def research(task: str) -> str:
        """Ask the helper."""
        out = helper.invoke({"messages": [("user", task)]})
        seen.append(out)
        return str(out["messages"][-1].text)

    asked = asking(call("research", task="Never mention prices. Look."))
    boss = create_agent(
        answers("Noted.", asked, "Two.", "Bye."), [research],
        middleware=[MemoryMiddleware(memory)], checkpointer=InMemorySaver(),
    )  # fmt: skip
    for text in (RULE, "Who are the vendors?", "Thanks."):
        out = say(boss, text, asynchronous)
        assert rules(out) == [RULE]
        assert out["ccs"].get("branch", "main") == "main"
    assert rules(seen[0]) == []
    assert seen[0]["ccs"]["owner"] != out["ccs"]["owner"]


def deep_agent(memory: Any, spec: dict[str, Any], tasks: int = 1, **options: Any) -> Any:
    calls = [
        call("task", f"t{n}", description=f"{TASK} {n}", subagent_type="finder")
        for n in range(tasks)
    ]
    return create_deep_agent(
        model=answers(asking(*calls), "The owner is Ana.", "Nginx."),
        tools=[],
        middleware=[MemoryMiddleware(memory, **options)],
        subagents=[{"name": "finder", "description": "finds owners", **spec}],
        checkpointer=InMemorySaver(),
    )


def finder(model: Any, *middleware: Any) -> dict[str, Any]:
    return {"model": model, "tools": [], "system_prompt": "You find.", "middleware": [*middleware]}


@ASYNC
@pytest.mark.parametrize("tasks", [1, 2])
def test_deepagents_needs_no_configuration(tasks: int, asynchronous: bool) -> None:
    memory, model = memory_of(), answers("It belongs to Ana.")
    deep = deep_agent(memory, finder(model, MemoryMiddleware(memory)), tasks)
    for text in (f"{RULE} Who owns db-7?", "What must not be restarted?"):
        assert rules(say(deep, text, asynchronous)) == [RULE]
    found = nested(memory, "finder")
    assert len(found) == tasks
    assert ("agent", f"{TASK} 0") in [line for t in found for line in stored(memory, t)]
    assert model.prompts[0][-1].text.startswith(TASK)


@ASYNC
@pytest.mark.parametrize("tasks", [1, 2])
def test_a_graph_that_deepagents_calls_begins_with_its_own_state(
    asynchronous: bool, tasks: int
) -> None:
    memory, model = memory_of(), answers("It belongs to Ana.")
    inner = graph_of(memory, model, checkpointer=None)
    deep = deep_agent(memory, {"runnable": inner}, tasks)
    for text in (RULE, "What must not be restarted?"):
        assert rules(say(deep, text, asynchronous)) == [RULE]
    assert len(nested(memory, "finder")) == tasks


@ASYNC
def test_forks_of_an_agent_run_at_once_and_know_whose_words_are_whose(asynchronous: bool) -> None:
    memory = memory_of()
    spec = {"mode": "fork", **finder(answers("Ana."), MemoryMiddleware(memory))}
    say(deep_agent(memory, spec, 2), RULE, asynchronous)
    forks = nested(memory, "finder")
    assert len(forks) == 2
    seen = {text: channel for channel, text in stored(memory, forks[0])}
    assert seen[RULE] == "user"
    assert [channel for text, channel in seen.items() if TASK in text] == ["agent"]


def swarm_of(memory: Any, *scripts: Any, **options: Any) -> tuple[Any, dict[str, Any]]:
    models = {n: answers(*script) for n, script in zip(("alice", "bob"), scripts, strict=True)}
    agents = [
        create_agent(
            models[name], [langgraph_swarm.create_handoff_tool(agent_name=other)], name=name,
            middleware=[MemoryMiddleware(memory, **options)], system_prompt=f"You are {name}.",
        )
        for name, other in (("alice", "bob"), ("bob", "alice"))
    ]  # fmt: skip
    made = langgraph_swarm.create_swarm(agents, default_active_agent="alice")
    return made.compile(checkpointer=InMemorySaver()), models


def handing(name: str, place: int) -> AIMessage:
    return asking(call(f"transfer_to_{name}", f"h{place}"))


def test_a_swarm_keeps_a_memory_for_each_agent_and_commits_each_message_once() -> None:
    memory = memory_of()
    app, models = swarm_of(memory, [handing("bob", 1), "a2"], ["I will not.", "Bob 2"])
    texts = (f"{RULE} Let me speak to Bob.", "Which rule did I give?", "And now?", "Well?")
    for text in texts:
        say(app, text)
    assert RULE in system(models["bob"].prompts[-1])
    assert [m.text for m in models["bob"].prompts[-1] if m.type == "human"][-1] == "Well?"
    assert sorted(t.agent.partition("#")[0] for t in threads(memory)) == ["alice", "bob"]
    (bob,) = nested(memory, "bob")
    assert [t for c, t in stored(memory, bob) if c == "user"] == list(texts)


def test_a_supervisors_worker_keeps_its_memory() -> None:
    memory, worker = memory_of(), answers("I will not restart.", "As I said.")
    bob = create_agent(worker, [], name="bob", middleware=[MemoryMiddleware(memory)])
    boss = answers(handing("bob", 0), "Done.", handing("bob", 1), "Done again.")
    app = create_supervisor([bob], model=boss).compile(checkpointer=InMemorySaver())
    texts = [f"{RULE} Ask Bob.", "Ask him again."]
    for text in texts:
        say(app, text)
    assert RULE in system(worker.prompts[-1])
    (bobs,) = nested(memory, "bob")
    assert [t for c, t in stored(memory, bobs) if c == "user"] == texts


class Topics(TypedDict):
    """What the workers of a map-reduce share."""

    topics: list[str]
    found: Annotated[list[str], operator.add]


@ASYNC
def test_workers_of_a_send_run_at_once(asynchronous: bool) -> None:
    memory = memory_of()
    worker = graph_of(
        memory, ScriptedChatModel(script=lambda p: f"found {p[-1].text}"), checkpointer=None
    )

    def work(state: Any) -> Any:
        out = worker.invoke({"messages": [("user", state["topic"])]})
        return {"found": [out["messages"][-1].text]}

    async def awork(state: Any) -> Any:
        out = await worker.ainvoke({"messages": [("user", state["topic"])]})
        return {"found": [out["messages"][-1].text]}

    outer = StateGraph(Topics)
    outer.add_node("plan", lambda _: {})
    outer.add_node("work", awork if asynchronous else work)
    outer.add_edge(START, "plan")
    sends = lambda s: [Send("work", {"topic": t}) for t in s["topics"]]  # noqa: E731
    outer.add_conditional_edges("plan", sends, ["work"])
    outer.add_edge("work", END)
    graph = outer.compile(checkpointer=InMemorySaver())
    given: Any = {"topics": ["same topic"] * 6, "found": []}
    out = asyncio.run(graph.ainvoke(given, CONFIG)) if asynchronous else graph.invoke(given, CONFIG)
    assert out["found"] == ["found same topic"] * 6
    assert len(threads(memory)) == 6


class Work(MemoryState, total=False):
    """The messages of parent and workers, together."""

    found: Annotated[list[str], operator.add]


@pytest.mark.parametrize("way", ["node", "middleware"])
def test_a_workers_task_makes_no_rule_in_the_parent_that_it_comes_back_to(way: str) -> None:
    memory, model = memory_of(), ScriptedChatModel(script=lambda p: f"read {p[-1].text}")
    worker: Any = (
        graph_of(memory, model, checkpointer=None)
        if way == "node"
        else create_agent(model, [], middleware=[MemoryMiddleware(memory)])
    )
    builder = StateGraph(Work, input_schema=MessagesState)
    node = MemoryNode(memory)
    node.prompt()
    builder.add_node("memory", node)
    builder.add_node("worker", worker)
    builder.add_node("model", lambda _: {"messages": [AIMessage("Done.")]})
    builder.add_edge(START, "memory")

    def sends(state: Any) -> list[Send]:
        tasks = [HumanMessage(f"Never page Ravi {n}.") for n in range(3)]
        return [Send("worker", {**state, "messages": [task]}) for task in tasks]

    builder.add_conditional_edges("memory", sends, ["worker"])
    builder.add_edge("worker", "model")
    app = builder.compile(checkpointer=InMemorySaver())
    for text in (RULE, "And now?"):
        assert rules(say(app, text)) == [RULE]
    assert len(nested(memory, "worker")) == 6
    assert len(model.prompts) == 6


def test_a_subgraph_with_checkpoints_of_its_own_is_one_agent() -> None:
    memory, model = memory_of(), ScriptedChatModel(script=looping(0))
    inner = graph_of(memory, model, checkpointer=True)
    parent = StateGraph(MessagesState).add_node("desk", inner).add_edge(START, "desk")
    graph = parent.compile(checkpointer=InMemorySaver())
    for text in (RULE, "And now?"):
        say(graph, text)
    assert [t.agent for t in threads(memory)] == ["desk"]
    assert RULE in system(model.prompts[-1])


def test_a_graph_with_a_memory_inside_a_graph_with_a_memory() -> None:
    memory = memory_of()
    models = {name: ScriptedChatModel(script=lambda p: f"read {len(p)}") for name in ("in", "out")}
    graphs: dict[str, Any] = {}
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
    for text in (RULE, "And now?", "Well?"):
        assert rules(say(graphs["out"], text)) == [RULE]
    assert RULE in system(models["in"].prompts[0]) or RULE in str(models["in"].prompts[0])
    assert RULE in system(models["out"].prompts[-1])


def _asking(model: ScriptedChatModel, prompt: Any) -> Any:
    return lambda state: {"messages": [model.invoke(prompt(state))]}


@ASYNC
@pytest.mark.parametrize("memory_with", [memory_of, patient])
def test_a_sub_agent_that_a_tool_calls_reads_the_board(
    memory_with: Any, asynchronous: bool
) -> None:
    memory, model = memory_with(), answers("Two.")
    helper = create_agent(model, [], middleware=sharing(memory))

    @tool
    def research(task: str) -> str:
        """Ask the helper."""
        return str(helper.invoke({"messages": [("user", task)]})["messages"][-1].text)

    boss = create_agent(
        answers(asking(call("research", task=TASK)), "Two."), [research],
        middleware=sharing(memory), checkpointer=InMemorySaver(),
    )  # fmt: skip
    say(boss, RULE, asynchronous)
    assert RULE in system(model.prompts[0])
    assert on_board(memory) == [RULE]


@ASYNC
def test_sub_agents_of_deepagents_read_the_board(asynchronous: bool) -> None:
    memory, model = memory_of(), answers("It is Ana.")
    deep = deep_agent(memory, finder(model, *sharing(memory)), 2, share="rules", to="all")
    say(deep, RULE, asynchronous)
    read = [system(p) for p in model.prompts]
    assert len(read) == 2
    assert all(RULE in text for text in read)
    assert on_board(memory) == [RULE]


def test_what_nobody_said_to_all_stays_private() -> None:
    memory, model = memory_of(), answers("Booked.")
    own = MemoryMiddleware(memory, share="rules")
    deep = deep_agent(memory, finder(model, own), share="rules")
    say(deep, "Never tell anybody that I am ill.")
    assert "ill" not in str(model.prompts[0])
    assert on_board(memory) == []


class Listening:
    """A model that compresses each message of the user as a rule, and hears what is confidential and said to all."""

    name = "scripted"

    def complete(self, messages: Any, schema: Any, **_: Any) -> Completion:
        is_listener = "private" in schema["properties"]
        new = messages[-1].content.rpartition("Not in the state yet:")[2]
        found = re.findall(r"<<\w+ (\S+) user>>\n(.*)", new)
        quotes = [
            {"quote": text, "ref": ref}
            for ref, text in found
            if not is_listener or "Confidential" in text
        ]
        said = {"private" if is_listener else "rules": quotes}
        if is_listener:
            every = [(text, ref) for ref, text in found if "Everybody" in text]
            said["to_all"] = [{"quote": q, "ref": ref, "to": "Everybody"} for q, ref in every]
        return Completion(json.dumps(said), Usage(), self.name)

    async def acomplete(self, messages: Any, schema: Any, **_: Any) -> Completion:
        return self.complete(messages, schema)


@ASYNC
def test_private_words_reach_no_sub_agent_though_all_are_spoken_to(asynchronous: bool) -> None:
    memory, model = (
        memory_of(model=Listening(), policy=Policy(cadence=Cadence())),
        answers("Booked."),
    )
    asked = asking(call("task", "t9", description="Book one.", subagent_type="finder"))
    deep = create_deep_agent(
        model=answers("Noted.", asked, "Booked."), tools=[],
        middleware=[*sharing(memory)], checkpointer=InMemorySaver(),
        subagents=[{"name": "finder", "description": "finds", **finder(model, *sharing(memory))}],
    )  # fmt: skip
    say(deep, "Confidential: never tell the craftsmen of my divorce.", asynchronous)
    say(deep, "Never let anybody in before 9 am.", asynchronous)
    assert on_board(memory) == ["Never let anybody in before 9 am."]
    assert "before 9 am" in system(model.prompts[0])
    assert "divorce" not in str(model.prompts[0])


def test_deep_agents_whose_messages_have_no_ids_go_on() -> None:
    memory, read = memory_of(), list[str]()

    def craftsman(prompt: Any) -> str:
        read.append("\n".join(str(m.text) for m in prompt))
        return "Booked."

    def boss(prompt: Any) -> Any:
        if prompt[-1].type == "human" and "repair" in prompt[-1].text:
            return asking(call("task", description="Book one.", subagent_type="craftsmen"))
        return "Noted."

    craftsmen = {
        "name": "craftsmen", "description": "books", "system_prompt": "You book.",
        "model": ScriptedChatModel(script=craftsman), "tools": [],
    }  # fmt: skip
    deep = create_deep_agent(
        model=ScriptedChatModel(script=boss), tools=[], subagents=[craftsmen],
        middleware=[MemoryMiddleware(memory, share="rules")], checkpointer=InMemorySaver(),
    )  # fmt: skip
    texts = (
        "Never let anybody in before 9 am.",
        "Never tell them that I am ill.",
        "Have it repaired.",
    )
    for text in (*texts[:2], "Have somebody repair the tap."):
        out = deep.invoke({"messages": [("user", text)]}, CONFIG)
    assert "ill" not in read[-1].replace("will", "")
    assert rules(out) == list(texts[:2])
    assert [t for c, t in stored(memory) if c == "user"][:2] == list(texts[:2])


@ASYNC
@pytest.mark.parametrize("limit", [0, 2_000])
def test_what_waits_in_the_callers_tail_is_shared_before_a_sub_agent_reads(
    limit: int, asynchronous: bool
) -> None:
    policy = Policy(cadence=Cadence(compress_over=limit))
    memory, model = memory_of(model=Listening(), policy=policy), answers("Booked.")
    own = MemoryMiddleware(memory, share="rules")
    deep = deep_agent(memory, finder(model, own), 2, share="rules")
    say(deep, "Everybody: never restart db-2.", asynchronous)
    assert "never restart db-2" in str(model.prompts[0])
    assert on_board(memory) == ["Everybody: never restart db-2."]


@ASYNC
def test_a_rule_said_to_one_agent_of_a_swarm_binds_the_other(asynchronous: bool) -> None:
    memory = memory_of()
    app, models = swarm_of(memory, ["Noted.", handing("bob", 1)], ["Yes?"], share="rules", to="all")
    for text in (RULE, "Let me speak to Bob."):
        say(app, text, asynchronous)
        assert on_board(memory) == [RULE]
    assert RULE in system(models["bob"].prompts[0])


def test_a_rule_does_not_stand_again_when_one_more_agent_reads_the_conversation() -> None:
    memory = memory_of()
    app, _ = swarm_of(memory, ["Noted.", handing("bob", 1)], ["Yes?"], share="rules", to="all")
    say(app, RULE)
    board = Board("t").key_of(ThreadKey("t"))
    told = [t for _, t in stored(memory, board)]
    say(app, "Let me speak to Bob.")
    assert [t for _, t in stored(memory, board)] == told


def test_workers_of_a_send_read_the_board() -> None:
    memory, model = memory_of(), answers("Found.")
    node = MemoryNode(memory, share="rules", to="all")
    worker = create_agent(model, [], middleware=sharing(memory))

    def work(state: dict[str, Any]) -> dict[str, Any]:
        worker.invoke({"messages": [HumanMessage(state["task"])]})
        return {}

    builder = StateGraph(MemoryState, input_schema=MessagesState)
    builder.add_node("memory", node)
    builder.add_node("work", work)
    builder.add_node("model", lambda s: {"messages": [AIMessage(str(node.prompt()(s)[0].text))]})
    builder.add_edge(START, "memory")
    sends = [Send("work", {"task": f"{TASK} {n}"}) for n in range(3)]
    builder.add_conditional_edges("memory", lambda _: sends, ["work"])
    builder.add_edge("work", "model")
    out = say(builder.compile(checkpointer=InMemorySaver()), RULE)
    read = [system(p) for p in model.prompts]
    assert len(read) == 3
    assert all(RULE in text for text in read)
    assert RULE in out["messages"][-1].text
    assert on_board(memory) == [RULE]


@ASYNC
def test_a_sub_agent_with_a_thread_id_of_its_own_reads_the_board_of_its_caller(
    asynchronous: bool,
) -> None:
    memory, model = (amemory_of if asynchronous else memory_of)(), answers("Two.")
    helper = create_agent(
        model, [], middleware=sharing(memory), checkpointer=InMemorySaver(), name="helper"
    )

    def given(task: str) -> Any:
        return {"messages": [("user", task)]}, {"configurable": {"thread_id": "helpers-own"}}

    def research(task: str) -> str:
        """Ask the helper."""
        return str(helper.invoke(*given(task))["messages"][-1].text)

    async def aresearch(task: str) -> str:
        return str((await helper.ainvoke(*given(task)))["messages"][-1].text)

    asked = StructuredTool.from_function(research, aresearch if asynchronous else None)
    boss = create_agent(
        answers(asking(call("research", task=TASK)), "Two."), [asked],
        middleware=sharing(memory), checkpointer=InMemorySaver(),
    )  # fmt: skip
    say(boss, RULE, asynchronous)
    assert RULE in system(model.prompts[0])
    assert on_board(memory, "helpers-own") == []


@ASYNC
def test_what_a_human_answers_within_a_sub_agent_is_a_humans(asynchronous: bool) -> None:
    memory = memory_of()

    @tool
    def ask(question: str) -> str:
        """Ask the human."""
        return str(interrupt(question))

    asks = asking(call("ask", "a1", question="Anything to mind?"))
    spec = {**finder(answers(asks, "It is Ana."), *sharing(memory, human="user")), "tools": [ask]}
    deep = deep_agent(memory, spec, share="rules", to="all")
    say(deep, "Find the owner.", asynchronous)
    answer: Any = Command(resume=RULE)
    if asynchronous:
        asyncio.run(deep.ainvoke(answer, CONFIG))
    else:
        deep.invoke(answer, CONFIG)
    assert on_board(memory) == [RULE]
    (thread,) = nested(memory, "finder")
    assert ("user", RULE) in stored(memory, thread)


# Whose it is


def config(namespace: str = "", **configurable: Any) -> Any:
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


def test_a_conversation_stays_on_its_thread_if_its_user_becomes_known_or_another_joins() -> None:
    known = owner(config(user_id="ana"), Identity(), None)
    assert known.thread == ThreadKey("t", user="ana")
    later = owner(config(user_id="ana"), Identity(), ThreadKey("t"))
    assert (later.thread, later.user) == (ThreadKey("t"), "ana")
    joined = owner(config(user_id="bob"), Identity(), ThreadKey("t", user="ana"))
    assert (joined.thread, joined.user) == (ThreadKey("t", user="ana"), "bob")
    assert owner(config(), Identity(), ThreadKey("other")).thread == ThreadKey("t")


def test_the_user_that_a_server_authenticated_comes_first() -> None:
    given = config(user_id="mallory", langgraph_auth_user_id="ana")
    assert owner(given, Identity(), None).thread.user == "ana"


def test_an_agent_that_the_deployer_names_is_not_renamed() -> None:
    given = config("work:1|memory:1", role="finder")
    named = owner(given, Identity(agent="role"), None, FIRST)
    assert named.thread == ThreadKey("t", agent="finder")


def taken(*updates: Any) -> Any:
    made = OwnState(dict, "c")
    for values in updates:
        made.update(values)
    return made.get()


def test_another_agents_state_does_not_replace_this_ones() -> None:
    ours, others = ThreadKey("t"), ThreadKey("t", agent="finder#1")
    mine, theirs = owned({"turn": 1}, ours), owned({"turn": 9}, others)
    later = owned({"turn": 2}, ours)
    assert taken([mine], [theirs, theirs]) == mine
    assert taken([mine], [later]) == later
    assert taken([mine], [theirs, later]) == later
    assert taken([theirs]) == theirs
    assert taken([{"turn": 0}], [mine]) == mine
    assert taken([mine], [owned({"turn": 9}, others, mine)]) == theirs
    with pytest.raises(EmptyChannelError):
        taken()


def test_users_do_not_share_what_they_said() -> None:
    memory = memory_of()
    graph = graph_of(memory, answers("Yes."))
    for user in ("alice", "bob"):
        its: Any = {"configurable": {"thread_id": f"{user}-1", "user_id": user}}
        say(graph, f"I am {user}.", config=its)
    assert sorted(t.user for t in threads(memory)) == ["alice", "bob"]
