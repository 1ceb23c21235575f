"""Retention: the paper's policies on the journal, protection, holds, ratings, threads that expire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from helpers_evidence import evidence_of, opened, talk

from acc.artifacts.chroma import ChromaStore
from acc.errors import ConfigurationError, InputError
from acc.evidence.base import plain
from acc.evidence.policies import (
    Age,
    Capacity,
    Combined,
    History,
    Period,
    RecordUse,
)
from acc.turn.turn import Turn

QUESTION = "Who has to approve a refund above 500 euros?"
POLICY = "A refund above 500 euros needs the approval of Henrietta Vasquez."
OTHER = "The canteen opens at noon and closes at two."


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self.at += timedelta(seconds=1)
        return self.at

    def seconds(self) -> float:
        return 0.0


def _usage(key: str, times: Any = (), worth: Any = (), added: int = 0, order: int = 0) -> RecordUse:
    return RecordUse(key, added, times, worth, order)


def test_the_formulas_of_the_paper() -> None:
    usages = [
        _usage("never"),
        _usage("once", [5]),
        _usage("often", [1, 5, 9]),
        _usage("new", added=8),
    ]
    assert set(Period(10, 0)(usages, 10)) == {"never"}
    assert set(Period(10, 1)(usages, 10)) == {"never", "once"}
    assert Period(11, 0)(usages, 10) == {}
    rated = [
        _usage("bad", worth=[0, 0, 1]),
        _usage("good", worth=[1, 1, 1]),
        _usage("few", worth=[0, 0]),
    ]
    assert set(History(2, 0.4)(rated, 10)) == {"bad"}
    both = [
        _usage("bad unused", [1], [0] * 6),
        _usage("bad used", [11], [0] * 6),
        _usage("unused", [1]),
    ]
    pair = Period(10, 0), History(5, 0.5)
    assert set(Combined(*pair)(both, 15)) == {"bad unused", "bad used", "unused"}
    assert set(Combined(*pair, "intersection")(both, 15)) == {"bad unused"}
    assert set(Capacity(1)(rated, 1)) == {"bad", "few"}
    for wrong in (lambda: Period(0), lambda: History(-1), lambda: Capacity(-1)):
        with pytest.raises(ConfigurationError):
            wrong()


def test_documents_that_nobody_needs_are_pruned(tmp_path: Path) -> None:
    with opened(tmp_path, store=ChromaStore.embedded(tmp_path / "index")) as memory:
        evidence = evidence_of(memory)
        used, unused = evidence.ingest_text("a", POLICY), evidence.ingest_text("b", OTHER)
        talk(memory, "Hello there.", QUESTION, "And another matter entirely.")
        plan = evidence.plan_prune(Period(3, 0))
        assert [doom.ref for doom in plan.doomed] == [unused.ref]
        assert plan.judged == 2
        done = plan.apply()
        assert done.messages == 1
        assert [each.ref for each in evidence.documents()] == [used.ref]
        assert evidence.search("canteen") == ()
        assert memory.journal.verify([memory.policy]).is_clean
        assert plain(plan)["judged"] == 2
        assert "act" not in plain(plan)


def test_ratings_count_for_what_a_turn_admitted(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        evidence = evidence_of(memory)
        done = evidence.ingest_text("a", POLICY)
        talk(memory, "Hello there.", QUESTION)
        for utility in (0.0, 0.2, 0):
            assert evidence.feedback(2, utility, thread="t") == 1
        (doom,) = (
            evidence.plan_prune(History(2, 0.5)).doomed + evidence.plan_prune(History(2, 0.5)).kept
        )
        assert doom.ref == done.ref
        for wrong in ((99, 1.0), (1, float("nan"))):
            with pytest.raises(InputError):
                evidence.feedback(*wrong, thread="t")


def test_messages_go_only_if_nothing_needs_them(tmp_path: Path) -> None:
    with opened(tmp_path, store=ChromaStore.embedded(tmp_path / "index")) as memory:
        evidence = evidence_of(memory)
        talk(memory, "Never call before noon.", "How are you?", "Nice day.", "Go on.", "And then?")
        evidence.hold("t", "u3", reason="audit")
        plan = evidence.plan_prune(Capacity(0), kind="messages", thread="t")
        kept = {doom.ref: doom.why for doom in plan.kept}
        assert "cited" in kept["u1"]
        assert kept["u3"] == "held: audit"
        assert "next turn" in kept["u5"]
        assert {doom.ref for doom in plan.doomed} == {"u2", "u4"}
        before = memory.last_state("t")
        assert plan.apply().messages == 2
        assert memory.last_state("t") == before
        report = memory.journal.verify([memory.policy])
        assert report.is_clean
        assert report.unexplained >= 2
        assert memory.step(before, Turn.said("And now?"), thread="t").state.turn == 6
        assert memory.state_at("t", 3) is not None
        with pytest.raises(InputError):
            memory.open_evidence("u2", thread="t")


def test_what_was_held_since_the_plan_stays(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        evidence = evidence_of(memory)
        talk(memory, "How are you?", "Nice day.", "Go on.")
        plan = evidence.plan_prune(Capacity(0), kind="messages")
        evidence.hold("t", reason="the whole thread")
        assert plan.apply().messages == 0
        evidence.release("t")
        with pytest.raises(InputError):
            evidence.release("t")
        assert plan.apply().messages == 2
        with pytest.raises(ConfigurationError):
            evidence.plan_prune(Capacity(0), kind="nothing")  # type: ignore[arg-type]


def test_holds_are_listed_and_move_with_their_thread(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as memory:
        talk(memory, "How are you?")
        evidence = evidence_of(memory)
        evidence.hold("t", "u1", reason="audit")
        with pytest.raises(InputError):
            evidence.hold("t", "u9", reason="audit")
        with pytest.raises(InputError):
            evidence.hold("t", reason=" ")
        lines = list(evidence.lines(thread="t"))
    with opened(tmp_path / "b") as memory:
        evidence_of(memory).import_(lines)
        assert [(hold.ref, hold.reason) for hold in evidence_of(memory).held()] == [("u1", "audit")]
        assert evidence_of(memory).held(user="bob") == ()


def test_threads_expire(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, clock=clock) as memory:
        evidence = evidence_of(memory)
        for name in ("old", "held", "young"):
            talk(memory, "How are you?", thread=name)
        evidence.hold("held", reason="audit")
        evidence.ingest_text("a", POLICY)
        clock.at += timedelta(days=40)
        talk(memory, "Still here.", thread="young")
        plan = evidence.plan_expiry(timedelta(days=30))
        assert [doom.thread.thread for doom in plan.doomed] == ["old"]
        assert [(doom.thread.thread, doom.why) for doom in plan.kept] == [("held", "held: audit")]
        assert plan.apply().threads == 1
        assert sorted(key.thread for key in memory.threads()) == ["acc:documents", "held", "young"]
        assert evidence.prune(Age(timedelta(days=30))).messages == 1


def test_a_thread_that_comes_back_while_others_expire_stays(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, clock=clock) as memory:
        talk(memory, "One.", thread="a")
        talk(memory, "Two.", thread="b")
        clock.at += timedelta(days=100)
        plan = evidence_of(memory).plan_expiry(timedelta(days=90))
        assert len(plan.doomed) == 2
        delete = memory.journal.delete_thread

        def comes_back(key: Any) -> int:
            talk(memory, "I am here again.", thread="b" if key.thread == "a" else "a")
            return int(delete(key))

        memory.journal.delete_thread = comes_back  # type: ignore[method-assign]
        assert plan.apply().threads == 1
        (left,) = memory.threads()
        assert [m.text for m in memory.journal.texts(left, ["u1", "u2"])][-1] == "I am here again."


def test_a_policy_deletes_on_the_branch_that_it_judged(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        first = talk(memory, "First words.")
        talk(memory, "Second words.", "Third words.", "Fourth words.")
        step = memory.step(first.state, Turn.said("Other words."), thread="t")
        branch = step.state.branch
        for text in ("More words.", "Newest words."):
            step = memory.step(step.state, Turn.said(text), thread="t")
        plan = evidence_of(memory).plan_prune(
            lambda usages, _: {usages[4].key: "it is the fork's first"}, kind="messages"
        )
        assert [(doom.branch, doom.ref) for doom in plan.doomed] == [(branch, "u2")]
        assert plan.apply().messages == 1
        held, gone = (memory.journal.texts("t", ["u2"], branch=name) for name in ("main", branch))
        assert [each.text for each in held] == ["Second words."]
        assert not gone
