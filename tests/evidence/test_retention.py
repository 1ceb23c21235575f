"""Retention on a real memory: what goes, what is protected, how it is counted, and threads after."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acc import AsyncMemoryController, InMemoryStore, MemoryController, Settings, Turn
from acc.errors import ConfigurationError, InputError, StoreError
from acc.evidence.addition import Addition
from acc.evidence.deletion import Deletion, History, Period
from acc.evidence.documents import Documents
from acc.evidence.parsing import Section
from acc.evidence.retention import Retention
from acc.evidence.usage import Ledger, Usage, compact
from acc.recall.candidates import WideRecall
from acc.stores.directory import namespace, namespace_of
from acc.stores.protocol import Artifact, Thread, managed

SPACE = namespace()
SAID = (
    "The billing service runs on host bill-db-7.",
    "Never restart nginx during business hours.",
    "The lamp in room 9 is broken.",
    "Room 12 was painted green by the landlord.",
    "Checkout is slow: p95 is 4.2s. Why?",
    "What do we know of the billing service on bill-db-7?",
    "Thanks.",
    "Good.",
)


class Everything(Deletion):
    """Would delete all."""

    def __call__(self, usages: Sequence[Usage], t: int) -> dict[str, str]:
        return {usage.key: "all" for usage in usages}


def memory_in(tmp_path: Path, **given: Any) -> MemoryController:
    given.setdefault("recall", WideRecall())
    return MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path / "audit", **given))


def admits(*_: object) -> bool:
    """A gate that admits whatever is recalled."""
    return True


def talk(memory: MemoryController, *said: str, thread: str | Thread = "inc") -> None:
    for words in said:
        memory.step(memory.last_state(thread), Turn.said(words), thread=thread)


def test_raw_turns_stay_unless_they_are_named(tmp_path: Path) -> None:
    with memory_in(tmp_path) as memory:
        talk(memory, *SAID)
        assert Retention(memory).plan(SPACE, Everything()).doomed == ()
        with pytest.raises(ConfigurationError, match="not a kind"):
            Retention(memory).plan(SPACE, Everything(), ("turns",))  # type: ignore[arg-type]


def test_nothing_goes_that_the_state_cites_or_the_next_turn_reads(tmp_path: Path) -> None:
    with memory_in(tmp_path) as memory:
        talk(memory, *SAID)
        keeper = Retention(memory)
        plan = keeper.plan(SPACE, Everything(), ("observation", "set_aside"))
        state = memory.last_state("inc")
        assert state is not None
        cited = {ref for _, item in state.items() for ref in item.sources}
        gone = {d.ref for d in plan.doomed}
        assert gone
        assert not gone & cited
        assert not gone & {"u7", "u8"}
        why = {d.ref: d.why for d in plan.protected}
        assert why["u2"].startswith("cited by c")
        assert why["u8"] in ("the next turn reads it", why["u8"])
        before = state.render()
        assert keeper.prune(plan) == len(plan.ids)
        assert memory.last_state("inc").render() == before  # type: ignore[union-attr]
        talk(memory, "Is the lamp in room 9 mended?")
        for ref in cited:
            assert memory.open_evidence(ref, state, thread="inc")


def test_after_a_prune_the_thread_reads_retries_and_forks_as_before(tmp_path: Path) -> None:
    with memory_in(tmp_path) as memory:
        states = [None]
        for words in SAID:
            step = memory.step(states[-1], Turn.said(words), thread="inc")
            states.append(step.state)  # type: ignore[arg-type]
        keeper = Retention(memory)
        keeper.prune(keeper.plan(SPACE, Everything(), ("observation", "set_aside")))
        store = managed(memory.artifacts)
        before = store.ids("default")
        again = memory.step(states[7], Turn.said(SAID[7]), thread="inc")
        assert again.state.hash == states[8].hash  # type: ignore[attr-defined]
        third = memory.step(states[2], Turn.said(SAID[2]), thread="inc")
        assert third.state.branch == "main"
        assert store.ids("default") == before
        fork = memory.step(states[3], Turn.said("Another future."), thread="inc")
        assert fork.state.branch != "main"
        assert fork.turn.observations[0].ref == "u4"


def test_without_a_known_state_nothing_of_a_thread_goes() -> None:
    with MemoryController(InMemoryStore(), settings=Settings(audit=None)) as memory:
        step = memory.step(None, Turn.said(SAID[0]), thread="inc")
        for words in SAID[1:]:
            step = memory.step(step.state, Turn.said(words), thread="inc")
        plan = Retention(memory).plan(SPACE, Everything(), ("observation",))
        assert plan.doomed == ()
        assert {d.why for d in plan.protected} == {"the thread's current state is not known"}
        states = {"inc": [step.state.canonical()]}
        assert Retention(memory).plan(SPACE, Everything(), ("observation",), states=states).doomed


def test_what_a_turn_admitted_is_counted_from_the_audit_log_alone(tmp_path: Path) -> None:
    with memory_in(tmp_path, gate=admits) as memory:
        talk(memory, *SAID[:5])
        step = memory.step(memory.last_state("inc"), Turn.said(SAID[5]), thread="inc")
        admitted = {e.ref for e in step.evidence}
        assert "u1" in admitted
        talk(memory, *SAID[6:])
        plan = Retention(memory).plan(SPACE, Period(3, 0), ("observation",))
        assert plan.t["observation"] == 8
        assert {d.ref for d in (*plan.doomed, *plan.protected)} == {"u3", "u4", "u5"}


def test_feedback_flows_to_what_the_turn_admitted(tmp_path: Path) -> None:
    with memory_in(tmp_path, gate=admits) as memory:
        talk(memory, *SAID)
        assert set(memory.feedback(6, 0.0, thread="inc")) >= {f"{Thread(thread='inc').key}:u1"}
        plan = Retention(memory).plan(SPACE, History(0, 0.5), ("observation",))
        assert "u1" in {d.ref for d in (*plan.doomed, *plan.protected)}
        memory.feedback("u1", 5.0, thread="inc")
        plan = Retention(memory).plan(SPACE, History(0, 0.5), ("observation",))
        assert "u1" not in {d.ref for d in (*plan.doomed, *plan.protected)}
        for target, utility in ((99, 1.0), ("u1", float("nan")), (True, 1.0), (6, True)):
            with pytest.raises(InputError):
                memory.feedback(target, utility, thread="inc")


def test_feedback_is_the_same_from_an_asynchronous_controller(tmp_path: Path) -> None:
    async def main() -> tuple[str, ...]:
        store = InMemoryStore()
        async with AsyncMemoryController(
            store, settings=Settings(audit=tmp_path / "audit", gate=admits)
        ) as memory:
            state = None
            for words in SAID:
                state = (await memory.step(state, Turn.said(words), thread="inc")).state
            return await memory.feedback(6, 0.0, thread="inc")

    assert f"{Thread(thread='inc').key}:u1" in asyncio.run(main())


def test_what_is_stored_in_the_millisecond_of_a_commit_came_after_it() -> None:
    ledger = Ledger()
    for stamp in ("2026-05-01T09:00:00.001Z", "2026-05-01T09:00:00.004Z"):
        ledger.add_retrieval((), at=stamp)
    times = [ledger.time_of(f"2026-05-01T09:00:00.00{ms}Z") for ms in (0, 1, 3, 4, 9)]
    assert times == [0, 1, 1, 2, 2]


def test_combined_reports_both_readings(tmp_path: Path) -> None:
    with memory_in(tmp_path, gate=admits) as memory:
        talk(memory, *SAID)
        memory.feedback(6, 0.0, thread="inc")
        policy = Period(2, 9) | History(0, 0.5)
        plan = Retention(memory).plan(SPACE, policy, ("observation",))
        assert plan.readings == {"union": 7, "intersection": 2}


def test_a_document_is_recalled_cited_counted_and_then_protected(tmp_path: Path) -> None:
    with memory_in(tmp_path) as memory:
        shelf = Documents.of(memory, SPACE)
        shelf.add(
            "handbook.md", [Section("The ledger is restored from the backup on bkp-3.", "Restore")]
        )
        shelf.add("menu.md", [Section("On Friday there is fish with rice.", "Lunch")])
        talk(memory, SAID[2])
        question = "From where is the ledger restored?"
        step = memory.step(memory.last_state("inc"), Turn.said(question), thread="inc")
        (read,) = (e for e in step.evidence if e.ref.startswith("doc."))
        assert "bkp-3" in read.text
        assert read.channel.value == "document"
        plan = Retention(memory).plan(SPACE, Everything())
        fate = {d.ref: d.why for d in (*plan.doomed, *plan.protected)}
        assert len(plan.doomed) + len(plan.protected) == 2
        cited = {ref for _, item in step.state.items() for ref in item.sources}
        if read.ref in cited:
            assert fate[read.ref].startswith("cited by")


LEDGER = "The ledger is restored from the backup on bkp-3."
FROM_WHERE = "From where is the ledger restored?"
ANA = Thread(thread="inc", user="ana")
BOB = Thread(thread="inc", user="bob", agent="clerk")


def shared_documents(memory: MemoryController) -> tuple[str, str]:
    """Refs of two parts: one that is asked for, and one that is not."""
    shelf = Documents.of(memory, SPACE)
    asked = shelf.add("vault.md", [Section(LEDGER)]).ref
    return f"{asked}.1", f"{shelf.add('menu.md', [Section('On Friday there is fish.')]).ref}.1"


def test_what_another_users_state_cites_is_protected_now_and_when_it_is_done(
    tmp_path: Path,
) -> None:
    with memory_in(tmp_path) as memory:
        vault, menu = shared_documents(memory)
        keeper = Retention(memory)
        early = keeper.plan(SPACE, Everything())
        assert {d.ref for d in early.doomed} == {vault, menu}
        talk(memory, FROM_WHERE, thread=BOB)
        plan = keeper.plan(SPACE, Everything())
        assert [d.ref for d in plan.doomed] == [menu]
        (kept,) = plan.protected
        assert kept.ref == vault
        assert kept.why.startswith("cited by ")
        assert kept.why.endswith("of inc (user 'bob', agent 'clerk')")
        assert keeper.prune(early) == 1
        state = memory.last_state(BOB)
        assert state is not None
        assert memory.open_evidence(vault, state, thread=BOB) == LEDGER


def test_a_document_of_one_agent_is_not_protected_by_who_cannot_see_it(tmp_path: Path) -> None:
    with memory_in(tmp_path) as memory:
        vault, _ = shared_documents(memory)
        planner = namespace(agent="planner")
        assert f"{Documents.of(memory, planner).add('vault.md', [Section(LEDGER)]).ref}.1" == vault
        talk(memory, FROM_WHERE, thread=BOB)
        assert [d.ref for d in Retention(memory).plan(planner, Everything()).doomed] == [vault]


def test_what_other_users_read_of_a_document_is_counted_in_the_commits_of_all(
    tmp_path: Path,
) -> None:
    with memory_in(tmp_path, gate=admits) as memory:
        _, menu = shared_documents(memory)
        talk(memory, *SAID[2:4], thread=ANA)
        talk(memory, FROM_WHERE, thread=BOB)
        talk(memory, SAID[7], thread="own")
        plan = Retention(memory).plan(SPACE, Period(3, 0), ("document", "observation"))
        assert plan.t == {"document": 4, "observation": 1}
        assert [d.ref for d in (*plan.doomed, *plan.protected) if d.kind == "document"] == [menu]


def test_feedback_of_another_user_on_a_shared_document_counts_for_it(tmp_path: Path) -> None:
    with memory_in(tmp_path, gate=admits) as memory:
        vault, _ = shared_documents(memory)
        talk(memory, SAID[2], thread=ANA)
        talk(memory, FROM_WHERE, thread=BOB)
        key = f"{SPACE.key}:{vault}"
        assert memory.feedback(1, 0.0, thread=BOB) == (key,)
        assert memory.feedback(vault, 0.25, thread=ANA) == (key,)
        keeper = Retention(memory)

        def useless(least: int) -> set[str]:
            plan = keeper.plan(SPACE, History(least, 0.5))
            return {d.ref for d in (*plan.doomed, *plan.protected)}

        assert useless(1) == {vault}
        assert useless(2) == set()
        for thread in (ANA, BOB):
            compact(memory.artifacts, namespace_of(thread), memory._now, least=1)
        assert useless(1) == {vault}
        assert useless(2) == set()
        memory.feedback(vault, 9.0, thread=ANA)
        assert useless(0) == set()


def test_a_state_that_is_given_is_of_the_namespace_and_no_other(tmp_path: Path) -> None:
    """States are given by the thread's name, and another user's thread may have the same."""
    with memory_in(tmp_path) as memory:
        vault, _ = shared_documents(memory)
        talk(memory, FROM_WHERE, thread=BOB)
        states: dict[str, Any] = {"inc": [memory.load(None).canonical()]}
        plan = Retention(memory).plan(SPACE, Everything(), states=states)
        assert [d.ref for d in plan.protected] == [vault]


def test_the_wider_scope_is_the_users_own(tmp_path: Path) -> None:
    bob = Thread(thread="t", user="bob")
    old, new = Thread(thread="old", user="ana"), Thread(thread="new", user="ana")
    with memory_in(tmp_path) as memory:
        talk(memory, "The vault code of the archive is kept by Anselm.", thread=old)
        question = "Who keeps the vault code of the archive?"
        mine = memory.step(None, Turn.said(question), thread=new)
        assert [e.ref for e in mine.evidence] == [f"{old.key[:8]}/u1"]
        theirs = memory.step(None, Turn.said(question), thread=bob)
        assert theirs.evidence == ()


def test_a_plain_store_is_told_what_it_lacks() -> None:
    class Plain:
        shared = False

        def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None: ...
        def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
            return []

        def close(self) -> None: ...

    with pytest.raises(StoreError, match="ManagedStore"):
        Retention(MemoryController(Plain(), settings=Settings(audit=None)))


def test_an_earlier_version_of_a_document_goes_when_asked(tmp_path: Path) -> None:
    with memory_in(tmp_path) as memory:
        shelf = Documents.of(memory, SPACE, Addition("all"))
        first = shelf.add("a.md", [Section("Version one.")])
        assert shelf.add("a.md", [Section("Version one.")]).parts == 0
        assert shelf.add("a.md", [Section("Version two.")], replace=True).replaced == 1
        assert [a.text for a in shelf.shelf.records()] == ["Version two."]
        assert first.ref != shelf.shelf.records()[0].ref
