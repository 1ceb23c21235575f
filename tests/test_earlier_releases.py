"""What commit 6df6913 wrote is opened, verified and gone on with; the names it is stored under stay.

The archives below ``tests/fixtures/written_by_6df6913`` were written by the code of that commit
(``write.py`` there), and each holds what that code said of its threads (``expected.json``).
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, interrupt

from acc import InMemoryStore, MemoryController, Policy, Settings, Thread, Turn
from acc.cli import run
from acc.integrations.langchain import MemoryMiddleware
from acc.schema.catalog import published, schema_named
from acc.testing.chat_model import ScriptedChatModel
from acc_graphs import react

ARCHIVES = Path(__file__).parent / "fixtures" / "written_by_6df6913"

NAMES = {
    "generic": "acc.state.model:CompressedCognitiveState",
    "it_operations": "acc_schemas.it_operations:ITOperationsState",
    "cybersecurity": "acc_schemas.cybersecurity:CybersecurityState",
    "healthcare_operations": "acc_schemas.healthcare_operations:HealthcareOperationsState",
    "finance": "acc_schemas.finance:FinanceState",
    "software_engineering": "acc_schemas.software_engineering:SoftwareEngineeringState",
    "planning": "acc_schemas.planning:PlanningState",
}
"""What an audit record calls each published schema: `acc verify` imports it by that name. A class that is
moved keeps its earlier names in `acc.schema.catalog`."""

EARLIER_NAMES = {**NAMES, "generic": "acc.state:CompressedCognitiveState"}
"""What the records of commit 6df6913 call them."""

FINGERPRINTS = {
    "generic": "0ae2bbcc911c0a26",
    "it_operations": "ae17f3422c588a66",
    "cybersecurity": "b17d6fa32b8ab53b",
    "healthcare_operations": "2068ead373767544",
    "finance": "74c99ce00366b95a",
    "software_engineering": "f6ee637cff0aa9fd",
    "planning": "db6cd9e5b4eb16aa",
}
"""Of each schema's default policy. It covers the name of the class, its slots with their rules and guidance,
and the names, fields and docstrings of the items (`Channel` and `Trust` among them). A record of another
fingerprint cannot be recomputed: change none of these without a way to verify what was written before."""

EARLIER_LAWS = {"cybersecurity": 1, "it_operations": 2, "planning": 2, "software_engineering": 1}
"""Commits of each log that today's laws would make otherwise (`acc.commit.commit.LAWS`). Two of them lowered a label
of a finding or a check without the note that version 5 adds. One gave the user's trust to a service's health, of
which a tool had reported a part (version 6)."""


class Left(NamedTuple):
    """What an archive held.

    Attributes:
        root: Where it was unpacked.
        threads: What the old code said of each thread, by the thread's name.
        main: What it said of the branch that the fork left, in the memory folder.
    """

    root: Path
    threads: dict[str, dict[str, Any]]
    main: dict[str, Any]

    @property
    def memory(self) -> Path:
        """The memory's folder."""
        return self.root / "memory"

    def thread(self, name: str) -> Thread:
        """The thread of that name."""
        return Thread(**self.threads[name]["thread"])


def unpacked(name: str, root: Path) -> Left:
    """The archive of that name, unpacked in ``root``."""
    with tarfile.open(ARCHIVES / f"{name}.tar.xz") as tar:
        tar.extractall(root, filter="data")
    told = json.loads((root / "expected.json").read_text(encoding="utf-8"))
    threads = {each["thread"]["thread"]: each for each in told["threads"]}
    return Left(root, threads, told.get("main", {}))


@pytest.fixture
def folder(tmp_path: Path) -> Left:
    """A memory folder of embedded Chroma."""
    return unpacked("folder", tmp_path)


@pytest.fixture
def logs(tmp_path: Path) -> Left:
    """Audit logs of every published schema, without a store."""
    return unpacked("audit_logs", tmp_path)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Left:
    """Checkpoints in SQLite, and the memory of their threads."""
    return unpacked("checkpoints", tmp_path)


