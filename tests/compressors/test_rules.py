"""The rule-based compressor: what it finds by plain cues, and what it must not find."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from acc.commit import commit
from acc.compress import Compressor, Proposal, ProposedItem
from acc.compressors.rules import RuleCompressor
from acc.compressors.rules.cues import RULES, Cue
from acc.compressors.rules.entities import named_in
from acc.compressors.rules.reading import MOST_SENTENCES
from acc.compressors.rules.sentences import LONGEST, clauses, fit, sentences, tidy
from acc.items import Constraint, Item, Relation
from acc.laws.reasons import Reason
from acc.slots import Slot, SlotField
from acc.state import CompressedCognitiveState
from acc.turn import Channel, Evidence, Observation, Trust, Turn, user_observations

compress = RuleCompressor()
State = CompressedCognitiveState


def turn(said: str = "", agent: str = "", tool: str = "", reply: str = "", number: int = 1) -> Turn:
    """A turn in which the user speaks, a tool answers and the agent answers."""
    seen = list(user_observations(said)) if said else []
    if tool:
        seen.append(Observation(channel=Channel.TOOL, text=tool, name="lookup"))
    if agent:
        seen.append(Observation(channel=Channel.AGENT, text=agent))
    before = Observation(channel=Channel.AGENT, text=reply, ref=f"a{number - 1}") if reply else None
    return Turn(observations=tuple(seen), reply=before).numbered(number)


def proposed(
    slot: str, at: Turn, state: State | None = None, evidence: Sequence[Evidence] = ()
) -> list[ProposedItem]:
    proposal = compress(at, state or State.empty(), evidence)
    return [item for item in proposal.items if item.slot == slot]


def rules(said: str) -> list[ProposedItem]:
    return proposed("constraints", turn(said))


def after(*turns: Turn) -> State:
    """The state after these turns, committed one by one."""
    state = State.empty()
    for at in turns:
        at = at.numbered(state.turn + 1)
        state = commit(state, compress(at, state, ()), at).state
    return state


def facts(at: Turn) -> set[tuple[str, str, str]]:
    found = proposed("relational_map", at)
    return {(i.fields["subject"], i.fields["predicate"], i.fields["object"]) for i in found}


# --- standing rules -------------------------------------------------------------------------

STANDING = {
    "prohibition": [
        "Never mention the diagnosis over the phone.",
        "Keep customer names out of the ticket.",
        "Nobody touches the billing shard until Olu is back from leave.",
        "Leave the cron jobs as they are.",
        "No schema changes without a migration ticket.",
        "You can look at the rows but you can't copy them.",
        "Region eu-west is off limits.",
        "I don't want the word 'failure' in that report.",
        "Please stay away from the legacy exporter.",
        "Photos of the children aren't posted anywhere.",
    ],
    "limit": [
        "Not more than 100 ml per run.",
        "Interviews last 45 minutes at most.",
        "The budget for courier costs is 2,400 for the whole quarter.",
        "Stay below 70 percent CPU on that box.",
        "We can't go over 40 nodes.",
        "Refunds above $200 have to go to Kim.",
    ],
    "format": [
        "Answer me in German.",
        "Say guests, not customers.",
        "For the newsletter: British spelling.",
        "Keep the tone formal with the ministry.",
        "Every summary has at most three lines, no emojis.",
        "Doses in milligrams.",
    ],
    "preference": [
        "I'd rather we didn't restart the broker during trading hours.",
        "I prefer short answers.",
        "I want Thursdays kept clear until the thesis is in.",
    ],
    "requirement": [
        "Any rollback needs Jorge's approval.",
        "Only Sanne talks to the sponsor.",
        "Always put the ticket number in the subject line.",
        "Rollbacks are Marco's call.",
        "Feature flags are frozen from Friday noon to Monday morning.",
        "From now on, two people sign each invoice.",
        "Run everything against staging first.",
        "If a parent calls, put them through to the office.",
        "Whenever you name a part, give its number, ok?",
        "Could you always cc Ruth?",
        "Insurance claims go past Kim first.",
    ],
}


@pytest.mark.parametrize(("kind", "said"), [(k, s) for k, said in STANDING.items() for s in said])
def test_a_standing_rule_is_found_with_its_kind_and_a_verbatim_quote(kind: str, said: str) -> None:
    at = turn(said)
    found = proposed("constraints", at)
    assert len(found) == 1
    item = found[0]
    kinds = {kind, "limit", "format"} if kind in ("limit", "format") else {kind}
    assert item.fields["kind"] in kinds
    assert item.fields["quote"] in at.user_words
    assert item.cites == ("u1",)


@pytest.mark.parametrize("cue", RULES, ids=lambda cue: cue.example)
def test_every_cue_finds_its_example(cue: Cue) -> None:
    assert cue.pattern.search(cue.example)
    assert rules(cue.example[0].upper() + cue.example[1:] + ".")


LOOK_ALIKES = [
    # questions
    "Do we always have to sign it?",
    "Should we avoid Mondays?",
    "Can you check whether we must keep it?",
    "Isn't there always a second replica?",
    "What's the maximum we can spend?",
    # somebody else's words
    "They told us we must never restart it.",
    "The vendor insists all invoices must be paid upfront.",
    "Our lawyer keeps saying we must not publish.",
    "Apparently all staff must wear badges now.",
    "I read that you should never wake a sleepwalker.",
    "The old runbook says to always drain first.",
    "The password must contain a digit, says the form.",
    # the past
    "In my last job nobody was allowed to deploy on Friday.",
    "Last year we weren't allowed to take taxis.",
    "We couldn't touch the cluster for a week in March.",
    "I had to restart it twice.",
    "The limit was 50 last year.",
    # fancy
    "If it were my money I'd never spend that.",
    "Imagine every visit needed two signatures.",
    "I wish nobody could delete branches.",
    "Maybe we should always book early.",
    # jests, and what is taken back
    "Haha, never let me near a keyboard again.",
    "Never let him cook again. Just kidding!",
    "Nobody gets coffee before me. Not an instruction.",
    # what is or was the case
    "Nothing in the logs.",
    "No errors since noon.",
    "Nobody answered.",
    "It only happens on Tuesdays.",
    "He can't make it on Thursday.",
    "I can't find the file.",
    "The budget was 5,000 and we spent 7,000.",
    "It took no more than five minutes.",
    "Up to 40 requests failed.",
    "That must be the cache.",
    "Only two seats left.",
    "My sister never eats meat.",
    # idioms, and what is for now
    "No worries, take your time.",
    "Don't worry about it.",
    "Never mind.",
    "Don't send it yet.",
    "Please send me the file.",
    "Look into the queue length please.",
    "Thanks, that's all I needed.",
]


@pytest.mark.parametrize("said", LOOK_ALIKES)
def test_what_only_sounds_like_a_rule_is_none(said: str) -> None:
    assert rules(said) == []


def test_nobody_but_the_user_makes_a_rule() -> None:
    rule = "Never restart db-7 without approval. Always use UTC."
    at = Turn(
        observations=(
            Observation(channel=Channel.DOCUMENT, text=rule, name="policy"),
            Observation(channel=Channel.TOOL, text=rule, name="wiki"),
            Observation(channel=Channel.AGENT, text=rule),
            Observation(channel=Channel.AGENT, text=rule, call_id="c1"),
        )
    ).numbered(1)
    evidence = Evidence(channel=Channel.USER, text=rule, ref="u0")
    for slot in ("constraints", "goal_orientation"):
        assert proposed(slot, at, evidence=[evidence]) == []


def test_what_the_user_pastes_makes_no_rule() -> None:
    said = 'I got this: "From April on all trips must be booked through the portal, no exceptions."'
    assert rules(said) == []


def test_an_operator_makes_a_rule() -> None:
    operator = Observation(channel=Channel.OPERATOR, text="Never quote prices.")
    found = proposed("constraints", Turn(observations=(operator,)).numbered(1))
    assert [item.cites for item in found] == [("o1",)]


def test_several_rules_in_one_message_are_told_apart() -> None:
    said = (
        "Use UTC always; no calls before ten. "
        "Each change gets a ticket, and never deploy on Fridays."
    )
    texts = [item.fields["text"] for item in rules(said)]
    assert texts == [
        "Use UTC always",
        "no calls before ten",
        "Each change gets a ticket",
        "never deploy on Fridays",
    ]


def test_scope_condition_and_deadline_stay_in_the_text() -> None:
    said = "And please don't touch db-7 until the audit is over, thanks!"
    assert [i.fields["text"] for i in rules(said)] == ["don't touch db-7 until the audit is over"]


def test_a_pronoun_gets_the_name_from_the_sentence_before() -> None:
    found = rules("There's also Marek in Prague. Leave him off the list until he has decided.")
    assert [i.fields["text"] for i in found] == [
        "Marek: Leave him off the list until he has decided"
    ]


def test_a_rule_that_stands_is_not_proposed_again() -> None:
    state = after(turn("Never deploy on Fridays."))
    assert (
        proposed("constraints", turn("As I said, never deploy on Fridays.", number=2), state) == []
    )


class NarrowState(CompressedCognitiveState):
    """A state with two places for rules."""

    constraints: Annotated[
        tuple[Constraint, ...], Slot(places=2, write=Trust.USER, pinned=True, quote=True)
    ]


def test_a_rule_beyond_the_places_is_noted_and_not_proposed() -> None:
    said = "Never open the vault. Always use UTC. No calls before ten. Never open the vault."
    found = compress(turn(said), NarrowState.empty(), ()).items
    assert [i.fields["text"] for i in found if i.slot == "constraints"] == [
        "Never open the vault",
        "Always use UTC",
    ]
    gaps = [i.fields for i in found if i.slot == "uncertainty_signal"]
    assert gaps == [{"level": "high", "gap": "no place for a further rule: No calls before ten"}]


# --- lifting and changing -------------------------------------------------------------------

HELD = [
    "No deployments to production before Monday.",
    "Keep every status update under 80 words.",
    "Never contact the supplier directly, Nora does that.",
    "Refunds above $200 go to Kim first.",
    "Leave db-7 alone while the audit is running.",
    "Don't tell the interns about the merger until the board has signed.",
    "Only Ana merges to main.",
    "The afternoons stay free for me, that's physio.",
    "At most 12 nodes in the cluster.",
    "Nobody goes into the archive without a badge.",
]
LIFTS = [
    ("The production freeze is over, you can deploy again.", "deployments"),
    ("Deployments are fine from here.", "deployments"),
    ("You can talk to the supplier yourself again, Nora is away.", "supplier"),
    ("The audit is finished, db-7 is fair game.", "db-7"),
    ("db-7 is back in scope, the audit is through.", "db-7"),
    ("The board has signed, so you can tell the interns.", "interns"),
    ("Forget the rule about badges for the archive.", "archive"),
    ("Physio has been cancelled, book what you like in the afternoons.", "afternoons"),
    ("No need to keep the updates short any more.", "update"),
    ("Anyone can go into the archive now, no badge needed.", "archive"),
]
CHANGES = [
    ("Status updates may be up to 120 words.", "update"),
    ("Make that 150 words for the updates.", "update"),
    ("Raise the refund limit to 400 dollars.", "Refunds"),
    ("We got more budget, go up to 20 nodes.", "nodes"),
    ("The limit is up, refunds to 900 dollars are fine from now on.", "Refunds"),
]
LEAVES_ALL = [
    "The meeting is cancelled.",
    "Nora is on holiday this week.",
    "You can now send the summary.",
    "The ticket is resolved.",
    "Can we deploy to production again?",
    "Bob says you can contact the supplier again.",
    "I don't need the report any more.",
    "The node count went up to 11 last week.",
    "Please raise the memory to 16 GB.",
    "Never mind.",
    "The supplier has changed their address.",
    "Ana has signed the contract.",
    "If the audit were over we could touch db-7.",
    "Make it 9 o'clock instead.",
    "Send 200 copies instead of 150.",
    "Scrap the second paragraph.",
    "Kim is back now.",
    "You can now ask Nora.",
    "The badges are fine now.",
    "Last week you could still go up to 20 nodes.",
]


@pytest.fixture(scope="module")
def held() -> State:
    state = after(*(turn(said) for said in HELD))
    assert len(state.constraints) == len(HELD)
    return state


def retired(said: str, state: State) -> tuple[list[str], Proposal]:
    proposal = compress(turn(said, number=state.turn + 1), state, ())
    pinned = {item.id: item.text for item in state.constraints}
    return [pinned[r.id] for r in proposal.retire if r.id in pinned], proposal


@pytest.mark.parametrize(("said", "word"), LIFTS)
def test_lifting_retires_the_rule_it_bears_on_and_adds_none(
    said: str, word: str, held: State
) -> None:
    texts, proposal = retired(said, held)
    assert len(texts) == 1
    assert word in texts[0]
    assert [i for i in proposal.items if i.slot == "constraints"] == []
    assert proposal.retire[0].quote in said
    assert proposal.retire[0].cites == (f"u{held.turn + 1}",)


@pytest.mark.parametrize(("said", "word"), CHANGES)
def test_a_change_retires_the_old_rule_and_adds_the_new(said: str, word: str, held: State) -> None:
    texts, proposal = retired(said, held)
    assert len(texts) == 1
    assert word in texts[0]
    added = [i for i in proposal.items if i.slot == "constraints"]
    assert [i.fields["quote"] for i in added] == [said]


@pytest.mark.parametrize("said", LEAVES_ALL)
def test_what_bears_on_no_rule_lifts_none(said: str, held: State) -> None:
    assert retired(said, held)[0] == []


def test_a_rule_of_the_same_words_with_another_figure_replaces_the_first() -> None:
    state = after(turn("Hotels: not above 160 a night per person."))
    texts, proposal = retired("Hotels: not above 190 a night per person.", state)
    assert texts == ["Hotels: not above 160 a night per person"]
    assert [i.fields["text"] for i in proposal.items if i.slot == "constraints"]


def test_two_tiers_stand_side_by_side() -> None:
    state = after(turn("Refunds above $200 go to Kim first."))
    assert retired("Refunds above $900 go to the whole board first.", state)[0] == []


# --- goals ----------------------------------------------------------------------------------


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
    assert [(r.id, r.quote) for r in found] == [(state.goal_orientation[0].id, said)] * gone


@pytest.mark.parametrize("said", ["The plants are not done.", "When the plants are done, call me."])
def test_what_is_not_done_stays_open(said: str) -> None:
    state = after(turn("I'd like the office plants watered by Monday."))
    assert proposed("goal_orientation", turn(said, number=2), state) == []


# --- facts and names ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("The close pack for Anna (CFO) is due on 8 October.", ("close pack", "due", "8 October")),
        ("The error rate is now 2.5%.", ("error rate", "share", "2.5%")),
        ("Checkout runs 4.2.1.", ("Checkout", "version", "4.2.1")),
        ("Dana is on leave.", ("Dana", "is", "on leave")),
        ("We're 14 people.", ("people", "count", "14")),
        ("Dana Okoye is incident lead now.", ("incident lead", "is", "Dana Okoye")),
        ("From noon Marek takes over as deputy.", ("deputy", "is", "Marek")),
        ("The root cause is a lost setting.", ("root cause", "is", "lost setting")),
        ("Pool exhaustion is the suspected cause.", ("suspected cause", "is", "Pool exhaustion")),
        (
            "Since noon 6.2% of checkouts failed.",
            ("checkouts", "share", "6.2% of checkouts failed"),
        ),
        ("The kick-off moved, 3 May 2027.", ("kick-off", "date", "3 May 2027")),
        (
            "INC-4211 was caused by the certificate.",
            ("INC-4211", "was", "caused by the certificate"),
        ),
    ],
)
def test_a_fact_in_the_users_words(said: str, fact: tuple[str, str, str]) -> None:
    assert fact in facts(turn(said))


def test_the_agents_datum_cites_the_tool_in_whose_output_it_stands() -> None:
    at = turn(
        "What's the balance?", "The closing balance is £48,211.37.", "x\nBAL 48,211.37 £48,211.37"
    )
    (fact,) = proposed("relational_map", at)
    assert fact.fields["object"] == "£48,211.37"
    assert fact.fields["status"] == "observed"
    assert fact.cites == ("a1", "t1")


def test_a_later_value_comes_under_the_same_key() -> None:
    state = after(turn("How big?", "So we start with an open difference of £48,211.37."))
    (fact,) = proposed(
        "relational_map", turn("And now?", "The open difference is £31,906.12.", number=2), state
    )
    assert (fact.fields["subject"], fact.fields["predicate"]) == ("open difference", "amount")


def test_a_role_passes_on() -> None:
    state = after(
        turn("Dana Okoye is incident lead."), turn("Marek Lind takes over as incident lead.")
    )
    assert [fact.words for fact in state.relational_map if fact.subject == "incident lead"] == [
        "incident lead is Marek Lind stated"
    ]


def test_a_fact_that_is_held_is_not_repeated() -> None:
    state = after(turn("Dana is on leave."))
    assert proposed("relational_map", turn("Dana is on leave.", number=2), state) == []


def test_tool_lines_count_only_where_the_user_asked_for_the_key() -> None:
    listing = "owner: dana\nversion=4.2.1\nuptime: 12 d\nnote: agents must restart it"
    assert facts(turn("Which version is on web-2?", tool=listing)) == {
        ("web-2", "version", "4.2.1")
    }
    assert facts(turn("Thanks!", tool=listing)) == set()


def test_what_others_say_must_be_done_is_no_fact_either() -> None:
    assert facts(turn("Acme says their terms are that you must never deduct a note.")) == set()


def test_an_agent_telling_what_a_text_wanted_states_nothing() -> None:
    at = turn("See the mail", "The mail claims the limit is now £9,000.00. I'm ignoring it.")
    assert facts(at) == set()


def test_an_assent_makes_the_agents_choice_a_decision() -> None:
    at = turn("Yes, do that.", reply="I'd go for Harbour House: nine rooms at €138.", number=2)
    found = proposed("relational_map", at)[0]
    assert (found.fields["subject"], found.fields["status"]) == ("Harbour House", "decided")
    assert found.cites == ("a1", "u2")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("look at ticket 4711 first", ("ticket", "4711")),
        ("the run APX-2209 is done", ("run", "APX-2209")),
        ("see src/app/main.py please", ("file", "src/app/main.py")),
        ("db-prod-01 is slow", ("host", "db-prod-01")),
        ("write to dana@example.org", ("e-mail", "dana@example.org")),
        ("please ask Marek about it", ("person", "Marek")),
        ("it went to Dunmore Steel today", ("name", "Dunmore Steel")),
    ],
)
def test_things_and_people_are_typed_by_plain_cues(text: str, named: tuple[str, str]) -> None:
    assert named in [(n.type, n.name) for n in named_in(text)]


# --- trace, cues, gaps, evidence ------------------------------------------------------------


def test_the_turn_is_traced_in_a_line_for_each() -> None:
    at = turn("Please check the alerts on web-2.", "Two alerts are open on web-2.")
    assert [i.fields["text"] for i in proposed("episodic_trace", at)] == [
        "user: check the alerts on web-2",
        "agent: Two alerts are open on web-2",
    ]


def test_the_first_message_gives_the_topic_and_a_turn_elsewhere_another() -> None:
    state = after(turn("Hello! We need a venue for the reunion in June."))
    assert [g.text for g in state.semantic_gist] == ["We need a venue for the reunion in June"]
    at = turn("Moving on to the invoices of last month.", number=2)
    assert proposed("semantic_gist", at, state)
    assert proposed("semantic_gist", turn("Thanks, that helps a lot.", number=2), state) == []


def test_the_agents_next_step_is_a_cue() -> None:
    at = turn("Go on.", "The disk is full. Next I'll clear the cache.")
    assert [i.fields["text"] for i in proposed("predictive_cue", at)] == [
        "Next I'll clear the cache"
    ]


def test_what_is_open_is_a_gap_until_it_is_settled() -> None:
    state = after(turn("Hi there", "We're still waiting for the vendor's reply on the disk price."))
    (gap,) = state.uncertainty_signal
    at = turn("The vendor's reply on the disk price came: 40 euros.", number=2)
    assert gap.id in [r.id for r in compress(at, state, ()).retire]


def test_evidence_that_bears_on_the_question_is_traced_with_its_ref() -> None:
    evidence = [
        Evidence(channel=Channel.USER, text="The spare key is with Mrs Okafor.", ref="u3", turn=3),
        Evidence(channel=Channel.AGENT, text="The weather was fine.", ref="a4", turn=4),
        Evidence(channel=Channel.DOCUMENT, text="The spare key must be posted.", ref="d5", turn=5),
    ]
    at = turn("Who has the spare key?", number=9)
    lines = proposed("episodic_trace", at, evidence=evidence)
    assert (lines[-1].fields["text"], lines[-1].cites) == (
        "earlier (u3): The spare key is with Mrs Okafor.",
        ("u3",),
    )
    assert len(lines) == 2
    assert [i.cites for i in proposed("retrieved_artifacts", at, evidence=evidence)] == [("u3",)]


def test_long_tool_output_is_referred_to() -> None:
    at = turn("Show me the log", tool="first line\n" + "x = 1\n" * 900)
    (reference,) = proposed("retrieved_artifacts", at)
    assert reference.fields["label"] == "lookup: first line"
    assert reference.cites == ("t1",)


def test_pending_turns_are_read_too() -> None:
    pending = Observation(channel=Channel.USER, text="Never open the vault.", ref="u1")
    at = Turn(observations=user_observations("Thanks."), pending=(pending,)).numbered(2)
    assert [i.cites for i in proposed("constraints", at)] == [("u1",)]


# --- the proposal as a whole ----------------------------------------------------------------


class Sample(Item):
    """A sample in the lab."""

    key = ("name",)
    head = "name"
    name: str


class LabState(CompressedCognitiveState):
    """A domain with a slot of its own, and fewer places for relations."""

    samples: Annotated[tuple[Sample, ...], Slot(places=4, guidance="samples by name")]
    relational_map: Annotated[tuple[Relation, ...], Slot(places=2, evict=50, letter="r")]


class BareState(BaseModel):
    """Not a state of ours: a schema without slots."""

    @classmethod
    def slots(cls) -> dict[str, SlotField]:
        return {}


def test_it_is_a_compressor() -> None:
    assert isinstance(compress, Compressor)
    assert compress(turn("Hi"), State.empty(), ()).author == "rules"


WORDS = (
    *("never", "only", "the", "is", "12", "£9,000", "until", "Dana", "says", "no longer", "db-7"),
    *(",", ";", ":", ".", "?", "!", "and", "or", "I", "you", "must", "if", "instead", "18 May"),
    *("v1.2.3", "a@b.c", "x=y", "key: value", "[pasted]", "haha", "to", "of", "at", "every"),
    *("1e9", "٣", "²", "½", "we're", "people", "\n", "Harbour House", "done", "yes", "I'd go for"),
)
HOSTILE = st.one_of(
    st.text(max_size=400),
    st.text(alphabet="aA1 .,;:!?'\"-–_/@£€$%()[]{}\n\t\r\x00\u202e\ud800😂Ééß", max_size=400),
    st.lists(st.sampled_from(WORDS), max_size=80).map(" ".join),
)


@given(said=HOSTILE, agent=HOSTILE, tool=HOSTILE, reply=HOSTILE, recalled=HOSTILE)
def test_no_text_makes_it_raise_or_break_its_bounds(
    said: str, agent: str, tool: str, reply: str, recalled: str
) -> None:
    at = turn(said or "-", agent or "-", tool or "-", reply or "-", number=2)
    evidence = [Evidence(channel=c, text=recalled, ref=f"{c.value[0]}1") for c in Channel]
    prior = after(turn(reply or "-", said or "-"))
    at = at.numbered(prior.turn + 1)
    proposal = compress(at, prior, evidence)
    readable = {o.ref for o in (*at.readable, *evidence)} | {i.id for _, i in prior.items()}
    for item in proposal.items:
        assert set(item.cites) <= readable
        assert item.cites
        quote = item.fields.get("quote")
        assert quote is None or item.id or any(quote in o.text for o in at.observations)
    refused = commit(prior, proposal, at, evidence).refused
    assert [n for n in refused if n.reason in (Reason.MALFORMED, Reason.TOO_LONG)] == []


@given(said=HOSTILE, agent=HOSTILE)
def test_the_same_turn_gives_the_same_proposal(said: str, agent: str) -> None:
    at = turn(said or "-", agent or "-")
    assert compress(at, State.empty(), ()) == RuleCompressor()(at, State.empty(), ())


@pytest.mark.parametrize(
    "unit",
    [
        "x", " ", ". ", "a. ", "never ", ", and ", "9", "1,", "A-", "A_1", "€1,", "he says ",
        "is now about ", "only after ", "12 May - ", "key: value\n", "until he has ", "Ab ", "(",
    ],
)  # fmt: skip
def test_time_grows_no_faster_than_the_text(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        at = turn(text, tool=text)
        start = time.process_time()
        compress(at, State.empty(), ())
        return time.process_time() - start

    seconds(1_000)
    # A quadratic step would make it 64 times; the floor is there for clocks that tick coarsely.
    assert seconds(1 << 14) <= 24 * max(seconds(1 << 11), 0.005)


def test_of_two_megabytes_both_ends_are_read() -> None:
    filler = "The sky was grey over the old harbour that day. " * 45_000
    at = turn(f"Never open the vault. {filler}Always use UTC.")
    assert len(at.user_words) > 2_000_000
    assert len(sentences(at.user_words, MOST_SENTENCES)) == MOST_SENTENCES
    found = [i.fields["text"] for i in proposed("constraints", at)]
    assert found == ["Never open the vault", "Always use UTC"]


def test_it_makes_room_for_what_is_new_and_keeps_to_the_places() -> None:
    state = State.empty()
    for number in range(1, 31):
        at = turn(
            f"The rate of pump P-{number} is {number}.5%.",
            f"Valve V-{number} is open. We're waiting for meter M-{number}.",
            number=number,
        )
        proposal = compress(at, state, ())
        for name, slot in State.slots().items():
            gone = {r.id for r in proposal.retire}
            kept = [i for i in getattr(state, name) if i.id not in gone]
            kept = [] if slot.rules.lifetime == "turn" else kept
            new = [i for i in proposal.items if i.slot == name and not i.id]
            assert len(kept) + len(new) <= slot.rules.places
        state = commit(state, proposal, at).state
    assert any("P-30" in fact.words for fact in state.relational_map)


def test_a_domains_own_slot_is_left_alone_and_its_bounds_are_kept() -> None:
    at = turn("Sample S-1 is warm. Pump P-2 is on. Valve V-3 is open. Dana is away.")
    proposal = compress(at, LabState.empty(), ())
    assert {item.slot for item in proposal.items} <= set(State.slots())
    assert len([i for i in proposal.items if i.slot == "relational_map"]) == 2


def test_slots_that_a_schema_lacks_are_skipped() -> None:
    proposal = compress(turn("Never open the vault."), BareState(), ())  # type: ignore[arg-type]
    assert proposal.items == ()


@pytest.mark.parametrize(
    "said",
    [
        "Bitte keine Flüge über Nacht, und nichts wird gebucht, bevor ich mein OK gegeben habe.",
        "No reserves nada antes de las 9 sin mi permiso, por favor. Max 160 euros por noche.",
        "Ne réservez rien sans mon accord, le budget est de 500 euros au maximum.",
        "Не бронируйте ночные рейсы, бюджет 500 евро.",
        "予算は100万円です。絶対に超えないでください。",
    ],
)
def test_another_language_gives_the_topic_at_the_most(said: str) -> None:
    proposal = compress(turn(said), State.empty(), ())
    assert {item.slot for item in proposal.items} <= {"semantic_gist"}


# --- sentences ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("At 18.5 units, e.g. for no. 7. Next", ["At 18.5 units, e.g. for no. 7.", "Next"]),
        ("The answer is no. We go on.", ["The answer is no.", "We go on."]),
        ("Dr. Weiss and Mr. Bean agree", ["Dr. Weiss and Mr. Bean agree"]),
        ("- first\n- second; third", ["first", "second;", "third"]),
        ("1. do this\n2) do that", ["do this", "do that"]),
        ("...\n!!", []),
    ],
)
def test_sentences_are_told_apart(text: str, expected: list[str]) -> None:
    assert [s.text for s in sentences(text, 99)] == expected


@given(HOSTILE)
def test_sentences_and_clauses_are_verbatim_pieces(text: str) -> None:
    for sentence in sentences(text, 99):
        assert sentence.text in text
        assert len(sentence.text) <= LONGEST
        assert all(clause in sentence.text for clause in clauses(sentence.text))


@given(HOSTILE, st.integers(min_value=5, max_value=60))
def test_shortening_never_cuts_a_token(text: str, limit: int) -> None:
    short = fit(text, limit)
    assert len(short) <= limit
    kept = short.removesuffix(" ...").split()
    words = text.split()
    assert [w.rstrip(" ,;:") for w in words[: len(kept)]] == [w.rstrip(" ,;:") for w in kept]


def test_tidying_takes_off_courtesies_alone() -> None:
    assert tidy("And please, keep it short, thanks :)") == "keep it short"
    assert tidy("Thanks!") == "Thanks!"
    for whole in ("Right of way stays free", "So long as it rains, stay in", "that's ok"):
        assert tidy(whole) == whole
