"""`update_state`: with functions, with a model behind a loopback server, sync and async, failing and full."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from core_threads import Scripted, turn

from acc.compress.compressor import ModelCompressor
from acc.compress.judge import ModelJudge
from acc.errors import (
    AccError,
    CompressionError,
    ConfigurationError,
    InputError,
    PinnedOverflow,
    StateError,
)
from acc.models import OpenAIModel
from acc.state.policy import Cadence, Policy
from acc.step.update import Options, aupdate_state, memory_of, update_state
from acc.testing import Fault, ModelServer
from acc.turn.turn import Turn

RULE = "Never restart nginx during business hours."
FIRST = {"rules": [{"quote": "never restart nginx", "ref": "u1"}]}
LIFTED = {"later": [{"id": "c1", "quote": "restart nginx whenever", "ref": "u2", "ends": True}]}
EACH_TURN = Policy(cadence=Cadence())


def _model(server: ModelServer) -> OpenAIModel:
    return OpenAIModel("m", base_url=server.base_url, api_key="none", attempts=1)


def test_a_state_and_its_tail_go_into_the_next_call() -> None:
    compressor = Scripted(FIRST, {})
    one = update_state(None, Turn.said(RULE), model=compressor)
    stored = json.dumps(one.state.canonical())
    two = update_state(stored, Turn.said("Hello."), tail=one.tail, model=compressor)
    assert [rule.words.text for rule in two.state.constraints] == [RULE]
    assert two.messages("You operate the web servers.")[0]["content"].startswith("You operate")
    assert two.messages()[-1] == {"role": "user", "content": "Hello."}


def test_the_whole_turn_runs_through_a_model() -> None:
    """Compression, a repair of what was refused, and a second reading: five requests in three turns."""
    wrong = {"rules": [{"quote": "restart nginx in the night", "ref": "u1"}]}
    verdict = {"verdicts": [{"case": 1, "verdict": "ends"}]}
    lifted = {"later": [{**LIFTED["later"][0], "id": "c2"}]}
    with ModelServer([wrong, FIRST, lifted, verdict, {}]) as server:
        model = _model(server)
        options: dict[str, Any] = {
            "model": ModelCompressor(model), "judge": ModelJudge(model), "policy": EACH_TURN,
        }  # fmt: skip
        one = update_state(None, Turn.said(RULE), **options)
        assert one.usage.requests == 2
        assert [rule.words.text for rule in one.state.constraints] == [RULE]
        two = update_state(
            one.state,
            Turn.said("From now on, restart nginx whenever you like."),
            tail=one.tail,
            **options,
        )
        assert two.usage.requests == 2
        assert two.state.constraints[0].ending is not None
        assert two.state.constraints[0].ending.verdict == "ends"
        three = update_state(two.state, Turn.said("Thanks."), tail=two.tail, **options)
        assert not three.state.constraints
        asked = [str(request.messages[-1].text) for request in server.requests]
    assert "these words stand in no message" in asked[1]
    assert "Rule, said turn 1" in asked[3]
    assert "[ended" in asked[4]


def test_sync_and_async_make_the_same_states() -> None:
    answers = [FIRST, LIFTED, {"verdicts": [{"case": 1, "verdict": "stays"}]}]
    said = (Turn.said(RULE), Turn.said("From now on, restart nginx whenever you like."))

    def run() -> list[str]:
        with ModelServer(list(answers)) as server:
            one = update_state(None, said[0], model=_model(server), policy=EACH_TURN)
            two = update_state(
                one.state, said[1], tail=one.tail, model=_model(server), policy=EACH_TURN
            )
        return [one.state.hash, two.state.hash]

    async def arun() -> list[str]:
        with ModelServer(list(answers)) as server:
            one = await aupdate_state(None, said[0], model=_model(server), policy=EACH_TURN)
            two = await aupdate_state(
                one.state, said[1], tail=one.tail, model=_model(server), policy=EACH_TURN
            )
        return [one.state.hash, two.state.hash]

    assert run() == asyncio.run(arun())


def test_a_model_that_fails_leaves_the_tail_to_carry_the_agent() -> None:
    with ModelServer([Fault("500"), Fault("500"), {"facts": ["a: 1"]}]) as server:
        model = _model(server)
        one = update_state(None, Turn.said("a is 1"), model=model, policy=EACH_TURN)
        assert one.failure.startswith("server_error")
        assert one.text() == "[user] a is 1"
        two = update_state(
            one.state, Turn.said("b is 2"), tail=one.tail, model=model, policy=EACH_TURN
        )
        assert two.text() == "[user] a is 1\n[user] b is 2"
        three = update_state(
            two.state, Turn.said("c is 3"), tail=two.tail, model=model, policy=EACH_TURN
        )
        assert not three.failure
        read = str(server.requests[-1].messages[-1].text)
    assert all(said in read for said in ("a is 1", "b is 2", "c is 3"))
    assert [fact.text for fact in three.state.relational_map] == ["a: 1"]


def test_a_full_tail_is_committed_provisionally_and_read_again_by_the_next_working_model() -> None:
    def down(_: object) -> Any:
        raise CompressionError("down", outcome="unreachable")

    from acc.driving import perform
    from acc.step.step import Memory, stepping

    policy = Policy(cadence=Cadence(compress_over=100, tail_bound=200))
    fallback = Scripted({"facts": [{"text": "a: 1", "refs": ["u1"]}]})
    state, tail = policy.schema.empty(), ()
    memory: Any = Memory(down, None, fallback, policy)
    for number in range(1, 6):
        step: Any = perform(
            stepping(memory, state, turn(("user", "word " * 100), number=number), texts=tail)
        )
        state, tail = step.state, step.tail
    assert fallback.readings
    assert {entry.status for entry in state.unread} <= {"provisional", "unread"}
    assert state.relational_map
    assert policy.counter(step.text()) < 600
    working = Scripted({})
    memory = Memory(working, None, fallback, policy)
    step = perform(stepping(memory, state, turn(("user", "word " * 100), number=6), texts=tail))
    assert [message.turn for message in working.readings[0].messages] == [1, 2, 3, 4, 5, 6]


def test_rules_beyond_their_room_are_one_loud_error_with_everything_else_committed() -> None:
    rules = [
        f"Rule {n} says that nobody ever does thing number {n} without asking." for n in range(9)
    ]
    answer = {
        "rules": [{"quote": rule, "ref": "u1"} for rule in rules], "facts": ["a: 1"],
    }  # fmt: skip
    with pytest.raises(PinnedOverflow, match="rules and goals do not fit") as caught:
        update_state(
            None,
            Turn.said(" ".join(rules)),
            model=Scripted(answer),
            policy=Policy(max_tokens=200),
        )
    assert caught.value.refs == ("u1",)
    assert all(refused in rules for refused in caught.value.refused)
    assert caught.value.step.state.relational_map
    go_on = update_state(
        caught.value.step.state,
        Turn.said("Go on."),
        model=Scripted({}),
        policy=Policy(max_tokens=200),
    )
    assert go_on.state.constraints


def test_what_is_given_wrongly_is_named() -> None:
    with pytest.raises(InputError, match="the turn is str"):
        update_state(None, "hello")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="int is no model"):
        update_state(None, Turn.said("hi"), model=5)
    with pytest.raises(ConfigurationError, match="nonsense"):
        update_state(None, Turn.said("hi"), nonsense=1)
    with pytest.raises(StateError, match="no state"):
        update_state("[]", Turn.said("hi"), model=Scripted())
    with pytest.raises(ConfigurationError, match="compress_over"):
        Cadence(compress_over=-1)


def test_a_secret_reaches_neither_state_nor_tail() -> None:
    answer = {"facts": [{"text": "key: see u1", "refs": ["u1"]}]}
    step = update_state(None, Turn.said("My key is sk-proj-" + "a1B2" * 10), model=Scripted(answer))
    assert "a1B2a1B2" not in step.text() + json.dumps(step.state.canonical())


@pytest.mark.parametrize(
    "wrong",
    [
        {"tail": "text"},
        {"tail": None},
        {"evidence": ["text"]},
        {"policy": "x"},
        {"model": Scripted},
    ],
)
def test_an_argument_of_another_type_is_told(wrong: dict[str, Any]) -> None:
    with pytest.raises(AccError, match=next(iter(wrong))):
        update_state(None, Turn.said("hi"), **wrong)


def test_a_forgotten_tail_is_told_before_anything_is_lost() -> None:
    one = update_state(None, Turn.said(RULE), policy=Policy(cadence=Cadence(compress_over=1_000)))
    with pytest.raises(InputError, match="tail lacks u1"):
        update_state(one.state, Turn.said("hi"))
    two = update_state(one.state.canonical(), Turn.said("hi"), tail=one.tail)
    assert RULE in two.text()


@pytest.mark.parametrize(
    ("policy", "asks", "found"),
    [
        (None, True, (1_600, 2_000)),
        (Policy(lifting="show"), True, (1_600, 2_000)),
        (Policy(cadence=Cadence(compress_over=500)), True, (1_600, 500)),
        (Policy(max_tokens=900), True, (900, 2_000)),
        (Policy(lifting="show"), False, (1_100, 0)),
    ],
)
def test_what_a_policy_does_not_say_fits_who_compresses(
    policy: Policy | None, asks: bool, found: tuple[int, int]
) -> None:
    asking = ModelCompressor(OpenAIModel("m", base_url="http://127.0.0.1:9/v1", api_key="none"))
    memory = memory_of(Options(model=asking if asks else Scripted(), policy=policy))
    assert (memory.policy.max_tokens, memory.cadence.compress_over) == found
    assert isinstance(memory.judge, ModelJudge) == asks
