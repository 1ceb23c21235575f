"""What of a rule or a goal is kept, and which words of the same message belong to it."""

from __future__ import annotations

import pytest
from speaking import rules

from acc.keyless.sentences import clauses
from acc.keyless.standing import shortened, shortened_goal

WHOLE = [
    "When a parent phones, put them through to Ileana",
    "As long as the kiln is hot, the shed remains locked",
    "Should the crane ever stand still, I hear of it within the hour",
    "For anything above 900 grams, weigh it twice",
    "If it thunders, and only then, pull the plugs",
    "With each offer you open, put down the page it rests on",
    "Who opens the safe, signs the book",
    "Spell the surnames as they stand in the parish register",
    "The pump stays at half load as long as it freezes",
    "First the wheel, then the saddle",
    "Number the crates by row, e.g. R4-017, on all of them",
    "Tell guests what it costs, never why it costs that",
]

SHORTER = [
    (
        "When you write to the lodge, please copy in Anouk, we had a quarrel with them in May",
        "When you write to the lodge, please copy in Anouk",
    ),
    ("No drilling after six, the neighbours have a baby", "No drilling after six"),
    ("Keep the label short, as the guests read it in the dark", "Keep the label short"),
]


@pytest.mark.parametrize("rule", WHOLE)
def test_a_condition_keeps_what_it_is_a_condition_of_and_a_list_its_members(rule: str) -> None:
    assert shortened(rule) == rule


@pytest.mark.parametrize(("rule", "short"), SHORTER)
def test_reasons_and_asides_go(rule: str, short: str) -> None:
    assert shortened(rule) == short


def test_a_reason_that_is_told_before_a_colon_leaves_what_stands_behind_it() -> None:
    rule = "One thing since the abbot reads them: each letter closes with a blessing"
    assert "closes with a blessing" in shortened(rule)


def test_two_rules_that_one_verb_asks_for_are_two() -> None:
    asked = "I ask that no guest is rung before ten, and that the menu stays under two pages."
    assert clauses(asked) == [
        "I ask that no guest is rung before ten",
        "the menu stays under two pages.",
    ]


def test_what_goes_on_with_a_rule_is_no_rule_of_its_own() -> None:
    (rule,) = rules("Nobody opens the cold room at night. Not for the mayor, not if he begs.")
    assert rule.fields["text"].endswith("Not for the mayor, not if he begs")
    (rule,) = rules("Keep the weekly mail to four lines. Always.")
    assert rule.fields["quote"] == "Keep the weekly mail to four lines. Always."


def test_of_a_rule_the_reason_before_it_goes_and_what_it_is_about_stays() -> None:
    short = shortened("The printer was slow all week, never print more than 20 pages a job")
    assert short == "never print more than 20 pages a job"
    named = "Ravi has an allergy, never order anything with nuts for the office"
    assert shortened(named) == named


def test_of_a_goal_its_reason_goes_and_its_deadline_stays() -> None:
    goal = "I want the hall repainted, for the old colour was a mistake, by the end of May"
    assert shortened_goal(goal) == "I want the hall repainted, by the end of May"
