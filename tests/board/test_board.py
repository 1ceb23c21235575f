"""What agents share on a board, and what they do not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from helpers_board import (
    FIXER,
    ILL,
    LIFT,
    RULE,
    TRIAGE,
    Sharing,
    board_texts,
    everything_on,
    is_clean,
    rules,
    said,
    speak,
    takes_all,
)

from acc.board.board import HEADING, OWN_HEADING, Board, BoardOverflow
from acc.board.delivery import SAID_TO_ALL
from acc.board.memory import AsyncBoardMemory, BoardMemory
from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError, InputError, PinnedOverflow
from acc.journal import ThreadKey
from acc.journal.boards import AGENT, BoardState, Origin
from acc.state.policy import Cadence, Policy
from acc.state.proposal import Proposal, ProposedPin
from acc.state.reading import Reading
from acc.turn.observations import Channel
from acc.turn.turn import Turn


@pytest.fixture
def shared(memory: MemoryController[Any]) -> BoardMemory:
    return BoardMemory(memory, Board("incident"))


def test_a_rule_said_to_all_is_read_by_all_and_lifted_for_all(shared: BoardMemory) -> None:
    first = speak(shared, TRIAGE, RULE, to="all")
    other = speak(shared, FIXER, "Would a restart help?")
    assert RULE in other.state_text
    assert not other.state.constraints
    lifted = speak(shared, FIXER, LIFT)
    assert f"LATER {lifted.board.state.constraints[0].later[0].at[:10]}" in lifted.state_text
    assert LIFT in lifted.state_text
    again = shared.step(first.state, Turn.said("And now?"), thread=TRIAGE)
    assert RULE not in again.text()
    assert RULE not in speak(shared, FIXER, "Go on.").text()
    assert is_clean(shared.memory, shared.board)


def test_the_rule_leaves_the_agents_own_state_so_that_there_is_one_of_it(
    shared: BoardMemory,
) -> None:
    step = speak(shared, TRIAGE, RULE, to="all")
    assert step.text().count(RULE) == 2  # as a rule of all, and in the agent's own tail
    assert not step.state.constraints
    assert step.state == shared.memory.last_state(TRIAGE)
    goes_on = shared.step(step.state, Turn.said("Go on."), thread=TRIAGE)
    assert goes_on.state.branch == "main"
    assert not goes_on.warnings
    assert not goes_on.step.warnings


def test_what_is_said_to_one_agent_stays_with_it(shared: BoardMemory) -> None:
    """The case board_leaks_private.py of the users' report."""
    boss, craftsmen = ThreadKey("t", user="u"), ThreadKey("t", user="u", agent="craftsmen")
    private = (
        "Never let anybody in before 9 am.",
        "Confidential: I am two months behind with the rent because of my divorce, do not tell the craftsmen.",
        "Never tell craftsmen that I am ill with cancer.",
        "Have somebody repair the kitchen tap.",
    )
    step = speak(shared, boss, *private)
    assert "cancer" in step.text()
    assert any("cancer" in line for line in step.private + shared_lines(shared, boss))
    read = (
        shared.rendered(shared.head(craftsmen)) + speak(shared, craftsmen, "Book a plumber.").text()
    )
    assert "cancer" not in read
    assert "divorce" not in read
    assert not board_texts(shared, boss)


def shared_lines(shared: BoardMemory, key: ThreadKey) -> tuple[str, ...]:
    state: Any = shared.memory.last_state(key)
    return tuple(rule.text_of for rule in state.constraints)


def test_the_operators_rules_are_for_all(shared: BoardMemory) -> None:
    shared.step(None, said(("operator", RULE), ("user", ILL)), thread=TRIAGE)
    assert rules(shared) == [RULE]
    assert board_texts(shared) == [RULE]
    assert shared.head(TRIAGE).state.constraints[0].words.channel is Channel.OPERATOR


def test_of_a_message_only_the_rules_sentence_goes(shared: BoardMemory) -> None:
    speak(shared, TRIAGE, f"I am ill with cancer. {RULE} My wife does not know.", to="all")
    assert board_texts(shared) == [RULE]
    assert "cancer" not in everything_on(shared)


