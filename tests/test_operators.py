"""Operators' acts: `retire`, and that it holds whatever state somebody goes on from.

The state that a checkpoint keeps is older than the operator's act, and goes on; on another branch the
act has to be done there too; and nothing that was said meanwhile is lost by it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from strategies import agent, call, tool, user

from acc import Settings
from acc.audit.log import AuditLog
from acc.audit.verify import verify
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import ConflictError, InputError
from acc.keyless.compressor import RuleCompressor
from acc.pipeline.update import seed
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Thread
from acc.testing import FixedClock
from acc.turn.observations import Channel
from acc.turn.turn import Turn

State = CompressedCognitiveState

RULES = ("Never pay Harrow before Friday.", "Never restart nginx-prod-7.")


def memory_on(store: Any, **settings: Any) -> MemoryController:
    return MemoryController(store, RuleCompressor(), Settings(clock=FixedClock(), **settings))


def elsewhere(store: InMemoryStore) -> InMemoryStore:
    """The same records, as another process opens them."""
    other = type(store)()
    other.__dict__.update(store.__dict__)
    return other


class Shared(InMemoryStore):
    """A store that several processes write to; counts what it is asked for."""

    reads = 0

    @property
    def shared(self) -> bool:
        return True

    def get(self, tenant: str, ids: Any) -> Any:
        type(self).reads += 1
        return super().get(tenant, ids)


class Counting(InMemoryStore):
    """A store that counts how often it is read."""

    reads = 0

    def get(self, tenant: str, ids: Any) -> Any:
        type(self).reads += 1
        return super().get(tenant, ids)


def begun(memory: MemoryController, *said: str) -> State:
    state = None
    for words in said or RULES:
        state = memory.step(state, Turn.said(words), thread="t").state
    assert state is not None
    return state


def rules(state: State) -> list[str]:
    return [item.text for item in state.constraints]


def audited(memory: MemoryController) -> list[dict[str, Any]]:
    log = memory._audit_of(Thread(thread="t"))
    assert log is not None
    return list(log.records())


# --- retire -------------------------------------------------------------------------------


@pytest.mark.parametrize("audit", [False, True])
def test_an_operator_retires_a_rule_in_a_turn_of_their_own(audit: bool, tmp_path: Path) -> None:
    memory = memory_on(InMemoryStore(), audit=tmp_path if audit else None)
    state = begun(memory)
    first, second = state.constraints
    step = memory.retire([first.id], "the invoice is paid", thread="t", state=state)
    assert rules(step.state) == [second.text]
    assert [entry.text for entry in step.state.lifted] == [first.text]
    assert "the invoice is paid" in step.state.lifted[0].because
    assert step.state.turn == state.turn + 1
    if audit:
        assert audited(memory)[-1]["proposal"]["author"] == "operator"
        (path,) = tmp_path.glob("*.jsonl")
        assert verify(AuditLog(path), {Policy().fingerprint: Policy()}, head=step.state.hash) == 3
        assert memory.last_state("t") == step.state


def test_the_agent_reads_the_operators_notices_once_in_its_next_turn() -> None:
    read = []

    def compressor(turn: Turn, state: State, evidence: Any) -> Proposal:
        read.append(state.render())
        return RuleCompressor()(turn, state, evidence)

    memory = MemoryController(InMemoryStore(), compressor, Settings(clock=FixedClock()))
    state = begun(memory)
    first, second = state.constraints
    for item, why in ((first, "the invoice is paid"), (second, "the audit is over")):
        state = memory.retire([item.id], why, thread="t", state=state).state
    state = memory.step(state, Turn.said("What is open?"), thread="t").state
    for text in (read[-1], state.render()):  # the model that compresses, and the agent
        assert "the invoice is paid" in text
        assert "the audit is over" in text
    looped = Turn(observations=(tool("Nothing is open."),))
    state = memory.step(state, looped, thread="t").state
    assert "the audit is over" in state.render()  # a step of the agent within the same turn
    state = memory.step(state, Turn.said("Thanks."), thread="t").state
    assert state.lifted == ()


def test_a_notice_is_not_shown_beside_the_rule_that_the_user_said_again() -> None:
    memory = memory_on(InMemoryStore())
    state = begun(memory)
    state = memory.retire([state.constraints[0].id], "paid", thread="t", state=state).state
    state = memory.step(state, Turn.said(RULES[0]), thread="t").state
    assert len(rules(state)) == 2
    assert state.lifted == ()


def test_the_newest_state_is_taken_where_none_is_given(tmp_path: Path) -> None:
    memory = memory_on(InMemoryStore(), audit=tmp_path)
    state = begun(memory)
    step = memory.retire(state.constraints[0].id, thread="t")
    assert step.state.parent == state.hash
    assert len(step.state.constraints) == 1


def test_what_cannot_be_retired_is_said_and_nothing_changes() -> None:
    memory = memory_on(InMemoryStore())
    state = begun(memory)
    with pytest.raises(InputError, match="not known"):
        memory.retire(["c1"], thread="t")
    with pytest.raises(InputError, match=state.constraints[0].id):
        memory.retire(["c99"], thread="t", state=state)
    with pytest.raises(InputError, match="no items"):
        memory.retire([], thread="t", state=state)
    with pytest.raises(InputError, match="reason of"):
        memory.retire([state.constraints[0].id], "so " * 200, thread="t", state=state)
    assert memory.with_operator_acts(state, "t") is state


def test_the_compressor_is_not_asked() -> None:
    memory = memory_on(InMemoryStore())
    state = begun(memory)

    def unasked(*_: Any) -> Any:
        raise AssertionError("asked")

    memory.compressor = unasked
    step = memory.retire([state.constraints[0].id], thread="t", state=state)
    assert (step.outcome, step.failure) == ("ok", "")


def test_what_was_recorded_before_an_operators_act_is_read_by_the_next_turn() -> None:
    """The act has a turn of its own, into which what the agent did since the last one falls."""
    memory = memory_on(InMemoryStore())
    state = begun(memory)
    memory.record(
        [call("owner(checkout)"), tool("checkout is owned by Mara"), agent("Mara owns checkout.")],
        state=state, thread="t",
    )  # fmt: skip
    freed = memory.retire([state.constraints[0].id], thread="t", state=state).state
    assert [o.text for o in freed.pending] == ["checkout is owned by Mara", "Mara owns checkout."]
    done = memory.step(freed, Turn.said("Thanks."), thread="t")
    assert done.state.pending == ()
    assert [o.text for o in done.turn.pending] == [o.text for o in freed.pending]


def test_a_caller_that_tells_the_same_again_is_heard_once() -> None:
    """A graph has what was recorded in its messages, too."""
    memory = memory_on(InMemoryStore())
    state = begun(memory)
    result = tool("checkout:\n  Mara").model_copy(update={"call_id": "call-1"})
    did = [call("owner(checkout)"), result, agent("Mara\nowns it.")]
    memory.record(did, state=state, thread="t")
    freed = memory.retire([state.constraints[0].id], thread="t", state=state).state
    done = memory.step(freed, Turn(observations=(*did, user("Thanks."))), thread="t")
    assert [o.text for o in done.turn.observations] == ["Thanks."]
    new = memory.step(done.state, Turn(observations=(*did, user("Again."))), thread="t")
    assert len(new.turn.observations) == 4


def test_what_was_pending_stays_pending() -> None:
    memory = memory_on(InMemoryStore())
    state = begun(memory)

    def fails(*_: Any) -> Any:
        raise ValueError("no answer")

    memory.compressor = fails
    held = memory.step(state, Turn.said("Never email Bob."), thread="t").state
    memory.compressor = RuleCompressor()
    freed = memory.retire([state.constraints[0].id], thread="t", state=held).state
    assert [o.text for o in freed.pending] == ["Never email Bob."]
    done = memory.step(freed, Turn.said("Go on."), thread="t").state
    assert rules(done)[-1] == "Never email Bob"


def test_a_turn_that_was_given_up_before_the_act_is_heard_after_it(tmp_path: Path) -> None:
    memory = memory_on(InMemoryStore(), audit=tmp_path)
    state = begun(memory)

    def dies(*_: Any) -> Any:
        raise KeyboardInterrupt

    memory.compressor = dies
    with pytest.raises(KeyboardInterrupt):
        memory.step(state, Turn.said("Never email Bob."), thread="t")
    memory.compressor = RuleCompressor()
    freed = memory.retire([state.constraints[0].id], thread="t", state=state).state
    done = memory.step(freed, Turn.said("Go on."), thread="t").state
    assert rules(done) == [RULES[1].rstrip("."), "Never email Bob"]


def test_no_act_while_a_step_is_under_way() -> None:
    memory = memory_on(InMemoryStore())
    state = begun(memory)

    def meanwhile(*_: Any) -> Any:
        memory.retire([state.constraints[0].id], thread="t", state=state)

    memory.compressor = meanwhile
    step = memory.step(state, Turn.said("Go on."), thread="t")
    assert "another step of this thread is running" in step.failure
    with memory._running(state, Turn.said("x"), "t"), pytest.raises(ConflictError):
        memory.retire([state.constraints[0].id], thread="t", state=state)


# --- acts hold ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [InMemoryStore, Shared])
@pytest.mark.parametrize("audit", [False, True])
def test_from_the_older_state_the_act_is_the_very_same_commit(
    kind: type[InMemoryStore], audit: bool, tmp_path: Path
) -> None:
    store, settings = kind(), {"audit": tmp_path if audit else None}
    old = begun(memory_on(store, **settings))
    store = elsewhere(store)
    freed = memory_on(store, **settings).retire([old.constraints[0].id], "x", thread="t", state=old)
    memory = memory_on(elsewhere(store), **settings)
    found = memory.with_operator_acts(old.canonical(), "t")
    assert found == freed.state
    assert memory.with_operator_acts(old, "t") == found
    assert memory.with_operator_acts(found, "t") == found
    if audit:
        assert len(audited(memory)) == 3
    done = memory.step(found, Turn.said("What is open?"), thread="t").state
    assert (done.branch, rules(done)) == ("main", [RULES[1].rstrip(".")])


def test_after_what_was_recorded_meanwhile_it_is_the_same_commit_too() -> None:
    memory = memory_on(InMemoryStore())
    old = begun(memory)
    memory.record([agent("Noted.")], state=old, thread="t")
    freed = memory.retire([old.constraints[0].id], thread="t", state=old).state
    assert memory.with_operator_acts(old, "t") == freed


def test_on_a_branch_from_before_the_act_it_is_done_there(tmp_path: Path) -> None:
    memory = memory_on(InMemoryStore(), audit=tmp_path)
    first = begun(memory, RULES[0])
    second = memory.step(first, Turn.said(RULES[1]), thread="t").state
    memory.retire([first.constraints[0].id], "x", thread="t", state=second)
    forked = memory.step(first, Turn.said("The db runs on db-7."), thread="t").state
    assert rules(forked) == [RULES[0].rstrip(".")]
    assert forked.branch != "main"
    found = memory.with_operator_acts(forked, "t")
    assert (rules(found), found.branch, found.parent) == ([], forked.branch, forked.hash)
    assert audited(memory)[-1]["proposal"]["author"] == "operator"
    assert audited(memory)[-1]["state"]["hash"] == found.hash
    assert memory.with_operator_acts(found, "t") == found
    policy = memory.settings.policy
    assert verify(memory._audit_of(Thread(thread="t")), {policy.fingerprint: policy}) == 5  # type: ignore[arg-type]


def test_another_rule_that_got_the_same_id_on_a_fork_stands() -> None:
    memory = memory_on(InMemoryStore())
    first = begun(memory, RULES[0])
    second = memory.step(first, Turn.said(RULES[1]), thread="t").state
    other = memory.step(first, Turn.said("Never email Bob."), thread="t").state
    assert second.constraints[1].id == other.constraints[1].id
    memory.retire([second.constraints[1].id], thread="t", state=second)
    assert memory.with_operator_acts(other, "t") == other
    # A fork of the fork, before and after: the act is about what was said on the first branch alone.
    later = memory.step(other, Turn.said("The db runs on db-7."), thread="t").state
    assert memory.with_operator_acts(later, "t") == later


def test_several_acts_hold_in_their_order() -> None:
    memory = memory_on(InMemoryStore())
    old = begun(memory)
    once = memory.retire([old.constraints[0].id], "one", thread="t", state=old).state
    twice = memory.retire([old.constraints[1].id], "two", thread="t", state=once).state
    assert memory.with_operator_acts(old, "t") == twice
    assert memory.with_operator_acts(once, "t") == twice


def test_of_an_act_only_what_still_stands_is_done_again() -> None:
    memory = memory_on(InMemoryStore())
    first = begun(memory, RULES[0])
    both = memory.step(first, Turn.said(RULES[1]), thread="t").state
    memory.retire([i.id for i in both.constraints], thread="t", state=both)
    fork = memory.step(first, Turn.said("The db runs on db-7."), thread="t").state
    assert rules(memory.with_operator_acts(fork, "t")) == []


def test_what_the_user_says_again_is_another_rule_and_stands() -> None:
    memory = memory_on(InMemoryStore())
    old = begun(memory)
    memory.retire([old.constraints[0].id], thread="t", state=old)
    freed = memory.with_operator_acts(old, "t")
    again = memory.step(freed, Turn.said(RULES[0]), thread="t").state
    assert len(again.constraints) == 2
    assert memory.with_operator_acts(again, "t") == again


def test_a_seeded_rule_stays_retired_and_another_seed_is_another_rule() -> None:
    memory = memory_on(InMemoryStore())
    first = seed(["Never share keys."])
    memory.retire([first.constraints[0].id], thread="t", state=first)
    assert rules(memory.with_operator_acts(first, "t")) == []
    other = seed(["Answer in English."])
    assert memory.with_operator_acts(other, "t") == other


def test_an_act_holds_in_its_own_thread_alone() -> None:
    memory = memory_on(InMemoryStore())
    first = seed(["Never share keys."])
    memory.retire([first.constraints[0].id], thread="t", state=first)
    assert memory.with_operator_acts(first, "u") == first
    assert memory.with_operator_acts(None, "u") == State.empty()


def test_an_act_whose_commit_never_came_is_done_by_whoever_goes_on(tmp_path: Path) -> None:
    class Broken(AuditLog):
        def append(self, *_: Any) -> None:
            raise KeyboardInterrupt

    memory = memory_on(InMemoryStore(), audit=tmp_path)
    old = begun(memory)
    whole = memory._audit_of(Thread(thread="t"))
    assert whole is not None
    memory._audits[Thread(thread="t").key] = Broken(whole.path)
    with pytest.raises(KeyboardInterrupt):
        memory.retire([old.constraints[0].id], thread="t", state=old)
    memory._audits.clear()
    found = memory.with_operator_acts(old, "t")
    assert rules(found) == [RULES[1].rstrip(".")]
    assert memory.last_state("t") == found


def test_before_each_turn_a_store_of_one_process_is_not_read_for_it() -> None:
    memory = memory_on(Counting())
    old = begun(memory)
    new = memory.retire([old.constraints[0].id], thread="t", state=old).state
    Counting.reads = 0
    assert memory.with_operator_acts(new, "t") == new
    assert not memory.was_refused(Turn.said("hello"), thread="t")
    assert Counting.reads == 0


def test_in_a_shared_store_another_process_sees_it_by_one_read() -> None:
    store = Shared()
    mine, other = memory_on(store), memory_on(elsewhere(store))
    old = begun(mine)
    assert other.with_operator_acts(old, "t") == old
    freed = mine.retire([old.constraints[0].id], thread="t", state=old).state
    assert other.with_operator_acts(old, "t") == freed
    Shared.reads = 0
    assert other.was_refused(Turn.said("hello"), thread="t") is False
    assert Shared.reads == 1


def test_asynchronously_it_is_the_same() -> None:
    async def run() -> tuple[State, State, bool]:
        memory = AsyncMemoryController(
            InMemoryStore(), RuleCompressor(), Settings(clock=FixedClock())
        )
        old = (await memory.step(None, Turn.said(RULES[0]), thread="t")).state
        step = await memory.retire([old.constraints[0].id], "x", thread="t", state=old)
        found = await memory.with_operator_acts(old, "t")
        return step.state, found, await memory.was_refused(Turn.said("x"), thread="t")

    freed, found, refused = asyncio.run(run())
    assert freed == found
    assert (rules(freed), refused) == ([], False)


def test_operators_words_are_evidence() -> None:
    memory = memory_on(InMemoryStore())
    old = begun(memory)
    freed = memory.retire([old.constraints[0].id], "paid", thread="t", state=old).state
    said = memory.open_evidence(f"o{freed.turn}", freed, thread="t")
    assert said == f"retire {old.constraints[0].id}: paid"
    with memory._lock:
        branch = memory._log_of(Thread(thread="t")).branch("main")
        assert branch.at_turn(freed.turn)[0].channel is Channel.OPERATOR
