"""Turns that were begun and never committed: what was said in them is heard by the next one.

A kill, a cancelled call, a model that cannot work: the user has said it all the same, and mostly goes
on with other words (laws 8 and 9).
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from strategies import agent, rule, tool, user

from acc import Settings
from acc.audit.verify import verify
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError, ConflictError, PinnedOverflow, StoreError
from acc.keyless.compressor import RuleCompressor
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Thread
from acc.testing import FixedClock
from acc.turn.observations import Observation
from acc.turn.turn import Turn

State = CompressedCognitiveState

RULE = "Never restart nginx-prod-7 during business hours."
FIRST = "Checkout is slow. Why?"


class Dies:
    """A compressor under which the process ends, as often as it is told to; then the keyless rules."""

    def __init__(self, times: int = 1, error: BaseException | None = None) -> None:
        self.times = times
        self.error = error or KeyboardInterrupt()

    def __call__(self, turn: Turn, *rest: Any) -> Proposal:
        if turn.number > 1 and self.times:
            self.times -= 1
            raise self.error
        return RuleCompressor()(turn, *rest)


def memory_on(store: Any, compressor: Any = None, **settings: Any) -> MemoryController:
    return MemoryController(
        store, compressor or RuleCompressor(), Settings(clock=FixedClock(), **settings)
    )


def heard(memory: Any, state: State) -> list[str]:
    with memory._lock:
        branch = memory._log_of(Thread(thread="t")).branch(state.branch)
        return [a.text for a in branch.artifacts if a.kind == "observation"]


def elsewhere(store: InMemoryStore) -> InMemoryStore:
    """The same records, as another process opens them."""
    other = type(store)()
    other.__dict__.update(store.__dict__)
    return other


def given_up(memory: MemoryController, state: State, words: str | Turn = RULE) -> None:
    turn = Turn.said(words) if isinstance(words, str) else words
    with pytest.raises(KeyboardInterrupt):
        memory.step(state, turn, thread="t")


@pytest.mark.parametrize("audited", [False, True])
def test_a_rule_said_in_a_killed_turn_holds_when_the_user_goes_on(
    audited: bool, tmp_path: Path
) -> None:
    store, audit = InMemoryStore(), tmp_path if audited else None
    memory = memory_on(store, Dies(), audit=audit)
    state = memory.step(None, Turn.said(FIRST), thread="t").state
    given_up(memory, state)
    done = memory.step(state, Turn.said("Are you there?"), thread="t")
    assert [item.text for item in done.state.constraints] == [RULE.rstrip(".")]
    assert done.recovered == ("u2",)
    assert "taken up u2: begun before, and never committed" in done.explain()
    assert heard(memory, done.state) == [FIRST, RULE, "Are you there?"]
    after = memory.step(done.state, Turn.said("Thanks."), thread="t")
    assert after.recovered == ()
    log, policy = memory._audit_of(Thread(thread="t")), memory.settings.policy
    if log is not None:
        assert verify(log, {policy.fingerprint: policy}) == 3


def test_another_process_knows_it_by_the_audit_log(tmp_path: Path) -> None:
    store = InMemoryStore()
    killed = memory_on(store, Dies(), audit=tmp_path)
    given_up(killed, killed.step(None, Turn.said(FIRST), thread="t").state)
    memory = memory_on(elsewhere(store), audit=tmp_path)
    done = memory.step(memory.last_state("t"), Turn.said("Are you there?"), thread="t")
    assert heard(memory, done.state) == [FIRST, RULE, "Are you there?"]


def test_without_an_audit_log_another_process_takes_it_for_another_future() -> None:
    store = InMemoryStore()
    killed = memory_on(store, Dies())
    state = killed.step(None, Turn.said(FIRST), thread="t").state
    given_up(killed, state)
    done = memory_on(elsewhere(store)).step(state, Turn.said("Are you there?"), thread="t")
    assert done.recovered == ()


def test_an_asynchronous_call_that_was_given_up_is_heard() -> None:
    async def run() -> tuple[list[str], tuple[str, ...]]:
        begun = asyncio.Event()

        class Hangs:
            async def acompress(self, turn: Turn, *rest: Any) -> Proposal:
                if turn.user_words == RULE:
                    begun.set()
                    await asyncio.Event().wait()
                return RuleCompressor()(turn, *rest)

            def __call__(self, *_: Any) -> Proposal:
                raise AssertionError("awaited")

        memory = AsyncMemoryController(InMemoryStore(), Hangs(), Settings(clock=FixedClock()))
        state = (await memory.step(None, Turn.said(FIRST), thread="t")).state
        step = asyncio.create_task(memory.step(state, Turn.said(RULE), thread="t"))
        await begun.wait()
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        done = await memory.step(state, Turn.said("Are you there?"), thread="t")
        return heard(memory, done.state), done.recovered

    assert asyncio.run(run()) == ([FIRST, RULE, "Are you there?"], ("u2",))


def test_what_a_model_that_cannot_work_was_not_told_is_told_the_next_one() -> None:
    store = InMemoryStore()
    memory = memory_on(store, Dies(1, ConfigurationError("no such model", hint="name another")))
    state = memory.step(None, Turn.said(FIRST), thread="t").state
    with pytest.raises(ConfigurationError):
        memory.step(state, Turn.said(RULE), thread="t")
    done = memory.step(state, Turn.said("Are you there?"), thread="t")
    assert len(done.state.constraints) == 1


def test_twice_given_up_all_of_it_is_heard_once() -> None:
    memory = memory_on(InMemoryStore(), Dies(2))
    state = memory.step(None, Turn.said(FIRST), thread="t").state
    given_up(memory, state)
    given_up(memory, state, "The db runs on db-7.")
    done = memory.step(state, Turn.said("Hello?"), thread="t")
    assert heard(memory, done.state) == [FIRST, RULE, "The db runs on db-7.", "Hello?"]


def test_what_the_next_turn_brings_along_itself_is_not_doubled() -> None:
    """A LangGraph thread has what was said in its messages."""
    memory = memory_on(InMemoryStore(), Dies())
    state = memory.step(None, Turn.said(FIRST), thread="t").state
    given_up(memory, state)
    both = Turn(observations=(user(RULE), user("Are you there?")))
    done = memory.step(state, both, thread="t")
    assert heard(memory, done.state) == [FIRST, RULE, "Are you there?"]


def test_the_same_words_again_are_the_same_turn() -> None:
    memory = memory_on(InMemoryStore(), Dies())
    state = memory.step(None, Turn.said(FIRST), thread="t").state
    given_up(memory, state)
    done = memory.step(state, Turn.said(RULE), thread="t")
    assert (done.state.branch, done.recovered) == ("main", ())
    assert heard(memory, done.state) == [FIRST, RULE]


def test_calls_and_results_of_a_turn_that_was_given_up_stay_in_order() -> None:
    memory = memory_on(InMemoryStore(), Dies())
    state = memory.step(None, Turn.said(FIRST), thread="t").state
    given_up(
        memory, state, Turn(observations=(agent("It is the pool."), tool("60 of 60"), user(RULE)))
    )
    done = memory.step(state, Turn.said("Go on."), thread="t")
    assert heard(memory, done.state) == [FIRST, "It is the pool.", "60 of 60", RULE, "Go on."]


@pytest.mark.parametrize("audited", [False, True])
def test_a_committed_future_is_another_one(audited: bool, tmp_path: Path) -> None:
    memory = memory_on(InMemoryStore(), audit=tmp_path if audited else None)
    state = memory.step(None, Turn.said(FIRST), thread="t").state
    memory.step(state, Turn.said(RULE), thread="t")
    done = memory.step(state, Turn.said("Are you there?"), thread="t")
    assert done.recovered == ()
    assert heard(memory, done.state) == [FIRST, "Are you there?"]
    other = memory.step(state, Turn.said("And a third future?"), thread="t")
    assert heard(memory, other.state) == [FIRST, "And a third future?"]


class Floods:
    """Proposes as many rules as words of the user's begin with ``rule``."""

    def __call__(self, turn: Turn, *_: Any) -> Proposal:
        said = [o for o in turn.observations if "rule" in o.text]
        return Proposal(
            items=tuple(self._rule(o, n) for o in said for n in range(o.text.count("rule")))
        )

    def _rule(self, said: Observation, number: int) -> Any:
        text = said.text.split(". ")[number]
        return rule(text, said.ref)


