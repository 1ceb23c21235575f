"""Several processes write to one board: a Chroma server, and audit logs in a PostgreSQL."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest
from team import BOARD, Team

from acc import Thread, Turn
from acc.audit.log import AuditLog

sys.path.append(str(Path(__file__).parents[1] / "graphs"))

from fleet import Where, Worker, workers

pytestmark = pytest.mark.slow


def thread_of(agent: str) -> Thread:
    return Thread(thread="t", agent=agent, user="bob")


def talk(agent: str, texts: list[str]) -> list[str]:
    """Step an agent; return what the board then says."""
    memory, state = Worker.memory, Worker.memory.last_state(thread_of(agent))
    for text in texts:
        step = memory.step(state, Turn.said(text), thread=thread_of(agent), board=BOARD)
        state = step.state
        assert step.board is not None
        rules = [c.text for c in step.board.state.constraints]
    return rules


def die_at_append(agent: str, text: str, at: int) -> None:
    """Be killed before the record number ``at`` of this step: the board's is the first, the agent's the second."""
    append, count = AuditLog.append, iter(range(1, 9))

    def killed(*given: Any, **named: Any) -> None:
        if next(count) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        append(*given, **named)

    AuditLog.append = killed  # type: ignore[method-assign,assignment]
    talk(agent, [text])


def looked() -> dict[str, Any]:
    team = Team(Worker.memory)
    head = team.head()
    with Worker.memory.board(BOARD)._locked_log(team.place) as log:
        held = [a.text for a in log.branch(head.branch).artifacts if a.kind == "observation"]
    return {
        "rules": sorted(c.text for c in head.constraints),
        "verified": team.verified(),
        "version": head.version,
        "held": held,
    }


@pytest.fixture
def where(tmp_path: Path) -> Iterator[Where]:
    from servers import chroma, postgresql

    with chroma(tmp_path / "chroma") as memory, postgresql() as audit:
        yield memory, audit


def test_processes_lose_no_update_and_a_killed_one_stops_nobody(where: Where) -> None:
    with workers(where, 3) as pools:
        told = {
            f"agent-{n}": [f"Never restart host-{n}-{turn}." for turn in range(3)] for n in range(6)
        }
        running = [
            pools[n % 3].submit(talk, agent, texts) for n, (agent, texts) in enumerate(told.items())
        ]
        for each in running:
            each.result(240)
        wanted = sorted(text.rstrip(".") for texts in told.values() for text in texts)
        seen = pools[0].submit(looked).result(60)
        assert seen["rules"] == wanted
        assert seen["version"] == seen["verified"] == len(wanted)
        assert len(seen["held"]) == len(wanted)

        for at, host in ((1, "host-killed"), (2, "host-between")):
            with workers(where, 1) as doomed, pytest.raises(BrokenProcessPool):
                doomed[0].submit(
                    die_at_append, f"killed-{at}", f"Never restart {host}.", at
                ).result(120)
        other = pools[1].submit(talk, "agent-1", ["Never restart host-after."]).result(120)
        assert "Never restart host-after" in other
        assert "Never restart host-between" in other
        assert "Never restart host-killed" not in other
        for at, host in ((1, "host-killed"), (2, "host-between")):
            rules = pools[2].submit(talk, f"killed-{at}", [f"Never restart {host}."]).result(120)
            assert rules.count(f"Never restart {host}") == 1
        seen = pools[0].submit(looked).result(60)
        assert len(seen["rules"]) == len(set(seen["rules"])) == len(wanted) + 3
        assert seen["verified"] == len(wanted) + 3
