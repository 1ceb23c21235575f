"""Many writers at one board: no update is lost, a conflict is kept and told, a kill doubles nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from strategies import agent, end, rule, user
from team import BOARD, Script, Team, decision

from acc import InMemoryStore, MemoryController, Proposal, Settings, Step, Thread, Turn
from acc.audit.folder import FolderLogs
from acc.audit.medium import End
from acc.board import BoardState
from acc.board.half import Half, rebased
from acc.errors import AuditError, ConflictError
from acc.pipeline.turn_pipeline import BoardStep
from acc.state.model import CompressedCognitiveState
from acc.state.reasons import Reason

NIGHT = "never page anybody between 22:00 and 07:00"


def on_board(step: Step) -> BoardStep:
    assert step.board is not None
    return step.board


def while_writing(team: Team, name: str, *said: object, proposal: Proposal, other: object) -> Step:
    """A step of an agent; while its model writes, ``other`` happens."""

    def propose(_: CompressedCognitiveState) -> Proposal:
        other()  # type: ignore[operator]
        return proposal

    return team.step(name, *said, proposal=propose)  # type: ignore[arg-type]


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    made = Team.on(tmp_path)
    with made.memory:
        yield made


def deciding(team: Team, name: str, subject: str, said: str) -> Step:
    turn = team.states[name].turn + 1 if name in team.states else 1
    talk = (user("?"), agent(f"I decided that the {subject} is {said}."))
    return team.step(name, *talk, proposal=Proposal(items=(decision(subject, said, f"a{turn}"),)))


def test_no_lock_is_held_while_a_model_writes_and_both_updates_stand(team: Team) -> None:
    step = while_writing(
        team, "a", user(f"Please {NIGHT}."), proposal=Proposal(items=(rule(NIGHT, "u1"),)),
        other=lambda: deciding(team, "b", "region", "eu-west"),
    )  # fmt: skip
    assert on_board(step).notes == ()
    head = team.head()
    assert [c.text for c in head.constraints] == [NIGHT]
    assert [d.object for d in head.decisions] == ["eu-west"]  # type: ignore[attr-defined]
    assert head.turn == 2
    assert on_board(step).read.turn == 0
    assert (team.verified(), team.verified("a")) == (2, 1)


def test_a_second_value_of_one_subject_is_kept_beside_and_told(
    team: Team, caplog: pytest.LogCaptureFixture
) -> None:
    talk = (user("?"), agent("I decided that the region is us-east."))
    step = while_writing(
        team, "a", *talk, proposal=Proposal(items=(decision("region", "us-east", "a1"),)),
        other=lambda: deciding(team, "b", "region", "eu-west"),
    )  # fmt: skip
    (note,) = on_board(step).notes
    assert note.reason is Reason.BOARD_CONFLICT
    assert "us-east" in note.text
    held = {(d.object, d.status) for d in team.head().decisions}  # type: ignore[attr-defined]
    assert held == {("eu-west", "decided"), ("us-east", "hypothesis")}
    assert "board_conflict" in caplog.text
    log = team.memory._audit_of(team.thread("a"))
    assert log is not None
    last = log.last()
    assert last is not None
    assert [n["reason"] for n in last["board"]["notes"]] == ["board_conflict"]


def test_the_same_decision_by_two_agents_is_no_conflict(team: Team) -> None:
    talk = (user("?"), agent("I decided that the region is eu-west."))
    step = while_writing(
        team, "a", *talk, proposal=Proposal(items=(decision("region", "eu-west", "a1"),)),
        other=lambda: deciding(team, "b", "region", "eu-west"),
    )  # fmt: skip
    assert on_board(step).notes == ()
    assert len(team.head().decisions) == 1  # type: ignore[attr-defined]


def test_changing_and_ending_what_others_have_changed_is_told(team: Team) -> None:
    deciding(team, "b", "region", "eu-west")

    def change() -> None:
        changed = decision("region", "eu-north", "a2", id="Bz1")
        talk = (user("?"), agent("I decided that the region is eu-north."))
        team.step("b", *talk, proposal=Proposal(items=(changed,)))

    ends = Proposal(retire=(end("Bz1", "u1", quote="drop it"),))
    step = while_writing(team, "a", user("drop it"), proposal=ends, other=change)
    assert [n.reason for n in on_board(step).notes] == [Reason.BOARD_CONFLICT]
    assert [d.object for d in team.head().decisions] == ["eu-north"]  # type: ignore[attr-defined]


def test_two_liftings_of_one_rule_end_it_once(team: Team) -> None:
    team.step("a", user(f"Please {NIGHT}."), proposal=Proposal(items=(rule(NIGHT, "u1"),)))
    lift = "You may page anybody between 22:00 and 07:00 again."

    def lifted() -> None:
        gone = Proposal(retire=(end("Bc1", "u1", quote=lift),))
        team.step("b", user(lift), proposal=gone)

    gone = Proposal(retire=(end("Bc1", "u2", quote=lift),))
    step = while_writing(team, "a", user(lift), proposal=gone, other=lifted)
    assert [n.detail for n in on_board(step).notes] == ["another agent ended it meanwhile"]
    assert not team.head().constraints


def test_a_half_on_the_state_that_it_was_made_on_is_unchanged() -> None:
    half = Half(Proposal(items=(decision("a", "b", "a1"),)))
    state = BoardState.empty()
    assert rebased(half, state, state).half is half


def test_many_threads_of_one_process_lose_nothing(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:

        def talk(name: int) -> None:
            state = None
            for turn in range(3):
                said = Turn.said(f"Never restart host-{name}-{turn}.")
                thread = Thread(thread="t", agent=f"agent-{name}", user="bob")
                state = memory.step(state, said, thread=thread, board=BOARD).state

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(talk, range(6)))
        thread = Thread(thread="t", agent="any", user="bob")
        head = memory.read_board(BOARD, thread=thread)
        assert {c.text for c in head.constraints} == {
            f"Never restart host-{name}-{turn}" for name in range(6) for turn in range(3)
        }
        assert head.version == 18
        assert Team(memory).verified() == 18


class Failing(FolderLogs):
    """Logs that take no record of one thread, as if the process were killed before it."""

    is_down = True

    def append(self, name: str, line: bytes, after: End | None) -> End:
        if self.is_down and name.startswith("of-"):
            raise AuditError("killed")
        return super().append(name, line, after)


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_step_repeated_after_a_kill_between_both_commits_doubles_nothing(
    tmp_path: Path, is_seen: bool
) -> None:
    logs = Failing(tmp_path)
    script = Script()
    memory = MemoryController(InMemoryStore(), script, Settings(audit=logs))
    team = Team(memory, script)
    talk = (user(f"Please {NIGHT}."), agent("I decided that the region is eu-west."))
    whole = Proposal(items=(rule(NIGHT, "u1"), decision("region", "eu-west", "a1")))

    def propose(state: CompressedCognitiveState) -> Proposal:
        """A model that sees what the board holds already, or one that writes it again."""
        return Proposal() if is_seen and state.constraints else whole

    with pytest.raises(AuditError, match="killed"):
        team.step("a", *talk, proposal=propose)
    assert team.head().version == 1
    logs.is_down = False
    step = team.step("a", *talk, proposal=propose)
    assert team.head().version == 1
    assert on_board(step).commit is None
    assert on_board(step).state.hash == team.head().hash
    assert (team.verified(), team.verified("a")) == (1, 1)
    with memory.board(BOARD)._locked_log(team.place) as log:
        held = [a.text for a in log.branch("main").artifacts if a.kind == "observation"]
    assert held == [o.text for o in talk]


def test_an_older_state_of_the_board_is_no_head(team: Team) -> None:
    """A state of the board cannot be handed in; a step of its thread from an older state is refused."""
    first = on_board(deciding(team, "a", "region", "eu-west")).state
    deciding(team, "b", "owner", "Ann")
    board = team.memory.board(BOARD)
    with board._running(first, Turn.said("x"), team.place) as run:
        run.store()
        run.think()
        with pytest.raises(ConflictError):
            run.persist()
    assert team.head().turn == 2
    assert [d.object for d in team.head().decisions] == ["eu-west", "Ann"]  # type: ignore[attr-defined]
    deciding(team, "a", "port", "8443")
    assert len(team.head().decisions) == 3  # type: ignore[attr-defined]


def test_an_operator_and_an_agent_write_at_once(team: Team) -> None:
    team.step("a", user(f"Please {NIGHT}."), proposal=Proposal(items=(rule(NIGHT, "u1"),)))
    board = team.memory.board(BOARD)
    began = threading.Barrier(2)

    def retire() -> None:
        began.wait()
        board.retire(["c1"], "over", thread=team.place)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(retire)
        began.wait()
        deciding(team, "b", "region", "eu-west")
        done.result()
    head = team.head()
    assert not head.constraints
    assert len(head.decisions) == 1  # type: ignore[attr-defined]