@pytest.mark.parametrize("given_up_first", [False, True])
def test_words_that_cannot_be_committed_do_not_hold_the_thread_up(given_up_first: bool) -> None:
    """Rules beyond the bounds are refused loudly (law 7), once: nobody drags them along."""
    memory = memory_on(InMemoryStore(), Dies(), policy=Policy(max_tokens=80))
    state = memory.step(None, Turn.said(FIRST), thread="t").state
    if given_up_first:
        given_up(memory, state, "Hello?")
    memory.compressor = Floods()
    flood = ". ".join(f"rule {word} holds for every host of this cluster" for word in "abcdefgh")
    with pytest.raises(PinnedOverflow):
        memory.step(state, Turn.said(flood), thread="t")
    done = memory.step(state, Turn.said("rule z holds"), thread="t")
    assert [item.text for item in done.state.constraints] == ["rule z holds"]
    again = memory.step(state, Turn.said("Then rule y holds"), thread="t")
    assert len(again.state.constraints) == 1


FLOOD = ". ".join(f"rule {word} holds for every host of this cluster" for word in "abcdefgh")


def refused(memory: MemoryController, words: str = FLOOD) -> bool:
    return memory.was_refused(Turn.said(words), thread="t")


@pytest.mark.parametrize("is_shared", [False, True])
def test_words_that_were_refused_are_known_from_any_state_and_in_any_process(
    is_shared: bool,
) -> None:
    store = Shared() if is_shared else InMemoryStore()
    memory = memory_on(store, Floods(), policy=Policy(max_tokens=80))
    other = memory_on(elsewhere(store), Floods(), policy=Policy(max_tokens=80))
    assert not refused(other)
    with pytest.raises(PinnedOverflow):
        memory.step(None, Turn.said(FLOOD), thread="t")
    assert refused(memory)
    assert refused(other) or not is_shared
    assert refused(memory_on(elsewhere(store)))
    assert not refused(memory, "rule a holds")
    assert not memory.was_refused(Turn.said(FLOOD), thread="u")
    assert not memory.was_refused(Turn(observations=(agent(FLOOD),)), thread="t")
    # They are the user's words: what a tool said beside them makes no difference.
    again = Turn(observations=(tool("x"), user(FLOOD)))
    assert memory.was_refused(again, thread="t")


