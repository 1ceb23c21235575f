"""What a strong model wrote in its day passes, in both ways of asking, and is committed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asking import InProcess, asking
from recorded import Recorded, recordings

from acc import Settings
from acc.audit.verify import verify
from acc.compress.model import ModelCompressor
from acc.controller import MemoryController
from acc.state.policy import Policy
from acc.state.reasons import Reason
from acc.stores.in_memory import InMemoryStore
from acc.testing import FixedClock, ModelServer
from acc.turn.turn import Turn

TURNS = recordings(Path(__file__).parents[1] / "fixtures" / "recorded_finance.jsonl")


def turn_of(recorded: dict[str, Any]) -> Turn:
    spoken: list[dict[str, Any]] = [{"role": "user", "content": recorded["user"]}]
    for n, output in enumerate(recorded["tools"]):
        function = {"name": output["tool"], "arguments": "{}"}
        calls = [{"id": f"c{n}", "type": "function", "function": function}]
        spoken.append({"role": "assistant", "content": None, "tool_calls": calls})
        spoken.append({"role": "tool", "tool_call_id": f"c{n}", "content": output["content"]})
    spoken.append({"role": "assistant", "content": recorded["agent"]})
    return Turn.from_messages(spoken)


class Replaying:
    """Puts the recorded answer to the turn in the model's mouth before the compressor asks it."""

    def __init__(self, compressor: Any, answers: list[str]) -> None:
        self._recorded = Recorded([t["proposal"] for t in TURNS])
        self._compressor, self._answers = compressor, answers

    def under(self, policy: Policy) -> Replaying:
        self._compressor = self._compressor.under(policy)
        return self

    def __call__(self, turn: Turn, state: Any, evidence: Any) -> Any:
        self._answers[:] = [json.dumps(self._recorded.wire(turn, state, evidence))]
        return self._compressor(turn, state, evidence)


@pytest.mark.parametrize("over", ["a socket", "no socket"])
def test_recorded_proposals_are_committed(over: str, tmp_path: Path) -> None:
    answers: list[str] = []
    with ModelServer(lambda _: answers[0]) as server:
        model = asking(server.base_url) if over == "a socket" else None
        compressor = model or ModelCompressor(InProcess(lambda _: answers[0]))
        memory = MemoryController(
            InMemoryStore(),
            Replaying(compressor, answers),
            Settings(clock=FixedClock(), audit=tmp_path),
        )
        state, steps = None, []
        for recorded in TURNS:
            steps.append(memory.step(state, turn_of(recorded), thread="t"))
            state = steps[-1].state
    assert state is not None
    assert [step.outcome for step in steps] == ["ok"] * len(TURNS)
    assert all(step.account and step.account.calls == ("ok",) for step in steps)
    made = sum(len(t["proposal"].get("constraints", ())) for t in TURNS)
    lost = [
        note
        for step in steps
        for note in step.commit.refused
        if note.slot == "constraints" and note.reason is not Reason.UNTRUSTED
    ]
    assert made > 5
    assert lost == []
    assert len(state.constraints) >= made / 2
    log = next(tmp_path.iterdir())
    assert log.stat().st_size > 0
    audit = memory._audit_of(memory_thread())
    assert audit is not None
    assert verify(audit, {Policy().fingerprint: Policy()}) == len(TURNS)
    entry = audit.last()
    assert entry is not None
    assert entry["outcome"] == "ok"
    assert entry["account"]["prompt"] == "acc/6"
    assert entry["usage"] == steps[-1].usage != {}


def memory_thread() -> Any:
    from acc.memory import whose

    return whose("t")
