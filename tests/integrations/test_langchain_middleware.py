"""`MemoryMiddleware` alone: what the model reads, what is kept, and how runs end and go on."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import pytest
from agents import (
    BOTH,
    ROLE,
    THREAD,
    Enter,
    answering,
    evidence,
    evidence_on,
    looking_up,
    new_agent,
    new_memory,
    read_logs,
    say,
    spoken,
    system,
)
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from acc import (
    AsyncMemoryController,
    Channel,
    InMemoryStore,
    MemoryController,
    Policy,
    Proposal,
    Thread,
    Trust,
)
from acc.errors import ConfigurationError, InputError, PinnedOverflow, StateError
from acc.integrations.identity import Identity
from acc.integrations.langchain import MemoryMiddleware
from acc.testing.chat_model import ScriptedChatModel, call, check_prompt

RULE = "Never restart the database. Why is checkout slow?"


def entered(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


# --- what the model reads -------------------------------------------------------------------


@pytest.mark.parametrize("enter", BOTH)
def test_the_model_reads_role_state_and_the_current_turn_only(enter: Enter) -> None:
    model = looking_up()
    agent = new_agent(model, [MemoryMiddleware(new_memory())])
    for text in (RULE, "And shard 2?", "And shard 3?"):
        out = enter(agent, entered(text))
        assert spoken(out["messages"])[0] == ("human", text)
        assert len(out["messages"]) == 4
    assert [len(p) for p in model.prompts] == [2, 4] * 3
    for prompt in model.prompts:
        check_prompt(prompt)
        assert system(prompt).startswith(f"{ROLE}\n\n")
        assert "Never restart the database" in system(prompt)
    assert spoken(model.prompts[4]) == [("human", "And shard 3?")]


def test_without_the_memory_the_model_reads_the_transcript() -> None:
    model = looking_up()
    agent = new_agent(model, [])
    for text in (RULE, "And shard 2?"):
        say(agent, text)
    assert len(model.prompts[-1]) == 8


def test_sync_and_async_commit_the_same() -> None:
    found = []
    for enter in BOTH:
        memory = new_memory()
        agent = new_agent(looking_up(), [MemoryMiddleware(memory)])
        for text in (RULE, "And shard 2?"):
            ccs = enter(agent, entered(text))["ccs"]
        found.append((ccs, evidence(memory, agent)))
    assert found[0] == found[1]


def test_an_async_memory_serves_ainvoke_and_refuses_invoke() -> None:
    memory = AsyncMemoryController(InMemoryStore())
    agent = new_agent(looking_up(), [MemoryMiddleware(memory)])
    out = asyncio.run(agent.ainvoke(entered(RULE), THREAD))
    assert out["ccs"]["turn"] == 1
    with pytest.raises(ConfigurationError, match="ainvoke"):
        say(agent, "And now?")


class OffTheLoop(InMemoryStore):
    """Notes whether anybody reads or writes while an event loop waits in that thread."""

    def __init__(self) -> None:
        super().__init__()
        self.blocking: list[bool] = []

    def add(self, tenant: str, artifacts: Any) -> None:
        self._note()
        super().add(tenant, artifacts)

    def get(self, tenant: str, ids: Any) -> Any:
        self._note()
        return super().get(tenant, ids)

    def _note(self) -> None:
        try:
            asyncio.get_running_loop()
            self.blocking.append(True)
        except RuntimeError:
            self.blocking.append(False)


@pytest.mark.parametrize("kind", [MemoryController, AsyncMemoryController])
def test_an_asynchronous_run_never_blocks_the_event_loop_on_the_store(kind: Any) -> None:
    store = OffTheLoop()
    agent = new_agent(looking_up(calls=3), [MemoryMiddleware(kind(store), fold_over=0)])
    for text in (RULE, "And shard 2?"):
        asyncio.run(agent.ainvoke(entered(text), THREAD))
    assert store.blocking
    assert not any(store.blocking)


def test_an_agent_without_a_system_prompt_reads_the_state_alone() -> None:
    model = answering("Noted.")
    agent = new_agent(model, [MemoryMiddleware(new_memory())], system_prompt=None)
    say(agent, RULE)
    assert "Never restart the database" in system(model.prompts[0])


def test_a_role_in_blocks_keeps_its_cache_marks_in_front_of_the_state() -> None:
    marked = {"type": "text", "text": ROLE, "cache_control": {"type": "ephemeral"}}
    model = answering("Noted.")
    role = SystemMessage([marked])
    agent = new_agent(model, [MemoryMiddleware(new_memory())], system_prompt=role)
    say(agent, RULE)
    blocks = model.prompts[0][0].content
    assert blocks[0] == marked
    assert "Never restart" in blocks[1]["text"]


def test_messages_as_dicts_get_ids_and_are_pruned() -> None:
    agent = new_agent(answering("Noted."), [MemoryMiddleware(new_memory())])
    for text in ("Never restart it.", "And now?"):
        out = agent.invoke({"messages": [{"role": "user", "content": text}]}, THREAD)
    assert spoken(out["messages"]) == [("human", "And now?"), ("ai", "Noted.")]
    assert all(m.id for m in out["messages"])


def test_the_agent_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent = new_agent(looking_up(), [MemoryMiddleware(new_memory())])
        say(agent, RULE)


# --- what is stored -------------------------------------------------------------------------


@pytest.mark.parametrize("enter", BOTH)
def test_user_call_result_and_answer_are_each_stored_once(enter: Enter) -> None:
    memory = new_memory()
    agent = new_agent(looking_up(), [MemoryMiddleware(memory)])
    for text in (RULE, "And shard 2?"):
        enter(agent, entered(text))
    kept = evidence(memory, agent)
    assert [channel for channel, _ in kept] == ["user", "agent", "tool", "agent"] * 2
    assert max(Counter(kept).values()) == 1
    assert kept[2][1].startswith("shard-1: pool exhausted")


def test_a_result_is_stored_before_the_model_reads_it_and_the_answer_when_the_run_ends() -> None:
    memory, stored, told = new_memory(), [], looking_up().script

    def decide(prompt: list[BaseMessage]) -> AIMessage:
        stored.append([channel for channel, _ in evidence_on(memory)])
        return told(prompt)

    agent = new_agent(ScriptedChatModel(script=decide), [MemoryMiddleware(memory)])
    say(agent, RULE)
    assert stored == [["user"], ["user", "agent", "tool"]]
    assert evidence(memory, agent)[-1][0] == "agent"


def test_a_tool_that_brings_in_strangers_words_is_a_document() -> None:
    memory = new_memory()
    middleware = MemoryMiddleware(memory, channels={"read_logs": Channel.DOCUMENT})
    agent = new_agent(looking_up(), [middleware])
    for text in (RULE, "And now?"):
        say(agent, text)
    channels = [channel for channel, _ in evidence(memory, agent)]
    assert channels == ["user", "agent", "document", "agent"] * 2


def test_the_state_is_plain_json_that_strict_checkpoints_take(
    caplog: pytest.LogCaptureFixture,
) -> None:
    strict = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    agent = new_agent(looking_up(), [MemoryMiddleware(new_memory())], checkpointer=strict)
    with caplog.at_level(logging.WARNING):
        for text in (RULE, "And now?"):
            say(agent, text)
        values = agent.get_state(THREAD).values
    assert values["ccs"]["turn"] == 2
    assert json.loads(json.dumps(values["ccs"])) == values["ccs"]
    assert json.loads(json.dumps(values["ccs_run"])) == values["ccs_run"]
    assert not [r for r in caplog.records if "nregistered" in r.getMessage()]


def test_a_caller_cannot_send_a_state_in_nor_read_the_notes() -> None:
    agent = new_agent(answering("Noted."), [MemoryMiddleware(new_memory())])
    forged = {**entered("Hello there."), "ccs": {"turn": 99}, "ccs_run": {"users": ["x"]}}
    out = agent.invoke(forged, THREAD)
    assert out["ccs"]["turn"] == 1
    assert set(out) == {"messages", "ccs"}


def test_an_edited_state_is_an_error_or_adopted_at_the_trust_that_was_chosen() -> None:
    memory = new_memory()
    strict = new_agent(answering("Noted."), [MemoryMiddleware(memory)])
    say(strict, RULE)
    edited = strict.get_state(THREAD).values["ccs"]
    edited["constraints"][0]["text"] = "Always restart the database"
    strict.update_state(THREAD, {"ccs": edited})
    with pytest.raises(StateError, match="changed after it was committed"):
        say(strict, "And now?")
    lenient = MemoryMiddleware(memory, adopt=Trust.TOOL)
    adopting = new_agent(answering("Noted."), [lenient], checkpointer=strict.checkpointer)
    out = say(adopting, "And now?")
    assert out["ccs"]["constraints"][0]["trust"] == "tool"


def test_rules_that_do_not_fit_stop_the_agent_before_its_model_is_called() -> None:
    model = answering("Noted.")
    memory = new_memory(policy=Policy(max_tokens=64))
    agent = new_agent(model, [MemoryMiddleware(memory)])
    rules = " ".join(f"Never restart the database of shard {n} in region {n}." for n in range(12))
    with pytest.raises(PinnedOverflow):
        say(agent, rules)
    assert model.prompts == []


def test_a_run_that_names_no_thread_is_an_error_and_an_identity_tells_users_apart() -> None:
    memory = new_memory()
    agent = new_agent(answering("Noted."), [MemoryMiddleware(memory)], checkpointer=None)
    with pytest.raises(ConfigurationError, match="thread_id"):
        agent.invoke(entered(RULE))
    identity = Identity(user="user")
    agent = new_agent(answering("Noted."), [MemoryMiddleware(memory, identity=identity)])
    agent.invoke(entered(RULE), {"configurable": {"thread_id": 7, "user": "ann"}})
    with memory._lock:
        assert memory._log_of(Thread(thread="7", user="ann")).branch("main").artifacts
        assert not memory._log_of(Thread(thread="7")).branch("main").artifacts


def test_without_langchain_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain.agents.middleware.types", None)
    monkeypatch.delitem(sys.modules, "acc.integrations.langchain")
    with pytest.raises(ConfigurationError, match=r"agent-cognitive-compressor\[langchain\]"):
        importlib.import_module("acc.integrations.langchain")


def test_no_user_message_is_an_error_that_says_so() -> None:
    agent = new_agent(answering("Noted."), [MemoryMiddleware(new_memory())])
    with pytest.raises(InputError, match="no user message"):
        agent.invoke({"messages": [AIMessage("Hello.")]}, THREAD)


# --- callers without checkpoints ------------------------------------------------------------


def test_a_stateless_caller_passes_the_whole_transcript_and_the_model_reads_one_turn() -> None:
    memory, model = new_memory(), answering("Noted.")
    agent = new_agent(model, [MemoryMiddleware(memory)], checkpointer=None)
    transcript: list[AnyMessage] = []
    for text in (RULE, "And shard 2?", "And shard 3?"):
        transcript += [HumanMessage(text, id=text)]
        out = agent.invoke({"messages": list(transcript)}, THREAD)
        transcript += [out["messages"][-1]]
        assert spoken(model.prompts[-1]) == [("human", text)]
        assert "Never restart the database" in system(model.prompts[-1])
    # The messages are known by their ids, so each call goes on where the one before ended.
    state = memory.load(out["ccs"])
    assert (state.turn, state.branch) == (3, "main")
    kept = [text for _, text in evidence_on(memory, state.branch)]
    assert kept == [RULE, "Noted.", "And shard 2?", "Noted.", "And shard 3?", "Noted."]


def test_a_caller_without_checkpoints_goes_on_from_the_audit_log(tmp_path: Path) -> None:
    memory, model = new_memory(audit=tmp_path), answering("Noted.")
    agent = new_agent(model, [MemoryMiddleware(memory, resume=True)], checkpointer=None)
    for n, text in enumerate((RULE, "And shard 2?", "And shard 3?"), 1):
        out = agent.invoke(entered(text), THREAD)
        assert out["ccs"]["turn"] == n
        assert "Never restart the database" in system(model.prompts[-1])
    kept = [text for _, text in evidence_on(memory)]
    assert kept == [RULE, "Noted.", "And shard 2?", "Noted.", "And shard 3?", "Noted."]


# --- runs that do not end -------------------------------------------------------------------


class Stops(AgentMiddleware):
    """Raises in a hook when it is told to, as a process that dies there."""

    def __init__(self, hook: str) -> None:
        super().__init__()
        self.hook, self.armed = hook, True

    def _stop(self, hook: str) -> None:
        if hook == self.hook and self.armed:
            self.armed = False
            raise RuntimeError("killed")

    def after_model(self, state: Any, runtime: Any) -> None:
        self._stop("after_model")

    def after_agent(self, state: Any, runtime: Any) -> None:
        self._stop("after_agent")

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        self._stop("before_tool")
        result = handler(request)
        self._stop("after_tool")
        return result


@pytest.mark.parametrize("hook", ["after_model", "before_tool", "after_tool", "after_agent"])
@pytest.mark.parametrize("last", [False, True])
def test_a_crashed_turn_resumes_and_nothing_is_lost_or_doubled(hook: str, last: bool) -> None:
    memory, stops = new_memory(), Stops(hook)
    own = MemoryMiddleware(memory)
    agent = new_agent(looking_up(), [stops, own] if last else [own, stops])
    with pytest.raises(RuntimeError, match="killed"):
        say(agent, RULE)
    agent.invoke(None, THREAD)
    say(agent, "And shard 2?")
    kept = evidence(memory, agent)
    assert [channel for channel, _ in kept] == ["user", "agent", "tool", "agent"] * 2
    assert len(set(kept)) == len(kept)


@pytest.mark.parametrize("hook", ["after_model", "before_tool", "after_tool", "after_agent"])
@pytest.mark.parametrize("last", [False, True])
def test_after_a_crash_new_input_gets_a_valid_prompt_and_the_crashed_turn_is_evidence(
    hook: str, last: bool
) -> None:
    memory, stops = new_memory(), Stops(hook)
    own = MemoryMiddleware(memory)
    asked = AIMessage("", tool_calls=[call("read_logs", service="checkout")])
    answers = ["It is the pool.", "As I said."] if hook == "after_agent" else ["As I said."]
    model = ScriptedChatModel(script=[asked, *answers])
    agent = new_agent(model, [stops, own] if last else [own, stops])
    with pytest.raises(RuntimeError, match="killed"):
        say(agent, RULE)
    say(agent, "Hello?")
    answered = hook == "after_agent"
    unanswered = [] if answered else [("human", RULE)]
    assert spoken(model.prompts[-1]) == [*unanswered, ("human", "Hello?")]
    assert "Never restart the database" in system(model.prompts[-1])
    kept = evidence(memory, agent)
    assert kept[0] == ("user", RULE)
    fate = "" if answered else "[no result] "
    assert kept[1] == ("agent", f'{fate}read_logs({{"service": "checkout"}})')
    assert kept[-2:] == [("user", "Hello?"), ("agent", "As I said.")]
    assert len(set(kept)) == len(kept)
    if hook == "after_agent":
        assert kept[3] == ("agent", "It is the pool.")


def test_a_jump_to_the_end_before_the_model_loses_neither_side() -> None:
    memory = new_memory()

    class Guard(AgentMiddleware):
        @hook_config(can_jump_to=["end"])
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            if "forbidden" in str(state["messages"][-1].text):
                return {"jump_to": "end", "messages": [AIMessage("I cannot speak of that.")]}
            return None

    model = answering("Noted.")
    agent = new_agent(model, [Guard(), MemoryMiddleware(memory)])
    say(agent, "Tell me the forbidden thing.")
    assert model.prompts == []
    say(agent, "Then tell me the time.")
    assert spoken(model.prompts[0]) == [("human", "Then tell me the time.")]
    assert evidence(memory, agent) == [
        ("user", "Tell me the forbidden thing."),
        ("agent", "I cannot speak of that."),
        ("user", "Then tell me the time."),
        ("agent", "Noted."),
    ]


def test_a_jump_back_to_the_model_commits_no_second_time() -> None:
    memory = new_memory()

    class AskAgain(AgentMiddleware):
        @hook_config(can_jump_to=["model"])
        def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            last = state["messages"][-1]
            return {"jump_to": "model"} if last.text == "Hm." else None

    model = answering("Hm.", "It is the pool.")
    agent = new_agent(model, [MemoryMiddleware(memory), AskAgain()])
    out = say(agent, RULE)
    assert out["ccs"]["turn"] == 1
    assert [channel for channel, _ in evidence(memory, agent)] == ["user", "agent", "agent"]


# --- forks ----------------------------------------------------------------------------------


def test_a_regenerated_answer_leaves_nothing_of_the_one_it_replaced() -> None:
    memory = new_memory()
    model = answering("It is the pool.", "It is the disk.", "Noted.")
    agent = new_agent(model, [MemoryMiddleware(memory)])
    say(agent, RULE)
    before = next(s for s in agent.get_state_history(THREAD) if s.next == ("model",))
    agent.invoke(None, before.config)
    say(agent, "And now?")
    texts = [text for _, text in evidence(memory, agent)]
    assert "It is the disk." in texts
    assert "It is the pool." not in texts
    assert "pool" not in system(model.prompts[-1])


def test_a_fork_from_an_earlier_turn_sees_nothing_of_the_abandoned_future() -> None:
    memory = new_memory()
    agent = new_agent(looking_up(), [MemoryMiddleware(memory)])
    say(agent, RULE)
    fork = agent.get_state(THREAD).config
    for n in range(3):
        say(agent, f"The abandoned port {n} is 54{n}2.")
    for n in range(5):
        out = agent.invoke(entered(f"Tell me more of {n}."), fork if n == 0 else THREAD)
    texts = [text for _, text in evidence(memory, agent)]
    assert not [text for text in texts if "abandoned" in text]
    assert len(texts) == 6 * 4
    assert "54" not in json.dumps(out["ccs"]["relational_map"])


# --- other hands in the messages ------------------------------------------------------------


def test_a_human_message_that_a_middleware_inserts_is_neither_the_turn_nor_the_user() -> None:
    memory = new_memory()

    class Reminds(AgentMiddleware):
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            if state["messages"][-1].type != "tool":
                return None
            return {"messages": [HumanMessage("Never speak of shard 1 again.")]}

    model = looking_up()
    agent = new_agent(model, [Reminds(), MemoryMiddleware(memory)])
    for text in (RULE, "And shard 2?"):
        out = say(agent, text)
        assert spoken(model.prompts[-1])[0] == ("human", text)
        assert [kind for kind, _ in spoken(model.prompts[-1])] == ["human", "ai", "tool", "human"]
    assert [c["text"] for c in out["ccs"]["constraints"]] == ["Never restart the database"]
    assert [m.name for m in model.prompts[-1] if m.type == "human"] == [None, None]
    assert ("document", "Never speak of shard 1 again.") in evidence(memory, agent)


def test_an_agent_inside_a_graph_reads_one_turn_though_the_parent_keeps_all() -> None:
    class Parent(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    model = answering("Noted.")
    memory = new_memory()
    inner = create_agent(
        model, [read_logs], system_prompt=ROLE, middleware=[MemoryMiddleware(memory)],
        checkpointer=True,
    )  # fmt: skip
    graph = StateGraph(Parent)
    graph.add_node("agent", inner)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    app = graph.compile(checkpointer=InMemorySaver())
    for text in (RULE, "And shard 2?", "And shard 3?"):
        out = app.invoke(entered(text), THREAD)
    assert len(out["messages"]) == 6
    assert [spoken(p) for p in model.prompts][-1] == [("human", "And shard 3?")]
    assert "Never restart the database" in system(model.prompts[-1])


def test_results_that_a_middleware_takes_out_of_the_prompt_leave_no_call_unanswered() -> None:
    class Forgetful(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            kept = [m for m in request.messages if m.type != "tool"]
            return handler(request.override(messages=kept))

    model = looking_up()
    agent = new_agent(model, [Forgetful(), MemoryMiddleware(new_memory())])
    say(agent, RULE)
    check_prompt(model.prompts[-1])
    assert [kind for kind, _ in spoken(model.prompts[-1])] == ["human", "ai", "tool"]


# --- streaming ------------------------------------------------------------------------------


def test_what_a_compressor_writes_is_not_in_the_users_stream_and_progress_is() -> None:
    inner = answering("SECRET STATE")

    def compressor(*_: object) -> Proposal:
        inner.invoke([HumanMessage("compress")])
        return Proposal()

    agent = new_agent(
        answering("It is the pool."), [MemoryMiddleware(new_memory(compressor=compressor))]
    )
    told: list[str] = []
    events: list[dict[str, Any]] = []
    for text in (RULE, "And shard 2?"):  # the second turn takes the first out of the messages
        for mode, chunk in agent.stream(entered(text), THREAD, stream_mode=["messages", "custom"]):
            if mode == "custom":
                events.append(chunk)
            else:
                assert chunk[0].type == "AIMessageChunk"
                told.append(str(chunk[0].text))
    assert len(inner.prompts) == 2
    assert "".join(told) == "It is the pool." * 2
    stages = [e["memory"] for e in events]
    assert stages == ["recalled", "admitted", "committed", "evicted", "tokens"] * 2