def test_words_that_found_room_later_are_refused_no_more() -> None:
    store = InMemoryStore()
    memory = memory_on(store, Floods(), policy=Policy(max_tokens=80))
    with pytest.raises(PinnedOverflow):
        memory.step(None, Turn.said(FLOOD), thread="t")
    wider = memory_on(store, Floods())
    assert wider.step(None, Turn.said(FLOOD), thread="t").state.constraints
    assert not refused(memory)
    assert not refused(memory_on(elsewhere(store)))


def test_refused_words_that_are_said_anew_and_given_up_are_heard() -> None:
    store = InMemoryStore()
    memory = memory_on(store, Floods(), policy=Policy(max_tokens=80))
    with pytest.raises(PinnedOverflow):
        memory.step(None, Turn.said(FLOOD), thread="t")
    memory = memory_on(store, Dies())
    state = memory.step(None, Turn.said(FIRST), thread="t").state
    given_up(memory, state, FLOOD)
    assert not refused(memory)
    memory.compressor = Floods()
    done = memory.step(state, Turn.said("Hello?"), thread="t")
    assert done.state.constraints


def test_the_same_words_refused_again_and_again_are_noted_once() -> None:
    memory = memory_on(InMemoryStore(), Floods(), policy=Policy(max_tokens=80))
    for _ in range(3):
        with pytest.raises(PinnedOverflow):
            memory.step(None, Turn.said(FLOOD), thread="t")
    with memory._lock:
        assert len(memory._log_of(Thread(thread="t")).journal.records()) == 1


