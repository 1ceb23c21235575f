"""An erased message goes from the boards too that hold a copy of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from strategies import end, fact, rule, user
from team import BOARD, Team, words

from acc import Proposal, Thread
from acc.cli import run
from acc.evidence.erasure import Erasure
from acc.evidence.erasure_plan import Target

SECRET = "Never call patient Ottilie Quandt on +41 79 555 01 23, her file is MRN-88121-Z."
ABOUT = ("Ottilie Quandt", "+41 79 555", "MRN-88121-Z", "ottilie", "quandt")


def standing(folder: Path) -> list[tuple[str, str]]:
    """Which of the words stand in which file."""
    files = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return [(n, w) for n, data in files.items() for w in ABOUT if w.encode() in data]


def spoken(folder: Path) -> Team:
    team = Team.on(folder)
    team.step(
        "a",
        user("Never restart db-2."),
        proposal=Proposal(items=(rule("Never restart db-2", "u1"),)),
    )
    team.step("a", user(SECRET), proposal=Proposal(items=(rule(SECRET, "u2"),)))
    cites = fact("patient", "is", "never called", "Bc2")
    team.step("b", user("hello"), proposal=Proposal(items=(cites,)))
    assert standing(folder)
    return team


@pytest.mark.parametrize(
    "target",
    [
        Target(user="bob", thread="of-a", agent="a", artifact="u2"),
        Target(user="bob", thread="of-a", agent="a"),
    ],
    ids=["message", "thread"],
)
def test_what_an_agents_thread_loses_the_board_loses_too(tmp_path: Path, target: Target) -> None:
    team = spoken(tmp_path)
    with team.memory:
        erasure = Erasure(team.memory)
        receipt = erasure.erase(erasure.plan(target))
        assert receipt.proved
        assert not standing(tmp_path)
        left = {"Never restart db-2"} if target.artifact else set()
        assert words(team.head()) == left
        assert team.verified() >= 2
        team.states["b"] = team.memory.last_state(team.thread("b"))  # type: ignore[assignment]
        step = team.step(
            "b", user("Never page me."), proposal=Proposal(items=(rule("Never page me", "u2"),))
        )
        assert step.board is not None
        assert words(step.board.state) == {*left, "Never page me"}


def test_what_left_the_board_before_goes_too(tmp_path: Path) -> None:
    team = spoken(tmp_path)
    lift = "You may call patient Ottilie Quandt again."
    with team.memory:
        team.step("b", user(lift), proposal=Proposal(retire=(end("Bc2", "u2", quote=lift),)))
        for agent, ref in (("a", "u2"), ("b", "u2")):
            target = Target(user="bob", thread=f"of-{agent}", agent=agent, artifact=ref)
            erasure = Erasure(team.memory)
            assert erasure.erase(erasure.plan(target)).proved
        assert not standing(tmp_path)


def test_the_users_erasure_takes_the_users_board(tmp_path: Path) -> None:
    team = spoken(tmp_path)
    with team.memory:
        erasure = Erasure(team.memory)
        assert erasure.erase(erasure.plan(Target(user="bob"))).proved
        assert not standing(tmp_path)
        assert not words(team.head())


def test_a_board_in_memory_forgets_too() -> None:
    team = Team.on()
    team.step("a", user(SECRET), proposal=Proposal(items=(rule(SECRET, "u1"),)))
    erasure = Erasure(team.memory)
    target = Target(user="bob", thread="of-a", agent="a", artifact="u1")
    erasure.erase(erasure.plan(target))
    assert not words(team.head())
    team.step("b", user("Never page me."), proposal=Proposal(items=(rule("Never page me", "u1"),)))
    assert words(team.head()) == {"Never page me"}


def test_the_command_line_reads_a_board_like_any_thread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    team = Team.on(tmp_path)
    with team.memory:
        team.step(
            "a",
            user("Never restart db-2."),
            proposal=Proposal(items=(rule("Never restart db-2", "u1"),)),
        )
        place: Thread = BOARD.thread_of(team.thread("a"))
    there = ["--memory", str(tmp_path)]
    assert run(["show", *there, "--thread", place.thread, "--provenance"]) == 0
    shown = capsys.readouterr().out
    assert "Never restart db-2" in shown
    assert "u1" in shown
    assert run(["verify", *there]) == 0
    assert f"{place.thread}: 1 commit recomputed" in capsys.readouterr().out
    out = tmp_path / "board.jsonl"
    assert run(["export", str(out), *there, "--user", "bob", "--agent", place.agent]) == 0
    lines = out.read_text(encoding="utf-8").splitlines()
    assert any("Never restart db-2." in line for line in lines)
    assert all(json.loads(line) for line in lines)
