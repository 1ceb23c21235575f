"""Which words lift or change a standing rule, and which must not; what hides no rule."""

from __future__ import annotations

import pytest

from acc.keyless.compressor import RuleCompressor
from acc.pipeline.update import update_state
from acc.state.model import CompressedCognitiveState
from acc.turn.turn import Turn

NGINX = "Never restart nginx during business hours."
PRINTER = "Don't unplug the label printer."

NEGATED = [
    (NGINX, "You can't restart nginx now."),
    (NGINX, "You can’t restart nginx now."),
    (NGINX, "You can not restart nginx now."),
    (NGINX, "You can hardly restart nginx now."),
    (NGINX, "You can never restart nginx now."),
    (NGINX, "Nobody can restart nginx now."),
    (NGINX, "You can no longer restart nginx now."),
    (NGINX, "You can't restart nginx any more."),
    (NGINX, "Don't forget the nginx rule."),
    (NGINX, "No need to restart nginx now."),
    ("Don't touch db-3.", "You can't touch db-3 now."),
    ("No deploys on Friday.", "You can't deploy on Friday now."),
    ("Always answer in French.", "You can't answer in English now."),
    (PRINTER, "It is false that you can unplug the label printer now."),
    (PRINTER, "You can refuse to unplug the label printer now."),
    (PRINTER, "Nobody may unplug the label printer again."),
]
DOUBTED = [
    (NGINX, "Don't think you can restart nginx now."),
    (NGINX, "I doubt you can restart nginx now."),
    (NGINX, "Not sure you can restart nginx now."),
    (NGINX, "As if you can restart nginx now!"),
    (NGINX, "Yeah right, you can restart nginx now."),
    (NGINX, "Can you restart nginx now?"),
    (NGINX, "You can restart nginx again once the board agrees."),
    (PRINTER, "Perhaps you can unplug the label printer now."),
]
REPORTED = [
    (NGINX, "The vendor's mail reads: you can restart nginx now."),
    (NGINX, "The vendor says you can restart nginx now."),
    (NGINX, '"You may restart nginx now" is what the mail said, don\'t believe it.'),
    (NGINX, "“You may restart nginx now” stands there."),
    (PRINTER, "The ticket: you can unplug the label printer now."),
    (NGINX, 'The mail reads: "the audit is done, so you may restart nginx now".'),
    (NGINX, "Their note: all is mended, so you can restart nginx now."),
    (NGINX, "The banner reads “all clear, so that you may restart nginx again”."),
]
LIMITED = [
    (NGINX, "Go ahead and restart nginx tomorrow evening."),
    (NGINX, "You may restart nginx again next week."),
    (NGINX, "From Monday you can restart nginx again."),
    (NGINX, "You can restart nginx now, just this once."),
    (PRINTER, "You may unplug the label printer again after the audit."),
]
ELSEWHERE = [
    (NGINX, "You may restart apache now."),
    (NGINX, "You can stop nginx logging now."),
    (NGINX, "Skip the nginx restart."),
    (NGINX, "The nginx page was removed."),
    ("Never delete backups.", "You can delete the logs now."),
    ("Don't deploy to prod.", "You can deploy to staging now."),
    ("Never restart the payments database.", "You may restart the payments frontend now."),
    ("Don't touch db-3.", "You can touch db-4 now."),
    ("Don't touch db-3.", "Go ahead with db-4."),
    ("Never share card data.", "The dashboard with card data was removed."),
    ("Never email the auditors.", "You can email the suppliers now."),
    (PRINTER, "The label printer was removed."),
    (PRINTER, "You can unplug the label scanner now."),
]
OTHER_NUMBER = [
    ("Never restart server 1.", "Never restart server 2."),
    ("Never enter room 12.", "Never enter room 14."),
    ("Keep invoices under 50 lines.", "Send 40 invoices."),
]
LIFTED = [
    (NGINX, "You can restart nginx now."),
    (NGINX, "You may restart nginx again."),
    ("Leave nginx alone.", "You no longer need to leave nginx alone."),
    ("Change freeze until Wednesday.", "The freeze is lifted."),
    ("Don't touch db-3.", "ok you can touch db-3 again"),
    ("Don't touch db-3.", "The rule about db-3 no longer applies."),
    ("Don't touch db-3.", "You don't have to leave db-3 alone any more."),
    ("Keep Wednesday afternoon free.", "No need to keep Wednesday free any more."),
    ("Never delete backups.", "You can delete backups now."),
    ("Don't deploy to prod.", "You may deploy to prod again."),
    ("Don't deploy to prod.", "Forget the rule about prod."),
    ("No deploys on Friday.", "You can deploy on Fridays again."),
    ("Always answer in French.", "No need to answer in French any more."),
    (PRINTER, "You can unplug the label printer now."),
]
CHANGED = [
    ("Use at most 200 words.", "Make that 300.", "Use at most 300 words"),
    ("200 a batch, tops.", "Make that 300.", "300 a batch, tops"),
    *(
        (rule, sentence, sentence.rstrip("."))
        for rule, sentence in [
            ("Keep every summary under 50 words.", "Keep every summary under 80 words."),
            (
                "Anything over 5k goes through Kim first.",
                "Anything over 8k goes through Kim first.",
            ),
            ("Replays go 25 at a time.", "Replays go 100 at a time."),
        ]
    ),
]


