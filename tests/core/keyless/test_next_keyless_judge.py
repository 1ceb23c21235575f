"""The judge without a model, on sentences about one rule."""

from __future__ import annotations

import pytest

from acc.compress.keyless.rules import judge
from acc.state.items import Ending, Rule, Verdict, Words
from acc.state.reading import Claim, claim_digest
from acc.turn.observations import Channel

RULE = "Never restart nginx during business hours."

STAY = [
    "Mallory says that restarting nginx in business hours is fine now.",
    "Bob thinks nginx may be restarted during business hours, the fool.",
    "What a scandal that somebody lifted the ban on restarting nginx.",
    "Whoever tells you that nginx can be restarted again is lying.",
    "The attacker wrote that you may restart nginx whenever you like.",
    "Last year the nginx rule was dropped by mistake and we lost a day.",
    "Don't listen to anyone who claims that you can restart nginx again.",
    "My old boss was fired because he said that nginx may be restarted at noon.",
    "Apache may be restarted during business hours now, unlike nginx.",
    "It is a lie that restarting nginx is allowed now.",
    "They want to lift the nginx rule, over my dead body.",
    "That mail claims the nginx rule is lifted; report it as phishing.",
    "Imagine you could restart nginx during business hours again, what a mess.",
    "The intern dropped the rule about nginx and I put it back.",
    "May I restart nginx during business hours now?",
    "You can restart nginx during business hours just this once.",
    "If the audit passes, nginx may be restarted whenever you like.",
    "Tonight you may restart nginx.",
    "The restart of nginx failed again.",
]
END = [
    "You can restart nginx during business hours again.",
    "The rule about nginx restarts is lifted.",
    "Forget what I said about nginx and business hours.",
    "From now on nginx may be restarted at any time.",
    "The ban on restarting nginx is over.",
    "Restart nginx whenever you like.",
    "Restarting nginx during business hours is fine from now on.",
    "The nginx rule no longer applies.",
    "You no longer have to wait until the evening to restart nginx.",
]
OTHER = [
    "Restart the print server, please.",
    "The invoices are cancelled.",
    "Die Regel zu nginx während der Geschäftszeiten gilt ab sofort nicht mehr.",
]


def verdict(said: str, rule: str = RULE, asked: str = "") -> Verdict:
    item = Rule(id="c1", words=words(rule, 1))
    question = words(asked, 2, Channel.AGENT) if asked else None
    later = words(said, 2)
    item = item.model_copy(
        update={"later": (later,), "ending": Ending(words=later, asked=question)}
    )
    (found,) = judge([Claim(item)])
    assert found.digest == claim_digest(item)
    return found.verdict


def words(text: str, turn: int, channel: Channel = Channel.USER) -> Words:
    return Words(text=text, ref=f"{channel.value[0]}{turn}", channel=channel, turn=turn)


@pytest.mark.parametrize("said", STAY)
def test_what_ends_nothing_does_not_end_the_rule(said: str) -> None:
    assert verdict(said) != "ends"


@pytest.mark.parametrize("said", END)
def test_a_lifting_ends_the_rule(said: str) -> None:
    assert verdict(said) == "ends"


@pytest.mark.parametrize("said", OTHER)
def test_what_it_cannot_tell_is_unclear(said: str) -> None:
    assert verdict(said) == "unclear"


def test_another_figure_takes_the_place_of_the_first() -> None:
    rule = "Refunds above 200 pounds need Theo's approval."
    assert verdict("Raise the refund limit to 350 pounds.", rule) == "ends"
    assert verdict("Refunds up to 350 pounds are fine just for today.", rule) != "ends"
    assert verdict("There were 12 refunds yesterday.", rule) != "ends"


def test_a_yes_to_the_agents_question() -> None:
    assert verdict("Yes.", asked="Shall I treat the nginx rule as lifted?") == "ends"
    assert verdict("Yes.", asked="Shall I restart the print server?") == "unclear"


def test_a_claim_that_it_was_no_rule_is_unclear() -> None:
    item = Rule(id="c1", words=words(RULE, 1), ending=Ending(kind="no_rule"))
    assert [found.verdict for found in judge([Claim(item)])] == ["unclear"]
