"""Time travel, forks, crashes, cancelled runs, lost and copied checkpoints: no word lost, none taken twice."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any, ClassVar

import pytest
from helpers_integrations import (
    CONFIG,
    RULE,
    fine,
    graph_of,
    memory_of,
    patient,
    read_logs,
    rules,
    say,
    spoken,
    state_of,
    stored,
    system,
    whole,
)
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from acc.errors import PinnedOverflow, StateError, StoreError
from acc.integrations.graph_channels import PACKED, MemoryState, unpacked
from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode
from acc.integrations.recording import RecordedNode
from acc.state.policy import Policy
from acc.testing.chat_model import ScriptedChatModel, call

MEMORIES = [memory_of, patient]


def agent_of(memory: Any, model: Any, **given: Any) -> Any:
    given = {"checkpointer": InMemorySaver(), "tools": [read_logs], **given}
    given.setdefault("middleware", [MemoryMiddleware(memory)])
    return create_agent(model, given.pop("tools"), **given)


BUILDERS = [agent_of, graph_of]


def recorded_of(memory: Any, model: Any) -> Any:
    """A graph whose model's node is named so, and records its answer."""
    node = MemoryNode(memory)
    prompt = node.prompt()
    builder = StateGraph(MemoryState, input_schema=MessagesState)
    builder.add_node("memory", node)
    answer = RecordedNode(node, lambda state: {"messages": [model.invoke(prompt(state))]})
    builder.add_node("model", answer)
    builder.add_edge(START, "memory")
    builder.add_edge("memory", "model")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("make", MEMORIES)
def test_a_run_that_goes_back_in_time_begins_a_branch(make: Any, build: Any) -> None:
    memory, model = make(), fine()
    graph = build(memory, model)
    say(graph, RULE)
    early = graph.get_state(CONFIG).config
    say(graph, "Never page Ravi.")
    out = graph.invoke({"messages": [("user", "And now?")]}, early)
    assert state_of(out).branch.startswith("fork-")
    assert RULE in whole(model.prompts[-1])
    assert "Ravi" not in whole(model.prompts[-1])
    assert "Never page Ravi." in [t for _, t in stored(memory)]


@pytest.mark.parametrize("build", BUILDERS)
def test_a_run_from_before_the_first_turn_begins_anew(build: Any) -> None:
    memory, model = memory_of(), fine()
    graph = build(memory, model)
    say(graph, RULE)
    first = [*graph.get_state_history(CONFIG)][-1].config
    out = graph.invoke({"messages": [("user", "What is open?")]}, first)
    assert RULE not in whole(model.prompts[-1])
    assert rules(out) == []
    out = say(graph, "Never page Ravi.")
    assert rules(out) == ["Never page Ravi."]
    assert len(list(memory.threads())) == 2


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("make", MEMORIES)
def test_the_same_checkpoint_run_again_commits_nothing_twice(make: Any, build: Any) -> None:
    memory = make()
    failing = ScriptedChatModel(script=["Fine.", RuntimeError("no model"), "Fine.", "Fine."])
    graph = build(memory, failing)
    say(graph, RULE)
    with pytest.raises(RuntimeError):
        say(graph, "Why is checkout slow?")
    out = graph.invoke(None, CONFIG)
    assert [t for c, t in stored(memory) if c == "user"] == [RULE, "Why is checkout slow?"]
    assert state_of(out).branch == "main"


@pytest.mark.parametrize("build", BUILDERS)
def test_continue_after_an_error_pays_nobody_twice(build: Any) -> None:
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    script = [
        AIMessage("", tool_calls=[call("pay", "p1", amount=5)]),
        RuntimeError("no model"),
        "Done.",
    ]
    memory, model = memory_of(), ScriptedChatModel(script=script)
    graph = build(memory, model, tools=[pay])
    with pytest.raises(RuntimeError):
        say(graph, "Pay 5.")
    say(graph, "Continue.")
    assert "paid 5" in whole(model.prompts[-1])
    assert [t for _, t in stored(memory)].count("paid 5") == 1


