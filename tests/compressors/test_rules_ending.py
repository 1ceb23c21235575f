"""Which standing rule the user's words end, among ten that stand."""

from __future__ import annotations

import pytest
from speaking import State, after, retired, turn

HELD = [
    "No deployments to production before Monday.",
    "Keep every status update under 80 words.",
    "Never contact the supplier directly, Nora does that.",
    "Refunds above $200 go to Kim first.",
    "Leave db-7 alone while the audit is running.",
    "Don't tell the interns about the merger until the board has signed.",
    "Only Ana merges to main.",
    "The afternoons stay free for me, that's physio.",
    "At most 12 nodes in the cluster.",
    "Nobody goes into the archive without a badge.",
]
LIFTS = [
    ("The production freeze is over, you can deploy again.", "deployments"),
    ("Deployments are fine from here.", "deployments"),
    ("You can talk to the supplier yourself again, Nora is away.", "supplier"),
    ("The audit is finished, db-7 is fair game.", "db-7"),
    ("db-7 is back in scope, the audit is through.", "db-7"),
    ("The board has signed, so you can tell the interns.", "interns"),
    ("Forget the rule about badges for the archive.", "archive"),
    ("Physio has been cancelled, book what you like in the afternoons.", "afternoons"),
    ("No need to keep the updates short any more.", "update"),
    ("Anyone can go into the archive now, no badge needed.", "archive"),
]
CHANGES = [
    ("Status updates may be up to 120 words.", "update"),
    ("Make that 150 words for the updates.", "update"),
    ("Raise the refund limit to 400 dollars.", "Refunds"),
    ("We got more budget, go up to 20 nodes.", "nodes"),
    ("The limit is up, refunds to 900 dollars are fine from now on.", "Refunds"),
]
SOUNDS_LIKE_IT = [
    "The meeting is cancelled.",
    "Nora is on holiday this week.",
    "You can now send the summary.",
    "The ticket is resolved.",
    "I don't need the report any more.",
    "Please raise the memory to 16 GB.",
    "Never mind.",
    "The supplier has changed their address.",
    "Ana has signed the contract.",
    "Make it 9 o'clock instead.",
    "Send 200 copies instead of 150.",
    "Scrap the second paragraph.",
    "Kim is back now.",
    "You can now ask Nora.",
    "The badges are fine now.",
]
NOT_THE_USERS_WORD = [
    "Can we deploy to production again?",
    "Bob says you can contact the supplier again.",
    "The node count went up to 11 last week.",
    "If the audit were over we could touch db-7.",
]
"""Asked, reported, of the past, or hypothetical: none of them ever lifts a rule."""


@pytest.fixture(scope="module")
def held() -> State:
    state = after(*(turn(said) for said in HELD))
    assert len(state.constraints) == len(HELD)
    return state


def test_most_liftings_retire_the_rule_they_bear_on_and_add_none(held: State) -> None:
    right = 0
    for said, word in LIFTS:
        texts, proposal = retired(said, held)
        assert all(r.quote in said and r.cites == (f"u{held.turn + 1}",) for r in proposal.retire)
        added = [i for i in proposal.items if i.slot == "constraints"]
        right += len(texts) == 1 and word in texts[0] and not added
    assert right >= 0.85 * len(LIFTS)


def test_most_changes_retire_the_old_rule_and_add_the_new(held: State) -> None:
    assert sum(_is_changed(said, word, held) for said, word in CHANGES) >= 0.8 * len(CHANGES)


def _is_changed(said: str, word: str, held: State) -> bool:
    texts, proposal = retired(said, held)
    added = [i.fields["quote"] for i in proposal.items if i.slot == "constraints"]
    return len(texts) == 1 and word in texts[0] and added == [said]


def test_little_that_sounds_like_a_lifting_lifts_a_rule(held: State) -> None:
    lifting = [said for said in SOUNDS_LIKE_IT if retired(said, held)[0]]
    assert len(lifting) <= 0.1 * len(SOUNDS_LIKE_IT), lifting


@pytest.mark.parametrize("said", NOT_THE_USERS_WORD)
def test_what_is_asked_reported_or_told_lifts_none(said: str, held: State) -> None:
    assert retired(said, held)[0] == []


def test_a_pronoun_stands_for_what_the_message_names() -> None:
    state = after(
        turn("Leave Harrow Castings alone while the lawyers look at them."),
        turn("Never open the vault."),
    )
    said = (
        "Harrow is settled, the lawyers signed today. You can treat them like anybody else again."
    )
    assert [text.split()[1] for text in retired(said, state)[0]] == ["Harrow"]


def test_a_rule_of_the_same_words_with_another_figure_replaces_the_first() -> None:
    state = after(turn("Hotels: not above 160 a night per person."))
    texts, proposal = retired("Hotels: not above 190 a night per person.", state)
    assert texts == ["Hotels: not above 160 a night per person"]
    assert [i.fields["text"] for i in proposal.items if i.slot == "constraints"]


