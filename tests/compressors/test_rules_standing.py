"""What makes a standing rule, and what only sounds like one.

Sentences are judged by a classifier: of a list of phrasings a share is asked for. That nobody but
the user makes a rule, and that quotes are verbatim, holds for each.
"""

from __future__ import annotations

from typing import Annotated

import pytest
from speaking import after, compress, proposed, rules, turn

from acc.commit.commit import commit
from acc.state.items import Constraint
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Slot
from acc.turn.observations import Channel, Evidence, Observation, Trust
from acc.turn.turn import Turn

STANDING = {
    "prohibition": [
        "Never mention the diagnosis over the phone.",
        "Keep customer names out of the ticket.",
        "Nobody touches the billing shard until Olu is back from leave.",
        "Leave the cron jobs as they are.",
        "No schema changes without a migration ticket.",
        "You can look at the rows but you can't copy them.",
        "Region eu-west is off limits.",
        "I don't want the word 'failure' in that report.",
        "Please stay away from the legacy exporter.",
        "Photos of the children aren't posted anywhere.",
    ],
    "limit": [
        "Not more than 100 ml per run.",
        "Interviews last 45 minutes at most.",
        "The budget for courier costs is 2,400 for the whole quarter.",
        "Stay below 70 percent CPU on that box.",
        "We can't go over 40 nodes.",
        "Refunds above $200 have to go to Kim.",
    ],
    "format": [
        "Answer me in German.",
        "Say guests, not customers.",
        "For the newsletter: British spelling.",
        "Keep the tone formal with the ministry.",
        "Every summary has at most three lines, no emojis.",
        "Doses in milligrams.",
    ],
    "preference": [
        "I'd rather we didn't restart the broker during trading hours.",
        "I prefer short answers.",
        "I want Thursdays kept clear until the thesis is in.",
    ],
    "requirement": [
        "Any rollback needs Jorge's approval.",
        "Only Sanne talks to the sponsor.",
        "Always put the ticket number in the subject line.",
        "Rollbacks are Marco's call.",
        "Feature flags are frozen from Friday noon to Monday morning.",
        "From now on, two people sign each invoice.",
        "Run everything against staging first.",
        "If a parent calls, put them through to the office.",
        "Whenever you name a part, give its number, ok?",
        "Could you always cc Ruth?",
        "Insurance claims go past Kim first.",
    ],
}


def test_most_plain_rules_are_found_and_each_quote_is_verbatim() -> None:
    plain = [said for of_kind in STANDING.values() for said in of_kind]
    found = {said: rules(said) for said in plain}
    assert sum(len(items) == 1 for items in found.values()) >= 0.85 * len(plain)
    for said, items in found.items():
        assert all(item.fields["quote"] in said and item.cites == ("u1",) for item in items)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Never mention the diagnosis over the phone.", "prohibition"),
        ("Not more than 100 ml per run.", "limit"),
        ("Answer me in German.", "format"),
        ("I'd rather we didn't restart the broker during trading hours.", "preference"),
        ("Any rollback needs Jorge's approval.", "requirement"),
    ],
)
def test_a_clear_kind_is_told(said: str, kind: str) -> None:
    assert [item.fields["kind"] for item in rules(said)] == [kind]


