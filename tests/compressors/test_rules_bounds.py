"""What holds on any text: bounds, determinism, time; and what the compressor leaves alone."""

from __future__ import annotations

import time
from typing import Annotated

import pytest
from hypothesis import given
from pydantic import BaseModel
from speaking import HOSTILE, State, after, compress, proposed, turn

from acc.commit.commit import commit
from acc.compress.protocol import Compressor
from acc.keyless.compressor import RuleCompressor
from acc.keyless.reading import MOST_SENTENCES
from acc.keyless.sentences import sentences
from acc.state.items import Item, Relation
from acc.state.model import CompressedCognitiveState
from acc.state.reasons import Reason
from acc.state.slots import Slot, SlotField
from acc.turn.observations import Channel, Evidence


class Sample(Item):
    """A sample in the lab."""

    key = ("name",)
    head = "name"
    name: str


class LabState(CompressedCognitiveState):
    """A domain with a slot of its own, and fewer places for relations."""

    samples: Annotated[tuple[Sample, ...], Slot(max_items=4, guidance="samples by name")]
    relational_map: Annotated[
        tuple[Relation, ...], Slot(max_items=2, eviction_priority=50, id_prefix="r")
    ]


class BareState(BaseModel):
    """Not a state of ours: a schema without slots."""

    @classmethod
    def slots(cls) -> dict[str, SlotField]:
        return {}


def test_it_is_a_compressor() -> None:
    assert isinstance(compress, Compressor)
    assert compress(turn("Hi"), State.empty(), ()).author == "rules"


@given(said=HOSTILE, agent=HOSTILE, tool=HOSTILE, reply=HOSTILE, recalled=HOSTILE)
def test_no_text_makes_it_raise_or_break_its_bounds(
    said: str, agent: str, tool: str, reply: str, recalled: str
) -> None:
    at = turn(said or "-", agent or "-", tool or "-", reply or "-", number=2)
    evidence = [Evidence(channel=c, text=recalled, ref=f"{c.value[0]}1") for c in Channel]
    prior = after(turn(reply or "-", said or "-"))
    at = at.numbered(prior.turn + 1)
    proposal = compress(at, prior, evidence)
    readable = {o.ref for o in (*at.readable, *evidence)} | {i.id for _, i in prior.items()}
    for item in proposal.items:
        assert set(item.cites) <= readable
        assert item.cites
        quote = item.fields.get("quote")
        assert quote is None or item.id or any(quote in o.text for o in at.observations)
    refused = commit(prior, proposal, at, evidence).refused
    assert [n for n in refused if n.reason in (Reason.MALFORMED, Reason.TOO_LONG)] == []


@given(said=HOSTILE, agent=HOSTILE)
def test_the_same_turn_gives_the_same_proposal(said: str, agent: str) -> None:
    at = turn(said or "-", agent or "-")
    assert compress(at, State.empty(), ()) == RuleCompressor()(at, State.empty(), ())


@pytest.mark.parametrize(
    "unit",
    [
        "x", " ", ". ", "a. ", "never ", ", and ", "9", "1,", "A-", "A_1", "€1,", "he says ",
        "is now about ", "only after ", "12 May - ", "key: value\n", "until he has ", "Ab ", "(",
    ],
)  # fmt: skip
def test_time_grows_no_faster_than_the_text(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        at = turn(text, tool=text)
        start = time.process_time()
        compress(at, State.empty(), ())
        return time.process_time() - start

    seconds(1_000)
    # A quadratic step would make it 64 times; the floor is there for clocks that tick coarsely.
    assert seconds(1 << 14) <= 24 * max(seconds(1 << 11), 0.005)


def test_of_two_megabytes_both_ends_are_read() -> None:
    filler = "The sky was grey over the old harbour that day. " * 45_000
    at = turn(f"Never open the vault. {filler}Always use UTC.")
    assert len(at.user_words) > 2_000_000
    assert len(sentences(at.user_words, MOST_SENTENCES)) == MOST_SENTENCES
    found = [i.fields["text"] for i in proposed("constraints", at)]
    assert found == ["Never open the vault", "Always use UTC"]


def test_it_makes_room_for_what_is_new_and_keeps_to_the_places() -> None:
    state = State.empty()
    for number in range(1, 31):
        at = turn(
            f"The rate of pump P-{number} is {number}.5%.",
            f"Valve V-{number} is open. We're waiting for meter M-{number}.",
            number=number,
        )
        proposal = compress(at, state, ())
        for name, slot in State.slots().items():
            gone = {r.id for r in proposal.retire}
            kept = [i for i in getattr(state, name) if i.id not in gone]
            kept = [] if slot.rules.ephemeral else kept
            new = [i for i in proposal.items if i.slot == name and not i.id]
            assert len(kept) + len(new) <= slot.rules.max_items
        state = commit(state, proposal, at).state
    assert any("P-30" in fact.words for fact in state.relational_map)


def test_a_domains_own_slot_is_left_alone_and_its_bounds_are_kept() -> None:
    at = turn("Sample S-1 is warm. Pump P-2 is on. Valve V-3 is open. Dana is away.")
    proposal = compress(at, LabState.empty(), ())
    assert {item.slot for item in proposal.items} <= set(State.slots())
    assert len([i for i in proposal.items if i.slot == "relational_map"]) == 2


def test_slots_that_a_schema_lacks_are_skipped() -> None:
    proposal = compress(turn("Never open the vault."), BareState(), ())  # type: ignore[arg-type]
    assert proposal.items == ()


@pytest.mark.parametrize(
    "said",
    [
        "Bitte keine Flüge über Nacht, und nichts wird gebucht, bevor ich mein OK gegeben habe.",
        "No reserves nada antes de las 9 sin mi permiso, por favor. Max 160 euros por noche.",
        "Ne réservez rien sans mon accord, le budget est de 500 euros au maximum.",
        "Не бронируйте ночные рейсы, бюджет 500 евро.",
        "予算は100万円です。絶対に超えないでください。",
    ],
)
def test_another_language_gives_the_topic_at_the_most(said: str) -> None:
    proposal = compress(turn(said), State.empty(), ())
    assert {item.slot for item in proposal.items} <= {"semantic_gist"}