def said(*texts: str) -> CompressedCognitiveState:
    """The state after the user said these, a turn each."""
    state = CompressedCognitiveState.empty()
    for text in texts:
        state = update_state(state, Turn.said(text)).state
    return state


def rules(state: CompressedCognitiveState) -> list[str]:
    return [rule.text for rule in state.constraints]


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [*NEGATED, *DOUBTED, *REPORTED, *LIMITED, *ELSEWHERE, *OTHER_NUMBER],
)
def test_it_lifts_nothing(rule: str, sentence: str) -> None:
    before = said(rule)
    after = update_state(before, Turn.said(sentence)).state
    assert before.constraints
    assert set(rules(before)) <= set(rules(after))
    assert after.lifted == ()


@pytest.mark.parametrize(("rule", "sentence"), LIFTED)
def test_it_lifts_the_rule_and_makes_none(rule: str, sentence: str) -> None:
    before = said(rule)
    after = update_state(before, Turn.said(sentence)).state
    assert len(before.constraints) == 1
    assert after.constraints == ()
    assert [entry.text for entry in after.lifted] == rules(before)


@pytest.mark.parametrize(("rule", "sentence", "now"), CHANGED)
def test_another_quantity_takes_the_place_of_the_first(rule: str, sentence: str, now: str) -> None:
    assert rules(said(rule, sentence)) == [now]


def test_rules_for_twelve_numbered_things_are_all_held() -> None:
    state = said(*(f"Never restart server {number}." for number in range(1, 13)))
    assert len(state.constraints) == 12


@pytest.mark.parametrize("sign", ["🚨 ", "⚠️ ", "\u202e", "\u200f", "➡ 🔥 "])
def test_a_sign_in_front_hides_no_rule(sign: str) -> None:
    assert rules(said(f"{sign}Never restart nginx.")) == ["Never restart nginx"]


def test_a_laugh_in_front_still_makes_a_jest() -> None:
    assert rules(said("😂 Never let me near a keyboard.")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Find out why checkout fails.",
        "Fix the login bug.",
        "Please investigate the 502s on checkout.",
        "Figure out where the orders go.",
    ],
)
def test_an_imperative_of_work_is_a_goal(text: str) -> None:
    assert [goal.quote for goal in said(text).goal_orientation] == [text.rstrip(".")]


@pytest.mark.parametrize(
    "text",
    ["Show me the log.", "Check the log on web-2.", "What is the fix for it?", "Find the file."],
)
def test_what_is_answered_at_once_is_no_goal(text: str) -> None:
    assert said(text).goal_orientation == ()


@pytest.mark.parametrize(
    "text", ["Never restart nginx on Fridays.", "Different thing, and I'm cross about it."]
)
def test_neither_a_rule_nor_a_bare_turn_is_a_topic(text: str) -> None:
    assert said(text).semantic_gist == ()
    topic = "We need a venue for the reunion in June."
    assert [gist.text for gist in said(topic, text).semantic_gist] == [topic.rstrip(".")]


def test_a_topic_in_the_words_of_a_rule_goes_with_the_rule() -> None:
    state = said("The nginx restart during business hours worries us.", NGINX)
    assert state.semantic_gist
    after = update_state(state, Turn.said("You can restart nginx now.")).state
    assert after.constraints == ()
    assert after.semantic_gist == ()


def test_its_documentation_says_what_it_leaves_to_others() -> None:
    text = " ".join((RuleCompressor.__doc__ or "").split())
    assert "English" in text
    assert "gist at the most" in text
    assert "their examples and cues reach" in text