@pytest.mark.parametrize("make", MEMORIES)
def test_what_the_memory_has_and_the_checkpoint_lost_is_read_from_the_journal(make: Any) -> None:
    memory, model, saver = make(), fine(), InMemorySaver()
    graph = graph_of(memory, model, checkpointer=saver)
    say(graph, RULE)
    kept = copy.deepcopy((dict(saver.storage), dict(saver.writes), dict(saver.blobs)))
    say(graph, "The ticket is T-77.")
    for now, then in zip((saver.storage, saver.writes, saver.blobs), kept, strict=True):
        now.clear()
        now.update(then)
    out = say(graph, "Which ticket?")
    assert state_of(out).branch == "main"
    assert "T-77" in whole(model.prompts[-1])


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("make", MEMORIES)
def test_a_thread_whose_checkpoints_are_gone_goes_on_with_its_rules(make: Any, build: Any) -> None:
    memory = make()
    say(build(memory, fine()), RULE)
    model = fine()
    say(build(memory, model), "And now?")
    assert RULE in whole(model.prompts[-1])


def test_resume_false_begins_anew() -> None:
    memory = memory_of()
    say(graph_of(memory, fine()), RULE)
    model = fine()
    out = say(graph_of(memory, model, resume=False), "And now?")
    assert RULE not in whole(model.prompts[-1])
    assert rules(out) == []


class Copying(InMemorySaver):
    """Copies all checkpoints of a thread, as a server's `threads/{id}/copy` does."""

    def copy(self, source: str, target: str) -> None:
        self.storage[target] = copy.deepcopy(self.storage[source])
        for kept in (self.writes, self.blobs):
            found = [(k, v) for k, v in kept.items() if k[0] == source]
            kept.update({(target, *key[1:]): value for key, value in found})


@pytest.mark.parametrize("make", MEMORIES)
@pytest.mark.parametrize("build", BUILDERS)
def test_a_copied_thread_goes_on_with_its_rules(make: Any, build: Any) -> None:
    memory, saver, model = make(), Copying(), fine()
    graph = build(memory, model, checkpointer=saver)
    for text in (RULE, "What is open?"):
        say(graph, text)
    saver.copy("t", "copied")
    for text in ("And now?", "And then?"):
        out = say(graph, text, {"configurable": {"thread_id": "copied"}})
    assert RULE in whole(model.prompts[-1])
    assert out["messages"][-1].text == "Fine."


@pytest.mark.parametrize("make", MEMORIES)
def test_copied_values_go_on_with_their_rules(make: Any) -> None:
    memory, model = make(), fine()
    graph = graph_of(memory, model)
    for text in (RULE, "What is open?"):
        say(graph, text)
    copied: Any = {"configurable": {"thread_id": "values"}}
    graph.update_state(copied, graph.get_state(CONFIG).values)
    for text in ("And now?", "And then?"):
        say(graph, text, copied)
    assert RULE in whole(model.prompts[-1])


def test_messages_alone_that_are_copied_say_that_something_is_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = memory_of()
    agent = agent_of(memory, fine())
    for text in (RULE, "What is open?"):
        out = say(agent, text)
    copied: Any = {"configurable": {"thread_id": "values"}}
    agent.invoke({"messages": [*out["messages"][1:], ("user", "And now?")]}, copied)
    assert "begins with the agent's words" in caplog.text


def test_an_edited_state_is_refused() -> None:
    memory = memory_of()
    graph = graph_of(memory, fine())
    out = say(graph, RULE)
    graph.update_state(CONFIG, {"ccs": {**out["ccs"], "constraints": []}})
    with pytest.raises(StateError, match="changed after its commit"):
        say(graph, "And now?")


@pytest.mark.parametrize("build", BUILDERS)
def test_a_deleted_message_stays_in_the_memory(build: Any) -> None:
    memory, model = patient(), fine()
    graph = build(memory, model)
    out = say(graph, RULE)
    graph.update_state(CONFIG, {"messages": [RemoveMessage(id=out["messages"][0].id)]})
    say(graph, "And now?")
    assert f"[user] {RULE}" in system(model.prompts[-1])


