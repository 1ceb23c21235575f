"""The laws hold whatever a model writes: it reaches the state through commit alone, or not at all."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asking import InProcess, retries
from hypothesis import given
from hypothesis import strategies as st
from strategies import Known, hostile_texts, lying_proposals, observations

from acc.commit.commit import commit
from acc.compress.endpoint import CallFailed, Reply
from acc.compress.model import ModelCompressor
from acc.errors import CompressionError, PinnedOverflow
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Mode, Outcome, Proposal
from acc.turn.turn import Turn


def on_the_wire(proposal: Proposal) -> str:
    """A proposal as a model would write it; the values stay whatever they are."""
    slots: dict[str, list[Any]] = {name: [] for name in CompressedCognitiveState.slots()}
    for item in proposal.items:
        written = {**item.fields, "cites": list(item.cites), "id": item.id}
        slots.setdefault(item.slot, []).append(written)
    retired = [{"id": r.id, "cites": list(r.cites), "quote": r.quote} for r in proposal.retire]
    return json.dumps({**slots, "retire": retired})


def came_of(compressor: Any, turn: Turn, state: Any) -> Proposal | CompressionError:
    try:
        proposal: Proposal = compressor(turn, state, ())
    except CompressionError as error:
        return error
    return proposal


@given(st.data(), st.sampled_from(["revise", "rewrite"]))
def test_what_a_model_writes_is_committed_as_written_or_not_at_all(
    data: st.DataObject, mode: Mode
) -> None:
    policy, state = Policy(), CompressedCognitiveState.empty()
    for _ in range(2):
        said = tuple(data.draw(st.lists(observations(hostile=True), min_size=1, max_size=3)))
        turn = Turn(observations=said).numbered(state.turn + 1)
        turn = turn.model_copy(update={"pending": state.unread()})
        text = on_the_wire(data.draw(lying_proposals(Known(state, turn, ()))))
        compressor = ModelCompressor(InProcess(lambda _, text=text: text), mode=mode)
        ended = came_of(compressor.under(policy), turn, state)
        proposal = ended if isinstance(ended, Proposal) else None
        assert ended.usage["input"] > 0
        if proposal is not None:
            plain = Proposal.from_wire(json.loads(text), CompressedCognitiveState, mode=mode)
            assert proposal.model_dump(include={"items", "retire"}) == plain.model_dump(
                include={"items", "retire"}
            )
        try:
            state = commit(state, proposal, turn, (), policy).state
        except PinnedOverflow:
            return
        assert policy.tokens(state) <= policy.max_tokens


@given(st.lists(st.one_of(hostile_texts, st.text(max_size=200)), min_size=1, max_size=3))
def test_whatever_text_comes_back_ends_in_a_proposal_or_a_named_failure(texts: list[str]) -> None:
    left = [*texts, *texts]
    compressor = ModelCompressor(InProcess(lambda _: left.pop(0) if left else "{}"))
    ended = came_of(compressor, Turn.said("hello").numbered(1), CompressedCognitiveState.empty())
    assert ended.account is not None
    if isinstance(ended, CompressionError):
        assert ended.account.outcome == ended.account.calls[-1] == ended.outcome


ANSWERS: list[Any] = [
    Reply("{}", {"input": 3, "output": 1, "cached": 0}),
    Reply("", None),
    Reply("no", {"input": 3, "output": 1, "cached": 0}, Outcome.REFUSAL, "no"),
    Reply('{"retire": [', {"input": 3, "output": 1, "cached": 0}, Outcome.TRUNCATED),
    CallFailed(Outcome.RATE_LIMITED, "slow down", headers={"Retry-After": "1"}),
    CallFailed(Outcome.SERVER_ERROR, "oh"),
    CallFailed(Outcome.CONTEXT_OVERFLOW, "long"),
    CallFailed(Outcome.BAD_REQUEST, "bad"),
    CallFailed(Outcome.INVALID_JSON, "unreadable", retry=True),
    CallFailed(Outcome.INVALID_JSON, "unreadable", said='{"retire": []}'),
]


@given(st.lists(st.sampled_from(ANSWERS), min_size=9, max_size=9))
def test_sync_and_async_end_the_same(answers: list[Any]) -> None:
    def ended(is_async: bool) -> Any:
        left = list(answers)
        compressor = ModelCompressor(InProcess(lambda _: left.pop(0)), retries=retries())
        asked = (Turn.said("hello").numbered(1), CompressedCognitiveState.empty(), ())
        try:
            if is_async:
                return asyncio.run(compressor.acompress(*asked)), len(left)
            return compressor(*asked), len(left)
        except CompressionError as error:
            return error.outcome, error.usage, error.account, str(error), len(left)

    assert ended(False) == ended(True)


def test_the_policy_reaches_the_compressor_and_leaves_the_original_alone() -> None:
    endpoint = InProcess(lambda _: "{}")
    compressor = ModelCompressor(endpoint)
    turn, state = Turn.said("hello").numbered(1), CompressedCognitiveState.empty()
    compressor.under(Policy(max_tokens=400))(turn, state, ())
    compressor(turn, state, ())
    assert ["of 400" in ask.messages[1].text for ask in endpoint.asks] == [True, False]


@pytest.mark.parametrize("text", ["{}", '{"constraints": []}'])
def test_nothing_to_say_is_a_revision_and_no_rewrite(text: str) -> None:
    turn, state = Turn.said("hello").numbered(1), CompressedCognitiveState.empty()
    revised = ModelCompressor(InProcess(lambda _: text))(turn, state, ())
    assert revised.items == ()
    with pytest.raises(CompressionError, match="empty"):
        ModelCompressor(InProcess(lambda _: text), mode="rewrite")(turn, state, ())
