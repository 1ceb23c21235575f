"""The comparison of the load benchmark finds what is lost, doubled, forked or mixed up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import servers  # noqa: F401  puts the benchmarks on the path
from load import Conversation, faults

from acc import Thread
from acc.stores.protocol import Artifact

ONE = Conversation(4, 3)


class Stored:
    """Records, audit entries and answers of a conversation without a fault."""

    def __init__(self) -> None:
        heard = [("user", ONE.said(0)), ("agent", "Noted.")]
        heard += [("user", ONE.said(1)), ("agent", "call"), ("tool", "result"), ("agent", "so")]
        heard += [("user", ONE.said(2)), ("agent", f"Never restart {ONE.mark}")]
        self.records = [
            Artifact(
                id=f"k.main:{n}", thread="k", branch="main", seq=n, turn=1, kind="observation",
                text=text, channel=channel, identity=text, at="2026-01-01T00:00:00+00:00",
            )
            for n, (channel, text) in enumerate(heard)
        ]  # fmt: skip
        rule = {"text": f"Never restart {ONE.mark}"}
        self.entries: list[Any] = [
            {"state": {"branch": "main", "turn": n + 1, "hash": f"h{n}", "constraints": [rule]}}
            for n in range(3)
        ]
        self.answers = [{"hash": f"h{n}", "answer": ONE.mark} for n in range(3)]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda its: its.records.pop(2), "lost"),
        (lambda its: its.records.append(its.records[2]), "doubled"),
        (lambda its: its.records.append(its.records[4]), "doubled"),
        (lambda its: its.entries.insert(0, its.entries[0]), "doubled"),
        (lambda its: its.entries.pop(1), "lost"),
        (lambda its: its.entries[-1]["state"]["constraints"].clear(), "lost"),
        (lambda its: its.answers[2].update(answer="Done."), "lost"),
        (lambda its: its.answers[1].update(answer="ward-0005"), "leaked"),
        (lambda its: its.entries[1]["state"].update(branch="other"), "forked"),
    ],
)
def test_each_fault_is_found(change: Callable[[Stored], object], kind: str) -> None:
    its = Stored()
    assert faults(ONE, its.records, its.entries, its.answers) == []
    change(its)
    assert kind in {found for found, _ in faults(ONE, its.records, its.entries, its.answers)}


def test_conversations_share_names_and_no_thread() -> None:
    some = [Conversation(n, 3) for n in range(12)]
    assert len({one.place.partition("/")[2] for one in some}) == 4
    assert len({one.thread.key for one in some}) == len({one.mark for one in some}) == 12
    assert isinstance(some[0].thread, Thread)