class Shared(InMemoryStore):
    """A store that several processes write to."""

    @property
    def shared(self) -> bool:
        return True


def test_on_a_shared_store_who_gave_up_waits_for_nobody() -> None:
    memory = memory_on(Shared(), Dies())
    state = memory.step(None, Turn.said(FIRST), thread="t").state
    given_up(memory, state)
    done = memory.step(state, Turn.said("Are you there?"), thread="t")
    assert heard(memory, done.state) == [FIRST, RULE, "Are you there?"]


@pytest.mark.parametrize(
    ("later", "is_young"),
    [
        (timedelta(seconds=1), True),
        (-timedelta(seconds=1), True),
        (timedelta(hours=5), False),
        (-timedelta(hours=5), False),
    ],
)
def test_a_clock_that_is_hours_off_locks_no_thread(later: timedelta, is_young: bool) -> None:
    store, clock = Shared(), FixedClock()
    memory = MemoryController(store, Dies(), Settings(clock=clock))
    state = memory.step(None, Turn.said(FIRST), thread="t").state
    given_up(memory, state)
    clock.advance(later)
    rival = MemoryController(elsewhere(store), RuleCompressor(), Settings(clock=clock))
    if is_young:  # perhaps its step is under way
        with pytest.raises(ConflictError):
            rival.step(state, Turn.said("Are you there?"), thread="t")
        return
    done = rival.step(state, Turn.said("Are you there?"), thread="t")
    assert done.recovered == ("u2",)


class Unwritten(Shared):
    """One in which only the claim of a turn arrives."""

    fails = False

    def add(self, tenant: str, artifacts: Any) -> None:
        if self.fails and artifacts and artifacts[0].kind != "claim":
            raise StoreError("no answer")
        super().add(tenant, artifacts)


def test_a_claim_without_its_evidence_brings_nothing_along() -> None:
    store = Unwritten()
    memory = memory_on(store)
    store.fails = True
    with pytest.raises(StoreError):
        memory.step(None, Turn.said(RULE), thread="t")
    store.fails = False
    done = memory.step(None, Turn.said("Are you there?"), thread="t")
    assert (heard(memory, done.state), done.recovered) == (["Are you there?"], ())


class Full(InMemoryStore):
    """One that takes evidence, and no mark of a refusal."""

    def add(self, tenant: str, artifacts: Any) -> None:
        if [a.text for a in artifacts] == ["refused"]:
            raise StoreError("full")
        super().add(tenant, artifacts)


def test_what_stops_the_agent_is_told_though_it_cannot_be_noted() -> None:
    memory = memory_on(Full(), Floods(), policy=Policy(max_tokens=80))
    flood = ". ".join(f"rule {word} holds for every host of this cluster" for word in "abcdefgh")
    with pytest.raises(PinnedOverflow):
        memory.step(None, Turn.said(flood), thread="t")


def test_an_audit_log_that_began_later_takes_no_old_future_for_given_up(tmp_path: Path) -> None:
    store = InMemoryStore()
    before = memory_on(store)
    first = before.step(None, Turn.said(FIRST), thread="t").state
    second = before.step(first, Turn.said(RULE), thread="t").state
    before.step(second, Turn.said("Hello?"), thread="t")
    audited = memory_on(elsewhere(store), audit=tmp_path)
    done = audited.step(first, Turn.said("Another way."), thread="t")
    assert (heard(audited, done.state), done.recovered) == ([FIRST, "Another way."], ())
