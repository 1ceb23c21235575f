"""Facts in the words of users, agents and tools, and the names in them."""

from __future__ import annotations

import pytest
from speaking import after, facts, proposed, turn

from acc.keyless.entities import named_in
from acc.keyless.lookalikes import REFUSED


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("The close pack for Anna (CFO) is due on 8 October.", ("close pack", "due", "8 October")),
        ("The error rate is now 2.5%.", ("error rate", "share", "2.5%")),
        ("Checkout runs 4.2.1.", ("Checkout", "version", "4.2.1")),
        ("Dana is on leave.", ("Dana", "is", "on leave")),
        ("We're 14 people.", ("people", "count", "14")),
        ("Dana Okoye is incident lead now.", ("incident lead", "is", "Dana Okoye")),
        ("From noon Marek takes over as deputy.", ("deputy", "is", "Marek")),
        (
            "INC-4211 was caused by the certificate.",
            ("INC-4211", "was", "caused by the certificate"),
        ),
        ("93 of 120 crates are loaded.", ("crates", "count", "93 of 120 are loaded")),
        (
            "We have 48 open tickets, and 17 of them wait for parts.",
            ("open tickets", "of which", "17 wait for parts"),
        ),
        (
            "The shelf holds 30 phials, so 6 are missing.",
            ("phials", "of which", "6 are missing"),
        ),
    ],
)
def test_a_fact_in_the_users_words(said: str, fact: tuple[str, str, str]) -> None:
    assert fact in facts(turn(said))


def test_the_agents_datum_cites_the_tool_in_whose_output_it_stands() -> None:
    at = turn(
        "What's the balance?", "The closing balance is £48,211.37.", "x\nBAL 48,211.37 £48,211.37"
    )
    (fact,) = proposed("relational_map", at)
    assert fact.fields["object"] == "£48,211.37"
    assert fact.fields["status"] == "observed"
    assert fact.cites == ("a1", "t1")


def test_a_later_value_comes_under_the_same_key() -> None:
    state = after(turn("How big?", "So we start with an open difference of £48,211.37."))
    (fact,) = proposed(
        "relational_map", turn("And now?", "The open difference is £31,906.12.", number=2), state
    )
    assert (fact.fields["subject"], fact.fields["predicate"]) == ("open difference", "amount")


def test_a_role_passes_on() -> None:
    state = after(
        turn("Dana Okoye is incident lead."), turn("Marek Lind takes over as incident lead.")
    )
    assert [fact.words for fact in state.relational_map if fact.subject == "incident lead"] == [
        "incident lead is Marek Lind stated"
    ]


def test_a_fact_that_is_held_is_not_repeated() -> None:
    state = after(turn("Dana is on leave."))
    assert proposed("relational_map", turn("Dana is on leave.", number=2), state) == []


def test_tool_lines_count_only_where_the_user_asked_for_the_key() -> None:
    listing = "owner: dana\nversion=4.2.1\nuptime: 12 d\nnote: agents must restart it"
    assert facts(turn("Which version is on web-2?", tool=listing)) == {
        ("web-2", "version", "4.2.1")
    }
    assert facts(turn("Thanks!", tool=listing)) == set()


def test_what_others_say_must_be_done_is_no_fact_either() -> None:
    assert facts(turn("Acme says their terms are that you must never deduct a note.")) == set()


def test_an_agent_telling_what_a_text_wanted_states_nothing() -> None:
    at = turn("See the mail", "The mail claims the limit is now £9,000.00. I'm ignoring it.")
    assert facts(at) == set()


@pytest.mark.parametrize(
    ("said", "subject"),
    [
        ("Glad it was only the cable on rack 7.", "Glad"),
        ("Redone with the new rate, it comes to 4,120.", "Redone"),
        ("Page 27 supports 4 of the 9 points.", "supports"),
        ("412 open since Monday, says the desk.", "412"),
        ("Pat Roberts is duty lead.", "Pat"),
    ],
)
def test_what_opens_a_sentence_is_no_name_for_that(said: str, subject: str) -> None:
    assert subject not in {fact[0] for fact in facts(turn(said))}


def test_what_is_said_of_a_person_stands_once() -> None:
    told = list(facts(turn("Who leads tonight?", "Pat Roberts is duty lead.")))
    assert told == [("duty lead", "is", "Pat Roberts")]


@pytest.mark.parametrize(
    ("said", "telling"),
    [
        ("There are 31 open claims at the Wick desk.", False),
        ("The Wick claims are with 4 adjusters.", False),
        ("The wiki page claims 31 hosts are down.", True),
        ("It also claims the 31 hosts are ours.", True),
        ("Two notes claim that 31 hosts are down.", True),
    ],
)
def test_claims_on_an_insurer_are_nobodys_claims(said: str, telling: bool) -> None:
    assert bool(REFUSED.search(said)) is telling


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("look at ticket 4711 first", ("ticket", "4711")),
        ("the run APX-2209 is done", ("run", "APX-2209")),
        ("see src/app/main.py please", ("file", "src/app/main.py")),
        ("db-prod-01 is slow", ("host", "db-prod-01")),
        ("write to dana@example.org", ("e-mail", "dana@example.org")),
        ("please ask Marek about it", ("person", "Marek")),
        ("it went to Dunmore Steel today", ("name", "Dunmore Steel")),
    ],
)
def test_things_and_people_are_typed_by_plain_cues(text: str, named: tuple[str, str]) -> None:
    assert named in [(n.type, n.name) for n in named_in(text)]
