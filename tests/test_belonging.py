"""A state goes on in the thread it was committed in, and in no other that holds something."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from acc import Settings
from acc.audit.log import AuditLog
from acc.audit.verify import verify
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import AuditError, InputError, StateError
from acc.pipeline.update import update_state
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Thread
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.turn import Turn

ANA = Thread(thread="a", user="ana")


def memory(**settings: Any) -> MemoryController:
    return MemoryController(InMemoryStore(), settings=Settings(**settings))


def of_ana(controller: MemoryController) -> CompressedCognitiveState:
    return controller.step(None, Turn.said("Never email Ben."), thread=ANA).state


@pytest.mark.parametrize("name", ["tenant", "user", "agent"])
@pytest.mark.parametrize("as_json", [False, True])
def test_nobody_else_goes_on_from_it(name: str, as_json: bool) -> None:
    controller = memory()
    state: Any = of_ana(controller)
    state = state.canonical() if as_json else state
    other = ANA.model_copy(update={name: "other", "thread": "new"})
    said = (Observation(channel=Channel.AGENT, text="Noted."),)
    with pytest.raises(StateError, match=r"another tenant, user or agent.*no user_id"):
        controller.step(state, Turn.said("Go on."), thread=other)
    with pytest.raises(StateError, match="another tenant, user or agent"):
        controller.record(said, state=state, thread=other)
    assert controller.history(other).messages == []


def test_nobody_else_goes_on_from_it_where_it_is_awaited() -> None:
    async def awaited() -> None:
        async with AsyncMemoryController(InMemoryStore()) as controller:
            state = (await controller.step(None, Turn.said("Never email Ben."), thread=ANA)).state
            await controller.step(state, Turn.said("Go on."), thread="b")

    with pytest.raises(StateError, match="another tenant"):
        asyncio.run(awaited())


def test_a_thread_that_holds_something_takes_no_state_of_another() -> None:
    controller = memory()
    state = of_ana(controller)
    busy = ANA.model_copy(update={"thread": "busy"})
    controller.step(None, Turn.said("Hello."), thread=busy)
    with pytest.raises(StateError, match="another thread"):
        controller.step(state, Turn.said("Go on."), thread=busy)


def test_a_new_thread_of_the_same_user_may_begin_with_it_and_begin_again_after_a_crash() -> None:
    controller = memory()
    state = of_ana(controller)
    new = ANA.model_copy(update={"thread": "new"})
    first, again = (controller.step(state, Turn.said("Go on."), thread=new).state for _ in range(2))
    assert first == again
    assert first.bound_to == new.owner_key
    assert controller.step(first, Turn.said("And on."), thread=new).state.turn == 3
    with pytest.raises(StateError, match="another thread"):
        controller.step(first, Turn.said("And on."), thread=ANA)


def test_what_no_controller_made_is_anybodys_and_bound_by_the_first_commit() -> None:
    alone = update_state(None, Turn.said("Never email Ben.")).state
    assert alone.bound_to == ""
    assert "bound_to" not in alone.canonical()
    bound = memory().step(alone, Turn.said("Go on."), thread=ANA).state
    assert bound.bound_to == ANA.owner_key
    assert "ana" not in bound.bound_to
    assert update_state(bound, Turn.said("And on.")).state.bound_to == ANA.owner_key


def test_an_edited_binding_is_an_edit_and_adopting_it_unbinds() -> None:
    edited = {**of_ana(memory()).canonical(), "bound_to": Thread(thread="b").owner_key}
    with pytest.raises(StateError, match="changed after it was committed"):
        CompressedCognitiveState.load(edited)
    assert CompressedCognitiveState.load(edited, adopt=Trust.TOOL).bound_to == ""


def test_a_record_whose_state_belongs_elsewhere_does_not_verify(tmp_path: Path) -> None:
    controller = memory(audit=tmp_path)
    of_ana(controller)
    log = AuditLog.of(tmp_path, ANA)
    policies = {Policy().fingerprint: Policy()}
    assert verify(log, policies) == 1
    (entry,) = log.records()
    entry["thread"]["user"] = "ben"
    del entry["digest"]
    moved = AuditLog(tmp_path / "moved.jsonl")
    moved.append(entry, CompressedCognitiveState.empty())
    with pytest.raises(AuditError, match="belongs to another thread"):
        verify(moved, policies)


@pytest.mark.parametrize("thread", ["", None, 7])
def test_a_conversation_has_a_name(thread: Any) -> None:
    """One without would be the namespace itself, with its documents and its directory."""
    memory = MemoryController(InMemoryStore())
    for use in (
        lambda: memory.step(None, Turn.said("x"), thread=thread),
        lambda: memory.record((), state=None, thread=thread),
        lambda: memory.last_state(thread),
        lambda: memory.history(thread),
    ):
        with pytest.raises(InputError, match="name the conversation"):
            use()
