"""The laws on a board that agents share: bounds on the sum, trust, and nothing private on it, whatever is proposed."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from strategies import LOWER_WORDS, Known, lying_proposals, observations

from acc import (
    InMemoryStore,
    MemoryController,
    Observation,
    PinnedOverflow,
    Proposal,
    Settings,
    Thread,
    Turn,
)
from acc.board import Board, BoardState, MeasuredBoardState
from acc.board.board import HEADING, OWN_HEADING
from acc.commit.commit import commit
from acc.errors import AccError
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.turn.observations import Channel, Evidence, Trust

BOARDS = [
    Board("b", policy=Policy(schema=schema, max_tokens=220))
    for schema in (BoardState, MeasuredBoardState)
]
OWN = Policy(max_tokens=200)
AGENTS = [Thread(thread=name, agent=name, user="bob") for name in ("ann", "ben", "cid")]


class Lying:
    """A compressor that lies about what it sees, the board's items too."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        known = Known(state, turn, tuple(evidence))
        return self.draw(lying_proposals(known))


def said(draw: st.DrawFn) -> list[Observation]:
    told: list[Observation] = draw(st.lists(observations(), min_size=1, max_size=3))
    told += [
        Observation(channel=Channel.AGENT, text=o.text)
        for o in told
        if o.trust < Trust.AGENT and draw(st.booleans())
    ]
    return told


@given(st.data())
def test_a_board_is_bounded_trusted_and_holds_nothing_private(data: st.DataObject) -> None:
    memory = MemoryController(InMemoryStore(), Lying(data.draw), Settings(policy=OWN))
    states: dict[str, CompressedCognitiveState | None] = {}
    board = data.draw(st.sampled_from(BOARDS))
    place = board.thread_of(AGENTS[0])
    for _ in range(data.draw(st.integers(3, 7))):
        thread = data.draw(st.sampled_from(AGENTS))
        turn = Turn(observations=tuple(said(data.draw)))
        try:
            step = memory.step(states.get(thread.agent), turn, thread=thread, board=board)
        except PinnedOverflow:
            continue
        states[thread.agent] = step.state
        assert step.board is not None
        shared = step.board.state
        bound = board.policy.max_tokens + OWN.max_tokens + OWN.counter(HEADING + OWN_HEADING) + 2
        assert OWN.counter(board.rendered(shared, step.state, OWN)) <= bound
        assert OWN.tokens(step.state) <= OWN.max_tokens
        assert board.policy.tokens(shared) <= board.policy.max_tokens
        with memory.board(board)._locked_log(place) as log:
            branch = log.branch(shared.branch)
            texts = {a.text for a in branch.artifacts if a.kind == "observation"}
            for slot, item in shared.items():
                words = set(item.words.lower().replace(",", "").split())
                assert item.trust >= type(shared).slots()[slot.name].rules.min_trust, item
                assert item.trust < Trust.AGENT or not words & LOWER_WORDS, item
                assert all(branch.parts(ref) for ref in item.sources), item
        done = step.board.commit
        if done is not None:
            cited = {ref for _, item in shared.items() for ref in item.sources}
            assert texts <= {a.text for a in branch.artifacts}
            assert cited <= {a.ref for a in branch.artifacts}


@given(st.data())
def test_the_view_is_committed_like_any_state(data: st.DataObject) -> None:
    """A compressor may try a commit on what it sees; the view is a state under a policy of its own."""
    seen: list[tuple[CompressedCognitiveState, Turn]] = []
    lying = Lying(data.draw)

    class Trying:
        def under(self, policy: Policy) -> object:
            def compressor(
                turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
            ) -> Proposal:
                proposal = lying(turn, state, evidence)
                try:
                    done = commit(state, proposal, turn, evidence, policy)
                    assert policy.tokens(done.state) <= policy.max_tokens
                except PinnedOverflow:
                    pass
                seen.append((state, turn))
                return proposal

            return compressor

        def __call__(self, *_: object) -> Proposal:
            raise AccError("not bound")

    memory = MemoryController(InMemoryStore(), Trying(), Settings(policy=OWN))
    board = data.draw(st.sampled_from(BOARDS))
    states: dict[str, CompressedCognitiveState | None] = {}
    for _ in range(4):
        thread = data.draw(st.sampled_from(AGENTS))
        turn = Turn(observations=tuple(said(data.draw)))
        try:
            step = memory.step(states.get(thread.agent), turn, thread=thread, board=board)
        except PinnedOverflow:
            continue
        states[thread.agent] = step.state
        assert not step.failure
    assert seen
