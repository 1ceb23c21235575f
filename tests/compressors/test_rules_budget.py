"""What stays when tokens are short: what brings most for its tokens, and nothing twice."""

from __future__ import annotations

import random

import pytest
from speaking import State, facts, proposed, turn

from acc.commit.commit import commit
from acc.keyless.budget import keep_within
from acc.keyless.compressor import RuleCompressor
from acc.keyless.facts import LOOKED_AT
from acc.keyless.room import Room, value
from acc.state.policy import Policy
from acc.text.tokens import utf8_quarter
from acc.turn.turn import Turn

POLICY = Policy(max_tokens=260)


def talked(count: int) -> list[State]:
    """The states of a talk that says more than there is room for."""
    memory = RuleCompressor(POLICY.max_tokens, POLICY.counter)
    state, found = State.empty(), []
    for number in range(1, count + 1):
        said = f"Pump P-{number}7 is at {number}.5 bar. The valve of hall {number} is stuck."
        told = f"Ticket MT-{number}418 is open for pump P-{number}7, hall {number} is closed."
        at = turn(said, told, number=number)
        state = commit(state, memory(at, state, ()), at, policy=POLICY).state
        found.append(state)
    return found


def test_the_room_there_is_gets_used_and_commit_has_little_to_put_out() -> None:
    tokens = [utf8_quarter(state.render()) for state in talked(24)][-8:]
    assert max(tokens) <= POLICY.max_tokens
    assert sum(tokens) / len(tokens) >= 0.85 * POLICY.max_tokens


def test_what_is_measured_is_what_the_agent_reads() -> None:
    state = talked(3)[-1]
    told = Room(state).visible_text()
    shown = {name for name, slot in State.slots().items() if not slot.rules.ephemeral}
    assert told == {
        name: [item.words for item in getattr(state, name)]
        for name in State.slots()
        if name in shown and getattr(state, name)
    }


def test_a_named_identifier_is_worth_more_than_a_mere_name() -> None:
    ticket = value("focal_entities", {"type": "ticket", "name": "MT-20418"}, 1, 0)
    unnamed = value("focal_entities", {"type": "id", "name": "MT-20418"}, 1, 0)
    person = value("focal_entities", {"type": "person", "name": "Dana"}, 1, 0)
    assert ticket > unnamed > person


def test_what_says_a_figure_again_leaves_first() -> None:
    last = talked(24)[-1]
    figures = [word for fact in last.relational_map for word in fact.words.split() if "-" in word]
    assert len(set(figures)) > 0.7 * len(figures)


RELEASE = ("candidate", "is", "rc7, build 3")
CLOSED = ("dashboard", "is", "closed")
CERTIFICATE = ("signing certificate", "expires on", "3 June")


@pytest.mark.parametrize(
    ("again", "leaves"),
    [(CERTIFICATE, CLOSED), (("candidate", "holds", "3"), ("candidate", "holds", "3"))],
)
def test_a_short_figure_is_told_again_by_what_speaks_of_the_same_thing(
    again: tuple[str, str, str], leaves: tuple[str, str, str]
) -> None:
    assert first_to_leave(RELEASE, again, CLOSED) == leaves


def first_to_leave(*told: tuple[str, str, str]) -> tuple[str, str, str]:
    """The fact that leaves as the tokens get fewer."""
    for tokens in range(200, 0, -1):
        room = Room(State.empty())
        for subject, predicate, what in told:
            fields = {"subject": subject, "predicate": predicate, "object": what}
            room.add("relational_map", ("u1",), status="observed", **fields)
        keep_within(room, tokens, utf8_quarter)
        left = {tuple(item.fields[n] for n in NAMES) for item in room.new()}
        if len(left) < len(told):
            (gone,) = set(told) - left
            return gone
    raise AssertionError("everything fits into one token")


NAMES = ("subject", "predicate", "object")


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("The deposit is 4,200 euros and the landlord wants it in cash.", "4,200 euros"),
        ("The visit is on 12 May, as Mr Holm told me on the phone.", "12 May"),
    ],
)
def test_a_fact_ends_with_its_datum(said: str, what: str) -> None:
    assert what in {found for _, _, found in facts(turn(said))}


