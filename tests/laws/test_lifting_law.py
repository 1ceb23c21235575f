"""Which words end a rule, which only might, and which have nothing to do with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc.commit.lifting import Bearing, Said, bearing
from acc.commit.reaching import closes, reaches
from acc.state.items import Constraint, Goal
from tests.compressors.test_lifting import (
    CHANGED,
    DOUBTED,
    ELSEWHERE,
    LIFTED,
    LIMITED,
    NEGATED,
    OTHER_NUMBER,
    REPORTED,
)


def borne(sentence: str, rule: str, *others: str, reply: str = "", message: str = "") -> Bearing:
    """How far ``sentence`` ends ``rule`` beside ``others``."""
    item, *rest = (Constraint(text=t, quote=t, id=f"c{n}") for n, t in enumerate([rule, *others]))
    return bearing(Said(sentence, message or sentence, reply), item, rest)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [*NEGATED, *DOUBTED, *REPORTED, *LIMITED, *ELSEWHERE, *OTHER_NUMBER],
)
def test_the_law_itself_lifts_nothing_on_words_that_lift_nothing(rule: str, sentence: str) -> None:
    assert borne(sentence, rule) is not Bearing.ENDS


@pytest.mark.parametrize(("rule", "sentence"), [*LIFTED, *(case[:2] for case in CHANGED)])
def test_the_law_lets_plain_liftings_and_changes_pass(rule: str, sentence: str) -> None:
    assert borne(sentence, rule) is Bearing.ENDS


LEDGER = "Never delete the ledger file."


@pytest.mark.parametrize(
    ("others", "how"),
    [
        ((), "ends"),
        (("Keep the ledger tidy.", "Send no file by mail."), "ends"),
        (("Never rename the ledger file.",), "doubtful"),
        (("The ledger file goes to Kim first.", "Never open the ledger."), "doubtful"),
    ],
)
def test_a_named_subject_ends_the_one_rule_that_has_all_its_words(
    others: tuple[str, ...], how: str
) -> None:
    assert borne("Forget the rule about the ledger file.", LEDGER, *others) == how


def test_a_rule_that_has_only_a_part_of_the_named_subject_is_asked_about() -> None:
    assert borne("Forget the rule about the ledger file.", "Never open the ledger.") == "doubtful"


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("Never delete backups again.", "Never delete backups."),
        ("Never delete the ledger file from now on.", LEDGER),
        ("Always answer in French from now on.", "Always answer in French."),
        ("Answer in French now.", "Always answer in French."),
        ("The nginx restart on Friday went well.", "Never restart nginx on Fridays."),
        ("A note for Agnes again, please.", "Notes for Agnes have five bullets at most."),
        ("Tobias signed the May rota.", "Tobias signs the rotas in place of Ines."),
        ("You can move that like everything else.", "At most 35 mailboxes are moved a night."),
        ("Trustees meet 16 June instead.", "Payments over 500 need two signatures."),
        ("Should every summary stay under 80 words?", "Keep summaries under 50 words."),
        ("Clause 11 first.", "Defined terms are capitalised as in clause 1."),
        ("The carrier has not confirmed Zurich.", "Leave Zurich alone until the carrier confirms."),
        ("Du darfst nginx nicht neu starten.", "Starte nginx nie neu."),
    ],
)
def test_common_words_reminders_and_news_end_nothing(sentence: str, rule: str) -> None:
    assert borne(sentence, rule) is not Bearing.ENDS


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        (
            "The carrier confirmed Zurich.",
            "Leave the link alone until the carrier confirms Zurich.",
        ),
        ("The rule about db-3 no longer applies, by the way.", "Don't touch db-3."),
        ("Rental cars up to 21 days from now on.", "Rental cars are capped at 14 days."),
        ("Windows hosts get patched on Thursdays now.", "Patch Windows hosts on Tuesdays."),
    ],
)
def test_what_says_that_it_ends_ends_it(sentence: str, rule: str) -> None:
    assert borne(sentence, rule) is Bearing.ENDS


def test_a_sentence_that_points_back_is_asked_about_and_a_yes_to_the_question_decides() -> None:
    rule, before = "Never restart nginx.", "The nginx restart waits."
    assert borne("You can do it now.", rule, reply=before) is Bearing.DOUBTFUL
    asked = "Shall I drop the rule on nginx?"
    assert borne("Yes.", rule, reply=asked) is Bearing.ENDS
    assert borne("Yes.", rule, "Never stop nginx.", reply=asked) is Bearing.DOUBTFUL


WORDS = "nginx restart ledger file backup Friday Kim invoice French mail"
LIFTING = (
    "no longer,again,now,you can,forget,instead,lifted,the rule about,from Monday,make it,never,not"
)


@given(
    st.lists(st.sampled_from(LIFTING.split(",") + WORDS.split()), min_size=1, max_size=8),
    st.lists(st.sampled_from(WORDS.split()), min_size=3, max_size=5, unique=True),
)
def test_nothing_ends_a_rule_with_which_it_shares_no_word(
    said: list[str], ruled: list[str]
) -> None:
    rest = [word for word in said if word not in ruled]
    sentence = f"{' '.join(rest)}."
    assert borne(sentence, f"Never touch {' '.join(ruled)}.") is not Bearing.ENDS


@given(st.lists(st.sampled_from(LIFTING.split(",") + WORDS.split()), min_size=1, max_size=8))
def test_of_two_rules_of_the_same_words_neither_is_ended(said: list[str]) -> None:
    rules = "Never touch the nginx ledger file.", "Never send the nginx ledger file."
    assert borne(f"{' '.join(said)}.", *rules) is not Bearing.ENDS


def test_one_sentence_may_name_the_rule_and_the_next_end_it() -> None:
    rule = Constraint(
        text="Leave Kestrel Tooling alone, legal is in a dispute with them",
        quote="Leave Kestrel Tooling alone, legal is in a dispute with them",
    )
    named = "Kestrel is settled: we pay in full, legal signed this morning."
    ends = "You can treat them like any other supplier again."
    assert bearing(Said(f"{named} {ends}", f"{named} {ends}"), rule) is Bearing.ENDS
    assert bearing(Said(ends, f"{named} {ends}"), rule) is not Bearing.ENDS
    other = "You can treat Halden like any other supplier again."
    assert bearing(Said(f"{named} {other}", f"{named} {other}"), rule) is not Bearing.ENDS
    kept = "Never touch Kestrel Tooling, legal says so. You can call them again."
    assert bearing(Said(kept, kept), rule) is not Bearing.ENDS


BUDGET = "Budget is 18,000 euros for everything, travel, beds and food."
HOTELS = "Hotels: not above 160 a night per person"


@pytest.mark.parametrize(
    ("sentence", "rule", "others", "how"),
    [
        ("I talked to finance, you can plan with 21,500 in all", BUDGET, (HOTELS,), "ends"),
        ("I talked to finance, you can plan with 50,000 in all", BUDGET, (HOTELS,), "doubtful"),
        ("Go up to 185 a night", HOTELS, (BUDGET, f"{HOTELS}, breakfast in"), "ends"),
        ("Go up to 185 a night", BUDGET, (HOTELS,), "doubtful"),
        ("Go up to 185 a night", HOTELS, ("The hall: not above 170 a night",), "doubtful"),
        ("They can plan with 21,500?", BUDGET, (), "unrelated"),
        ("You can bring 20 people", BUDGET, (), "doubtful"),
        ("Flights are now 600 euros", "Spend at most 500 euros on hotels", (), "doubtful"),
        ("The annex is now 12 pages", "Keep reports under 10 pages", (), "doubtful"),
        ("It is now 2026 and nobody has answered", "Query at most 1500 rows", (), "doubtful"),
        ("Invoice 1800 was moved to the archive", "Query at most 1500 rows", (), "doubtful"),
        ("My daughter is 12 years old now", "Keep invoices for 10 years", (), "doubtful"),
        ("Reports are up to 12 pages now", "Keep reports under 10 pages", (), "ends"),
    ],
)
def test_a_figure_of_the_rules_kind_and_size_replaces_its_own_and_no_others(
    sentence: str, rule: str, others: tuple[str, ...], how: str
) -> None:
    assert borne(sentence, rule, *others) == how


@pytest.mark.parametrize(
    ("reply", "others", "is_closed"),
    [
        ("All of it has come in. Shall I close it?", (), True),
        ("The dietary list is complete. Shall I close it?", ("Book the hall",), True),
        ("The hall is booked. Shall I close it?", ("Book the hall",), False),
        ("All of it has come in.", (), False),
        ("All of it has come in. Shall I send it?", (), False),
        ("All of it has come in. Shall I close the window?", (), False),
        ("Shall I check the dietary needs again?", (), False),
        ("Should I mark the open dietary needs?", (), False),
        ("Shall I count the dietary needs?", (), False),
        ("Shall I mark the dietary needs as done?", (), True),
    ],
)
def test_a_yes_closes_the_goal_that_the_agent_asks_about(
    reply: str, others: tuple[str, ...], is_closed: bool
) -> None:
    goal, *rest = (Goal(text=t, quote=t) for t in ("Collect dietary needs", *others))
    assert closes("Yes.", reply, goal, rest) is (is_closed and reply.endswith("?"))
    assert closes("Yes, close it.", reply, goal, rest) is is_closed
    assert reaches("Yes, close it.", reply, goal, rest, is_users=True) is is_closed
    assert not closes("Never close it.", reply, goal, rest)


@pytest.mark.parametrize(
    ("said", "asked", "is_reached"),
    [
        ("Complete, eleven answers. That can be closed.", "Is the dietary list complete?", True),
        ("Almost complete, eleven answers.", "Is the dietary list complete?", False),
        ("Complete, eleven answers.", "Is the hall booked?", False),
        ("Complete, eleven answers.", "The dietary list matters to me.", False),
        ("I have asked Kim.", "Is the dietary list complete?", False),
        ("The office is closed.", "Is the dietary list complete?", False),
        ("I have collected all dietary needs.", "How far are you?", True),
    ],
)
def test_the_agent_reports_a_goal_reached_in_answer_to_the_users_question(
    said: str, asked: str, is_reached: bool
) -> None:
    goal = Goal(text="Collect dietary needs", quote="Collect dietary needs")
    assert reaches(said, asked, goal, is_users=False) is is_reached


@pytest.mark.parametrize(
    ("said", "is_closed"),
    [
        ("Yes, close it. Programme: sessions wrap up at half five.", True),
        ("Yes, close it. But not before Friday.", False),
        ("Yes, close it. Once Kim has signed.", False),
        ("Yes, close it. Only after Friday.", False),
        ("Yes, close it. After that, open the next one.", True),
        ("Yes. Programme: sessions will wrap up.", False),
    ],
)
def test_a_yes_that_says_close_may_go_on_to_something_else(said: str, is_closed: bool) -> None:
    goal = Goal(text="Collect dietary needs", quote="Collect dietary needs")
    reply = "Complete, eleven answers. That task can be closed."
    assert closes(said, reply, goal) is is_closed


DOCTOR = "Never page the night doctor before 6 unless a life is in danger."
DB = "Never restart db-7 after 18:00."
REFUND = "No refunds above 500 euros without Priya."


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (DOCTOR, "From tomorrow make it 7 instead of 6, he asked for it."),
        (DOCTOR, "Starting Monday, move the doctor's hour from 6 to 7."),
        (DOCTOR, "Please make that 7 rather than 6, the ward agreed to it yesterday."),
        (DB, "As of next week make it 19:00 instead of 18:00, the backup is longer now."),
        (REFUND, "Lower it from 500 to 300, finance wants that."),
    ],
)
def test_a_figure_that_takes_the_place_of_the_rules_own_changes_it(
    rule: str, sentence: str
) -> None:
    others = [each for each in (DOCTOR, DB, REFUND) if each != rule]
    assert borne(sentence, rule, *others) is Bearing.ENDS
    for other in others:
        rivals = [each for each in (DOCTOR, DB, REFUND) if each != other]
        assert borne(sentence, other, *rivals) is not Bearing.ENDS


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (DOCTOR, "Move the meeting from 6 to 7."),
        (DOCTOR, "The pager rang at 7 instead of 6."),
        (DOCTOR, "Shall we make it 7 instead of 6?"),
        (DOCTOR, "Make it 7 instead of 6, just this once."),
        (DOCTOR, "Make it 7 instead of 5."),
        (REFUND, "She got 300 instead of 500 euros."),
    ],
)
def test_another_figure_that_is_news_a_question_or_of_another_thing_ends_nothing(
    rule: str, sentence: str
) -> None:
    others = [each for each in (DOCTOR, DB, REFUND) if each != rule]
    assert borne(sentence, rule, *others) is not Bearing.ENDS


def test_a_figure_that_two_rules_have_changes_neither() -> None:
    assert (
        borne("Make it 7 instead of 6, he asked for it.", DOCTOR, "Never call Kim before 6.")
        is not Bearing.ENDS
    )
