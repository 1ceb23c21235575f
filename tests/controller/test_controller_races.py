"""Two workers on one thread, and steps that are killed between two transactions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from acc import MemoryController, Turn
from acc.controller import beginning
from acc.errors import StateError
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.journal.journal import FILE
from acc.keyless.compressor import compress
from acc.models.openai_client import OpenAIModel
from acc.step import Cadence
from acc.testing.model_server import ModelServer
from acc.turn.observations import Channel, Observation

ALWAYS: dict[str, Any] = {"index": "none", "cadence": Cadence(compress_over=0)}
RULE = "Never page Ann before 6."


def _said(memory: MemoryController[Any], thread: str = "t") -> Counter[str]:
    return Counter(m.message.text for m in memory.journal.messages(thread) if m.version)


def test_a_turn_that_another_worker_took_along_is_read_and_not_said_again(tmp_path: Path) -> None:
    other = MemoryController.open(tmp_path, **ALWAYS)
    came: list[Any] = []

    def answer(_: Any) -> Any:
        if not came:  # while this worker waits for its model
            came.append(other.step(None, Turn.said("The pump is broken."), thread="t"))
        return {}

    with ModelServer(answer) as server, other:
        model = OpenAIModel("m", base_url=server.base_url, api_key="none", attempts=1)
        with MemoryController.open(tmp_path, model=model, **ALWAYS) as memory:
            step = memory.step(None, Turn.said(RULE), thread="t")
            assert step.state == came[0].state
            assert _said(memory) == {RULE: 1, "The pump is broken.": 1}
            assert RULE in step.text()
            assert "another worker" in str(step.warnings)
            again = memory.step(None, Turn.said("And on."), thread="t")
            assert again.state.version == step.state.version + 1


def test_what_cannot_be_recorded_is_told(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path, **ALWAYS) as memory:
        first = memory.step(None, Turn.said("One."), thread="t")
        said = [Observation(channel=Channel.AGENT, text="An answer.")]
        assert memory.record(said, thread="t", state=first.state)
        assert memory.record(said, thread="t", state=first.state)
        memory.step(first.state, Turn.said("Two."), thread="t")
        late = [Observation(channel=Channel.AGENT, text="Too late.")]
        assert not memory.record(late, thread="t", state=first.state)
        assert _said(memory) == {"One.": 1, "An answer.": 1, "Two.": 1}


def test_a_fork_that_was_killed_before_the_operators_acts_has_them_when_it_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemoryController.open(tmp_path, compressor=compress, **ALWAYS) as memory:
        first = memory.step(None, Turn.said(RULE), thread="t")
        memory.step(first.state, Turn.said("The pump is broken."), thread="t")
        memory.retire([first.state.constraints[0].id], thread="t")

        def killed(*_: Any) -> Any:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(beginning, "_acts_again", killed)
            with pytest.raises(KeyboardInterrupt):
                memory.step(first.state, Turn.said("Another way."), thread="t")
        fork = memory.step(first.state, Turn.said("Another way."), thread="t")
        assert fork.state.branch != "main"
        assert not fork.state.constraints
        again = memory.step(first.state, Turn.said("Another way."), thread="t")
        assert again.state == fork.state


def _restored(tmp_path: Path) -> tuple[Path, Any]:
    """A memory as a backup had it, and a state of after the backup."""
    with MemoryController.open(tmp_path / "m", **ALWAYS) as memory:
        memory.step(None, Turn.said(RULE), thread="t")
        (tmp_path / "old").mkdir()
        memory.back_up(tmp_path / "old" / FILE)
        newer = memory.step(None, Turn.said("The pump is broken."), thread="t")
    return tmp_path / "old", newer.state


def test_an_adopted_state_says_what_of_its_tail_is_not_there(tmp_path: Path) -> None:
    old, state = _restored(tmp_path)
    with MemoryController.open(old, **ALWAYS) as memory:
        with pytest.raises(StateError, match="does not hold"):
            memory.step(state, Turn.said("And now?"), thread="t")
        step = memory.step(state, Turn.said("And now?"), thread="t", adopt=True)
        assert "messages of its tail that are not in the journal" in str(step.warnings)
        assert step.state.constraints
        assert memory.journal.verify([memory.policy]).is_clean


def test_adopting_brings_no_erased_words_back(tmp_path: Path) -> None:
    old, state = _restored(tmp_path)
    with MemoryController.open(old, **ALWAYS) as memory:
        Evidence(memory).erase(Target("t", refs=("u1",)))
        with pytest.raises(StateError, match="erased"):
            memory.step(state, Turn.said("And now?"), thread="t", adopt=True)
        step = memory.step(None, Turn.said("And now?"), thread="t")
        assert "Ann" not in step.text()
