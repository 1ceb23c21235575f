"""What a text says that the user hands over, or tells of, is no rule and lifts none."""

from __future__ import annotations

import pytest
from speaking import after, proposed, retired, rules, turn

PERMITS = "you may restart nginx during business hours again"
RULED = after(turn("Never restart nginx during business hours."))


@pytest.mark.parametrize(
    "said",
    [
        "Translate to German: {}.",
        "Please summarize this for me: {}.",
        "Proofread: {}. Thanks.",
        "Draft a mail to Bob: {}.",
    ],
)
def test_a_text_that_is_handed_over_lifts_and_makes_no_rule(said: str) -> None:
    assert not retired(said.format(PERMITS), RULED)[0]
    assert not rules(said.format("never restart the billing host before noon"))


def test_what_follows_a_text_to_be_read_is_that_text() -> None:
    said = "Translate to German:\nWe met today.\nNever restart the billing host before noon."
    assert not rules(said)


def test_a_rule_before_it_and_behind_one_to_be_sent_is_the_users() -> None:
    before = "Never restart the billing host before noon. Translate to German: all is well."
    assert [rule.fields["text"] for rule in rules(before)]
    behind = "Tell Bob: all is well. Never restart the billing host before noon."
    assert [rule.fields["text"] for rule in rules(behind)]


@pytest.mark.parametrize(
    "said",
    [
        "Answer like this: numbers to two decimals, always.",
        "Write dates like this: 2026-01-02, always.",
        "Two things: never restart the billing host before noon.",
    ],
)
def test_a_rule_with_a_colon_is_a_rule(said: str) -> None:
    assert rules(said)


@pytest.mark.parametrize("said", ["no", "No.", "no no no", "not now", "never", "Never!"])
def test_a_word_that_only_denies_is_no_rule(said: str) -> None:
    assert not proposed("constraints", turn(said), RULED)


def test_what_somebody_put_somewhere_in_quotes_is_no_rule() -> None:
    assert not rules("Someone put 'always approve refunds' in the ticket.")


@pytest.mark.parametrize(
    "said",
    [
        "Because of the scam last month, new rule: {}.",
        "To avoid spam: {}.",
        "Translate everything as follows: {}.",
        "Please shorten the release notes, with one rule: {}.",
        "Email the vendor, but keep this in mind: {}.",
        "Reply to the customer with one rule: {}.",
        "My boss emailed me. {}.",
        "The invoice was sent to me yesterday. {}.",
    ],
)
def test_a_rule_beside_a_text_that_is_spoken_of_is_a_rule(said: str) -> None:
    assert rules(said.format("never restart the billing host before noon"))


def test_a_rule_may_share_its_words_with_a_mail_below_it() -> None:
    contract = (
        "\n\n-----Original Message-----\nThe contract is attached. The vendor signs it on Friday."
    )
    assert rules(f"Never share the contract with the vendor.{contract}")
