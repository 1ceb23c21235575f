"""``acc adopt``: after a restore, threads whose checkpoints are newer go on with their rules."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.sqlite import SqliteSaver

from acc import MemoryController, MemoryMiddleware
from acc.cli import run
from acc.errors import StoreError
from acc.testing.chat_model import ScriptedChatModel


class Desk:
    """An agent with its memory's folder and its checkpoints' file."""

    def __init__(self, place: Path) -> None:
        self.folder, self.database = place / "memory", place / "checkpoints.sqlite"

    def say(self, thread: str, *words: str) -> Sequence[str]:
        """Say ``words``; return the rules after them."""
        model = ScriptedChatModel(script=lambda _: "ok")
        connection = sqlite3.connect(self.database, check_same_thread=False)
        config: Any = {"configurable": {"thread_id": thread, "user_id": "nina"}}
        with MemoryController.open(self.folder) as memory:
            saver = SqliteSaver(connection)
            agent = create_agent(
                model, [], middleware=[MemoryMiddleware(memory)], checkpointer=saver
            )
            for each in words:
                out = agent.invoke({"messages": [("user", each)]}, config)
        connection.close()
        return [rule["text"] for rule in out["ccs"]["constraints"]]

    def acc(self, *command: str) -> int:
        return run([*command, "--memory", str(self.folder)])

    @property
    def adopt(self) -> list[str]:
        return ["adopt", "--checkpointer", f"sqlite:{self.database}"]


FIRST, SECOND = "Never restart nginx", "Never page Ravi"


@pytest.fixture
def restored(tmp_path: Path) -> Desk:
    """Two threads that went on after the backup, one that did not, and one that began after it."""
    desk = Desk(tmp_path)
    for thread in ("a", "b", "still"):
        desk.say(thread, f"{FIRST}.")
    assert desk.acc("backup", str(tmp_path / "copy")) == 0
    for thread in ("a", "b", "new"):
        desk.say(thread, f"{SECOND}.", "Why is it slow?")
    shutil.rmtree(desk.folder)
    (tmp_path / "copy").rename(desk.folder)
    return desk


def test_after_a_restore_the_threads_go_on_with_all_their_rules(
    restored: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StoreError, match="acc adopt --checkpointer URL"):
        restored.say("a", "And now?")
    capsys.readouterr()
    assert restored.acc(*restored.adopt, "--all", "--dry-run", "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert [(each["thread"], each["turn"]) for each in plan["to_adopt"]] == [("a", 3), ("b", 3)]
    with pytest.raises(StoreError):  # a plan changes nothing
        restored.say("a", "And now?")
    assert restored.acc(*restored.adopt, "--all") == 1
    assert "give --yes" in capsys.readouterr().err
    assert restored.acc(*restored.adopt, "--all", "--yes") == 0
    told = capsys.readouterr().out
    assert "adopted: thread 'a' of user 'nina', the checkpoint's state after turn 3" in told
    assert "3 checkpoints with a state looked at; 2 adopted" in told
    for thread in ("a", "b"):
        assert restored.say(thread, "And now?", "Still?") == [FIRST, SECOND]
    assert restored.say("still", "And now?") == [FIRST]
    assert restored.acc(*restored.adopt, "--all", "--dry-run") == 0
    assert "0 to adopt" in capsys.readouterr().out
    assert restored.acc("verify") == 0


def test_a_thread_that_the_backup_does_not_know_is_named_with_its_user(
    restored: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    one = [*restored.adopt, "--thread", "new", "--yes"]
    assert restored.acc(*one) == 0
    assert "left alone: the checkpoint of 'new'" in capsys.readouterr().out
    assert restored.acc(*one, "--user", "nina") == 0
    assert "1 adopted" in capsys.readouterr().out
    assert restored.say("new", "And now?") == [SECOND]


def test_what_cannot_be_adopted_is_said(restored: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, why in (
        ([], "name one thread or all"),
        (["--thread", "a", "--all"], "name one thread or all"),
        (["--all", "--checkpointer", "sqlite:none"], "the database file does not exist"),
        (["--all", "--checkpointer", f"sqlite:{restored.folder / 'acc.key'}"], "cannot be read"),
    ):
        assert restored.acc(*restored.adopt, *wrong) == 1
        assert why in capsys.readouterr().err
