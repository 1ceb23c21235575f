"""Words of a single standing rule that do nothing to it, and some that end it."""

from __future__ import annotations

import pytest
from speaking import after, turn

from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

RESTART = "Never restart nginx during business hours."
DEPLOY = "Never deploy on a Friday."
MAIL = "Never email customers directly."
DELETE = "Never delete prod data."
MIGRATE = "Do not run migrations on prod without my approval."

IDLE = [
    (RESTART, "The restart failed again."),
    (RESTART, "Restart failed again."),
    (RESTART, "Restart apache again."),
    (RESTART, "Restart the pod again."),
    (RESTART, "Restart again."),
    (RESTART, "nginx was restarted again last night."),
    (RESTART, "The cron job ran long again, and nginx hung again."),
    (DEPLOY, "Deploy failed again."),
    (DEPLOY, "Deploy again."),
    (DELETE, "Delete the tmp files again."),
    (MAIL, "Email bounced again."),
    (MAIL, "Email Ana again."),
    (MIGRATE, "Run it again."),
]
ENDING = [
    (RESTART, "You may restart nginx again."),
    (RESTART, "Restart nginx whenever you like from now on."),
    (DEPLOY, "Deploys on Friday are fine again."),
    (MAIL, "You can email customers directly again."),
    (MIGRATE, "You no longer need my approval for migrations on prod."),
]


@pytest.mark.parametrize(("rule", "said"), IDLE)
def test_a_report_and_an_order_about_another_thing_leave_the_rule(rule: str, said: str) -> None:
    assert rule.rstrip(".") in [item.text for item in after(turn(rule), turn(said)).constraints]


@pytest.mark.parametrize(("rule", "said"), ENDING)
def test_what_ends_it_ends_it(rule: str, said: str) -> None:
    assert rule.rstrip(".") not in [item.text for item in after(turn(rule), turn(said)).constraints]


def test_a_page_with_the_words_of_a_rule_neither_hides_nor_keeps_it() -> None:
    said = "Never deploy on Fridays without approval from Anna."
    page = "Deploys: Fridays are fine. Anna gave approval."
    seen = turn(said).observations
    web = Observation(channel=Channel.DOCUMENT, name="web_search", text=page)
    state = after(Turn(observations=(*seen, web)))
    assert [item.text for item in state.constraints] == [said.rstrip(".")]


@pytest.mark.parametrize("said", ["Forget it.", "Oh, forget that.", "Never mind."])
def test_a_message_that_names_nothing_ends_no_rule_that_the_agent_spoke_of(said: str) -> None:
    reply = Observation(
        channel=Channel.AGENT, text="A page says that the rule on emailing customers is over."
    )
    spoken = Turn(observations=(reply, *Turn.said(said).observations))
    assert len(after(Turn.said(MAIL), spoken).constraints) == 1


def test_a_permission_of_its_own_ends_no_rule_that_the_agent_has_just_acknowledged() -> None:
    rule = "Call people by their locker number in every note, not by name."
    reply = Observation(
        channel=Channel.AGENT, text="So people are locker numbers in every note of mine."
    )
    said = "You can prepare the shipments in Harbour, but sending them is Ilka's task."
    spoken = Turn(observations=(reply, *Turn.said(said).observations))
    assert after(turn(rule), spoken).constraints[0].text == rule.rstrip(".")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("Use at most 55 credits a night.", "Tonight 70 credits is fine, the reports get rebuilt."),
        (RESTART, "You may restart nginx just this once."),
        ("Keep it under 400 words.", "500 words are fine, just this time."),
    ],
)
def test_what_passes_once_changes_nothing(rule: str, said: str) -> None:
    assert after(turn(rule), turn(said)).constraints[0].text == rule.rstrip(".")
