"""Law 7: words about one case, and a yes to a question about an action, end no rule and raise no doubt."""

from __future__ import annotations

import pytest
from strategies import Conversation, agent, end, heads, reasons, rule, user

from acc.commit.lifting import Bearing, Said, bearing
from acc.pipeline.update import update_state
from acc.state.items import Constraint
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.turn.turn import Turn

DOCTOR = "Never page the night doctor before 6 unless a life is in danger"
BRIDGE = "Never restart the HL7 bridge unless the lab is down"
ROOMS = "Never give out room numbers unless the caller is police"
DISCHARGE = "Do not discharge anyone unless the consultant signed"
TRANSFER = "Never transfer more than 5,000 euros without Priya's approval"
PAYMENTS = "Payments above 10,000 EUR need Jorge's approval"
SUPPLIER = "Pay no supplier in advance except Halden"
KEYS = "Don't rotate the signing keys outside the window other than after a leak"
FIREWALL = "Never open port 22 to the internet"
GARAGE = "Don't open the garage door after 22:00"
OVEN = "Never switch on the oven unless an adult is in the kitchen"
NGINX = "Never restart nginx"
SLEEP = "Let the night doctor sleep until 6"
DEPLOY = "Deploy to production only if Kim has approved it"


def borne(sentence: str, text: str, *others: str, reply: str = "") -> Bearing:
    item, *rest = (Constraint(text=t, quote=t, id=f"c{n}") for n, t in enumerate([text, *others]))
    return bearing(Said(sentence, sentence, reply), item, rest)


EXCEPTIONS = [
    (DOCTOR, "A life is in danger."),
    (DOCTOR, "A life is in danger, page the night doctor now!"),
    (DOCTOR, "Page the night doctor now, a life is in danger."),
    (DOCTOR, "A life is in danger, so you may page the night doctor."),
    (DOCTOR, "You can page the night doctor now, a life is in danger!"),
    (DOCTOR, "Her life is in danger now, you may page the night doctor before 6."),
    (BRIDGE, "The lab is down, restart the HL7 bridge!"),
    (BRIDGE, "The lab is down, so you can restart the HL7 bridge now."),
    (ROOMS, "The caller is police, give out the room number."),
    (ROOMS, "It's the police, you may give out the room number."),
    (DISCHARGE, "The consultant signed, discharge Mr Brandt."),
    (DISCHARGE, "The consultant has signed, so you can discharge Mr Brandt now."),
    (TRANSFER, "Priya approved it, so you may transfer the 7,200 euros now."),
    (TRANSFER, "Priya has given her approval, transfer 9,000 euros to Halden."),
    (PAYMENTS, "Jorge approved, you may make the payment now."),
    (SUPPLIER, "It is for Halden, so you may pay in advance."),
    (KEYS, "There was a leak, so you can rotate the signing keys now."),
    (OVEN, "An adult is in the kitchen, you may switch on the oven."),
    (DEPLOY, "Kim has approved it, so you can deploy to production now."),
    (DOCTOR, "It is 7 now."),
    (DOCTOR, "It's past 6, so you may page the night doctor."),
    (DOCTOR, "You may page the night doctor after 6."),
    (SLEEP, "It is 7 now, you can wake the night doctor."),
    (GARAGE, "It's 21:30, so you can open the garage door."),
]
ORDERS = [
    (DOCTOR, "Page the night doctor now."),
    (DOCTOR, "Page the night doctor at 5."),
    (DOCTOR, "Please page the night doctor, quick!"),
    (DOCTOR, "Go ahead and page the night doctor."),
    (DOCTOR, "Wake the night doctor immediately."),
    (DOCTOR, "You may page the night doctor this once."),
    (DOCTOR, "Go ahead with the night doctor this time."),
    (DOCTOR, "Ignore the rule about the night doctor just this once."),
    (DOCTOR, "Just for tonight you may page the night doctor."),
    (NGINX, "Restart nginx now."),
    (NGINX, "OK, then restart nginx."),
    (NGINX, "You can restart nginx now, just this once."),
    (NGINX, "For once you may restart nginx."),
    (NGINX, "Could you restart nginx now please?"),
    (PAYMENTS, "Make the payment of 12,000 EUR now."),
    ("Refunds above $200 go to Kim first", "Refund Mr Hall $300 now."),
    (FIREWALL, "Open port 22 to the internet now."),
    (GARAGE, "Open the garage door now."),
    (OVEN, "Switch on the oven, please."),
    (TRANSFER, "Transfer 8,000 euros to Halden now."),
    ("Keep the ICU door locked", "Open the ICU door now."),
    ("Do not discharge anyone until the consultant has signed", "The consultant signed, discharge Mr Brandt."),
]  # fmt: skip
TRUE = [
    (NGINX, "You may restart nginx again from now on."),
    (NGINX, "You can restart nginx now."),
    (NGINX, "Forget the rule about nginx."),
    (NGINX, "From now on you may restart nginx."),
    ("Change freeze until Wednesday", "The freeze is over."),
    (DOCTOR, "Forget the rule about paging the night doctor."),
    (DOCTOR, "The rule about paging the night doctor before 6 no longer applies."),
    (DOCTOR, "The rule about the night doctor is lifted."),
    (DOCTOR, "From now on you may page the night doctor at any hour."),
    (FIREWALL, "You can open port 22 to the internet from now on."),
    (GARAGE, "The rule about the garage door is lifted."),
    (TRANSFER, "The rule about Priya's approval of transfers is cancelled."),
    ("Keep off db-7 until the audit is finished", "The audit is finished, restart db-7 now."),
]


