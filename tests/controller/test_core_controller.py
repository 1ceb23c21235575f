"""The memory loop on core and journal: steps, repeats, forks, conflicts, a model, and what survives a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acc.artifacts.chroma import ChromaStore
from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError, InputError, PinnedOverflow, StateError
from acc.journal import Journal, ThreadKey
from acc.models import OpenAIModel
from acc.state.policy import Cadence, Policy
from acc.testing import Fault, FixedClock, ModelServer
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

RULE = "Never restart nginx during business hours."
SAID = (RULE, "On Sundays you may.", "Why is checkout slow?")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryController[Any]]:
    with MemoryController.open(tmp_path) as opened:
        yield opened


def _talk(memory: MemoryController[Any], *said: str, state: Any = None) -> Any:
    step: Any = None
    for each in said:
        step = memory.step(state, Turn.said(each), thread="t")
        state = step.state
    return step


def test_a_thread_goes_on_where_it_stopped(memory: MemoryController[Any], tmp_path: Path) -> None:
    step = _talk(memory, *SAID)
    memory.close()
    with MemoryController.open(tmp_path) as again:
        state: Any = again.last_state("t")
        assert state == step.state
        more: Any = again.step(None, Turn.said("And now?"), thread="t")
        assert more.state.turn == 4
        assert RULE in more.text()
        assert [key.thread for key in again.threads()] == ["t"]
        report = again.journal.verify([Policy(max_tokens=1_100)])
        assert report.is_clean
        assert report.recomputed == 4


def test_a_repeated_step_finds_its_turn(memory: MemoryController[Any]) -> None:
    """The answer got lost, and the client sends the step again: from the state that it had."""
    first = _talk(memory, *SAID[:2])
    made = memory.step(first.state, Turn.said(SAID[2]), thread="t")
    again = memory.step(first.state, Turn.said(SAID[2]), thread="t")
    assert again.state == made.state
    assert again.text() == made.text()
    assert len(list(memory.journal.heads())) == 1


def test_another_turn_from_an_earlier_state_is_a_fork_and_repeats_as_one(
    memory: MemoryController[Any],
) -> None:
    first = _talk(memory, *SAID[:2])
    on = memory.step(first.state, Turn.said(SAID[2]), thread="t")
    fork = memory.step(first.state, Turn.said("Another question."), thread="t")
    assert fork.state.branch != "main"
    assert fork.state.branch in str(fork.warnings)
    assert not on.warnings
    assert RULE in fork.text()
    assert SAID[2] not in fork.text()
    assert memory.step(first.state, Turn.said("Another question."), thread="t").state == fork.state
    goes_on = memory.step(fork.state, Turn.said("Go on."), thread="t")
    assert goes_on.state.branch == fork.state.branch
    assert memory.last_state("t") == on.state


def test_a_state_that_nobody_committed_is_refused(
    memory: MemoryController[Any], tmp_path: Path
) -> None:
    _talk(memory, *SAID)
    with MemoryController.open(tmp_path / "other") as other:
        foreign = _talk(other, "Something else.")
        with pytest.raises(StateError):
            memory.step(foreign.state, Turn.said("hi"), thread="t")
    with pytest.raises(InputError, match="empty"):
        memory.step(None, Turn(observations=()), thread="t")


def _model(server: ModelServer) -> OpenAIModel:
    return OpenAIModel("m", base_url=server.base_url, api_key="none", attempts=1)


def test_a_model_is_asked_outside_of_any_transaction_and_the_turn_is_there_first(
    tmp_path: Path,
) -> None:
    seen: list[int] = []

    def answer(_: Any) -> Any:
        with Journal.open(tmp_path) as other:  # another process reads and writes meanwhile
            seen.append(len(list(other.messages("t", also_open=True))))
            other.append("elsewhere", list(_messages()))
        return {"facts": [{"text": "checkout: slow", "refs": ["u1"]}]}

    with (
        ModelServer(answer) as server,
        MemoryController.open(
            tmp_path, model=_model(server), policy=Policy(cadence=Cadence())
        ) as memory,
    ):
        step = memory.step(None, Turn.said("Checkout is slow."), thread="t")
    assert seen == [1]
    assert [fact.text for fact in step.state.relational_map] == ["checkout: slow"]
    assert step.usage.requests == 1


def _messages() -> Iterator[Any]:
    from acc.state.tail import messages_of

    yield from messages_of(Turn.said("hello").numbered(1))


def test_a_failing_model_loses_nothing_and_the_next_reads_it(tmp_path: Path) -> None:
    with (
        ModelServer([Fault("500"), {"facts": ["a: 1"]}]) as server,
        MemoryController.open(
            tmp_path, model=_model(server), policy=Policy(cadence=Cadence())
        ) as memory,
    ):
        one = memory.step(None, Turn.said("a is 1"), thread="t")
        assert one.failure
        two = memory.step(one.state, Turn.said("b is 2"), thread="t")
        assert not two.failure
        assert "a is 1" in str(server.requests[-1].messages[-1].text)
        assert [fact.text for fact in two.state.relational_map] == ["a: 1"]


def test_a_flush_compresses_what_waits(tmp_path: Path) -> None:
    with (
        ModelServer([{"facts": ["a: 1"]}]) as server,
        MemoryController.open(tmp_path, model=_model(server)) as memory,
    ):
        memory.step(None, Turn.said("a is 1"), thread="t")
        assert not server.requests
        flushed: Any = memory.flush("t")
        assert [fact.text for fact in flushed.state.relational_map] == ["a: 1"]
        assert memory.flush("t") is None
        assert memory.last_state("t") == flushed.state


def test_sync_and_async_commit_the_same(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path / "a", clock=FixedClock()) as memory:
        hashes = [_talk(memory, SAID[0]).state.hash]
        hashes.append(_talk(memory, *SAID[1:], state=memory.last_state("t")).state.hash)

    async def run() -> list[str]:
        found = []
        async with AsyncMemoryController.open(tmp_path / "b", clock=FixedClock()) as amemory:
            state: Any = None
            for said in SAID:
                step = await amemory.step(state, Turn.said(said), thread="t")
                state = step.state
                found.append(state.hash)
            assert await amemory.last_state("t") == state
            assert await amemory.flush("t") is None
        return found

    made = asyncio.run(run())
    assert [made[0], made[-1]] == hashes


def test_evidence_is_recalled_from_the_store_and_its_verdicts_are_kept(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        for said in (
            "The vault code owner is Harriet.",
            *[f"Filler number {n} about rain." for n in range(6)],
        ):
            memory.step(None, Turn.said(said), thread="t")
        step: Any = memory.step(None, Turn.said("Who is the vault code owner?"), thread="t")
        last = list(memory.journal.commits("t"))[-1]
        assert last.record["verdicts"]
        assert not step.warnings
        assert memory.index.store.count(ThreadKey("t")) == 8


def test_a_fork_recalls_nothing_that_was_said_later_on_the_other_branch(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        first = _talk(memory, "The vault code owner is Harriet.", "It rains.")
        memory.step(first.state, Turn.said("The vault code owner is Ivan now."), thread="t")
        fork: Any = memory.step(first.state, Turn.said("Let us talk of fog."), thread="t")
        head = memory.journal.head("t", fork.state.branch)
        found = [each.evidence.text for each in memory.index.recall(head, "vault code owner")]
        assert found[0] == "The vault code owner is Harriet."
        assert "Ivan" not in " ".join(found)


@pytest.mark.parametrize("store", [None, "none"])
def test_a_second_process_goes_on_without_the_index_and_is_told(tmp_path: Path, store: Any) -> None:
    with (
        MemoryController.open(tmp_path) as holder,
        MemoryController.open(tmp_path, store=store) as second,
    ):
        step: Any = second.step(None, Turn.said("The vault code owner is Harriet."), thread="t")
        assert bool(step.warnings) is (store is None)
        head = second.journal.head("t")
        assert second.index.recall(head, "Who is the vault code owner?")
        holder.step(None, Turn.said("It rains."), thread="t")
        assert holder.index.store.count(ThreadKey("t")) == 2


def test_a_store_that_fails_fails_no_step(tmp_path: Path) -> None:
    class Broken(ChromaStore):
        def add(self, *_: Any, **__: Any) -> Any:
            raise OSError("the disk is gone")

        query = add  # type: ignore[assignment]

    with MemoryController.open(tmp_path, store=Broken.embedded(tmp_path / "broken")) as memory:
        _talk(memory, "The vault code owner is Harriet.", "It rains.")
        step: Any = memory.step(None, Turn.said("Who is the vault code owner?"), thread="t")
        assert "the disk is gone" in str(step.warnings)
        assert step.state.turn == 3


def test_the_next_step_takes_what_a_killed_one_left(tmp_path: Path) -> None:
    """A process dies while the model works. The user says something else, and nothing is lost."""

    class Killed(BaseException): ...

    class Dying:
        name = "dying"

        def complete(self, *_: Any, **__: Any) -> Any:
            raise Killed

        acomplete = complete

    with (
        MemoryController.open(tmp_path, model=Dying(), policy=Policy(cadence=Cadence())) as memory,
        pytest.raises(Killed),
    ):
        memory.step(None, Turn.said(RULE), thread="t")
    with MemoryController.open(tmp_path) as memory:
        step: Any = memory.step(None, Turn.said("Why is checkout slow?"), thread="t")
        assert RULE in step.text()
        assert step.state.turn == 1, "both are one turn"
        empty = memory.policy.schema.empty()
        again: Any = memory.step(empty, Turn.said(RULE), thread="t")
        assert again.state.turn == 1, "the killed step is repeated and finds its commit"


def test_the_first_step_is_repeated_with_an_empty_state(memory: MemoryController[Any]) -> None:
    empty = memory.policy.schema.empty()
    one = memory.step(empty, Turn.said(RULE), thread="t")
    assert memory.step(empty, Turn.said(RULE), thread="t").state == one.state
    with pytest.raises(StateError, match="has begun"):
        memory.step(empty, Turn.said("Something else."), thread="t")


def test_a_repeated_step_tells_again_what_did_not_fit(tmp_path: Path) -> None:
    rules = " ".join(f"Never ever do thing number {n} without asking Ann." for n in range(9))
    with MemoryController.open(tmp_path, policy=Policy(max_tokens=120)) as memory:
        for _ in range(2):
            with pytest.raises(PinnedOverflow) as caught:
                memory.step(memory.policy.schema.empty(), Turn.said(rules), thread="t")
            assert caught.value.refused
            assert caught.value.step.notes


@pytest.mark.parametrize(
    "settings",
    [
        {"modle": 1},
        {"cadence": Cadence()},
        {"model": 5},
        {"policy": "x"},
        {"index": "none"},
        {"busy_wait": []},
        {"store": []},
    ],
)
def test_a_wrong_setting_is_told(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(settings))):
        MemoryController.open(tmp_path, **settings)


def test_a_turn_or_state_of_another_type_is_told(memory: MemoryController[Any]) -> None:
    with pytest.raises(InputError, match="turn is a str"):
        memory.step(None, "hello", thread="t")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="state is a str"):
        memory.step("{}", Turn.said("hello"), thread="t")  # type: ignore[arg-type]


def test_a_step_without_a_state_is_known_by_the_ids_of_its_messages(tmp_path: Path) -> None:
    """Somebody says the same twice under two ids, and a client that got no answer repeats a step under one."""
    with MemoryController.open(tmp_path, store="none") as memory:
        first = memory.step(None, Turn.said("Never page Ann.", message_id="m1"), thread="t")
        for _ in range(2):
            again = memory.step(None, Turn.said("Never page Ann.", message_id="m1"), thread="t")
            assert again.state == first.state
        said = memory.step(None, Turn.said("Yes.", message_id="m2"), thread="t")
        twice = memory.step(None, Turn.said("Yes.", message_id="m3"), thread="t")
        assert twice.state.turn == said.state.turn + 1
        other = memory.step(None, Turn.said("No.", message_id="m3"), thread="t")
        assert other.state.turn == twice.state.turn + 1
        unknown = [memory.step(None, Turn.said("Yes."), thread="t").state.turn for _ in range(2)]
        assert unknown == [other.state.turn + 1, other.state.turn + 2]
        memory.record([Observation(channel=Channel.AGENT, text="Recorded.")], thread="t")
        taken = memory.step(None, Turn.said("Go on.", message_id="m4"), thread="t")
        again = memory.step(None, Turn.said("Go on.", message_id="m4"), thread="t")
        assert again.state == taken.state
        texts = [each.message.text for each in memory.journal.messages("t")]
        assert texts == [
            "Never page Ann.", "Yes.", "Yes.", "No.", "Yes.", "Yes.", "Recorded.", "Go on.",
        ]  # fmt: skip
