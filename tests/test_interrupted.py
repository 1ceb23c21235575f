"""Ctrl-C at any line of a synchronous step: the thread goes on, and nothing that was stored is lost."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import acc
from acc import Settings
from acc.audit.verify import verify
from acc.controller import MemoryController
from acc.memory import whose
from acc.stores.in_memory import InMemoryStore
from acc.testing import FixedClock
from acc.turn.turn import Turn

ROOT = str(Path(acc.__file__).parent)
FIRST, RULE, NEXT = "Checkout is slow. Why?", "Never restart nginx-prod-7.", "Are you there?"
POINTS = 150


class Interrupt:
    """A trace function that raises `KeyboardInterrupt` at a line of the library, counted from 1.

    Lines of a ``with`` statement do not count: a tracer can interrupt between the end of the block and
    the release of the lock, a signal cannot.
    """

    def __init__(self, at: int) -> None:
        self.at, self.lines = at, 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if not (name.startswith(ROOT) or "contextlib" in name):
            return None
        is_with = linecache.getline(name, frame.f_lineno).strip().startswith("with ")
        if event == "line" and not is_with:
            self.lines += 1
            if self.lines == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def stepped(memory: MemoryController, state: Any, at: int) -> tuple[Any, int]:
    """Return the step, or None if it was interrupted at line ``at``; and the number of its lines."""
    interrupt, before = Interrupt(at), sys.gettrace()
    try:
        sys.settrace(interrupt)
        return memory.step(state, Turn.said(RULE), thread="t"), interrupt.lines
    except KeyboardInterrupt:
        return None, interrupt.lines
    finally:
        sys.settrace(before)


def test_an_interrupt_in_a_serializer_of_pydantic_is_raised_as_what_it_is(tmp_path: Path) -> None:
    """pydantic makes an error of its own of it, which is no interrupt."""
    calls = 0

    class Serializer:
        def __init__(self, at: int) -> None:
            self.at = at

        def __call__(self, frame: FrameType, event: str, _: Any) -> None:
            nonlocal calls
            code = frame.f_code
            if (
                event == "call"
                and code.co_filename.endswith("state/items.py")
                and (code.co_name == "<lambda>")
            ):
                calls += 1
                if calls == self.at:
                    sys.settrace(None)
                    raise KeyboardInterrupt

    def stepped_with(at: int) -> tuple[MemoryController, Any, bool]:
        nonlocal calls
        settings = Settings(clock=FixedClock(), audit=tmp_path / f"audit {at}")
        memory = MemoryController(InMemoryStore(), settings=settings)
        state, before = memory.step(None, Turn.said(RULE), thread="t").state, sys.gettrace()
        calls, is_interrupted = 0, False
        try:
            sys.settrace(Serializer(at))
            memory.step(state, Turn.said(FIRST), thread="t")
        except KeyboardInterrupt:
            is_interrupted = True
        finally:
            sys.settrace(before)
        return memory, state, is_interrupted

    assert not stepped_with(0)[2]
    last = calls
    found = set()
    for at in range(1, last + 1):
        memory, state, is_interrupted = stepped_with(at)
        assert is_interrupted
        assert whose("t").key not in memory._threads._logs
        done = memory.step(state, Turn.said(NEXT), thread="t").state
        with memory._lock:
            branch = memory._log_of(whose("t")).branch(done.branch)
        line = [a.text for a in branch.artifacts if a.kind == "observation"]
        assert line in ([RULE, FIRST, NEXT], [RULE, NEXT])
        found.add(FIRST in line)
    assert found == {True, False}  # after and before its words were stored


@pytest.mark.slow
@pytest.mark.parametrize("audited", [True, False], ids=["audited", "no audit log"])
def test_a_step_that_is_interrupted_at_any_line(audited: bool, tmp_path: Path) -> None:
    def begun(name: str) -> tuple[MemoryController, Any]:
        audit = tmp_path / name if audited else None
        memory = MemoryController(
            InMemoryStore(), settings=Settings(clock=FixedClock(), audit=audit)
        )
        return memory, memory.step(None, Turn.said(FIRST), thread="t").state

    step, lines = stepped(*begun("count"), at=0)
    assert step is not None
    found = set()
    for at in range(1, lines, lines // POINTS):
        memory, state = begun(str(at))
        step, _ = stepped(memory, state, at)
        if step is not None:  # caught inside, as what a compressor raises
            continue
        done = memory.step(state, Turn.said(NEXT), thread="t")
        with memory._lock:
            branch = memory._log_of(whose("t")).branch(done.state.branch)
        line = [a.text for a in branch.artifacts if a.kind == "observation"]
        store: Any = memory.artifacts
        records = store.get("default", store.ids("default", thread=whose("t").key))
        assert {a.text for a in records if a.kind == "observation"} == {*line}, at
        assert sorted(line) == sorted({FIRST, NEXT, *line}), at
        rules = [item.text for item in done.state.constraints]
        assert rules == [RULE.rstrip(".")] * (RULE in line), at
        found.add(RULE in line)
        log, policy = memory._audit_of(whose("t")), memory.settings.policy
        if log is not None:
            verify(log, {policy.fingerprint: policy}, head=done.state.hash)
    assert found == {True, False}  # before and after its words were stored
