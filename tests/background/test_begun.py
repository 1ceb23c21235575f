"""Turns that were begun and never finished: the agent raised, the call was cancelled, the process died."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cancelling import Slow
from driving import KINDS, Driven, Held, answered, texts

from acc import Settings
from acc.audit.verify import verify
from acc.background import AsyncBackgroundMemory, BackgroundMemory
from acc.controller import AsyncMemoryController, MemoryController
from acc.keyless.compressor import RuleCompressor
from acc.memory import Memory, whose
from acc.state.model import CompressedCognitiveState
from acc.testing import FixedClock
from acc.turn.turn import Turn

kinds = pytest.mark.parametrize("kind", KINDS)

FIRST = "Checkout is slow. Why?"
RULE = "Never restart nginx."
NEXT = "Hello? Are you there?"

State = CompressedCognitiveState


def check(memory: Memory, state: State, *said: str) -> None:
    """Nothing is lost, doubled, or left on another branch only, and the rule holds."""
    line = texts(memory, state, whose("t"))
    assert line == list(said)
    store: Any = memory.artifacts
    records = store.get("default", store.ids("default", thread=whose("t").key))
    assert {a.text for a in records if a.kind == "observation"} == set(said)
    assert [item.text for item in state.constraints] == [RULE.rstrip(".")]
    log, policy = memory._audit_of(whose("t")), memory.settings.policy
    assert log is not None
    verify(log, {policy.fingerprint: policy}, head=state.hash)


@kinds
def test_what_was_begun_is_part_of_the_next_turn(kind: str, tmp_path: Path) -> None:
    driven = Driven(kind, audit=tmp_path)
    state = driven.turn(None, FIRST)
    assert driven.drain()
    state = driven.last_state()
    driven.begin(state, RULE)
    entry = driven.begin(state, NEXT)
    assert [o.text for o in entry.turn.observations] == [RULE, NEXT]
    driven.finish(entry, "Yes.")
    assert driven.drain()
    check(driven.memory, driven.last_state(), FIRST, f"Answer to {FIRST}", RULE, NEXT, "Yes.")


@kinds
@pytest.mark.parametrize("commits_first", [True, False])
def test_what_was_begun_behind_an_uncommitted_turn_is_too(
    kind: str, commits_first: bool, tmp_path: Path
) -> None:
    held = Held(open=False)
    driven = Driven(kind, compressor=held, audit=tmp_path)
    state = driven.turn(None, FIRST)
    driven.start()
    driven.begin(state, RULE)
    if commits_first:
        held.let_go()
        assert driven.drain()
    entry = driven.begin(state, NEXT)
    held.let_go()
    driven.finish(entry, "Yes.")
    assert driven.drain()
    line = [FIRST, f"Answer to {FIRST}", RULE, NEXT, "Yes."]
    last = driven.last_state()
    assert texts(driven.memory, last, whose("t")) == line
    assert [item.text for item in last.constraints] == [RULE.rstrip(".")]


@kinds
def test_begun_twice_with_the_same_words_it_is_one_turn(kind: str, tmp_path: Path) -> None:
    driven = Driven(kind, audit=tmp_path)
    driven.begin(None, RULE)
    entry = driven.begin(None, RULE)
    driven.finish(entry, "Yes.")
    driven.finish(entry, "Yes.")
    assert driven.drain()
    check(driven.memory, driven.last_state(), RULE, "Yes.")


@kinds
def test_a_step_takes_up_what_was_begun(kind: str, tmp_path: Path) -> None:
    driven = Driven(kind, audit=tmp_path)
    driven.begin(None, RULE)
    step = driven.step(None, Turn.said(NEXT))
    assert step.recovered == ("u1",)
    check(driven.memory, step.state, RULE, NEXT)
    again = driven.step(None, Turn.said(NEXT))
    assert again.state.hash == step.state.hash


@pytest.mark.parametrize("kind", ["begin", "finish"])
def test_a_call_that_is_cancelled_anywhere_loses_nothing(kind: str, tmp_path: Path) -> None:
    async def cancelled(at: int | None, audit: Path) -> int:
        """Cancel the call while it makes call ``at`` of the store; return the number of its calls."""
        store = Slow()
        memory = AsyncMemoryController(
            store, RuleCompressor(), Settings(clock=FixedClock(), audit=audit)
        )
        behind = AsyncBackgroundMemory(memory)
        entry = await behind.begin(None, Turn.said(FIRST), thread="t")
        await behind.finish(entry, answered("Why not?"))
        assert await behind.drain()
        state = await behind.last_state("t")
        if kind == "finish":
            entry = await behind.begin(state, Turn.said(RULE), thread="t")
        store.hold(at)
        called: Any = (
            behind.begin(state, Turn.said(RULE), thread="t")
            if kind == "begin"
            else behind.finish(entry, answered("Noted."))
        )
        task = asyncio.create_task(called)
        if at is None:
            await task
            calls = store.calls
            await behind.close()
            return calls
        await asyncio.to_thread(store.waits.wait, 20)
        task.cancel()
        store.let_go()
        with pytest.raises(asyncio.CancelledError):
            await task
        entry = await behind.begin(state, Turn.said(NEXT), thread="t", wait=None)
        await behind.finish(entry, answered("Yes."))
        assert await behind.close()
        reached = [] if kind == "begin" else ["Noted."]
        check(memory, memory.last_state("t"), FIRST, "Why not?", RULE, *reached, NEXT, "Yes.")
        return 0

    points = asyncio.run(cancelled(None, tmp_path / "count"))
    assert points
    for at in range(points):
        asyncio.run(cancelled(at, tmp_path / str(at)))


DIES = """
import os, sys
from driving import Held, answered
from acc import MemoryController, Turn
from acc.background import BackgroundMemory
from acc.testing import FixedClock

