"""Schemas of a domain: slots of their own, tighter rules, and a thread that goes on with a subclass."""

from __future__ import annotations

from typing import Annotated

from core_threads import Scripted, Thread, turn

from acc.compress.prompt import instruction
from acc.driving import perform
from acc.state.items import Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import wire_schema
from acc.state.slots import Slot
from acc.step.step import Memory, stepping
from acc.text.lines import sha256_of


class Account(Record):
    """An account to pay to."""

    payee: Text
    iban: Text = ""


class Payments(CompressedCognitiveState):
    """The generic state with accounts, whose numbers no lesser source replaces."""

    accounts: Annotated[
        tuple[Account, ...],
        Slot("accounts", "b", "Accounts", 10, lesser="beside", guidance="accounts to pay to"),
    ] = ()


def test_a_slot_of_a_domain_is_asked_for_committed_and_shown() -> None:
    assert '- "accounts": [{"payee", "iban", "refs", "id"}], accounts to pay to.' in instruction(
        Payments
    )
    fields = wire_schema(Payments)["properties"]["accounts"]["items"]["properties"]
    assert set(fields) == {"id", "payee", "iban", "refs"}
    thread = Thread(
        {"accounts": [{"payee": "Harrow", "iban": "GB33 1234", "refs": ["u1"]}]},
        {"accounts": [{"id": "b1", "payee": "Harrow Ltd"}]},
        schema=Payments,
    )
    thread.say(("user", "Pay Harrow at GB33 1234."))
    assert "Accounts:\n- Harrow iban GB33 1234" in thread.steps[-1].text()
    thread.say(("user", "Harrow Ltd, that is."))
    assert "- Harrow Ltd iban GB33 1234" in thread.steps[-1].text(), "other fields stay"


def test_no_lesser_source_replaces_what_the_slot_protects() -> None:
    thread = Thread(
        {"accounts": [{"payee": "Harrow", "iban": "GB33 1234", "refs": ["u1"]}]},
        {"accounts": [{"id": "b1", "iban": "DE00 9999", "payee": "Harrow", "refs": ["t2"]}]},
        schema=Payments,
    )
    thread.say(("user", "Pay Harrow at GB33 1234."))
    text = thread.say(("tool", "new account DE00 9999")).text()
    assert "Accounts:\n- Harrow iban GB33 1234" in text
    assert "Accounts by tool:\n- Harrow iban DE00 9999" in text


def test_a_thread_goes_on_with_a_subclass_and_back_with_the_base_class() -> None:
    """As after a release that brings a schema, and is rolled back."""
    thread = Thread(
        {"rules": [{"quote": "Never pay twice", "ref": "u1"}]},
    )
    thread.say(("user", "Never pay twice."))
    state = Payments.load(thread.state.canonical())
    assert [rule.words.text for rule in state.constraints] == ["Never pay twice."]
    later = Thread(
        {"accounts": [{"payee": "Harrow", "iban": "GB33 1234", "refs": ["u1"]}]},
        schema=Payments,
    )
    later.say(("user", "Pay Harrow at GB33 1234."))
    back = CompressedCognitiveState.load(later.state.canonical())
    assert [fact.text for fact in back.relational_map] == ["accounts: payee Harrow; iban GB33 1234"]
    assert back.feedback == ("b1 of accounts is a fact now: the schema has no such slot",)
    assert back.hash == later.state.hash


def test_what_does_not_fit_comes_in_one_order_however_the_state_is_stored() -> None:
    """A checkpoint and the journal keep its fields in different orders; both have to give the same next state."""
    thread = Thread({"rules": [{"quote": "Never pay twice", "ref": "u1"}]})
    thread.say(("user", "Never pay twice."))
    body = thread.state.canonical()
    (rule,) = body.pop("constraints")
    body |= {f"{name}_rules": [{**rule, "id": f"c{n}"}] for n, name in enumerate("qwertz")}
    item = {"id": "b1", "turn": 1, "touched": 1, "thing": "tap"}
    body |= {f"{name}_things": [{**item, "id": f"b{n}"}] for n, name in enumerate("qwertz")}
    body["hash"] = sha256_of({k: v for k, v in body.items() if k != "hash"})
    one = CompressedCognitiveState.load(body)
    other = CompressedCognitiveState.load(dict(reversed(body.items())))
    assert one == other
    assert (len(one.constraints), len(one.relational_map)) == (6, 6)


def test_rules_in_a_slot_of_another_class_bind_in_every_class() -> None:
    thread = Thread({"rules": [{"quote": "Never pay twice", "ref": "u1"}]})
    thread.say(("user", "Never pay twice."))
    body = thread.state.canonical()
    body["house_rules"] = body.pop("constraints")
    body["hash"] = sha256_of({k: v for k, v in body.items() if k != "hash"})
    found = CompressedCognitiveState.load(body)
    assert [rule.words.text for rule in found.constraints] == ["Never pay twice."]
    assert "is a rule now" in found.feedback[0]


def test_a_flush_compresses_what_waits_without_a_new_turn() -> None:
    """Before a hand-over to another agent, a shared write, or the end of a session."""
    thread = Thread({"facts": ["a: 1"]}, over=10**6)
    thread.say(("user", "a is 1"), ("agent", "Noted."))
    memory = Memory(thread.compressor, policy=thread.policy)
    nothing = turn(number=thread.state.turn)
    step = perform(stepping(memory, thread.state, nothing, texts=thread.steps[-1].tail, force=True))
    assert [fact.text for fact in step.state.relational_map] == ["a: 1"]
    assert {entry.status for entry in step.state.unread} == {"read"}
    assert step.state.turn == 1


def test_rewrite_writes_all_records_again_and_leaves_rules_alone() -> None:
    from acc.state.proposal import Proposal, read
    from acc.state.reading import Reading

    class Rewriting(Scripted):
        def __call__(self, reading: Reading) -> Proposal:
            answer = self.answers.pop(0)
            return read(answer, reading.policy.schema, mode="rewrite")

    compressor = Rewriting(
        {"rules": [{"quote": "Never pay twice", "ref": "u1"}], "facts": ["a: 1", "b: 2"]},
        {"facts": [{"id": "r3", "text": "b: 3"}]},
    )
    thread = Thread(compressor=compressor)
    thread.say(("user", "Never pay twice. a is 1, b is 2."))
    thread.say(("user", "b is 3"))
    assert thread.rules == ["Never pay twice."]
    assert [fact.text for fact in thread.state.relational_map] == ["b: 3"]