@pytest.mark.parametrize(("text", "sentence"), [*EXCEPTIONS, *ORDERS])
def test_words_about_one_case_neither_end_nor_doubt_the_rule(text: str, sentence: str) -> None:
    assert borne(sentence, text) is Bearing.ONE_CASE


@pytest.mark.parametrize(("text", "sentence"), TRUE)
def test_words_about_the_rule_itself_end_it(text: str, sentence: str) -> None:
    assert borne(sentence, text) is Bearing.ENDS


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TRANSFER, "You may transfer more than 5,000 euros without Priya's approval."),
        (PAYMENTS, "Jorge's approval is optional for payments."),
        ("Never send reports by mail", "Send reports by mail."),
        ("Always answer in French", "Answer in English now."),
        ("Use at most 200 words", "Use 300 words."),
        ("Send the report to Kim", "Send the report to Lee instead."),
        (DOCTOR, "Always page the night doctor."),
        (DOCTOR, "The rule about the night doctor unless a life is in danger is lifted."),
        (BRIDGE, "You may restart the bridge again from now on, also when the lab is up."),
    ],
)
def test_a_waiver_or_an_order_that_may_be_meant_for_good_is_no_single_case(
    text: str, sentence: str
) -> None:
    assert borne(sentence, text) in (Bearing.DOUBTFUL, Bearing.ENDS)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (DOCTOR, "The night doctor was paged at 5."),
        (GARAGE, "The garage door was opened at 23:10."),
        ("Leave db-7 alone while the audit is running", "The audit is running now."),
    ],
)
def test_news_of_what_happened_ends_no_rule(text: str, sentence: str) -> None:
    assert borne(sentence, text) is not Bearing.ENDS


@pytest.mark.parametrize("lifting", ["confirm", "accept"])
@pytest.mark.parametrize(("text", "words"), [EXCEPTIONS[1], EXCEPTIONS[3], ORDERS[5], ORDERS[9]])
def test_a_retirement_for_one_case_is_refused_with_its_reason(
    lifting: str, text: str, words: str
) -> None:
    talk = Conversation(policy=Policy(lifting=lifting))  # type: ignore[arg-type]
    talk.take(user(f"{text}."), rule(text, "u1"))
    done = talk.take(user(words), end("c1", "u2", quote=words))
    assert heads(talk.state, "constraints") == [text]
    assert "one_case" in reasons(done)
    assert talk.state.doubted == ()
    assert "one_case" in [note.reason.value for note in done.refused]


def test_a_rule_is_not_written_anew_in_the_words_of_one_case() -> None:
    talk = Conversation()
    talk.take(user(f"{DOCTOR}."), rule(DOCTOR, "u1"))
    words = "A life is in danger, page the night doctor now"
    done = talk.take(user(f"{words}!"), rule(words, "u2", id="c1"))
    assert DOCTOR in heads(talk.state, "constraints")
    assert talk.state.doubted == ()
    assert "one_case" in reasons(done)


# --- a plain yes ---------------------------------------------------------------------------

