"""An erased text of one role goes from the memories of the roles that it was shared with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from role_team import ANALYST, PLANNER, TeamState, said, turn

from acc import Channel, MemoryController, RoleMemory, Thread
from acc.errors import InputError
from acc.evidence.erasure import Erasure
from acc.evidence.erasure_plan import Target

SECRET = "The contact for the quota of shards is Ottilie Quandt, +41 79 555 01 23."
ABOUT = ("Ottilie", "Quandt", "quandt", "555 01 23")
ASKED = turn(
    said(Channel.USER, "Who is the contact for the quota of shards?"),
    said(Channel.AGENT, "I have looked it up."),
)
HOME = Thread(thread="pipeline", user="bob")


def opened(folder: Path) -> tuple[MemoryController, RoleMemory]:
    memory = MemoryController.open(folder, schema=TeamState)
    roles = [replace(PLANNER, shares=frozenset({Channel.TOOL})), ANALYST]
    return memory, RoleMemory(memory, roles, thread=HOME, update_from="turn")


def standing(folder: Path) -> list[tuple[str, str]]:
    files = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return [(name, word) for name, data in files.items() for word in ABOUT if word.encode() in data]


@pytest.mark.parametrize(
    "target",
    [
        Target(user="bob", thread="pipeline", agent="planner", artifact="t1"),
        Target(user="bob", thread="pipeline", agent="planner"),
        Target(user="bob"),
    ],
    ids=["text", "thread", "user"],
)
def test_it_goes_from_the_role_that_recalled_it(tmp_path: Path, target: Target) -> None:
    memory, team = opened(tmp_path)
    with memory:
        team.update(
            "planner", turn(said(Channel.TOOL, SECRET, "crm"), said(Channel.AGENT, "Noted."))
        )
        for _ in range(3):  # what was recalled enters the state and leaves it again
            step = team.update("analyst", ASKED)
        assert step.turn.number == 3
        assert "Quandt" in str([e.text for e in step.evidence])
        ref = f"{team.thread('planner').key[:8]}/t1"
        assert team.open_evidence("analyst", ref) == SECRET
        erasure = Erasure(memory)
        assert erasure.erase(erasure.plan(target)).proved
        assert not standing(tmp_path)
        with pytest.raises(InputError):
            team.open_evidence("analyst", ref)
        assert "Quandt" not in team.reads("analyst")
        assert team.update("analyst", "A risk is cold starts.").state.turn == (
            4 if target.thread else 1
        )
