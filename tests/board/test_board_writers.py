"""Many writers of one board: no update is lost, and a step that was killed writes nothing twice."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from helpers_board import (
    FIXER,
    LIFT,
    RULE,
    TRIAGE,
    Sharing,
    board_texts,
    everything_on,
    is_clean,
    rules,
    said,
    speak,
    takes_all,
)

from acc.board.board import Board
from acc.board.memory import BoardMemory
from acc.controller.controller import MemoryController
from acc.errors import ConflictError
from acc.journal import Journal, ThreadKey
from acc.turn.turn import Turn

SECOND = "Never touch db-3 at night."


@pytest.fixture
def shared(memory: MemoryController[Any]) -> BoardMemory:
    return BoardMemory(memory, Board("incident"))


def _between(monkeypatch: pytest.MonkeyPatch, act: Any) -> list[int]:
    """Let ``act`` happen once, just before the board's next write."""
    whole = Journal.append_and_commit
    done: list[int] = []

    def write(self: Journal, key: Any, *args: Any, **kwargs: Any) -> Any:
        if key.agent == "board" and not done:
            done.append(1)
            act()
        return whole(self, key, *args, **kwargs)

    monkeypatch.setattr(Journal, "append_and_commit", write)
    return done


def test_a_lifting_that_races_with_another_write_arrives(
    shared: BoardMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    speak(shared, TRIAGE, RULE, to="all")
    _between(monkeypatch, lambda: speak(shared, TRIAGE, SECOND, to="all"))
    step = speak(shared, FIXER, LIFT)
    assert LIFT in step.state_text
    assert SECOND in step.state_text
    speak(shared, TRIAGE, "Go on.")
    assert rules(shared) == [SECOND]


def test_who_is_always_slower_is_told(shared: BoardMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Journal, key: Any, *args: Any, **kwargs: Any) -> Any:
        if key.agent == "board":
            raise ConflictError("somebody was faster")
        return whole(self, key, *args, **kwargs)

    whole = Journal.append_and_commit
    monkeypatch.setattr(Journal, "append_and_commit", refuse)
    with pytest.raises(ConflictError):
        speak(shared, TRIAGE, RULE, to="all")


@pytest.mark.parametrize("to", ["", "all"])
def test_a_step_repeated_after_a_kill_writes_nothing_twice(tmp_path: Path, to: Any) -> None:
    board, turn = Board("incident"), said(("operator", RULE))
    with MemoryController.open(tmp_path, store="none") as memory:
        memory.step(None, turn, thread=TRIAGE, force=True)  # killed before the board
    versions = set()
    for _ in range(3):
        with MemoryController.open(tmp_path, store="none") as memory:
            shared = BoardMemory(memory, board)
            state = memory.policy.schema.empty()
            step = shared.step(state, turn, thread=TRIAGE, to=to)
            assert step.state.turn == 1
            assert rules(shared) == [RULE]
            assert board_texts(shared) == [RULE]
            versions.add(shared.head(TRIAGE).state.version)
            assert not memory.last_state(TRIAGE).constraints  # type: ignore[union-attr]
    assert versions == {1}


def test_what_ended_is_not_brought_back_by_a_repeated_step(tmp_path: Path) -> None:
    board = Board("incident")
    with MemoryController.open(tmp_path, store="none") as memory:
        shared = BoardMemory(memory, board)
        speak(shared, TRIAGE, RULE, to="all")
        speak(shared, FIXER, LIFT, "Go on.")
        assert rules(shared) == []
    with MemoryController.open(tmp_path, store="none") as memory:
        shared = BoardMemory(memory, board)
        empty = memory.policy.schema.empty()
        shared.step(empty, Turn.said(RULE), thread=TRIAGE, to="all")
        assert rules(shared) == []


def test_another_worker_that_goes_on_meanwhile_stops_nothing(
    shared: BoardMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def retire(*_: Any, **__: Any) -> Any:
        raise ConflictError("another worker committed")

    with monkeypatch.context() as patched:
        patched.setattr("acc.board.memory.retire", retire)
        step = speak(shared, TRIAGE, RULE, to="all")
    assert step.warnings
    assert step.state.constraints
    assert step.state_text.count(RULE) == 2
    assert not speak(shared, TRIAGE, "Go on.").state.constraints


def test_many_threads_of_one_process_lose_nothing(sharing: Sharing) -> None:
    shared = sharing(Board("b"), listener=False, model=takes_all)

    def work(number: int) -> None:
        key = ThreadKey(f"t{number}", user="ann", agent=f"agent{number}")
        for turn in range(3):
            speak(shared, key, f"Never stop machine {number}-{turn}.", to="all")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    expected = sorted(f"Never stop machine {n}-{t}." for n in range(4) for t in range(3))
    assert sorted(rules(shared)) == expected
    assert len(list(shared.memory.history(shared.board.key_of(TRIAGE)))) == 12
    assert is_clean(shared.memory, shared.board)


_WORKER = """
import sys
from acc.controller.controller import MemoryController
from acc.journal import ThreadKey
from acc.board.board import Board
from acc.board.memory import BoardMemory
from acc.turn.turn import Turn
folder, name = sys.argv[1:]
with MemoryController.open(folder, store="none") as memory:
    shared = BoardMemory(memory, Board("b"), listener=False)
    for turn in range(4):
        text = f"Never stop the machine {name}-{turn}."
        key = ThreadKey(name, user="ann", agent=name)
        shared.step(None, Turn.said(text), thread=key, to="all")
"""


@pytest.mark.slow
def test_processes_lose_no_update(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    workers = [subprocess.Popen([sys.executable, "-c", _WORKER, str(tmp_path), n]) for n in names]
    assert [worker.wait(timeout=300) for worker in workers] == [0, 0, 0]
    with MemoryController.open(tmp_path, store="none") as memory:
        shared = BoardMemory(memory, Board("b"))
        expected = sorted(f"Never stop the machine {n}-{t}." for n in names for t in range(4))
        assert sorted(rules(shared)) == expected
        assert is_clean(memory, shared.board)
        assert "one-0" in everything_on(shared)