folder, where, waits = sys.argv[1:]
held = Held()
memory = MemoryController.open(folder, compressor=held, clock=FixedClock())
behind = BackgroundMemory(memory)
state = behind.finish(behind.begin(None, Turn.said("Checkout is slow. Why?"), thread="t"), answered("Why not?"))
behind.drain()
state = behind.last_state("t")
if waits == "waits":
    held.hold()
    state = behind.finish(behind.begin(state, Turn.said("The db runs on db-7."), thread="t"), answered("Ok."))
print(__import__("json").dumps(state.canonical()), flush=True)
entry = behind.begin(state, Turn.said("Never restart nginx."), thread="t")
if where == "finish":
    behind.entrance.store(entry, answered("Noted."))
os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [True, False], ids=["checkpointed", "by the log"])
@pytest.mark.parametrize("waits", ["waits", "committed"])
@pytest.mark.parametrize("where", ["begin", "finish"])
def test_a_process_that_dies_in_or_before_finish(
    where: str, waits: str, keeps: bool, tmp_path: Path
) -> None:
    died = subprocess.run(
        [sys.executable, "-c", DIES, str(tmp_path), where, waits],
        env={"PYTHONPATH": f"{Path(__file__).parent}:{':'.join(sys.path)}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert died.returncode == -signal.SIGKILL, died.stderr
    with MemoryController.open(tmp_path, clock=FixedClock()) as memory:
        with BackgroundMemory(memory) as behind:
            state: Any = json.loads(died.stdout) if keeps else behind.last_state("t")
            entry = behind.begin(state, Turn.said(NEXT), thread="t", wait=None)
            behind.finish(entry, answered("Yes."))
            assert behind.drain()
        state = memory.last_state("t")
        before = ["The db runs on db-7.", "Ok."] if waits == "waits" else []
        reached = ["Noted."] if where == "finish" else []
        line = texts(memory, state, whose("t"))
        assert line == [FIRST, "Why not?", *before, RULE, *reached, NEXT, "Yes."]
        assert [item.text for item in state.constraints] == [RULE.rstrip(".")]
        log, policy = memory._audit_of(whose("t")), memory.settings.policy
        assert log is not None
        verify(log, {policy.fingerprint: policy}, head=state.hash)