def test_an_edited_message_is_new_and_the_old_words_are_not_lost() -> None:
    memory, model = patient(), fine()
    graph = graph_of(memory, model)
    out = say(graph, RULE)
    changed = HumanMessage("Never restart the cache.", id=out["messages"][0].id)
    graph.update_state(CONFIG, {"messages": [changed]})
    say(graph, "And now?")
    assert spoken(model.prompts[-1]) == [
        ("human", "Never restart the cache."), ("ai", "Fine."), ("human", "And now?"),
    ]  # fmt: skip
    assert f"[user] {RULE}" in system(model.prompts[-1])
    said = [(c, t) for c, t in stored(memory) if c != "agent"]
    assert said == [("user", RULE), ("document", "Never restart the cache."), ("user", "And now?")]


def test_a_cancelled_run_loses_nothing() -> None:
    memory = patient()
    model = fine()

    async def go() -> str:
        graph = create_agent(
            Waiting(model), [], middleware=[MemoryMiddleware(memory)], checkpointer=InMemorySaver()
        )
        run = asyncio.create_task(graph.ainvoke({"messages": [("user", RULE)]}, CONFIG))
        await asyncio.sleep(0.3)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        Waiting.is_waiting = False
        await graph.ainvoke({"messages": [("user", "And now?")]}, CONFIG)
        return whole(model.prompts[-1])

    Waiting.is_waiting = True
    assert RULE in asyncio.run(go())
    assert [t for c, t in stored(memory) if c == "user"] == [RULE, "And now?"]


class Waiting(ScriptedChatModel):
    """Waits for ever at its first answer."""

    is_waiting: ClassVar[bool] = True

    def __init__(self, model: ScriptedChatModel) -> None:
        super().__init__(script=model._next)

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        if type(self).is_waiting:
            await asyncio.Event().wait()
        return self._generate(*args)


@pytest.mark.parametrize("build", BUILDERS)
def test_with_sqlite_checkpoints_and_a_memory_that_is_opened_again(
    build: Any, tmp_path: Path
) -> None:
    from acc.controller.controller import MemoryController

    for text in (RULE, "Why?", "And now?"):
        model = fine()
        with (
            SqliteSaver.from_conn_string(str(tmp_path / "c.sqlite")) as saver,
            MemoryController.open(tmp_path / "m", index="none") as memory,
        ):
            out = say(build(memory, model, checkpointer=saver), text)
    assert rules(out) == [RULE]
    assert RULE in whole(model.prompts[-1])


@pytest.mark.parametrize("build", BUILDERS)
def test_rules_that_do_not_fit_are_one_loud_error_and_the_thread_goes_on(build: Any) -> None:
    memory = memory_of(policy=Policy(max_tokens=120))
    model = fine()
    graph = build(memory, model)
    say(graph, RULE)
    many = " ".join(f"Never restart service number {n} of the shop at night." for n in range(12))
    with pytest.raises(PinnedOverflow, match="do not fit"):
        say(graph, many)
    out = say(graph, "And now?")
    assert RULE in rules(out)
    assert [t for c, t in stored(memory) if c == "user"] == [RULE, many, "And now?"]
    assert state_of(out).branch == "main"


def test_a_pass_whose_head_moved_is_made_again() -> None:
    memory = patient()
    node = MemoryNode(memory)
    graph = graph_of(memory, fine(), node=node)
    say(graph, RULE)
    looks = []
    look = node._look

    def racing(*args: Any) -> Any:
        found = look(*args)
        looks.append(found)
        if len(looks) == 1:
            memory.step(None, found.turn.model_copy(), thread="t")
        return found

    node._look = racing  # type: ignore[method-assign]
    out = say(graph, "And now?")
    assert [t for c, t in stored(memory) if c == "user"] == [RULE, "And now?"]
    assert state_of(out).branch == "main"


@pytest.mark.parametrize("build", BUILDERS)
def test_a_state_that_was_taken_out_of_its_channel_is_said(build: Any) -> None:
    graph = build(memory_of(), fine())
    say(graph, RULE)
    graph.update_state(CONFIG, {"ccs": {}})
    with pytest.raises(StateError, match="taken out"):
        say(graph, "And now?")


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("window", [1, 3, 99])
def test_a_client_that_posts_its_transcript_with_stable_ids_says_nothing_twice(
    window: int, build: Any
) -> None:
    memory, history = memory_of(), list[Any]()
    graph = build(memory, fine())
    texts = ("Never deploy on a Friday.", "The freeze is over.", "What is open?", "And now?")
    for number, text in enumerate(texts):
        history.append(HumanMessage(text, id=f"u{number}"))
        out = graph.invoke({"messages": history[-window:]}, CONFIG)
        history.append(out["messages"][-1])
    assert [t for c, t in stored(memory) if c == "user"] == list(texts)


