"""The benchmarks of many writers: they find what is lost, doubled or mixed up, and nothing is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from helpers_toy import ROOT

sys.path.append(str(ROOT / "benchmarks"))

import board
from load import Conversation, faults

ONE = Conversation(4, 3)
RULE = ONE.said(0)


class Stored:
    """Texts, rules and branches of a conversation without a fault."""

    def __init__(self) -> None:
        self.texts = [ONE.said(turn) for turn in range(3)]
        self.rules = [RULE]
        self.branches = ["main"]

    def faults(self) -> set[str]:
        """The kinds of what is wrong."""
        return {kind for kind, _ in faults(ONE, self.texts, self.rules, self.branches)}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda its: its.texts.pop(1), "lost"),
        (lambda its: its.texts.append(its.texts[1]), "doubled"),
        (lambda its: its.rules.clear(), "lost"),
        (lambda its: its.rules.append("Never restart ward-0005."), "lost"),
        (lambda its: its.branches.append("b2"), "forked"),
        (lambda its: its.texts.append("Never restart ward-0005."), "leaked"),
    ],
)
def test_each_fault_is_found(change: Callable[[Stored], object], kind: str) -> None:
    its = Stored()
    assert its.faults() == set()
    change(its)
    assert its.faults() == {kind}


def test_conversations_share_names_and_no_thread() -> None:
    some = [Conversation(n, 3) for n in range(12)]
    assert len({one.thread.thread for one in some}) == 4
    assert len({one.thread for one in some}) == len({one.mark for one in some}) == 12


@pytest.mark.slow
def test_workers_that_are_killed_lose_double_and_leak_nothing() -> None:
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "evaluation")))
    sizes = ["--workers", "3", "--threads", "9", "--turns", "5", "--kills", "5", "--json"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "load.py"), *sizes],
        capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    found = json.loads(done.stdout)["all workers, killed"]
    assert done.returncode == 0, found
    assert (found["steps"], found["killed"]) == (45, 5)


def test_a_board_loses_no_update_in_any_order() -> None:
    found = board.lost(2)
    assert (found["lost"], found["verify"]) == (0, "clean")
    assert found["made_anew"] > 10


def test_an_update_that_a_writer_never_made_counts_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = board.Writer.moves
    monkeypatch.setattr(board.Writer, "moves", lambda its: "host-5" not in its.words and whole(its))
    assert board.lost(1)["lost"] == 1


@pytest.mark.slow
def test_rules_reach_all_agents_of_a_board_and_private_words_reach_none() -> None:
    reach = board.private(agents=3, turns=3)
    assert (reach.rules, reach.leaks) == (9, 0)
    assert reach.tries > 60
