"""How long a thread of a shared store waits for the writer of a claim."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

import acc.thread.claims
import acc.thread.lease
from acc.controller import MemoryController
from acc.errors import ConflictError
from acc.pipeline.session import Settings
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact, Thread
from acc.testing import FixedClock
from acc.thread.lease import LEASE, LONG_LEASE, holder, is_gone, kept_alive
from acc.thread.registry import registry_of
from acc.turn.turn import Turn

ROOT = str(Path(acc.thread.lease.__file__).parents[2])
NAME = "from acc.thread.lease import holder; print(holder(), flush=True); input()"


class Table(InMemoryStore):
    """What several processes share."""

    def __init__(self, other: Table | None = None) -> None:
        super().__init__()
        self.renewed = threading.Event()
        if other is not None:
            self._tenants = other._tenants

    @property
    def shared(self) -> bool:
        return True

    def replace(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        super().replace(tenant, artifacts)
        self.renewed.set()


def quiet(*_: object) -> Proposal:
    return Proposal()


def dies(*_: object) -> Proposal:
    raise KeyboardInterrupt


def left_behind(table: Table, clock: FixedClock) -> MemoryController:
    """Claim the first turn of a thread, and end before its commit."""
    memory = MemoryController(table, dies, Settings(clock=clock))
    with pytest.raises(KeyboardInterrupt):
        memory.step(None, Turn.said("the words of the dead"), thread="t")
    return memory


def another(table: Table, clock: FixedClock) -> MemoryController:
    return MemoryController(Table(table), quiet, Settings(clock=clock))


class Ended:
    """Names of processes of this host: one that runs, and the same one after its end."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", NAME], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.name = self.process.stdout.readline().strip()

    def end(self) -> str:
        self.process.kill()
        self.process.communicate()
        return self.name


def test_a_process_is_gone_when_it_has_ended() -> None:
    child = Ended()
    try:
        assert not is_gone(child.name)
    finally:
        child.end()
    assert is_gone(child.name)
    host, process, started = holder().split(":")
    assert is_gone(f"{host}:{process}:{int(started) + 1}"), "a later process has its id"
    assert not is_gone(holder())
    for unknown in ("", "elsewhere:1:1", f"{host}:{process}:", f"{host}:{process}"):
        assert not is_gone(unknown)


def test_a_thread_goes_on_at_once_after_a_kill_on_this_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, clock = Table(), FixedClock()
    child = Ended()
    with monkeypatch.context() as patched:
        patched.setattr(acc.thread.claims, "holder", lambda: child.name)
        left_behind(table, clock)
    memory = another(table, clock)
    with pytest.raises(ConflictError):
        memory.step(None, Turn.said("Are you there?"), thread="t")
    child.end()
    done = memory.step(None, Turn.said("Are you there?"), thread="t")
    assert [o.text for o in done.turn.observations] == ["the words of the dead", "Are you there?"]


def test_elsewhere_a_claim_ends_some_seconds_after_its_last_renewal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acc.thread.claims, "holder", lambda: "elsewhere:1:1")
    table, clock = Table(), FixedClock()
    memory = left_behind(table, clock)
    clock.advance(timedelta(seconds=15))
    memory._log_of(Thread(thread="t")).claims.renew()
    clock.advance(timedelta(seconds=8))
    with pytest.raises(ConflictError) as caught:
        another(table, clock).step(None, Turn.said("Are you there?"), thread="t")
    assert caught.value.retry_after == LEASE.total_seconds() - 8
    assert "12 seconds" in str(caught.value)
    clock.advance(timedelta(seconds=caught.value.retry_after))
    another(table, clock).step(None, Turn.said("Are you there?"), thread="t")


def test_a_claim_that_nobody_can_renew_ends_after_two_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a claim of an earlier release, which names no writer."""
    monkeypatch.setattr(acc.thread.claims, "holder", lambda: "")
    table, clock = Table(), FixedClock()
    left_behind(table, clock)
    clock.advance(LEASE)
    with pytest.raises(ConflictError) as caught:
        another(table, clock).step(None, Turn.said("Are you there?"), thread="t")
    assert caught.value.retry_after == (LONG_LEASE - LEASE).total_seconds()


def test_a_running_step_renews_its_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acc.thread.lease, "BEAT", 0.001)
    monkeypatch.setattr(acc.thread.claims, "holder", lambda: "elsewhere:1:1")
    table, clock = Table(), FixedClock()
    refused: list[ConflictError] = []

    def slow(*_: object) -> Proposal:
        clock.advance(timedelta(minutes=5))
        table.renewed.clear()
        assert table.renewed.wait(20)
        table.renewed.clear()
        assert table.renewed.wait(20)
        with pytest.raises(ConflictError) as caught:
            another(table, clock).step(None, Turn.said("Are you there?"), thread="t")
        refused.append(caught.value)
        return Proposal()

    done = MemoryController(table, slow, Settings(clock=clock)).step(
        None, Turn.said("x"), thread="t"
    )
    assert refused
    assert done.state.turn == 1
    assert not any(t.name == "acc-lease" and t.is_alive() for t in ended_soon())


def test_a_renewal_ends_with_its_step_even_if_an_interrupt_left_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acc.thread.lease, "BEAT", 0.001)
    registry = registry_of(Table())
    left = kept_alive(lambda: registry._renew("nobody steps this thread"))
    left.__enter__()
    assert not any(t.name == "acc-lease" and t.is_alive() for t in ended_soon())


def ended_soon() -> list[threading.Thread]:
    """The threads that are left after those of leases had time to end."""
    for thread in threading.enumerate():
        if thread.name == "acc-lease":
            thread.join(10)
    return threading.enumerate()
