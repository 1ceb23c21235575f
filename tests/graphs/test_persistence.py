"""The reference graphs on every checkpointer: resumed, interrupted, forked and raced."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import runs as runs
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from servers import postgresql

from acc.controller.controller import MemoryController
from acc.state.proposal import read
from acc.testing.chat_model import ScriptedChatModel, call
from acc_graphs.deployment import open_checkpoints, prepare
from acc_graphs.react import build

Open = Callable[[], AbstractContextManager[Any]]
"""Opens the same checkpoints, again and again, as a process does that is started anew."""

SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgresql() as address:
        prepare(address)
        yield address


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=SLOW)])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "memory":
        kept = InMemorySaver()
        return lambda: nullcontext(kept)
    where = str(tmp_path / "checkpoints.sqlite")
    if request.param == "postgres":
        where = request.getfixturevalue("database")
    else:
        prepare(where)
    return lambda: open_checkpoints(where)


@pytest.fixture
def thread(request: pytest.FixtureRequest) -> str:
    """A thread of the test's own, on a database that others use too."""
    return str(request.node.name)


@tool
def restart(service: str) -> str:
    """Restart a service, once somebody has agreed."""
    agreed = interrupt(f"Restart {service}?")
    return f"{service} restarted" if agreed == "yes" else f"{service} left alone"


def restarting(prompt: list[BaseMessage]) -> AIMessage:
    if isinstance(prompt[-1], ToolMessage):
        return AIMessage(f"As agreed: {prompt[-1].text}.")
    if "restart" in str(prompt[-1].text).lower():
        return AIMessage("", tool_calls=[call("restart", service="checkout")])
    return AIMessage(f"Heard: {prompt[-1].text}")


class Agent:
    """The ReAct graph, opened anew for each thing that is done with it, on one memory."""

    def __init__(self, saver: Open, thread: str, folder: Path, **settings: Any) -> None:
        self.memory: MemoryController[Any] = MemoryController.open(folder, store="none", **settings)
        self.config = runs.config_of(thread)
        self._saver = saver
        self._thread = thread

    @contextmanager
    def open(self) -> Iterator[Any]:
        model = ScriptedChatModel(script=restarting)
        with self._saver() as checkpoints:
            yield build(model, [restart], self.memory, role="On call.", checkpointer=checkpoints)

    def say(self, said: str, config: Any = None) -> dict[str, Any]:
        """Say something. Checkpoints are written at once: another run that begins midway sees them."""
        with self.open() as graph:
            found: dict[str, Any] = graph.invoke(
                runs.given(said), config or self.config, durability="sync"
            )
        return found

    def state(self, out: dict[str, Any]) -> Any:
        return self.memory.policy.schema.load(out["ccs"])

    def texts(self, out: dict[str, Any]) -> list[str]:
        return [text for _, text in runs.observed(self.memory, out["ccs"], self._thread)]


def test_a_thread_goes_on_where_it_was_left_by_another_connection(
    saver: Open, thread: str, tmp_path: Path
) -> None:
    agent = Agent(saver, thread, tmp_path / "memory")
    for n in range(3):
        out = agent.say(f"Never touch shard-{n}.")
    heard = [
        t for n in range(3) for t in (f"Never touch shard-{n}.", f"Heard: Never touch shard-{n}.")
    ]
    assert agent.texts(out) == heard
    assert len(agent.state(out).constraints) == 3
    assert len(out["messages"]) == 4  # the last exchange and this one


@pytest.mark.parametrize(("answer", "came"), [("yes", "restarted"), ("no", "left alone")])
def test_an_interrupt_waits_for_another_process_and_resumes_once(
    saver: Open, thread: str, tmp_path: Path, answer: str, came: str
) -> None:
    agent = Agent(saver, thread, tmp_path / "memory")
    agent.say("Hello.")
    asked = agent.say("Please restart checkout.")
    assert asked["__interrupt__"][0].value == "Restart checkout?"
    with agent.open() as graph:
        out = graph.invoke(Command(resume=answer), agent.config)
    assert agent.texts(out) == [
        "Hello.", "Heard: Hello.", "Please restart checkout.",
        'restart({"service": "checkout"})', f"checkout {came}", f"As agreed: checkout {came}.",
    ]  # fmt: skip
    assert agent.state(out).branch == "main"


def test_an_interrupt_that_nobody_answers_is_passed_over_by_the_next_message(
    saver: Open, thread: str, tmp_path: Path
) -> None:
    agent = Agent(saver, thread, tmp_path / "memory")
    agent.say("Please restart checkout.")
    out = agent.say("Never mind. Hello?")
    asked, made, came, *rest = agent.texts(out)
    assert [asked, *rest] == [
        "Please restart checkout.", "Never mind. Hello?", "Heard: Never mind. Hello?",
    ]  # fmt: skip
    assert made == 'restart({"service": "checkout"})'
    assert "No result" in came


def test_a_fork_has_nothing_of_the_abandoned_future_even_once_it_has_outgrown_it(
    saver: Open, thread: str, tmp_path: Path
) -> None:
    agent = Agent(saver, thread, tmp_path / "memory")
    for n in range(4):
        first = agent.say(f"Question {n}?")
    with agent.open() as graph:
        past = next(
            s for s in graph.get_state_history(agent.config)
            if not s.next and s.values["ccs"]["turn"] == 2
        )  # fmt: skip
    shared = [t for n in range(2) for t in (f"Question {n}?", f"Heard: Question {n}?")]
    expected = shared
    for n in range(5):
        out = agent.say(f"Other {n}?", past.config if n == 0 else None)
        expected = [*expected, f"Other {n}?", f"Heard: Other {n}?"]
        assert agent.texts(out) == expected
    assert agent.state(out).branch != agent.state(first).branch
    assert agent.texts(first) == [
        t for n in range(4) for t in (f"Question {n}?", f"Heard: Question {n}?")
    ]


class Meeting:
    """A compressor that holds its first run with some words until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.go = threading.Event()

    def __call__(self, reading: Any) -> Any:
        if "One." in str(reading.messages) and not self.entered.is_set():
            self.entered.set()
            assert self.go.wait(30)
        return read({}, reading.policy.schema)


def test_of_two_invocations_at_once_in_two_processes_no_word_is_lost_or_doubled(
    saver: Open, thread: str, tmp_path: Path
) -> None:
    """The one whose commit comes too late finds its words committed."""
    meeting = Meeting()
    agent, other = (Agent(saver, thread, tmp_path / "memory", model=meeting) for _ in range(2))
    agent.say("Hello.")
    came: list[dict[str, Any]] = []
    first = threading.Thread(target=lambda: came.append(agent.say("One.")))
    first.start()
    assert meeting.entered.wait(30)
    out = other.say("Two.")
    meeting.go.set()
    first.join(30)
    assert agent.texts(out) == [
        "Hello.", "Heard: Hello.", "One.", "Two.", "Heard: Two.", "Heard: One.",
    ]  # fmt: skip
    assert came[0]["messages"][-1].text == "Heard: One."
    out = agent.say("Three.")
    assert agent.texts(out)[-2:] == ["Three.", "Heard: Three."]