ENDING = [
    (DOCTOR, "Shall I drop the rule about the night doctor?"),
    (DOCTOR, "Is the rule about paging the night doctor before 6 lifted?"),
    (DOCTOR, "So the rule about the night doctor no longer holds?"),
    (DOCTOR, "Does the rule about paging the night doctor no longer apply?"),
    (DOCTOR, f"Do you want to lift: {DOCTOR}?"),
    (DOCTOR, f"Your rule says '{DOCTOR}'. Shall I drop it?"),
    (DOCTOR, "May I now page the night doctor before 6 at any time?"),
    (DOCTOR, "Should I change the rule about the night doctor?"),
    (DOCTOR, "Before I go on: do you want me to remove the rule on the night doctor?"),
    (NGINX, f"Shall I drop the rule '{NGINX}'?"),
    (NGINX, "The rule about nginx is lifted, right?"),
    (FIREWALL, "Have you lifted the ban on opening port 22?"),
    (TRANSFER, "Do you want to cancel the limit of 5,000 euros for transfers?"),
    (GARAGE, "Is it right that the rule about the garage door is withdrawn?"),
]
KEEPING = [
    (DOCTOR, "Does the rule never to page the night doctor before 6 still hold?"),
    (DOCTOR, "Shall I keep the rule about the night doctor?"),
    (DOCTOR, "Is the rule about the night doctor still in force?"),
    (NGINX, f"Shall I still keep to '{NGINX}'?"),
    (GARAGE, "Does the rule about the garage door stand?"),
]
OTHER = [
    (DOCTOR, "Shall I page the night doctor now?"),
    (DOCTOR, "May I page the night doctor now?"),
    (DOCTOR, "Paging the night doctor: confirm?"),
    (DOCTOR, "Is it OK if I page the night doctor before 6?"),
    (DOCTOR, "Has the night doctor been paged?"),
    (DOCTOR, "Should I note that the night doctor was paged before 6?"),
    (DOCTOR, "Shall I ignore the rule about the night doctor this once?"),
    (DOCTOR, "Shall I drop the rule about the night doctor just for tonight?"),
    (DOCTOR, "Shall I drop the rule and page the night doctor now?"),
    (DOCTOR, "Shall I drop the rule about the night doctor or keep it?"),
    (DOCTOR, "Shall I drop the rule about the night doctor? Shall I page him?"),
    (DOCTOR, "Shall I tell the ward that the rule about the night doctor is lifted?"),
    (DOCTOR, "Did the head nurse say that the rule about the night doctor is lifted?"),
    (DOCTOR, "Shall I ask Dr Osei whether the rule about the night doctor is lifted?"),
    (DOCTOR, "The rule about the night doctor is not lifted, right?"),
    (DOCTOR, "Can I page the night doctor whenever a life is in danger?"),
    (DOCTOR, "I will page the night doctor now."),
    (NGINX, "Shall I restart nginx now?"),
    (NGINX, "You told me never to restart nginx. Shall I restart it this once?"),
    (FIREWALL, "Shall I open port 22 to the internet now?"),
    (FIREWALL, "Should we open port 22 for the vendor?"),
    (TRANSFER, "Shall I transfer the 7,200 euros now?"),
    (GARAGE, "Do you want me to open the garage door now?"),
    ("Never drop the audit table", "Shall I drop the audit table now?"),
    ("Never cancel an order of Halden", "Shall I cancel the order of Halden now?"),
    ("Never publish the report on nginx", "Shall I drop the report on nginx?"),
]


def doubted(text: str) -> Conversation:
    talk = Conversation()
    talk.take(user(f"{text}."), rule(text, "u1"))
    words = "You can do it now"
    talk.take(user(f"{words}."), end("c1", "u2", quote=words))
    assert [d.id for d in talk.state.doubted] == ["c1"]
    return talk


@pytest.mark.parametrize(("text", "asked"), ENDING)
def test_a_yes_to_a_question_about_the_rule_ends_it_and_a_no_keeps_it(
    text: str, asked: str
) -> None:
    talk = doubted(text)
    before = talk.state
    talk.take(user("Yes."), reply=agent(asked))
    assert talk.state.constraints == ()
    talk.state = before
    talk.take(user("No."), reply=agent(asked))
    assert heads(talk.state, "constraints") == [text]
    assert talk.state.doubted == ()


