"""A memory with its journal in PostgreSQL and its artifacts on a Chroma server, as several machines share it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from servers import begin, chroma, postgresql, schema_for

from acc import Policy, Turn
from acc.controller.controller import MemoryController
from acc.errors import ConfigurationError
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.state.policy import Cadence

pytestmark = pytest.mark.slow

POLICY = Policy(
    max_tokens=800,
    digest_key=b"a key of the deployment, 32 bytes",
    cadence=Cadence(compress_over=0),
)
SETTINGS: dict[str, Any] = {"policy": POLICY}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with ExitStack() as stack:
        yield (
            stack.enter_context(postgresql()),
            stack.enter_context(chroma(tmp_path_factory.mktemp("chroma"))),
        )


@pytest.fixture
def place(servers: tuple[str, str], request: pytest.FixtureRequest) -> tuple[str, str]:
    """Journal and Chroma; the journal in a schema of its own."""
    return schema_for(servers[0], request.node.name), servers[1]


def test_two_machines_share_a_memory(place: tuple[str, str]) -> None:
    journal, index = place
    with (
        MemoryController.open(journal, store=index, **SETTINGS) as one,
        MemoryController.open(journal, store=index, **SETTINGS) as other,
    ):
        first = one.step(None, Turn.said("Never page Ann before 6."), thread="t")
        second = other.step(first.state, Turn.said("The pump P-7 is broken."), thread="t")
        third = one.step(second.state, Turn.said("What about the pump P-7?"), thread="t")
        assert third.state.version > first.state.version
        assert [rule.text_of for rule in third.state.constraints] == ["Never page Ann before 6."]
        again = other.step(second.state, Turn.said("What about the pump P-7?"), thread="t")
        assert again.state.hash == third.state.hash
        assert other.journal.verify([POLICY]).is_clean
        found = other.index.recall(other.latest("t").head, "pump")
        assert "The pump P-7 is broken." in [each.evidence.text for each in found]


def test_an_erasure_reaches_journal_and_index_and_says_what_it_cannot_reach(
    place: tuple[str, str],
) -> None:
    with MemoryController.open(place[0], store=place[1], **SETTINGS) as memory:
        memory.step(None, Turn.said("My pin is 47112."), thread="t")
        memory.step(None, Turn.said("Never page Ann."), thread="t")
        receipt = Evidence(memory).erase(Target("t", refs=("u1",)))
        assert not receipt.traces
        assert not receipt.proved
        assert any("VACUUM FULL" in each for each in receipt.foreign)
        state = memory.last_state("t")
        assert state is not None
        assert "47112" not in str(state.canonical())
        found = memory.index.recall(memory.latest("t").head, "pin 47112")
        assert all("47112" not in each.evidence.text for each in found)


def test_the_command_line_works_on_an_address(place: tuple[str, str], tmp_path: Path) -> None:
    with MemoryController.open(place[0], store=place[1], **SETTINGS) as memory:
        step = memory.step(None, Turn.said("Never page Ann before 6."), thread="t")
        rule = step.state.constraints[0].id

    def acc(*arguments: str) -> str:
        command = [str(Path(sys.executable).with_name("acc")), *arguments, "--memory", place[0]]
        key = POLICY.digest_key.decode()
        env = {"ACC_CHROMA": place[1], "ACC_DIGEST_KEY": key, "PATH": "/usr/bin"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "Never page Ann" in acc("show")
    assert "t" in acc("threads")
    assert "u1" in acc("search", "Ann")
    acc("verify")
    acc("retire", rule)
    with MemoryController.open(place[0], store="none", policy=POLICY) as memory:
        state = memory.last_state("t")
        assert state is not None
        assert state.constraints == ()
    out = tmp_path / "out.jsonl"
    acc("export", str(out))
    assert json.loads(out.read_text().splitlines()[0])["acc"] == "journal"
    assert "index has every message" in acc("doctor")
    acc("erase", "u1", "--thread", "t", "--yes")
    assert "Never page Ann" not in acc("search", "Never")


def test_it_needs_a_place_for_its_index(place: tuple[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="no folder for its index"):
        MemoryController.open(place[0])
    with MemoryController.open(place[0], store="none") as memory:
        memory.step(None, Turn.said("Hello."), thread="t")


def test_one_message_at_two_machines_is_committed_once(place: tuple[str, str]) -> None:
    script = """
import sys
from acc import Turn
from acc.controller.controller import MemoryController
from acc.errors import ConflictError
with MemoryController.open(sys.argv[1], store="none", fork=False) as memory:
    state = memory.last_state("t")
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(30):
        while True:
            try:
                state = memory.step(state, Turn.said(f"message {number}"), thread="t").state
                break
            except ConflictError:
                pass
    print(state.hash)
"""
    with MemoryController.open(place[0], store="none") as memory:
        memory.step(None, Turn.said("begin"), thread="t")
        pipe = subprocess.PIPE
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", script, place[0]], stdin=pipe, stdout=pipe, text=True
            )
            for _ in range(2)
        ]
        begin(*workers)
        ends = [each.communicate(timeout=120)[0] for each in workers]
        assert ends[0] == ends[1]
        said = [m.message.text for m in memory.journal.messages("t")]
        assert said == ["begin", *(f"message {n}" for n in range(30))]
