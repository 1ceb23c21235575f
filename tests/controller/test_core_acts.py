"""What happens beside a step: record, retire, seeds, signed states, room, compression behind the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers_controller import Gated, is_clean, texts

from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError, ConflictError, InputError, PinnedOverflow
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.models.protocol import Completion, Usage
from acc.state.policy import Cadence, Policy
from acc.state.proposal import Proposal
from acc.state.render import render
from acc.step.update import seed
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

RULE = "Never restart nginx during business hours."
OTHER = "Always ask Ann before a deploy."
KEY = b"k" * 32


def _agent(text: str) -> Observation:
    return Observation(channel=Channel.AGENT, text=text)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryController[Any]]:
    with MemoryController.open(tmp_path, store="none") as opened:
        yield opened


def _rules(state: Any) -> list[str]:
    return [rule.words.text for rule in state.constraints]


def test_what_is_recorded_is_committed_once_by_the_next_step(memory: MemoryController[Any]) -> None:
    first = memory.step(None, Turn.said(RULE), thread="t")
    for _ in range(2):  # safe to repeat
        memory.record([_agent("I looked.")], thread="t", state=first.state)
        memory.record([_agent("I looked."), _agent("It is db-2.")], thread="t", state=first.state)
    user = Observation(channel=Channel.USER, text="And now?")
    turn = Turn(observations=(_agent("I looked."), _agent("It is db-2."), user))
    step = memory.step(first.state, turn, thread="t")
    assert texts(memory) == [RULE, "I looked.", "It is db-2.", "And now?"]
    assert step.state.turn == 2
    assert memory.step(first.state, turn, thread="t").state == step.state, "a repeated step"
    assert is_clean(memory)


def test_a_step_without_the_recorded_words_takes_them_along(memory: MemoryController[Any]) -> None:
    first = memory.step(None, Turn.said(RULE), thread="t")
    memory.record([_agent("It is db-2.")], thread="t")
    step = memory.step(first.state, Turn.said("And now?"), thread="t")
    assert "It is db-2." in step.text()
    memory.record([_agent("too late")], thread="t", state=first.state)
    assert "too late" not in texts(memory)
    assert is_clean(memory)


def test_what_the_operator_retires_is_gone_for_older_states_and_branches(
    memory: MemoryController[Any],
) -> None:
    one = memory.step(None, Turn.said(RULE), thread="t")
    two = memory.step(one.state, Turn.said(OTHER), thread="t")
    fork = memory.step(one.state, Turn.said("Another way."), thread="t")
    (rule,) = [r.id for r in two.state.constraints if r.words.text == RULE]
    done = memory.retire([rule], "frozen by audit", thread="t", state=two.state)
    assert _rules(done.state) == [OTHER]
    on = memory.step(two.state, Turn.said("Go on."), thread="t")  # from before the act
    assert _rules(on.state) == [OTHER]
    assert on.state.branch == "main"
    assert not on.warnings
    assert memory.step(two.state, Turn.said("Go on."), thread="t").state == on.state
    assert _rules(memory.last_state("t", branch=fork.state.branch)) == []
    later = memory.step(one.state, Turn.said("A third way."), thread="t")
    assert later.state.branch not in ("main", fork.state.branch)
    assert _rules(later.state) == [], "a branch from before the act repeats it"
    with pytest.raises(InputError, match="no item c99"):
        memory.retire(["c99"], thread="t")
    records = [each.record or {} for each in memory.history("t")]
    assert "frozen by audit" in [record.get("outcome") for record in records]
    assert is_clean(memory)


def test_a_seed_begins_a_thread_with_the_operators_rules(memory: MemoryController[Any]) -> None:
    start: Any = seed(rules=[RULE], goals=["Close the books."], policy=memory.policy)
    step = memory.step(start, Turn.said("hello"), thread="t")
    assert _rules(step.state) == [RULE]
    assert step.state.constraints[0].words.channel is Channel.OPERATOR
    assert not step.warnings
    assert memory.step(start, Turn.said("hello"), thread="t").state == step.state
    assert is_clean(memory)
    with pytest.raises(ConfigurationError, match="cannot be held"):
        seed(rules=[RULE, RULE])


def test_without_branches_an_older_state_is_a_conflict(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path, store="none", fork=False) as memory:
        one: Any = memory.step(None, Turn.said(RULE), thread="t")
        memory.step(one.state, Turn.said(OTHER), thread="t")
        with pytest.raises(ConflictError, match="last_state"):
            memory.step(one.state, Turn.said("hi"), thread="t")


def test_a_handler_makes_room_and_the_refused_words_are_read_again(tmp_path: Path) -> None:
    asked: list[PinnedOverflow] = []

    def oldest(overflow: PinnedOverflow) -> list[str]:
        asked.append(overflow)
        return [rule.id for rule in overflow.step.state.constraints]

    with MemoryController.open(
        tmp_path, store="none", policy=Policy(max_tokens=100), on_overflow=oldest
    ) as memory:
        state: Any = None
        said = [
            f"Never ever do thing number {n} without asking Ann first, please." for n in range(6)
        ]
        for each in said:
            before, step = state, memory.step(state, Turn.said(each), thread="t")
            state = step.state
        assert said[-1] in _rules(state)
        assert asked
        count = len(asked)
        assert not memory.step(before, Turn.said(said[-1]), thread="t").no_room
        assert len(asked) == count, "a repeated step retires nothing again"
        assert is_clean(memory)


_FACT = {"facts": [{"text": "checkout: slow since 9:40", "refs": ["u1"]}]}
_SOON = Policy(cadence=Cadence(compress_over=5, tail_bound=10_000))


def test_behind_the_agent_a_step_waits_for_no_model(tmp_path: Path) -> None:
    model = Gated(_FACT)
    with MemoryController.open(
        tmp_path, store="none", model=model, policy=_SOON, behind=True
    ) as memory:
        one: Any = memory.step(None, Turn.said("Checkout is slow since 9:40, why?"), thread="t")
        two: Any = memory.step(one.state, Turn.said("And the database?"), thread="t")
        assert not two.state.relational_map
        assert "since 9:40, why?" in two.text()
        model.goes_on.release(9)
        assert memory.settle(20)
        latest: Any = memory.latest("t")
        assert [fact.text for fact in latest.state.relational_map] == ["checkout: slow since 9:40"]
        assert latest.state.turn == 2, "committed anew on the turn that came meanwhile"
        three: Any = memory.step(two.state, Turn.said("Well?"), thread="t")
        assert three.state.branch == "main"
        assert three.state.relational_map, "the next step adopts it"
        assert memory.settle(20)
        assert is_clean(memory)


def test_behind_the_agent_a_failing_model_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Gated):
        def complete(self, messages: Any, schema: Any) -> Completion:
            raise RuntimeError("no")

    with MemoryController.open(
        tmp_path, store="none", model=Failing(), policy=_SOON, behind=True
    ) as memory:
        step: Any = memory.step(None, Turn.said("Checkout is slow since 9:40, why?"), thread="t")
        assert memory.settle(20)
        assert "came to nothing" in caplog.text
        assert "since 9:40" in memory.step(step.state, Turn.said("Well?"), thread="t").text()


def test_the_same_for_event_loops(tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncMemoryController.open(tmp_path, store="none") as memory:
            one: Any = await memory.step(None, Turn.said(RULE), thread="t")
            await memory.record([_agent("done")], thread="t", state=one.state)
            two: Any = await memory.step(one.state, Turn.said("ok?"), thread="t")
            assert (await memory.open_evidence("a2", thread="t")).text == "done"
            done: Any = await memory.retire([two.state.constraints[0].id], thread="t")
            assert not done.state.constraints
            assert (await memory.latest("t")).head.hash == done.state.hash
            assert (await memory.state_at("t", 1)) == one.state

    asyncio.run(main())


def test_a_ref_opens_what_a_branch_sees(memory: MemoryController[Any], tmp_path: Path) -> None:
    memory.step(None, Turn.said(RULE), thread="t")
    assert memory.open_evidence("u1", thread="t").text == RULE
    with pytest.raises(InputError, match="u9"):
        memory.open_evidence("u9", thread="t")
    copy = memory.journal.backup(tmp_path / "copy.sqlite3")
    assert copy.exists()


def test_the_agent_reads_what_the_gate_admits_for_its_question(tmp_path: Path) -> None:
    """What neither state nor tail holds any more comes back, labelled, after the tail (law 1)."""

    def forgetting(_: Any) -> Proposal:
        return Proposal()

    with MemoryController.open(tmp_path, store="none", model=forgetting) as memory:
        state: Any = None
        said = [
            "The vendor's ticket is VN-88213, opened by Ann.",
            *(f"Talk {n}." for n in range(9)),
        ]
        for each in said:
            state = memory.step(state, Turn.said(each), thread="t").state
        question = Turn.said("Which ticket did the vendor open?")
        step = memory.step(state, question, thread="t")
        assert "VN-88213" not in render(step.state)
        assert step.text().endswith(
            "[earlier, user, turn 1] The vendor's ticket is VN-88213, opened by Ann."
        )
        assert step.messages()[-1]["content"].endswith("VN-88213, opened by Ann.")
        again = memory.step(state, question, thread="t")
        assert again.text() == step.text(), "a repeated step reads the same"


class _Stop(BaseException):
    """A kill."""


class _Dying(Gated):
    """A model in whose second call the process dies."""

    def complete(self, messages: Any, schema: Any) -> Completion:
        self.requests += 1
        if self.requests == 2:
            raise _Stop
        return Completion("{}", Usage(requests=1), self.name)


@pytest.mark.parametrize("again", ["the same", "another"])
def test_a_step_that_was_killed_after_a_record_is_repeated(tmp_path: Path, again: str) -> None:
    with MemoryController.open(
        tmp_path, store="none", model=_Dying(), policy=Policy(cadence=Cadence())
    ) as memory:
        one: Any = memory.step(None, Turn.said("Why is checkout slow?"), thread="t")
        memory.record([_agent("I restarted it.")], thread="t", state=one.state)
        with pytest.raises(_Stop):
            memory.step(one.state, Turn.said("And now?"), thread="t")
        said = "And now?" if again == "the same" else "Something else."
        for _ in range(2):
            two: Any = memory.step(one.state, Turn.said(said), thread="t")
            assert two.state.branch == "main"
        expected = ["Why is checkout slow?", "I restarted it.", "And now?", "Something else."]
        assert texts(memory) == (expected[:3] if again == "the same" else expected)
        assert is_clean(memory)


@pytest.mark.parametrize("with_model", [False, True])
def test_words_recorded_while_a_step_is_made_are_not_left_behind(
    tmp_path: Path, with_model: bool
) -> None:
    model = Gated(tokens=9)
    settings = {"model": model, "policy": Policy(cadence=Cadence())} if with_model else {}
    with (
        MemoryController.open(tmp_path, store="none", **settings) as memory,
        MemoryController.open(tmp_path, store="none") as other,
    ):
        one: Any = memory.step(None, Turn.said("One?"), thread="t")
        recall, asked = memory.index.recall, []

        def recalling(*given: Any) -> Any:
            if not asked:
                asked.append(1)
                other.record([_agent("I restarted db-7.")], thread="t", state=one.state)
            return recall(*given)

        memory.index.recall = recalling  # type: ignore[method-assign]
        for _ in range(2):
            two: Any = memory.step(one.state, Turn.said("Two?"), thread="t")
            assert two.state.branch == "main"
        assert sorted(texts(memory)) == ["I restarted db-7.", "One?", "Two?"]
        assert not memory.journal.waiting("t")
        assert is_clean(memory)


def test_what_is_withdrawn_leaves_rules_facts_and_tail_and_stays_in_the_journal(
    memory: MemoryController[Any],
) -> None:
    first = memory.step(None, Turn.said(RULE), thread="t")
    second = memory.step(first.state, Turn.said(OTHER), thread="t")
    done = memory.withdraw(["u2"], "unsent", thread="t")
    assert _rules(done.state) == [RULE]
    assert "u2" not in [entry.ref for entry in done.state.unread]
    assert memory.withdraw(["u2"], thread="t").state == done.state, "a repeated act does nothing"
    assert texts(memory) == [RULE, OTHER]
    assert [(each.record or {}).get("outcome") for each in memory.history("t")][-1] == "unsent"
    step = memory.step(second.state, Turn.said("And now?"), thread="t")
    assert _rules(step.state) == [RULE], "a step from the state before goes on without it"
    Evidence(memory).erase(Target(thread="t", refs=("u1",)))
    left: Any = memory.last_state("t")
    assert _rules(left) == []
    assert is_clean(memory)
    with pytest.raises(InputError):
        memory.withdraw(["u1"], thread="nobody")
