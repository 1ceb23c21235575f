"""Two workers on one thread, and steps that are killed between two transactions."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from helpers_controller import Gated, committed, is_clean

from acc import MemoryController, Turn
from acc.compress.keyless import compress
from acc.controller import beginning
from acc.errors import ConflictError, StateError
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.journal import Journal
from acc.journal.journal import FILE
from acc.models.endpoints import OpenAIModel
from acc.state.policy import Cadence, Policy
from acc.testing.model_server import ModelServer
from acc.turn.observations import Channel, Observation

ALWAYS: dict[str, Any] = {"store": "none", "policy": Policy(cadence=Cadence(compress_over=0))}
SIGNED: dict[str, Any] = {"state_key": b"k" * 32, **ALWAYS}
RULE = "Never page Ann before 6."


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
            assert committed(memory) == {RULE: 1, "The pump is broken.": 1}
            assert RULE in step.text()
            assert "another worker" in str(step.warnings)
            again = memory.step(None, Turn.said("And on."), thread="t")
            assert again.state.version == step.state.version + 1


def test_a_fork_that_was_killed_before_the_operators_acts_has_them_when_it_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemoryController.open(tmp_path, model=compress, **ALWAYS) as memory:
        first = memory.step(None, Turn.said(RULE), thread="t")
        memory.step(first.state, Turn.said("The pump is broken."), thread="t")
        memory.retire([first.state.constraints[0].id], thread="t")

        def killed(*_: Any) -> Any:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(beginning, "retire_words", killed)
            with pytest.raises(KeyboardInterrupt):
                memory.step(first.state, Turn.said("Another way."), thread="t")
        fork = memory.step(first.state, Turn.said("Another way."), thread="t")
        assert fork.state.branch != "main"
        assert not fork.state.constraints
        again = memory.step(first.state, Turn.said("Another way."), thread="t")
        assert again.state == fork.state


def _restored(tmp_path: Path) -> tuple[Path, Any]:
    """A memory as a backup had it, and a state of after the backup."""
    with MemoryController.open(tmp_path / "m", **SIGNED) as memory:
        memory.step(None, Turn.said(RULE), thread="t")
        (tmp_path / "old").mkdir()
        memory.journal.backup(tmp_path / "old" / FILE)
        newer = memory.step(None, Turn.said("The pump is broken."), thread="t")
    return tmp_path / "old", newer.state


def test_a_signed_state_of_a_lost_journal_is_taken_and_says_what_is_not_there(
    tmp_path: Path,
) -> None:
    old, state = _restored(tmp_path)
    with (
        MemoryController.open(old, **ALWAYS) as memory,
        pytest.raises(StateError, match="does not hold"),
    ):
        memory.step(state, Turn.said("And now?"), thread="t")
    with MemoryController.open(old, **SIGNED) as memory:
        step = memory.step(state, Turn.said("And now?"), thread="t")
        assert "did not hold" in step.warnings[0]
        assert "messages of its tail that are not in the journal" in str(step.warnings)
        assert step.state.constraints
        assert memory.step(state, Turn.said("And now?"), thread="t").state == step.state
        assert is_clean(memory)


def test_a_signed_state_brings_no_erased_words_back(tmp_path: Path) -> None:
    old, state = _restored(tmp_path)
    with MemoryController.open(old, **SIGNED) as memory:
        Evidence(memory).erase(Target("t", refs=("u1",)))
        with pytest.raises(StateError, match="erased"):
            memory.step(state, Turn.said("And now?"), thread="t")
        step = memory.step(None, Turn.said("And now?"), thread="t")
        assert "Ann" not in step.text()


@pytest.mark.parametrize("fork", [False, True])
def test_three_workers_that_wait_for_their_models_say_each_word_once(
    tmp_path: Path, fork: bool
) -> None:
    with ThreadPoolExecutor(3) as pool, MemoryController.open(tmp_path, **ALWAYS) as seed:
        start = seed.step(None, Turn.said("Begin."), thread="t").state
        models = [Gated() for _ in range(3)]
        settings = {"fork": fork, "busy_wait": 0, **ALWAYS}
        workers = [MemoryController.open(tmp_path, model=m, **settings) for m in models]

        def begin(number: int, said: str) -> Any:
            running = pool.submit(workers[number].step, start, Turn.said(said), thread="t")
            assert models[number].asked.acquire(timeout=20)
            return running

        first, second = begin(0, "The pump is broken."), begin(1, "The valve is stuck.")
        models[0].goes_on.release()
        assert first.result().state.version == 2
        models[1].goes_on.release()
        assert isinstance(second.exception(), ConflictError)
        again = begin(1, "The valve is stuck.")  # with the same state and turn, as the error says
        models[1].goes_on.release()
        step = again.result()
        assert "goes on from its state" in str(step.warnings)
        said = ["Begin.", "The pump is broken.", "The valve is stuck."]
        assert committed(seed) == Counter(said)
        assert len(seed.journal.branches("t")) == 1
        assert not seed.journal.waiting("t")
        assert seed.journal.verify([seed.policy, *(w.policy for w in workers)]).is_clean
        for each in workers:
            each.close()


def test_a_compression_behind_the_agent_while_a_step_is_made_is_no_conflict(tmp_path: Path) -> None:
    patient = Policy(cadence=Cadence(compress_over=10_000, tail_bound=20_000))
    with MemoryController.open(tmp_path, store="none", policy=patient) as memory:
        first = memory.step(None, Turn.said("Begin."), thread="t")
        other = MemoryController.open(tmp_path, model=Gated(tokens=9), store="none")
        append, calls = Journal.append_and_commit, []

        def slow(self: Journal, *args: Any, **kwargs: Any) -> Any:
            if not calls:  # the worker commits just before
                calls.append(other.flush("t"))
            return append(self, *args, **kwargs)

        with patch.object(Journal, "append_and_commit", slow):
            step = memory.step(first.state, Turn.said("And on."), thread="t")
        assert calls[0] is not None
        assert step.state.version == 3
        assert step.state.branch == "main"
        assert committed(memory) == {"Begin.": 1, "And on.": 1}
        other.close()


def test_words_are_recorded_though_a_worker_commits_just_before(tmp_path: Path) -> None:
    patient = Policy(cadence=Cadence(compress_over=10_000, tail_bound=20_000))
    with (
        MemoryController.open(tmp_path, store="none", policy=patient) as memory,
        MemoryController.open(tmp_path, model=Gated(tokens=9), store="none") as other,
    ):
        state = memory.step(None, Turn.said("Begin."), thread="t").state
        append, calls = Journal.append, []

        def slow(self: Journal, *args: Any, **kwargs: Any) -> Any:
            if not calls:
                calls.append(other.flush("t"))
            return append(self, *args, **kwargs)

        said = [Observation(channel=Channel.AGENT, text="An answer.")]
        with patch.object(Journal, "append", slow):
            assert memory.record(said, thread="t", state=state)
        memory.step(state, Turn.said("And on."), thread="t")
        assert committed(memory) == {"Begin.": 1, "An answer.": 1, "And on.": 1}
