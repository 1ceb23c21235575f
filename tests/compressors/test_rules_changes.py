"""What is left of a rule that changes: all that the user did not change."""

from __future__ import annotations

import pytest
from speaking import after, turn

from acc.commit.commit import commit
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal, ProposedItem, Retirement
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

PAYMENTS = "Payments above 10,000 EUR need Jorge's approval."
REFUNDS = "Refunds above $200 go to Kim first."


def texts(*said: str) -> list[str]:
    return [item.text for item in after(*map(turn, said)).constraints]


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        (PAYMENTS, "Jorge is on holiday, so Mara approves instead until Monday."),
        (PAYMENTS, "From now on Mara approves instead of Jorge."),
        (PAYMENTS, "This week Mara signs instead of Jorge."),
        (REFUNDS, "Kim is away this week, so they go to Lee instead."),
        (REFUNDS, "Kim is ill, send them to Lee for now."),
        (
            "Invoices from Tallow need two signatures before payment.",
            "One signature is enough for Tallow until the end of the month.",
        ),
        (
            "Answer customers within 4 hours, in their own language.",
            "For two weeks 8 hours will do.",
        ),
        ("Always send the status report to Nora on Mondays.", "From now on to Piet instead."),
    ],
)
def test_a_rule_that_is_changed_for_a_time_or_in_a_part_stands_beside_the_change(
    rule: str, change: str
) -> None:
    assert texts(rule, change) == [rule.rstrip("."), change.rstrip(".")]


@pytest.mark.parametrize(
    ("rule", "change", "now"),
    [
        (PAYMENTS, "Raise that to 20,000.", "Payments above 20,000 EUR need Jorge's approval"),
        (REFUNDS, "Raise the refund limit to 400 dollars.", "Refunds above $400 go to Kim first"),
        ("200 a batch, tops.", "Make that 300.", "300 a batch, tops"),
        (
            "Status reports are in German and under 80 words.",
            "Make it 120 words.",
            "Status reports are in German and under 120 words",
        ),
        (
            "Anything over 5k goes through the controller first.",
            "Raise the controller's limit to 8k.",
            "Anything over 8k goes through the controller first",
        ),
    ],
)
def test_a_new_figure_leaves_the_rest_of_the_rule(rule: str, change: str, now: str) -> None:
    assert texts(rule, change) == [now]


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        (PAYMENTS, "Payments above 10,000 EUR now need Mara's approval instead of Jorge's."),
        ("Only Sanne talks to the sponsor.", "From now on only Bo talks to the sponsor."),
    ],
)
def test_a_rule_that_is_said_anew_in_full_takes_the_place_of_the_first(
    rule: str, change: str
) -> None:
    assert texts(rule, change) == [change.rstrip(".")]


def _amended(text: str, *, ends: bool = True, quote: str = "Make that 300") -> list[str]:
    """The rules after a proposal that amends "200 a batch, tops" with ``text``."""
    old = after(turn("200 a batch, tops."))
    said = Observation(channel=Channel.USER, text="Make that 300.")
    fields = {"text": text, "kind": "limit", "quote": quote}
    proposal = Proposal(
        items=(ProposedItem(slot="constraints", fields=fields, cites=("u2",), amends="c1"),),
        retire=(Retirement(id="c1", cites=("u2",), quote=quote),) if ends else (),
    )
    at = Turn(observations=(said,)).numbered(2)
    state: CompressedCognitiveState = commit(old, proposal, at).state
    return [item.text for item in state.constraints]


def test_commit_lets_a_rule_be_amended_by_one_quoted_figure_and_by_nothing_else() -> None:
    assert _amended("300 a batch, tops") == ["300 a batch, tops"]
    for forged in (
        "400 a batch, tops",
        "300 a week, tops",
        "3000 a batch, tops",
    ):
        assert _amended(forged) == ["Make that 300"]
    assert _amended("300 a batch, tops", ends=False) == ["200 a batch, tops", "Make that 300"]