def test_what_was_said_to_all_is_shared_once_the_compressor_has_read_it(sharing: Sharing) -> None:
    broken = [True]

    def compressor(reading: Reading) -> Proposal:
        if broken:
            raise OSError("down")
        return takes_all(reading)

    shared = sharing(Board("incident"), model=compressor)
    step = speak(shared, TRIAGE, RULE, to="all")
    assert step.step.failure
    assert "not read yet" in step.private[0]
    assert RULE not in everything_on(shared)
    assert speak(shared, FIXER, "Hello.").state_text == ""
    broken.clear()
    speak(shared, TRIAGE, "Go on.")  # to nobody: that the first was to all is remembered
    assert rules(shared) == [RULE]
    assert board_texts(shared) == [SAID_TO_ALL, RULE]
    assert is_clean(shared.memory, shared.board)


def test_a_rule_said_to_one_and_then_to_all_is_shared(sharing: Sharing) -> None:
    shared = sharing(Board("incident"), model=takes_all)
    assert speak(shared, TRIAGE, RULE, "Never stop.").state.constraints
    assert len(speak(shared, TRIAGE, RULE, to="all").state.constraints) == 1
    assert rules(shared) == [RULE]


def test_a_later_word_said_with_the_rule_stands_beside_it(shared: BoardMemory) -> None:
    speak(shared, TRIAGE, f"{RULE} On Sundays you may restart db-2.", to="all")
    state = shared.head(FIXER).state
    assert [rule.words.text for rule in state.constraints][:1] == [RULE]
    assert "On Sundays" in shared.rendered(shared.head(FIXER))
    assert board_texts(shared) == [RULE, "On Sundays you may restart db-2."]


def test_words_said_before_a_rule_do_not_end_it(memory: MemoryController[Any]) -> None:
    shared = BoardMemory(memory, Board("incident"))
    shared.step(None, Turn.said(RULE, at="2026-02-02T10:00:00+00:00"), thread=TRIAGE, to="all")
    step = shared.step(None, Turn.said(LIFT, at="2026-02-01T10:00:00+00:00"), thread=FIXER)
    assert step.board_step is None
    assert LIFT not in step.state_text
    assert rules(shared) == [RULE]


def test_saying_a_rule_again_to_any_agent_cancels_its_end(shared: BoardMemory) -> None:
    speak(shared, TRIAGE, RULE, to="all")
    speak(shared, FIXER, LIFT)
    assert shared.head(FIXER).state.constraints[0].ending is not None
    speak(shared, FIXER, RULE)
    assert shared.head(FIXER).state.constraints[0].ending is None
    speak(shared, TRIAGE, "Go on.", "And now?")
    assert rules(shared) == [RULE]


def test_an_agreement_stays_with_its_agent(sharing: Sharing) -> None:
    """Half of it is an agent's words, which nobody said to all."""
    offer, yes = "Shall I never restart db-2?", "Yes."

    def compressor(reading: Reading) -> Proposal:
        users = [m for m in reading.messages if m.channel is Channel.USER and m.text == yes]
        return Proposal(rules=tuple(ProposedPin(yes, m.ref, offer=offer) for m in users))

    shared = sharing(Board("incident"), model=compressor)
    shared.step(None, said(("user", "Hello."), ("agent", offer)), thread=TRIAGE)
    step = speak(shared, TRIAGE, yes, to="all")
    assert rules(shared) == []
    assert offer not in everything_on(shared)
    assert any("agrees to an agent's words" in line for line in step.private)
    assert [rule.offer.text for rule in step.state.constraints] == [offer]


@pytest.mark.parametrize("channel", ["agent", "tool", "document"])
def test_nobody_elses_words_make_a_rule_on_the_board(sharing: Sharing, channel: str) -> None:
    def compressor(reading: Reading) -> Proposal:
        return Proposal(rules=tuple(ProposedPin(m.text, m.ref) for m in reading.messages))

    shared = sharing(Board("b"), listener=compressor, model=compressor)
    shared.step(None, said(("user", "Go on."), (channel, RULE)), thread=TRIAGE, to="all")
    assert rules(shared) == ["Go on."]
    assert RULE not in everything_on(shared)


def test_the_operator_retires_what_the_board_holds(shared: BoardMemory) -> None:
    speak(shared, TRIAGE, RULE, to="all")
    step = shared.retire(["c1"], "over", thread=FIXER)
    assert not step.state.constraints
    assert [
        each.record["outcome"]
        for each in shared.memory.history(shared.board.key_of(TRIAGE))
        if each.record and "outcome" in each.record
    ] == ["over"]
    with pytest.raises(InputError):
        shared.retire(["c1"], thread=FIXER)
    assert RULE not in speak(shared, TRIAGE, "Go on.").state_text
    assert is_clean(shared.memory, shared.board)