def verified(memory: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    """What ``acc verify`` tells of each thread by its name; it has to pass."""
    capsys.readouterr()
    assert run(["verify", "--memory", str(memory), "--json"]) == 0
    return {each["thread"]: each for each in json.loads(capsys.readouterr().out)}


def told(state: Any) -> dict[str, Any]:
    """What ``expected.json`` tells of a state."""
    return {
        "hash": state.hash,
        "schema": state.schema_name,
        "policy": state.policy,
        "turn": state.turn,
        "branch": state.branch,
        "rules": [rule.text for rule in state.constraints],
        "goals": [goal.text for goal in state.goal_orientation],
        "pending": [each.text for each in state.pending],
        # The fixtures were rendered before a fact's status said "by tool".
        "rendered": state.render().replace(",by tool", ",observed"),
    }


def expected(entry: dict[str, Any]) -> dict[str, Any]:
    """The same of ``expected.json``."""
    return {name: value for name, value in entry.items() if name != "thread"}


def rules_of(memory: MemoryController, thread: Thread) -> list[str]:
    """Rules of the thread's newest state."""
    state = memory.last_state(thread)
    assert state is not None
    return [rule.text for rule in state.constraints]


def policies_in(log: Path) -> set[tuple[str, str]]:
    """The name of the schema and the fingerprint of the policy in each record of a log."""
    lines = log.read_text(encoding="utf-8").splitlines()
    policies = [json.loads(line)["policy"] for line in lines]
    return {(policy["schema"], policy["fingerprint"]) for policy in policies}


# Audit logs


def test_audit_logs_of_every_schema_verify(logs: Left, capsys: pytest.CaptureFixture[str]) -> None:
    found = verified(logs.memory, capsys)
    assert found.keys() == logs.threads.keys() == NAMES.keys()
    for name, each in found.items():
        assert each["state"] == logs.threads[name]["hash"]
        assert each["commits"] == logs.threads[name]["turn"]
        assert (each["redacted"], each["torn_bytes"]) == (0, 0)
        assert each["earlier_laws"] == EARLIER_LAWS.get(name, 0)
        assert policies_in(Path(each["log"])) == {
            (EARLIER_NAMES[name], logs.threads[name]["policy"])
        }


@pytest.mark.parametrize("name", NAMES)
def test_the_state_of_each_schemas_log_loads_and_goes_on(
    name: str, logs: Left, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = Policy(schema=schema_named(EARLIER_NAMES[name]))
    if name == "generic":
        policy = Policy(max_tokens=320, style="predicates")
    memory = MemoryController(
        InMemoryStore(), settings=Settings(policy=policy, audit=logs.memory / "audit")
    )
    thread, entry = logs.thread(name), logs.threads[name]
    state = memory.last_state(thread)
    assert type(state) is policy.schema
    assert told(state) == expected(entry)
    rule = "Answer in German"
    after = memory.step(state, Turn.said(f"{rule}."), thread=thread).state
    assert after.parent == state.hash
    assert [r.text for r in after.constraints] == [*entry["rules"], rule]
    found = verified(logs.memory, capsys)[name]
    assert (found["state"], found["commits"]) == (after.hash, entry["turn"] + 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_new_record_names_its_schema_and_its_policy_as_before(name: str, tmp_path: Path) -> None:
    policy = Policy(schema=schema_named(NAMES[name]))
    memory = MemoryController(InMemoryStore(), settings=Settings(policy=policy, audit=tmp_path))
    state = memory.step(None, Turn.said("Answer in German."), thread="t").state
    (log,) = tmp_path.glob("*.jsonl")
    assert policies_in(log) == {(NAMES[name], FINGERPRINTS[name])}
    assert state.policy == FINGERPRINTS[name]
    assert state.schema_name == NAMES[name].partition(":")[2]


def test_every_published_schema_is_held_to_its_name() -> None:
    assert {name: entry.value for name, entry in published().items()} == NAMES


# A memory folder


def test_a_memory_folder_verifies_and_its_threads_stand_where_they_stopped(
    folder: Left, capsys: pytest.CaptureFixture[str]
) -> None:
    found = verified(folder.memory, capsys)
    assert {name: each["state"] for name, each in found.items()} == {
        name: each["hash"] for name, each in folder.threads.items()
    }
    counts = {n: (each["commits"], each["redacted"]) for n, each in found.items()}
    assert counts == {"inc-1": (4, 0), "inc-2": (4, 0), "inc-3": (4, 1)}
    earlier = {name: each["earlier_laws"] for name, each in found.items()}
    assert earlier == {"inc-1": 0, "inc-2": 1, "inc-3": 0}  # an operator's act (version 7)
    with MemoryController.open(folder.memory) as memory:
        for name, entry in folder.threads.items():
            assert told(memory.last_state(folder.thread(name))) == expected(entry)


def test_a_damaged_index_of_a_memory_folder_changes_nothing(
    folder: Left, capsys: pytest.CaptureFixture[str]
) -> None:
    (header,) = folder.memory.glob("*/header.bin")
    header.write_bytes(header.read_bytes()[:30])
    (header.parent / "index_metadata.pickle").write_bytes(b"")
    ana = folder.thread("inc-1")
    with MemoryController.open(folder.memory) as memory:
        step = memory.step(memory.last_state(ana), Turn.said("Is checkout well?"), thread=ana)
    assert not list(folder.memory.glob("*/header.bin"))
    assert verified(folder.memory, capsys)["inc-1"]["state"] == step.state.hash


def test_the_threads_of_a_memory_folder_go_on(
    folder: Left, capsys: pytest.CaptureFixture[str]
) -> None:
    ana, ben, gone = map(folder.thread, ("inc-1", "inc-2", "inc-3"))
    with MemoryController.open(folder.memory) as memory:
        fork = memory.last_state(ana)
        audit = memory._audit_of(ana)
        assert fork is not None
        assert audit is not None
        states = {r["state"]["hash"]: r["state"] for r in audit.records()}
        main = memory.load(states[folder.main["hash"]])
        assert told(main) == expected(folder.main)

        asked = Turn.said("What do I do when the pool of checkout is exhausted?")
        step = memory.step(fork, asked, thread=ana)
        assert step.state.branch == folder.threads["inc-1"]["branch"]
        assert [r.text for r in step.state.constraints] == folder.threads["inc-1"]["rules"]
        assert any("raise pool_size to 120" in e.text for e in step.evidence)
        again = memory.step(main, Turn.said("You may close the ticket."), thread=ana).state
        assert (again.branch, again.parent) == ("main", main.hash)

        state = memory.last_state(ben)
        assert state is not None
        read = memory.step(state, Turn.said("Thank you."), thread=ben)
        assert read.state.pending == ()
        assert read.turn.observations[0].text == "I have paged the owner, Quentin."
        assert [o.text for o in read.turn.pending] == folder.threads["inc-2"]["pending"]
        assert rules_of(memory, ben) == folder.threads["inc-2"]["rules"]

        last = memory.last_state(gone)
        begun = memory.step(last, Turn.said("And 4713?"), thread=gone)
        assert begun.recovered
        assert "Is invoice 4712 overdue?" in [o.text for o in begun.turn.observations]
    found = verified(folder.memory, capsys)
    assert {n: each["commits"] for n, each in found.items()} == {"inc-1": 6, "inc-2": 5, "inc-3": 5}


def test_a_user_of_a_memory_folder_is_erased_and_nobody_else(
    folder: Left, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["erase", "--user", "ben", "--yes", "--memory", str(folder.memory)]) == 0
    assert verified(folder.memory, capsys).keys() == {"inc-1"}
    files = [path.read_bytes() for path in folder.memory.rglob("*") if path.is_file()]
    assert not [body for body in files if b"invoice" in body or b"Quentin" in body]
    assert any(b"pool_size" in body for body in files)
    with MemoryController.open(folder.memory) as memory:
        assert rules_of(memory, folder.thread("inc-1")) == folder.threads["inc-1"]["rules"]


def test_an_exported_user_is_imported_and_verifies(
    folder: Left, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    assert run(["import", str(folder.root / "ana.jsonl"), "--memory", str(other)]) == 0
    found = verified(other, capsys)
    assert {n: each["state"] for n, each in found.items()} == {
        "inc-1": folder.threads["inc-1"]["hash"]
    }
    assert run(["search", "pool_size", "--user", "ana", "--memory", str(other)]) == 0
    assert "runbook.md" in capsys.readouterr().out


# Checkpoints


@tool
def read_logs(service: str) -> str:
    """The last lines of a service's log."""
    return f"{service}: pool exhausted at 12:04, 60 of 60 in use"


@tool
def drain(node: str) -> str:
    """Drain a node, once a human says yes."""
    return f"{node}: {interrupt(f'Drain {node}?')}"


@tool
def fail_over(node: str) -> str:
    """Fail over to a node."""
    return f"{node} is the primary now"


def graph_of(memory: MemoryController, model: ScriptedChatModel, saver: SqliteSaver) -> Any:
    """The ReAct graph with a `MemoryNode`, as it was when its checkpoints were written."""
    tools = [read_logs, drain]
    return react.build(model, tools, memory, role="You are on call.", checkpointer=saver)


def agent_of(memory: MemoryController, model: ScriptedChatModel, saver: SqliteSaver) -> Any:
    """The agent with `MemoryMiddleware`, likewise."""
    reviewed = HumanInTheLoopMiddleware(interrupt_on={"fail_over": True})
    return create_agent(
        model, [read_logs, fail_over], system_prompt="You are on call.",
        middleware=[reviewed, MemoryMiddleware(memory)], checkpointer=saver,
    )  # fmt: skip


BUILDERS = {"graph": graph_of, "agent": agent_of}

RESUMED: dict[str, tuple[Any, str]] = {
    "graph-asking": (Command(resume="yes"), "node-7: yes"),
    "agent-asking": (
        Command(resume={"decisions": [{"type": "approve"}]}),
        "node-8 is the primary now",
    ),
    "graph-stopped": (None, "Do what helps."),
    "agent-stopped": (None, "Do what helps."),
}
"""How a run that stopped in the middle goes on, and the last message that the model then reads."""


@pytest.fixture
def saver(checkpoints: Left) -> Iterator[SqliteSaver]:
    """The checkpointer of the old checkpoints."""
    with SqliteSaver.from_conn_string(str(checkpoints.root / "checkpoints.sqlite")) as opened:
        yield opened


@pytest.mark.parametrize("name", ["graph-ended", "agent-ended", *RESUMED])
def test_a_checkpointed_graph_goes_on_with_its_rules(
    name: str, checkpoints: Left, saver: SqliteSaver, capsys: pytest.CaptureFixture[str]
) -> None:
    config: Any = {"configurable": {"thread_id": name}}
    model = ScriptedChatModel(script=lambda _: AIMessage("The pool is exhausted."))
    entry, thread = checkpoints.threads[name], checkpoints.thread(name)
    with MemoryController.open(checkpoints.memory) as memory:
        graph = BUILDERS[name.partition("-")[0]](memory, model, saver)
        assert told(memory.load(graph.get_state(config).values["ccs"])) == expected(entry)
        if name in RESUMED:
            given, last = RESUMED[name]
            graph.invoke(given, config)
            assert model.prompts[-1][-1].text == last
        out = graph.invoke({"messages": [HumanMessage("And now?", id="h2")]}, config)
        assert [m.text for m in out["messages"] if m.type == "human"] == ["And now?"]
        for prompt in model.prompts:
            assert all(rule in system_of(prompt) for rule in entry["rules"])
        assert out["ccs"]["turn"] == 3
        assert memory.load(out["ccs"]) == memory.last_state(thread)
        assert rules_of(memory, thread) == entry["rules"]
    found = verified(checkpoints.memory, capsys)
    assert found.keys() == checkpoints.threads.keys()
    assert found[name]["commits"] == 3


def system_of(prompt: list[BaseMessage]) -> str:
    """The text of a prompt's system message."""
    assert prompt[0].type == "system"
    return prompt[0].text


def test_a_checkpointed_state_object_loads_by_whichever_name_its_class_has(
    checkpoints: Left, saver: SqliteSaver
) -> None:
    """LangGraph stores the object under its class's module, and hands back a dict where that is gone."""
    saved = saver.get_tuple({"configurable": {"thread_id": "own"}})
    assert saved is not None
    raw, thread = saved.checkpoint["channel_values"]["state"], checkpoints.thread("own")
    with MemoryController.open(checkpoints.memory) as memory:
        assert told(memory.load(raw)) == expected(checkpoints.threads["own"])
        after = memory.step(raw, Turn.said("And now?"), thread=thread).state
        assert after.parent == checkpoints.threads["own"]["hash"]
        assert rules_of(memory, thread) == checkpoints.threads["own"]["rules"]


def test_a_thread_is_erased_from_its_checkpoints_too(
    checkpoints: Left, capsys: pytest.CaptureFixture[str]
) -> None:
    database = checkpoints.root / "checkpoints.sqlite"
    asked = ["erase", "--thread", "agent-ended", "--yes", "--memory", str(checkpoints.memory)]
    assert run([*asked, "--checkpointer", f"sqlite:{database}"]) == 0
    assert verified(checkpoints.memory, capsys).keys() == checkpoints.threads.keys() - {
        "agent-ended"
    }
    with SqliteSaver.from_conn_string(str(database)) as saver:
        left = {c.config["configurable"]["thread_id"] for c in saver.list(None)}
    assert left == checkpoints.threads.keys() - {"agent-ended"}