def test_two_tiers_stand_side_by_side() -> None:
    state = after(turn("Refunds above $200 go to Kim first."))
    assert retired("Refunds above $900 go to the whole board first.", state)[0] == []


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("Leave pump 12 alone, no restart, no new settings.",
         "You may restart pump 12 again like any of its neighbours."),
        ("Nobody goes into bay 4 until the gas has been measured.",
         "The gas was measured at nine, so you may let people into bay 4 again."),
        ("Keep the name of the Brack site out of every letter.",
         "The council announced the Brack site last week, so that its name may be used again."),
        ("Nothing goes to Olmec before Ruth has read it.",
         "Piet reads the Olmec letters from now on."),
        ("Keep off the Lindgren folder until the estate is settled.",
         "The estate is settled, so you can file in the Lindgren folder as in the others."),
        ("No prices to Tallow Marine while the tender is open.",
         "Tallow Marine have signed, you can discuss prices with them like with a partner."),
        ("Not a word to the tenants about the lift until the surveyor has been.",
         "The surveyor has been. You may talk about it openly with the tenants from here on."),
        ("The tank in hall 3 stays out of the plan for the time being.",
         "You may put the tank in hall 3 wherever you like from here on."),
    ],
)  # fmt: skip
def test_a_reason_a_comparison_or_how_it_is_permitted_bars_no_lifting(
    rule: str, sentence: str
) -> None:
    state = after(turn(rule))
    assert retired(sentence, state)[0] == [item.text for item in state.constraints]


def test_a_later_hour_is_a_new_bound_and_no_time_of_a_permission() -> None:
    state = after(turn("Texts to the patients go out by 7 in the evening at the latest."))
    texts, proposal = retired("The texts may go out until 9 in the evening from now on.", state)
    assert texts == [item.text for item in state.constraints]
    assert [i.fields["text"] for i in proposal.items if i.slot == "constraints"]


def test_an_amount_is_no_number_of_people() -> None:
    state = after(turn("Sixty people read that list, so no surnames in there."))
    said = "Up to 150 dollars they just pay it, above 150 it needs Marit's ok first."
    assert len(state.constraints) == 1
    assert retired(said, state)[0] == []


def test_a_claim_is_a_thing_and_nobodys_words() -> None:
    state = after(turn("You may pay up to $4,000 a claim, not more."))
    assert len(retired("It's $7,500 a claim from today.", state)[0]) == 1


def test_what_is_back_is_not_past() -> None:
    state = after(turn("Leave truck 14 out of the rota until the workshop has answered."))
    assert len(retired("Truck 14 is back in the rota as of now.", state)[0]) == 1


def test_what_is_permitted_in_new_bounds_still_binds() -> None:
    state = after(
        turn("The weekly report stays under forty pages."),
        turn("The weekly report may therefore run to fifty-five pages."),
    )
    assert [item.text for item in state.constraints] == [
        "The weekly report may therefore run to fifty-five pages"
    ]


def test_what_is_merely_felt_about_a_rule_is_none() -> None:
    assert not after(turn("The restart of the pumps before lunch worries us.")).constraints
    assert after(turn("Never send the tenants anything that worries them.")).constraints


ENDED = [
    (
        "No pictures of the patients in the newsletter.",
        "Pictures of patients are no problem any more.",
    ),
    ("At most four crates per pallet.", "You can stack up to seven crates on a pallet now."),
    (
        "Never sign letters with my name.",
        "You can sign letters with my name, I don't mind, they know me by now.",
    ),
    ("Answer me in bullet points.", "You can drop the bullets."),
    ("Keep the crypto folder closed while the audit runs.", "The audit closed yesterday."),
    ("No discounts until the shop opens.", "We opened last night!"),
]


@pytest.mark.parametrize(("rule", "said"), ENDED)
def test_a_reason_a_recent_event_or_a_new_bound_does_not_keep_a_rule(rule: str, said: str) -> None:
    assert len(retired(said, after(turn(rule)))[0]) == 1


STANDS = [
    ("Never open the vault.", "Last night the vault was allowed to be opened."),
    ("Never restart the boiler.", "You may restart it, but not at night."),
    ("Never restart the boiler.", "You can restart the boiler now, no, wait."),
    ("Never restart the boiler.", "You can restart the boiler again. No, wait."),
    ("Never restart the boiler.", "You can restart the boiler now - scratch that."),
    ("Never restart the boiler.", "Bob restarted the boiler last night."),
    ("Never restart the boiler.", "Yesterday you could restart the boiler any time."),
    ("Nobody opens the vault.", "The vault was opened last night."),
    ("No calls to the bank.", "The bank was closed yesterday, no calls were needed."),
    ("No calls to the bank.", "No calls were needed."),
    ("At most 12 nodes.", "Yesterday 14 nodes were fine."),
    ("Don't feed the carp by hand.", "The vet says you can feed the carp by hand again."),
    ("Don't feed the ducks.", "Go ahead and photograph the ducks."),
    ("Never restart server 3.", "You can restart server 4 now."),
    ("Nobody goes into room six.", "You can go into room 9 now."),
    ("No trucks on dock 4.", "Trucks are fine again on dock 1."),
]


@pytest.mark.parametrize(("rule", "said"), STANDS)
def test_what_was_what_others_say_and_what_is_allowed_of_another_thing_ends_none(
    rule: str, said: str
) -> None:
    assert retired(said, after(turn(rule)))[0] == []


def test_two_clauses_about_one_rule_end_one() -> None:
    held = after(
        turn("Not a word to the inspectors before I've read it."),
        turn("For anything that goes to Greta: 80 words at the outside."),
    )
    said = "The inspectors have full access as of today and they may ask you directly. Just answer them."
    assert retired(said, held)[0] == ["Not a word to the inspectors before I've read it"]


RESERVED = [
    ("No deploys.", "You can deploy again, but at most twice a day."),
    ("Never ring the landlord.", "You can ring the landlord again, only with me on the line."),
]


@pytest.mark.parametrize(("rule", "said"), RESERVED)
def test_what_a_permission_takes_back_binds_in_the_rules_place(rule: str, said: str) -> None:
    ended, proposal = retired(said, after(turn(rule)))
    made = [i.fields["text"] for i in proposal.items if i.slot == "constraints"]
    assert (ended, made) == ([rule.rstrip(".")], [said.rstrip(".")])