def test_a_checkpoint_holds_the_state_compressed_and_a_damaged_one_is_told() -> None:
    memory, saver = memory_of(), InMemorySaver()
    agent = agent_of(memory, fine(), checkpointer=saver)
    say(agent, RULE)
    held = saver.get(CONFIG)["channel_values"]["ccs"]  # type: ignore[index]
    assert set(held) == {"hash", "owner", PACKED}
    assert unpacked(held) == agent.get_state(CONFIG).values["ccs"]
    with pytest.raises(StateError, match="damaged"):
        unpacked({**held, PACKED: b"no such thing"})


def test_a_long_message_is_read_to_its_end_and_then_leaves() -> None:
    memory, model = patient(), fine()
    agent = agent_of(memory, model)
    say(agent, "Where are we? " * 2_000)
    assert len(whole(model.prompts[-1])) > 20_000, "it is asked now"
    for text in ("And now?", "And then?"):
        say(agent, text)
    assert len(whole(model.prompts[-1])) < 8_000


def test_a_shadow_that_fails_stops_no_agent(caplog: pytest.LogCaptureFixture) -> None:
    for build in (MemoryMiddleware, MemoryNode):
        memory, model = memory_of(), fine()

        def away(*_: Any, **__: Any) -> Any:
            raise StoreError("away")

        memory.journal.append_and_commit = away  # type: ignore[method-assign]
        part = build(memory, mode="shadow")
        graph = (
            agent_of(memory, model, middleware=[part])
            if isinstance(part, MemoryMiddleware)
            else graph_of(memory, model, node=part)
        )
        assert say(graph, RULE)["messages"][-1].text == "Fine."
        assert "shadow mode does not work" in caplog.text
        caplog.clear()


@pytest.mark.parametrize("build", [agent_of, recorded_of])
@pytest.mark.parametrize("make", MEMORIES)
def test_an_answer_that_is_made_anew_takes_the_place_of_the_one_before(
    make: Any, build: Any
) -> None:
    memory, model = (
        make(),
        ScriptedChatModel(script=["Fine.", "A bad joke.", "A good joke.", "Ok."]),
    )
    graph = build(memory, model)
    say(graph, RULE)
    say(graph, "Tell me a joke.")
    before = next(each for each in graph.get_state_history(CONFIG) if "model" in "".join(each.next))
    graph.invoke(None, before.config)
    say(graph, "Thanks.")
    assert "A bad joke." not in whole(model.prompts[-1])
    assert whole(model.prompts[-1]).count("A good joke.") == 1
    (key,) = memory.threads()
    memory.flush(key)
    assert "A bad joke" not in str(memory.last_state(key).canonical())
    assert memory.journal.verify([memory.policy]).is_clean


@pytest.mark.parametrize("build", [agent_of, recorded_of])
@pytest.mark.parametrize("make", MEMORIES)
def test_the_users_last_words_are_edited_as_chat_interfaces_do(make: Any, build: Any) -> None:
    memory, model = make(), fine()
    graph = build(memory, model)
    say(graph, RULE)
    say(graph, "Never page Ann.")
    last = "Never page Ann."
    held = next(
        each for each in graph.get_state_history(CONFIG)
        if each.next and each.values["messages"][-1].text == last
    )  # fmt: skip
    edited = HumanMessage("Never page Bo.", id=held.values["messages"][-1].id)
    anew = graph.update_state(held.config, {"messages": [edited]}, as_node="__start__")
    graph.invoke(None, anew)
    out = say(graph, "And now?")
    assert "Ann" not in whole(model.prompts[-1])
    assert "Never page Bo." in whole(model.prompts[-1])
    memory.flush("t", branch=state_of(out).branch)
    new = memory.last_state("t", branch=state_of(out).branch)
    assert [rule.text_of for rule in new.constraints] == [RULE, "Never page Bo."]
    assert memory.journal.verify([memory.policy]).is_clean
