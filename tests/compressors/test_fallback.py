"""Law 9's last step: whom a failing compressor falls back on, and who pays."""

from __future__ import annotations

import pytest
from asking import GOOD, RULE, TURN, WAYS, always, asking, fact, stepped, wire
from strategies import rule

from acc import Settings
from acc.compress.protocol import Price
from acc.controller import MemoryController
from acc.errors import CompressionError, ConfigurationError
from acc.pipeline.update import update_state
from acc.state.proposal import Proposal
from acc.state.reasons import Reason
from acc.stores.in_memory import InMemoryStore
from acc.testing import FailingCompressor, Fault, ModelServer
from acc.turn.turn import Turn


def test_items_stand_where_the_fallback_says_so() -> None:
    step = stepped(FailingCompressor(), fallback="items")
    assert step.commit.held
    assert step.outcome == "error"


def test_the_rules_take_over_where_the_fallback_says_so() -> None:
    with always("500") as server:
        step = stepped(asking(server.base_url), fallback="rules")
    assert step.outcome == "server_error"
    assert not step.commit.held
    assert [rule.text for rule in step.state.constraints] == ["Never restart nginx"]


GERMAN = "Niemals den Nachtarzt vor 6 Uhr anpiepsen, außer es besteht Lebensgefahr."
SPANISH = "Nunca llames al médico de noche antes de las 6, por favor, pase lo que pase."


def test_what_the_rules_cannot_read_stays_unread_for_the_model() -> None:
    """Until the model answers again: it reads the turns that the rules could not, and those alone."""
    asked: list[Turn] = []

    def model(turn: Turn, *_: object) -> Proposal:
        asked.append(turn)
        if len(asked) < 4:
            raise CompressionError("down")
        kept = rule(GERMAN, turn.pending[0].ref) if turn.pending else None
        return Proposal(items=(kept,) if kept else ())

    memory = MemoryController(InMemoryStore(), model, Settings(fallback="rules"))
    step = memory.step(None, Turn.said(GERMAN), thread="t")
    assert [(o.ref, o.shown) for o in step.state.pending] == [("u1", True)]
    assert "language_not_read" in [note.reason.value for note in step.commit.notes]
    step = memory.step(step.state, Turn.said("Never restart nginx."), thread="t")
    assert [o.ref for o in step.state.pending] == ["u1"]
    step = memory.step(step.state, Turn.said(SPANISH), thread="t")
    assert [o.ref for o in step.state.pending] == ["u1", "u3"]
    step = memory.step(step.state, Turn.said("Thanks!"), thread="t")
    assert [o.text for o in asked[-1].pending] == [GERMAN, SPANISH]
    assert not step.state.pending
    assert [r.text for r in step.state.constraints] == ["Never restart nginx", GERMAN]
    (folded,) = [n.detail for n in step.commit.notes if n.reason is Reason.FOLDED]
    assert folded == "u1 u3"


def test_without_a_model_nothing_waits_for_one() -> None:
    step = MemoryController(InMemoryStore()).step(None, Turn.said(GERMAN), thread="t")
    assert not step.state.pending


@pytest.mark.parametrize("how", WAYS)
def test_a_second_model_may_be_the_fallback_and_both_are_paid(how: str) -> None:
    with always("refusal") as first, ModelServer(lambda _: GOOD) as second:
        fallback = asking(second.base_url, how, price=Price(1, 1))
        step = stepped(asking(first.base_url, how, price=Price(1, 1)), how=how, fallback=fallback)
    assert step.outcome == "refusal"
    assert len(step.state.constraints) == 1
    assert step.usage["input"] == sum(s.requests[0].input_tokens for s in (first, second))
    assert step.money == Price(1, 1).of(step.usage)


def test_a_fallback_of_another_name_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="fallback"):
        MemoryController(InMemoryStore(), settings=Settings(fallback="item"))
    with pytest.raises(ConfigurationError, match="fallback"):
        update_state(None, TURN, fallback="item")  # type: ignore[arg-type]


def test_an_error_of_a_third_party_is_an_error() -> None:
    assert stepped(FailingCompressor(ValueError("no"))).outcome == "error"
    own = CompressionError("no", outcome="out_of_stock", usage={"input": 7})
    step = stepped(FailingCompressor(own))
    assert (step.outcome, step.usage) == ("out_of_stock", {"input": 7})


def test_an_error_of_configuration_passes_every_fallback() -> None:
    wrong = FailingCompressor(ConfigurationError("no", hint="mend it"))
    for compressor, fallback in ((wrong, "rules"), (FailingCompressor(), wrong)):
        with pytest.raises(ConfigurationError, match="mend it"):
            stepped(compressor, fallback=fallback)


class Odd(FailingCompressor):
    """Has what the library looks for in a compressor, and none of it is what it should be."""

    price = 3

    def under(self, policy: object) -> None:
        raise RuntimeError("not now")


@pytest.mark.parametrize("how", WAYS)
def test_odd_hooks_of_a_third_party_stop_nothing(how: str) -> None:
    step = stepped(Odd(), how=how, fallback=Odd())
    assert (step.outcome, step.money) == ("error", None)
    assert step.failure == "RuntimeError: not now; fallback: RuntimeError: not now"
    assert step.commit.held


def test_the_next_success_folds_in_what_no_model_has_read() -> None:
    folded = wire(constraints=[RULE], relational_map=[fact("queue", "q-2", "u2")])
    with ModelServer([folded], faults=[Fault("503")] * 3) as server:
        compressor = asking(server.base_url)
        held = update_state(None, TURN, compressor=compressor)
        assert [o.ref for o in held.state.pending] == ["u1"]
        done = update_state(held.state, Turn.said("The queue is q-2."), compressor=compressor)
    assert "Unread sources of earlier turns" in server.requests[-1].messages[1].text
    assert [rule.sources for rule in done.state.constraints] == [("u1",)]
    assert done.state.pending == ()