LOOK_ALIKES = [
    # questions
    "Do we always have to sign it?",
    "Should we avoid Mondays?",
    "Can you check whether we must keep it?",
    "Isn't there always a second replica?",
    "What's the maximum we can spend?",
    # somebody else's words
    "They told us we must never restart it.",
    "The vendor insists all invoices must be paid upfront.",
    "Our lawyer keeps saying we must not publish.",
    "Apparently all staff must wear badges now.",
    "I read that you should never wake a sleepwalker.",
    "The old runbook says to always drain first.",
    "The password must contain a digit, says the form.",
    # the past
    "In my last job nobody was allowed to deploy on Friday.",
    "Last year we weren't allowed to take taxis.",
    "We couldn't touch the cluster for a week in March.",
    "I had to restart it twice.",
    "The limit was 50 last year.",
    # fancy
    "If it were my money I'd never spend that.",
    "Imagine every visit needed two signatures.",
    "I wish nobody could delete branches.",
    "Maybe we should always book early.",
    # jests, and what is taken back
    "Haha, never let me near a keyboard again.",
    "Never let him cook again. Just kidding!",
    "Nobody gets coffee before me. Not an instruction.",
    # what is or was the case
    "Nothing in the logs.",
    "No errors since noon.",
    "Nobody answered.",
    "It only happens on Tuesdays.",
    "He can't make it on Thursday.",
    "I can't find the file.",
    "The budget was 5,000 and we spent 7,000.",
    "It took no more than five minutes.",
    "Up to 40 requests failed.",
    "That must be the cache.",
    "Only two seats left.",
    "My sister never eats meat.",
    # idioms, and what is for now
    "No worries, take your time.",
    "Don't worry about it.",
    "Never mind.",
    "Don't send it yet.",
    "Please send me the file.",
    "Look into the queue length please.",
    "Thanks, that's all I needed.",
]


def test_few_look_alikes_are_taken_for_rules() -> None:
    taken = [said for said in LOOK_ALIKES if rules(said)]
    assert len(taken) <= 0.1 * len(LOOK_ALIKES), taken


@pytest.mark.parametrize(
    "said",
    [
        "Only Sanne talks to the sponsor.",
        "I prefer short answers.",
        "Any rollback needs Jorge's approval.",
        "Never touch host-3, part 8.",
    ],
)
def test_a_clear_rule_is_always_found(said: str) -> None:
    assert [item.fields["quote"] for item in rules(said)] == [said]


def test_nobody_but_the_user_makes_a_rule() -> None:
    rule = "Never restart db-7 without approval. Always use UTC."
    at = Turn(
        observations=(
            Observation(channel=Channel.DOCUMENT, text=rule, name="policy"),
            Observation(channel=Channel.TOOL, text=rule, name="wiki"),
            Observation(channel=Channel.AGENT, text=rule),
            Observation(channel=Channel.AGENT, text=rule, call_id="c1"),
        )
    ).numbered(1)
    evidence = Evidence(channel=Channel.USER, text=rule, ref="u0")
    for slot in ("constraints", "goal_orientation"):
        assert proposed(slot, at, evidence=[evidence]) == []


def test_what_the_user_pastes_makes_no_rule() -> None:
    said = 'I got this: "From April on all trips must be booked through the portal, no exceptions."'
    assert rules(said) == []


def test_an_operator_makes_a_rule() -> None:
    operator = Observation(channel=Channel.OPERATOR, text="Never quote prices.")
    found = proposed("constraints", Turn(observations=(operator,)).numbered(1))
    assert [item.cites for item in found] == [("o1",)]


def test_several_rules_in_one_message_are_told_apart() -> None:
    said = (
        "Use UTC always; no calls before ten. "
        "Each change gets a ticket, and never deploy on Fridays."
    )
    texts = [item.fields["text"] for item in rules(said)]
    assert texts == [
        "Use UTC always",
        "no calls before ten",
        "Each change gets a ticket",
        "never deploy on Fridays",
    ]


def test_scope_condition_and_deadline_stay_in_the_text() -> None:
    said = "And please don't touch db-7 until the audit is over, thanks!"
    assert [i.fields["text"] for i in rules(said)] == ["don't touch db-7 until the audit is over"]


def test_the_first_word_of_a_sentence_is_no_name_unless_it_does_something() -> None:
    (rule,) = rules("Correct, the bins. Never lend them to the neighbours.")
    assert rule.fields["text"] == "Never lend them to the neighbours"


def test_a_rule_that_is_said_again_is_held_once_and_noted() -> None:
    state = after(turn("Never deploy on Fridays."))
    again = turn("As I said, never deploy on Fridays.", number=2)
    done = commit(state, compress(again, state, ()), again)
    assert [item.text for item in done.state.constraints] == ["Never deploy on Fridays"]
    assert "duplicate constraints c1" in done.explain()


