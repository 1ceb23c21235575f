"""Turns of courtesies alone: a decidable rule, off by default."""

from __future__ import annotations

import pytest
from asking import GOOD, asking, stepped
from strategies import agent, call, tool, user

from acc.compress.compression import is_idle
from acc.testing import ModelServer
from acc.turn.turn import Turn

IDLE = (
    "thanks!", "Thanks a lot.", "Thank you so much!", "thx", "Cheers", "Hi!", "Good morning :)",
    "thanks, bye", "Thanks! Have a great weekend.", "Thank you 🙏", "hello hello",
)  # fmt: skip
NOT_IDLE = (
    "", "...", "yes", "ok thanks", "Great, thanks", "thanks, go ahead", "Thanks, but no deploy on Friday.",
    "thanks for the report", "hi, never restart nginx", "perfect", "👍", "thanks. db-7 is full", "sure",
    "thank you " * 9, "thanks?", "no thanks", "hi Bob",
)  # fmt: skip


@pytest.mark.parametrize("said", IDLE)
def test_a_courtesy_is_idle(said: str) -> None:
    assert is_idle(Turn.said(said))
    assert is_idle(Turn(observations=(user(said), agent("You're welcome!"))))


@pytest.mark.parametrize("said", NOT_IDLE)
def test_what_says_or_assents_to_something_is_not(said: str) -> None:
    assert not is_idle(Turn.said(said))


@pytest.mark.parametrize(
    "other", [tool("ok"), agent("You're welcome! The db is full."), agent("Done."), call("{}")]
)
def test_what_else_happened_in_the_turn_counts(other: object) -> None:
    assert not is_idle(Turn(observations=(user("thanks"), other)))  # type: ignore[arg-type]


def test_nothing_unread_is_left_behind() -> None:
    unread = Turn.said("Never deploy.").observations
    assert not is_idle(Turn.said("thanks").model_copy(update={"pending": unread}))
    assert not is_idle(Turn(observations=()))


def test_an_idle_turn_asks_no_model_where_that_is_wanted() -> None:
    with ModelServer(lambda _: GOOD) as server:
        step = stepped(asking(server.base_url, skip_idle=True), turn=Turn.said("thanks!"))
        assert (step.outcome, step.usage, len(server.requests)) == ("skipped", {}, 0)
        assert step.state.turn == 1
        assert step.state.pending == ()
        assert step.failure == ""


def test_by_default_the_model_reads_every_turn() -> None:
    with ModelServer(lambda _: GOOD, faults=[]) as server:
        stepped(asking(server.base_url), turn=Turn.said("thanks!"))
        assert len(server.requests) >= 1
