"""kill -9 between the agent's answer and its commit, on a real store: nothing is lost, nothing is twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from driving import SAID, in_front, texts

from acc.audit.verify import verify
from acc.background import BackgroundMemory
from acc.controller import MemoryController
from acc.memory import whose
from acc.testing import FixedClock
from acc.turn.turn import Turn

TALKS = """
import json, sys, time
from driving import SAID, answered
from acc import MemoryController, Turn
from acc.background import BackgroundMemory
from acc.keyless.compressor import RuleCompressor
from acc.testing import FixedClock

held, turns, begins = json.loads(sys.argv[1])

def compressor(turn, state, evidence):
    if turn.number > held:
        time.sleep(600)
    return RuleCompressor()(turn, state, evidence)

memory = MemoryController.open("memory", compressor=compressor, clock=FixedClock())
behind = BackgroundMemory(memory)
state = None
for place, said in enumerate(SAID[:turns]):
    entry = behind.begin(state, Turn.said(said), thread="t")
    state = behind.finish(entry, answered(f"Answer to {said}"))
    if place < held:
        behind.drain()
if begins:
    behind.begin(state, Turn.said(SAID[turns]), thread="t")
print(json.dumps(state.canonical()), flush=True)
time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [True, False], ids=["checkpointed", "by the log"])
@pytest.mark.parametrize(
    ("held", "turns", "begins"),
    [(0, 1, False), (0, 3, False), (1, 3, True), (2, 2, False), (2, 2, True), (3, 4, False)],
)
def test_a_killed_process_lost_nothing(
    held: int, turns: int, begins: bool, keeps: bool, tmp_path: Path
) -> None:
    kept = _killed([held, turns, begins], tmp_path)
    with MemoryController.open(tmp_path / "memory", clock=FixedClock()) as memory:
        behind = BackgroundMemory(memory)
        state = kept if keeps else behind.last_state("t")
        entry = behind.begin(state, Turn.said(SAID[turns]), thread="t", wait=None)
        assert entry.state.hash == in_front(SAID[:turns]).hash
        seen = texts(memory, entry.state, whose("t"))
        told = [text for words in SAID[:turns] for text in (words, f"Answer to {words}")]
        assert seen == [*told, SAID[turns]]
        log, policy = memory._audit_of(whose("t")), memory.settings.policy
        assert log is not None
        assert verify(log, {policy.fingerprint: policy}, head=entry.state.hash) == turns
        assert behind.close()


def _killed(what: list[object], folder: Path) -> dict[str, object]:
    process = subprocess.Popen(
        [sys.executable, "-c", TALKS, json.dumps(what)],
        cwd=folder, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(Path(__file__).parent)},
    )  # fmt: skip
    assert process.stdout is not None
    said = process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    kept: dict[str, object] = json.loads(said)
    return kept