SIMILAR = [
    (
        "Never send reports of the {} department to anyone outside the committee.",
        "sales",
        "finance",
    ),
    ("Never restart the {} database of billing during business hours.", "primary", "replica"),
    ("Never deploy the {} service to production on a Friday afternoon.", "checkout", "ledger"),
    ("Never deploy the billing service to {} on a Friday afternoon.", "staging", "production"),
    ("Never deploy the billing service on {}.", "Mondays", "Fridays"),
    ("Never share the payroll file of {} with anyone outside HR.", "Munich", "Lisbon"),
    ("Invoices from the {} region must be approved by the manager first.", "north", "south"),
    ("Do not restart {} without asking me.", "db-1", "db-2"),
    ("Leave node {} alone until the vendor has called back.", "17", "18"),
    ("No deployments on {}, the auditors are here.", "12 May", "19 May"),
    ("Orders above {} approval.", "500 EUR need Anna's", "5,000 EUR need Boris's"),
    ("{} must approve every refund before it goes out.", "Anna", "Ben"),
    ("Always {} the amounts in the report.", "round up", "round down"),
    ("Keep the alarm {} at night.", "on", "off"),
    ("Never copy files {}.", "from staging to production", "from production to staging"),
]


@pytest.mark.parametrize(("frame", "one", "other"), SIMILAR)
def test_two_rules_that_differ_in_a_word_are_two_rules(frame: str, one: str, other: str) -> None:
    said = [frame.format(word) for word in (one, other)]
    assert len(after(turn(said[0]), turn(said[1])).constraints) == 2
    assert len(after(turn(" ".join(said))).constraints) == 2


def test_two_goals_that_differ_in_a_word_are_two_goals() -> None:
    frame = "I want the failure rate of the {} service below 1% before the end of the week."
    state = after(turn(frame.format("checkout")), turn(frame.format("ledger")))
    assert len(state.goal_orientation) == 2


class NarrowState(CompressedCognitiveState):
    """A state with two places for rules."""

    constraints: Annotated[
        tuple[Constraint, ...], Slot(max_items=2, min_trust=Trust.USER, pinned=True, quote=True)
    ]


def test_a_rule_beyond_the_places_is_proposed_all_the_same() -> None:
    """Commit says that it does not fit: nobody may take it for held."""
    said = "Never open the vault. Always use UTC. No calls before ten. Never open the vault."
    found = compress(turn(said), NarrowState.empty(), ()).items
    assert [i.fields["text"] for i in found if i.slot == "constraints"] == [
        "Never open the vault",
        "Always use UTC",
        "No calls before ten",
        "Never open the vault",  # said again: commit notes the duplicate
    ]
    assert not [i for i in found if i.slot == "uncertainty_signal"]


def test_a_rule_without_a_verb_is_not_joined_to_the_one_before_it() -> None:
    quotes = [item.fields["quote"] for item in rules("Read-only on every host. All times in UTC.")]
    assert quotes == ["Read-only on every host.", "All times in UTC."]


@pytest.mark.parametrize(
    ("said", "binds"),
    [
        (
            "The lift has been groaning all week, so nobody rides it with furniture till the engineer's been.",
            "nobody rides it with furniture",
        ),
        (
            "The council is on our backs about the noise again, so nothing gets unloaded in the yard after nine.",
            "nothing gets unloaded in the yard after nine",
        ),
        (
            "Let the twins sleep, no knocking before eight, third bad night in a row.",
            "no knocking before eight",
        ),
    ],
)
def test_reasons_and_asides_do_not_hide_what_a_part_forbids(said: str, binds: str) -> None:
    (rule,) = rules(said)
    assert binds in rule.fields["text"]


def test_a_law_that_is_laughed_at_is_none() -> None:
    assert rules("Nobody talks to me before my second tea, new law, ha.") == []
