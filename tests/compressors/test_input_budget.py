"""What a model reads is bounded; the cut bears on the state, is the same each time, and is told."""

from __future__ import annotations

import pytest
from asking import InProcess
from hypothesis import given
from hypothesis import strategies as st
from strategies import Conversation, agent, fact, recalled, tool, user

from acc.compress.compression import left_out, size, within_budget
from acc.compress.model import ModelCompressor
from acc.compress.prompt import Reading
from acc.turn.observations import Channel


def lines(count: int) -> str:
    return "\n".join(f"line {n}: all is quiet on host-{n}" for n in range(count))


def reading(count: int) -> Reading:
    talk = Conversation()
    talk.take(user("db-7 is slow."), fact("db-7", "is", "slow", "u1"))
    talk.fail(user("And the disk?"), tool(lines(count)))
    log = f"{lines(count)}\nline x: db-7 disk full\n{lines(count)}"
    turn = talk.turn(user("Why is db-7 slow?"), tool(log, name="logs"), agent("I look."))
    evidence = tuple(recalled(f"t{n}", Channel.TOOL, lines(count)) for n in (8, 9))
    return Reading(turn, talk.state, evidence, talk.policy, "revise")


def test_what_fits_is_read_whole() -> None:
    whole = reading(3)
    assert within_budget(whole, size(whole)) is whole


@given(st.integers(20, 400), st.integers(400, 6_000))
def test_the_cut_keeps_the_bound_and_is_always_the_same(count: int, limit: int) -> None:
    whole = reading(count)
    cut = within_budget(whole, limit)
    assert size(cut) <= limit
    assert cut == within_budget(whole, limit)
    kept = {source.ref: len(source.text) for source in (*cut.turn.readable, *cut.evidence)}
    for ref, missing in left_out(whole, cut).items():
        assert missing > 0
        assert kept[ref] < limit


def test_what_bears_on_the_state_stays() -> None:
    cut = within_budget(reading(400), 3_000)
    log = next(o for o in cut.turn.observations if o.name == "logs")
    assert "line x: db-7 disk full" in log.text
    assert "[...]" in log.text
    assert cut.turn.user_words == "Why is db-7 slow?"


def test_the_cut_is_told_in_the_account_and_to_the_model() -> None:
    endpoint = InProcess(lambda _: "{}")
    whole = reading(400)
    proposal = ModelCompressor(endpoint, input_chars=3_000)(whole.turn, whole.state, whole.evidence)
    assert proposal.account is not None
    assert set(proposal.account.left_out) >= {"t3", "t8", "t9"}
    told = f"({proposal.account.left_out['t3']:,} characters left out)"
    assert told in endpoint.asks[0].messages[1].text
    assert len(endpoint.asks[0].messages[1].text) < 6_000


@pytest.mark.parametrize("count", [5, 400])
def test_commit_judges_by_the_whole(count: int) -> None:
    """A quote that stands in what was cut is found all the same."""
    talk = Conversation()
    words = f"{lines(count)}\nNever restart nginx.\n{lines(count)}"
    turn = talk.turn(user(words))
    rule = '{"text":"Never restart nginx","kind":"prohibition","quote":"Never restart nginx","cites":["u1"],"id":""}'
    endpoint = InProcess(lambda _: f'{{"constraints":[{rule}]}}')
    proposal = ModelCompressor(endpoint, input_chars=1_000)(turn, talk.state, ())
    assert len(endpoint.asks) == 1
    talk.propose(turn, proposal)
    assert [c.text for c in talk.state.constraints] == ["Never restart nginx"]