def test_a_line_that_identifies_is_told_unasked_and_prose_is_not() -> None:
    listing = "workspace no.: M-2291\nnotice date: 4 May 2026\nmood: cheerful\nuptime: 12 d"
    found = {(key, what) for _, key, what in facts(turn("Thanks, that will do.", tool=listing))}
    assert found == {("workspace no.", "M-2291"), ("notice date", "4 May 2026")}


def test_a_step_that_is_announced_is_not_traced_as_well() -> None:
    at = turn("Is it done?", "The hall is swept now. I'll lock the gate next.")
    assert [i.fields["text"] for i in proposed("predictive_cue", at)] == ["I'll lock the gate next"]
    only = turn("Thanks.", "I'll lock the gate next.")
    assert proposed("episodic_trace", only) == []


def test_a_done_goal_gives_way_to_facts() -> None:
    memory = RuleCompressor(POLICY.max_tokens, POLICY.counter)
    said = ["I want the hall repainted by the end of May.", "The hall is repainted, done."]
    said += [f"Pump P-{n}7 is at {n}.5 bar, ticket MT-{n}418 is open." for n in range(1, 20)]
    state, goals = State.empty(), []
    for number, words in enumerate(said, 1):
        at = turn(words, number=number)
        state = commit(state, memory(at, state, ()), at, policy=POLICY).state
        goals.append([goal.done for goal in state.goal_orientation])
    assert goals[:2] == [[False], [True]]
    assert goals[-1] == []
    assert len(state.relational_map) > 3


class WordCounter:
    """Tokens are words: then a row costs no more than its words, or less."""

    name = "words"

    def __call__(self, text: str) -> int:
        return len(text.split())


class NoCounter(WordCounter):
    """Nothing costs anything."""

    def __call__(self, text: str) -> int:
        return 0


@pytest.mark.parametrize("counter", [WordCounter(), NoCounter()])
def test_any_counter_will_do(counter: WordCounter) -> None:
    state, memory = State.empty(), RuleCompressor(80, counter)
    for number in range(1, 12):
        at = turn(f"Pump P-{number}7 is on. Hall {number} is shut, ticket MT-{number}418.")
        at = at.numbered(number)
        state = commit(state, memory(at, state, ()), at).state
    assert "P-117" in state.render()
    assert state.relational_map


def test_of_a_long_output_few_lines_that_nobody_asked_for_are_looked_at() -> None:
    quiet = "latency: 12 ms\n" * LOOKED_AT
    early, late = f"id: AB-771\n{quiet}", f"{quiet}id: AB-771\n"
    for output, found in ((early, True), (late, False)):
        assert ("AB-771" in {what for _, _, what in facts(turn("Thanks.", tool=output))}) is found


@pytest.mark.parametrize("max_tokens", [300, 800])
@pytest.mark.parametrize("channel", ["agent", "tool"])
def test_however_much_others_say_the_user_keeps_what_they_stated(
    channel: str, max_tokens: int
) -> None:
    policy = Policy(max_tokens=max_tokens)
    compress, state = RuleCompressor(policy.max_tokens, policy.counter), State.empty()

    def take(at: Turn) -> State:
        at = at.numbered(state.turn + 1)
        return commit(state, compress(at, state, ()), at, (), policy).state

    state = take(turn("The customer number is KD-4471. The budget is 8,400 euros."))
    stated = {fact.object for fact in state.relational_map}
    rng = random.Random(3)
    for _ in range(12):
        rows = (
            f"ticket TK-{rng.randrange(10**5)} owner: Ada{rng.randrange(99)}, amount: {rng.randrange(9999)} euros"
            for _ in range(12)
        )
        state = take(turn("What else is on the list?", **{channel: ". ".join(rows)}))
    assert stated == {"KD-4471", "8,400 euros"}
    assert stated <= {fact.object for fact in state.relational_map}
