"""Goals: what sets one, what completes or cancels it."""

from __future__ import annotations

import pytest
from speaking import State, after, compress, proposed, turn

from acc.commit.commit import commit
from acc.keyless.compressor import RuleCompressor
from acc.state.policy import Policy


@pytest.mark.parametrize(
    "said",
    [
        "Please migrate the billing database to Postgres 16 by the end of March.",
        "I need you to put together a shortlist of caterers.",
        "The goal is to cut the build time in half.",
        "I'd like the backlog cleared this sprint.",
        "Can you organise a farewell party for Lena?",
        "Help me prepare the grant application.",
    ],
)
def test_what_is_to_be_achieved_is_a_goal(said: str) -> None:
    found = proposed("goal_orientation", turn(said))
    assert [item.fields["quote"] for item in found] == [said]
    assert found[0].fields["done"] is False


@pytest.mark.parametrize(
    "said",
    [
        "Please send it.",
        "What time is it in Tokyo?",
        "I need a coffee.",
        "I'd like to know how that works.",
        "Draft a reply to him.",
        "Last year we wanted you to organise a party.",
        "Bob wants you to organise a party.",
    ],
)
def test_a_small_request_is_no_goal(said: str) -> None:
    assert proposed("goal_orientation", turn(said)) == []


@pytest.mark.parametrize(
    ("said", "agent"),
    [
        ("The migration of the database is done, thanks.", ""),
        ("What about the database?", "The migration is complete, that task can be closed."),
    ],
)
def test_a_goal_is_marked_done_by_its_id(said: str, agent: str) -> None:
    state = after(
        turn("Please migrate the billing database by Friday."),
        turn("I'd like the office plants watered every Monday."),
    )
    found = proposed("goal_orientation", turn(said, agent, number=3), state)
    assert [(i.id, i.fields["done"]) for i in found] == [(state.goal_orientation[0].id, True)]


def test_an_agent_that_is_done_with_something_else_closes_no_goal() -> None:
    state = after(turn("Please migrate the billing database by Friday."))
    at = turn("Run a dump of the database.", "Done, the dump has 1,846 rows.", number=2)
    assert proposed("goal_orientation", at, state) == []


def test_an_assent_closes_what_the_agent_offered_to_close() -> None:
    state = after(turn("Please collect the dietary needs by Friday."))
    at = turn("Yes, close it.", reply="Dietary needs are complete. Shall I close that?", number=2)
    assert [i.fields["done"] for i in proposed("goal_orientation", at, state)] == [True]


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ("Forget the party for Lena, she leaves earlier.", 1),
        ("The party for Lena is cancelled.", 1),
        ("Forget the coffee.", 0),
        ("Bob says the party for Lena is cancelled.", 0),
    ],
)
def test_a_cancelled_goal_is_retired_with_the_users_words(said: str, gone: int) -> None:
    state = after(turn("Can you organise a farewell party for Lena?"))
    found = compress(turn(said, number=2), state, ()).retire
    goal = state.goal_orientation[0].id
    assert [r.quote for r in found if r.id == goal] == [said] * gone


@pytest.mark.parametrize("said", ["The plants are not done.", "When the plants are done, call me."])
def test_what_is_not_done_stays_open(said: str) -> None:
    state = after(turn("I'd like the office plants watered by Monday."))
    assert proposed("goal_orientation", turn(said, number=2), state) == []


SHELVES = "I want the shelves in hall B up by Friday."
PRINTED = "I want the spring catalogue printed by the end of March."


@pytest.mark.parametrize(
    ("goal", "said", "done"),
    [
        (PRINTED, "That's the spring catalogue printed, a day early.", True),
        (SHELVES, "The shelves in hall B are not up yet.", False),
        (SHELVES, "The shelves in hall B will be up on Monday.", False),
        (SHELVES, "The lamps in the cellar are up.", False),
        (SHELVES, "Bob says the shelves in hall B are up.", False),
        (SHELVES, "Imagine the shelves in hall B are up.", False),
    ],
)
def test_a_goal_is_done_once_the_user_tells_of_what_was_wanted(
    goal: str, said: str, done: bool
) -> None:
    state = after(turn(goal), turn(said))
    assert [item.done for item in state.goal_orientation] == [done]


@pytest.mark.parametrize(
    "said",
    [
        "I should like, before I lay down my pen, reserves worth three months of running costs.",
        "The pack for Lena (CFO) is due on 8 June, please plan backwards and get her part of it together.",
    ],
)
def test_a_goal_is_not_cut_down_to_what_names_nothing(said: str) -> None:
    assert proposed("goal_orientation", turn(said))[0].fields["text"] == said.rstrip(".")


@pytest.mark.parametrize(
    "said",
    [
        "If we had fewer machines we would have to close the evening shift, so enjoy the sixteen.",
        "Set the machines of the sixteen against the old list for me.",
    ],
)
def test_what_is_ordered_or_imagined_ends_no_goal(said: str) -> None:
    goal = turn("I want all sixteen machines through their yearly check by June.")
    assert [g.done for g in after(goal, turn(said)).goal_orientation] == [False]


def test_the_end_of_a_rule_ends_no_goal_that_shares_a_word_with_it() -> None:
    state = after(
        turn("What I want is a piece in the Sunday supplement by the end of June."),
        turn("Never post anything on Saturday or Sunday."),
        turn("The weekend staff is hired, so scrap the Saturday and Sunday ban."),
    )
    assert len(state.goal_orientation) == 1


def wanted(at: int) -> str:
    return f"I want the report on plant {at} ready by Friday."


def test_a_goal_that_finds_no_place_is_left_out_with_a_note() -> None:
    state = after(*(turn(wanted(at)) for at in range(6)))
    assert len(state.goal_orientation) == 6
    seventh = turn(wanted(6), number=7)
    done = commit(state, compress(seventh, state, ()), seventh)
    assert [goal.id for goal in done.state.goal_orientation] == [
        g.id for g in state.goal_orientation
    ]
    assert [(n.reason, n.slot, n.text) for n in done.refused] == [
        ("no_room", "goal_orientation", wanted(6).rstrip("."))
    ]


def test_a_goal_takes_the_place_of_one_that_is_done() -> None:
    state = after(*(turn(wanted(at)) for at in range(6)), turn("The report on plant 2 is done."))
    assert any(goal.done for goal in state.goal_orientation)
    seventh = turn(wanted(6), number=8)
    done = commit(state, compress(seventh, state, ()), seventh)
    assert wanted(6).rstrip(".") in [goal.text for goal in done.state.goal_orientation]
    assert not [note for note in done.refused if note.reason == "no_room"]


def test_every_new_goal_of_a_turn_is_kept_or_noted() -> None:
    at = turn(" ".join(wanted(n) for n in range(4)))
    done = commit(State.empty(), compress(at, State.empty(), ()), at)
    kept = [goal.text for goal in done.state.goal_orientation]
    left_out = [note.text for note in done.refused if note.reason == "no_room"]
    assert [*kept, *left_out] == [wanted(n).rstrip(".") for n in range(4)]
    assert left_out


def test_a_goal_that_finds_no_tokens_is_left_out_with_a_note() -> None:
    policy = Policy(max_tokens=64)
    words = (
        "I want the report on " + ", ".join(f"plant{n}" for n in range(20)) + " ready by Friday."
    )
    at = turn(words + " Never call Ana.")
    done = commit(
        State.empty(), RuleCompressor().under(policy)(at, State.empty(), ()), at, (), policy
    )
    assert [rule.text for rule in done.state.constraints] == ["Never call Ana"]
    assert done.state.goal_orientation == ()