@pytest.mark.parametrize(("text", "asked"), KEEPING)
def test_a_yes_to_whether_the_rule_holds_keeps_it_and_settles_the_doubt(
    text: str, asked: str
) -> None:
    talk = doubted(text)
    talk.take(user("Yes."), reply=agent(asked))
    assert heads(talk.state, "constraints") == [text]
    assert talk.state.doubted == ()


@pytest.mark.parametrize("answer", ["Yes.", "Yes, please.", "Go ahead.", "Ok, do it.", "No."])
@pytest.mark.parametrize(("text", "asked"), OTHER)
def test_an_answer_to_any_other_question_decides_nothing(
    text: str, asked: str, answer: str
) -> None:
    talk = doubted(text)
    talk.take(user(answer), reply=agent(asked))
    assert heads(talk.state, "constraints") == [text]
    assert [d.id for d in talk.state.doubted] == ["c1"]


@pytest.mark.parametrize("lifting", ["confirm", "accept"])
@pytest.mark.parametrize(("text", "asked"), [OTHER[0], OTHER[2], OTHER[10], *OTHER[17:]])
def test_a_models_retirement_by_such_a_yes_is_refused(lifting: str, text: str, asked: str) -> None:
    talk = Conversation(policy=Policy(lifting=lifting))  # type: ignore[arg-type]
    talk.take(user(f"{text}."), rule(text, "u1"))
    done = talk.take(user("Yes."), end("c1", "u2", quote="Yes."), reply=agent(asked))
    assert heads(talk.state, "constraints") == [text]
    assert talk.state.doubted == ()
    assert {"one_case", "quote_unrelated"} & set(reasons(done))


# --- without a model -----------------------------------------------------------------------


@pytest.mark.parametrize("lifting", ["confirm", "accept"])
@pytest.mark.parametrize(("text", "sentence"), [*EXCEPTIONS, *ORDERS])
def test_without_a_model_they_make_no_rule_and_leave_the_old_one(
    text: str, sentence: str, lifting: str
) -> None:
    policy = Policy(lifting=lifting)  # type: ignore[arg-type]
    before = update_state(
        CompressedCognitiveState.empty(), Turn.said(f"{text}."), policy=policy
    ).state
    after = update_state(before, Turn.said(sentence), policy=policy).state
    held = [item.text for item in before.constraints]
    assert [item.text for item in after.constraints] == held
    assert (after.doubted, after.lifted) == ((), ())


@pytest.mark.parametrize(
    ("text", "said", "held"),
    [
        ("Never page the night doctor before 6", "Make that 7.", ["Never page the night doctor before 7"]),
        ("Never page him before 6", "Never page him before 7.", ["Never page him before 7"]),
        ("No calls to the bank before 9", "No calls to the bank before 10.", ["No calls to the bank before 10"]),
        ("Never open the vault", "The rule about the vault is lifted.", []),
        (GARAGE, "The rule about the garage door is lifted.", []),
    ],
)  # fmt: skip
def test_without_a_model_a_new_figure_and_a_named_lifting_take_the_rules_place(
    text: str, said: str, held: list[str]
) -> None:
    state = update_state(CompressedCognitiveState.empty(), Turn.said(f"{text}.")).state
    after = update_state(state, Turn.said(said)).state
    assert [item.text for item in after.constraints] == held
    assert [gone.text for gone in after.lifted] == [text]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Never send reports by mail", "Always send reports by mail"),
        ("Always page Dr Osei first", "Never page Dr Osei first"),
        ("Keep the ICU door locked", "Don't keep the ICU door locked"),
        ("Always pay Halden in advance", "Never pay Halden in advance"),
    ],
)
def test_without_a_model_the_contrary_of_a_rule_raises_a_doubt(text: str, said: str) -> None:
    state = update_state(CompressedCognitiveState.empty(), Turn.said(f"{text}.")).state
    after = update_state(state, Turn.said(f"{said}.")).state
    assert [item.text for item in after.constraints] == [text, said]
    assert [doubted.text for doubted in after.doubted] == [text]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DOCTOR, "From now on paging the night doctor is fine at any hour."),
        (NGINX, "From now on restarting nginx is fine."),
    ],
)
def test_without_a_model_a_permission_for_good_ends_what_forbids_it(text: str, said: str) -> None:
    state = update_state(CompressedCognitiveState.empty(), Turn.said(f"{text}.")).state
    after = update_state(state, Turn.said(said)).state
    assert [gone.text for gone in after.lifted] == [text]