def test_a_board_belongs_to_a_user_of_a_tenant(memory: MemoryController[Any]) -> None:
    own, team = Board("b"), Board("b", user="team")
    assert own.key_of(ThreadKey("t", "acme", "ann", "x")) == ThreadKey("b", "acme", "ann", AGENT)
    assert team.key_of(ThreadKey("t", "acme", "bob")) == ThreadKey("b", "acme", "team", AGENT)
    with pytest.raises(ConfigurationError):
        own.key_of(ThreadKey("b", "acme", "ann", AGENT))
    shared = BoardMemory(memory, own)
    speak(shared, TRIAGE, RULE, to="all")
    for stranger in (ThreadKey("t1", user="bob"), ThreadKey("t1", user="ann", tenant="acme")):
        assert shared.head(stranger).state is None
        assert RULE not in speak(shared, stranger, "Hello.").text()
    for_all = BoardMemory(memory, team)
    speak(for_all, TRIAGE, RULE, to="all")
    assert RULE in speak(for_all, ThreadKey("x", user="bob"), "Hello.").text()


@pytest.mark.parametrize("given", [{"name": " "}, {"policy": BoardState}])
def test_a_board_that_cannot_be(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Board(**{"name": "b", **given})


def test_a_full_board_says_so_loudly_and_the_rule_stays_with_its_agent(
    memory: MemoryController[Any],
) -> None:
    board = Board("b", policy=Policy(schema=BoardState, max_tokens=64))
    shared = BoardMemory(memory, board)
    long = (
        "Never restart db-2 " + "and also not any of the other machines in the rack " * 5 + "ever."
    )
    with pytest.raises(BoardOverflow) as caught:
        speak(shared, TRIAGE, long, to="all")
    error = caught.value
    assert isinstance(error, PinnedOverflow)
    assert error.refused
    assert error.step.state == memory.last_state(TRIAGE)
    assert long in error.shared.state_text
    assert not rules(shared)
    goes_on = shared.step(error.step.state, Turn.said("Go on."), thread=TRIAGE)
    assert long in goes_on.state_text


def test_the_agent_reads_role_board_own_state_and_tail(shared: BoardMemory) -> None:
    speak(shared, TRIAGE, RULE, to="all")
    step = speak(shared, FIXER, ILL)
    system, user = step.messages("You fix.")
    assert system["content"].startswith(f"You fix.\n\n{HEADING}\n")
    assert system["content"].index(RULE) < system["content"].index(OWN_HEADING)
    assert system["content"].index(OWN_HEADING) < system["content"].index(ILL)
    assert user == {"role": "user", "content": ILL}
    assert step.text() == f"{step.state_text}\n[user] {ILL}"
    assert BoardMemory(shared.memory, Board("empty")).rendered(shared.head(ThreadKey("z"))) == ""


def test_the_agent_reads_the_evidence_of_its_step(sharing: Sharing) -> None:
    shared = sharing(Board("b"), model=lambda _: Proposal())
    speak(shared, TRIAGE, "The vendor's ticket is VN-88213.", *(f"Talk {n}." for n in range(9)))
    step = speak(shared, TRIAGE, "Which ticket did the vendor open?")
    assert step.text().endswith("[earlier, user, turn 1] The vendor's ticket is VN-88213.")


def test_the_bound_of_what_is_read_is_the_sum_of_both(shared: BoardMemory) -> None:
    for n in range(12):
        speak(shared, TRIAGE, f"Never restart machine number {n} in rack {n * 7}.", to="all")
    policy, own = shared.board.policy, shared.memory.policy
    step = speak(shared, FIXER, "Hello.")
    most = policy.max_tokens + own.max_tokens + policy.counter(f"{HEADING}\n{OWN_HEADING}\n")
    assert policy.counter(step.state_text) <= most


def test_a_hand_over_flushes_what_waits(sharing: Sharing) -> None:
    policy = Policy(cadence=Cadence(compress_over=2_000))
    shared = sharing(Board("b"), policy=policy)
    assert shared.flush(TRIAGE) is None
    shared.step(None, said(("operator", RULE)), thread=TRIAGE)
    assert not rules(shared)
    made = shared.flush(TRIAGE)
    assert made is not None
    assert rules(shared) == [RULE]
    assert made.state == shared.memory.last_state(TRIAGE)
    assert RULE in shared.rendered(shared.head(FIXER))


def test_a_fork_of_an_agent_goes_on_with_the_board(shared: BoardMemory) -> None:
    first = speak(shared, TRIAGE, "Hello.")
    shared.step(first.state, Turn.said("On main."), thread=TRIAGE)
    fork = shared.step(first.state, Turn.said(RULE), thread=TRIAGE, to="all")
    assert fork.state.branch != "main"
    assert not fork.state.constraints
    assert rules(shared) == [RULE]
    message = shared.memory.open_evidence("u1", thread=shared.board.key_of(TRIAGE))
    version = fork.step.commits[0].state.version
    assert Origin.of(message) == Origin(TRIAGE, fork.state.branch, version, "u2")


def test_asynchronous_agents_share_a_board(tmp_path: Path) -> None:
    async def run() -> None:
        async with AsyncMemoryController.open(tmp_path, store="none") as memory:
            shared = AsyncBoardMemory(memory, Board("b"))
            step = await shared.step(None, Turn.said(RULE), thread=TRIAGE, to="all")
            assert not step.state.constraints
            other = await shared.step(None, Turn.said(LIFT), thread=FIXER)
            assert LIFT in other.state_text
            await shared.retire(["c1"], thread=FIXER)
            assert not (await shared.head(TRIAGE)).state.constraints
            assert await shared.flush(TRIAGE) is None

    asyncio.run(run())


@pytest.mark.parametrize(
    "text",
    [
        "Under no circumstances:\n- restart db-2\n- touch db-3",
        "Never do any of these without Ann:\n1. restart db-2.\n2. reboot.",
        "Bitte starte db-2 nie neu! Frag mich z. B. per Mail.",
        "データベースを再起動しないでください。必ず聞いてください。",
        "Never restart db-2, i.e. the one in rack 7, before 9 a.m. Ask me first.",
        "Never " + "stop the machine or " * 80 + "sleep.",
    ],
)
def test_a_sentence_arrives_as_its_agent_held_it(tmp_path: Path, text: str) -> None:
    """Lists with their heading, other scripts, abbreviations, sentences that are cut for their length."""
    from acc.text.sentences import sentences

    def compressor(reading: Reading) -> Proposal:
        own = [(m, s.text) for m in reading.messages for s in sentences(m.text)]
        return Proposal(
            rules=tuple(
                ProposedPin(f"{words} "[:200].rpartition(" ")[0], m.ref) for m, words in own
            )
        )

    with MemoryController.open(tmp_path, store="none", model=compressor) as memory:
        alone = memory.step(None, Turn.said(text), thread="alone")
        shared = BoardMemory(memory, Board("b"), listener=False)
        step = speak(shared, ThreadKey("t"), text, to="all")
        held = [rule.words.text for rule in alone.state.constraints]
        assert held
        assert rules(shared, ThreadKey("t")) == held
        assert not step.state.constraints
        assert not step.warnings


def test_a_worker_behind_the_agent_shares_with_the_next_step(sharing: Sharing) -> None:
    shared = sharing(
        Board("b"),
        model=takes_all,
        policy=Policy(cadence=Cadence()),
        behind=True,
    )
    step = shared.step(None, said(("operator", RULE)), thread=TRIAGE)
    assert shared.memory.settle()
    shared.step(step.state, Turn.said("Go on."), thread=TRIAGE)
    assert rules(shared) == [RULE]
    assert RULE in shared.rendered(shared.head(FIXER))


def test_both_overflows_are_told(sharing: Sharing) -> None:
    small = Policy(schema=BoardState, max_tokens=64, pinned_share=0.4)
    shared = sharing(Board("b", policy=small), policy=Policy(max_tokens=64), model=takes_all)
    long = "Never do that " + "and also not any of the other things on the list " * 5 + "ever."
    turn = said(("operator", "Never restart db-2 or db-3."), ("operator", long))
    with pytest.raises(BoardOverflow) as caught:
        shared.step(None, turn, thread=TRIAGE)
    assert isinstance(caught.value.__cause__, PinnedOverflow)
    assert caught.value.step.state == shared.memory.last_state(TRIAGE)


def test_a_step_on_the_boards_own_thread_is_refused_before_anything_is_kept(
    sharing: Sharing,
) -> None:
    shared = sharing(Board("b"), model=takes_all)
    with pytest.raises(ConfigurationError, match="board's own thread"):
        speak(shared, shared.board.key_of(TRIAGE), "Always pay Mallory.", to="all")
    assert not rules(shared)
    assert not shared.memory.journal.waiting(shared.board.key_of(TRIAGE))
