"""`acc.recall.candidates`: bounded, exact, and never what the agent reads anyway or has yet to live."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import add, agent, document, fact, tool, user

from acc import Settings
from acc.controller import MemoryController
from acc.errors import CompressionError
from acc.pipeline.turn_pipeline import Step
from acc.recall.candidates import Candidate, Recall
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Thread
from acc.testing.scripted import ScriptedCompressor
from acc.thread.log import ThreadLog
from acc.turn.observations import Evidence, Observation
from acc.turn.turn import Turn

State = CompressedCognitiveState
THREAD = Thread(thread="t")
NOW = "2026-01-01T00:00:00.000Z"
WORDS = ("lisbon", "hotel", "budget", "flight", "visa", "INC-4211", "the")


def quiet(*_: object) -> Proposal:
    return Proposal()


class Watched(Recall):
    """Recall that keeps what it proposed, and for which turn and state."""

    def __init__(self, **given: object) -> None:
        super().__init__(**given)
        object.__setattr__(self, "seen", [])

    def __call__(self, turn: Turn, state: State, branch: object) -> list[Candidate]:
        found = super().__call__(turn, state, branch)
        self.seen.append((turn, state, found))
        return found


def turn_of(*said: Observation) -> Turn:
    return Turn(observations=said)


def remembering(*texts: str) -> tuple[MemoryController, State]:
    """A memory of a thread in which the user said ``texts``, a turn each."""
    memory = MemoryController(InMemoryStore(), quiet)
    state: State | None = None
    for text in texts:
        state = memory.step(state, Turn.said(text), thread="t").state
    assert state is not None
    return memory, state


def recalled(
    memory: MemoryController, state: State, question: str, recall: Recall | None = None
) -> list[Candidate]:
    branch = memory._log_of(THREAD).branch(state.branch)
    turn = Turn.said(question).numbered(state.turn + 1)
    return (recall or Recall())(turn, state, branch)


class TestBounds:
    @pytest.mark.parametrize("most", [0, 1, 3, 16])
    def test_there_are_no_more_than_asked(self, most: int) -> None:
        memory, state = remembering(*(f"the hotel in Lisbon, try {n}" for n in range(40)))
        found = recalled(memory, state, "Which hotel in Lisbon?", Recall(limit=most))
        assert len(found) == most

    def test_scores_fall_from_one(self) -> None:
        memory, state = remembering("hotel", "hotel in Lisbon", "Lisbon", "budget", "hotel hotel")
        scores = [c.score for c in recalled(memory, state, "hotel in Lisbon")]
        assert scores[0] == 1.0
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)

    def test_ties_go_to_the_later(self) -> None:
        memory, state = remembering(*["the same budget"] * 5)
        apart = Recall(limit=5)
        found = [c.artifact.seq for c in recalled(memory, state, "budget", apart)]
        best = [c.artifact.seq for c in recalled(memory, state, "budget", apart) if c.score == 1.0]
        assert best == sorted(best, reverse=True)
        assert sorted(found) == [1, 2, 3, 4, 5]

    @pytest.mark.parametrize("question", ["", "the", "?!", "unheard of words"])
    def test_a_question_without_a_known_word_recalls_nothing(self, question: str) -> None:
        memory, state = remembering("hotel", "budget")
        assert recalled(memory, state, question) == []

    def test_an_empty_thread_has_nothing(self) -> None:
        branch = ThreadLog(InMemoryStore(), THREAD, lambda: NOW).branch("main")
        assert Recall()(Turn.said("hotel").numbered(1), State.empty(), branch) == []


class TestWhatTheAgentReads:
    def test_neither_the_turn_nor_the_reply_before(self) -> None:
        watched = Watched()
        memory = MemoryController(InMemoryStore(), quiet, Settings(recall=watched))
        state = memory.step(None, Turn.said("Which hotel?"), thread="t").state
        said = (
            tool("hotel found"),
            agent("The hotel is the Bairro."),
            user("And the other hotel?"),
        )
        state = memory.step(state, turn_of(*said), thread="t").state
        memory.step(state, turn_of(tool("hotel again"), user("hotel hotel")), thread="t")
        _, _, found = watched.seen[-1]
        assert {c.artifact.ref for c in found} == {"u1", "u2", "t2"}

    def test_not_what_is_pending(self) -> None:
        watched = Watched()
        script = ScriptedCompressor([Proposal(), CompressionError("no"), Proposal(), Proposal()])
        memory = MemoryController(InMemoryStore(), script, Settings(recall=watched))
        state = memory.step(None, Turn.said("hotel one"), thread="t").state
        state = memory.step(state, Turn.said("hotel two"), thread="t").state
        assert [o.ref for o in state.pending] == ["u2"]
        state = memory.step(state, Turn.said("hotel three"), thread="t").state
        assert {c.artifact.ref for c in watched.seen[-1][2]} == {"u1"}
        memory.step(state, Turn.said("hotel four"), thread="t")
        assert {c.artifact.ref for c in watched.seen[-1][2]} == {"u1", "u2", "u3"}

    def test_pasted_passages_of_the_turn_are_read_too(self) -> None:
        watched = Watched()
        memory = MemoryController(InMemoryStore(), quiet, Settings(recall=watched))
        pasted = "Look at this hotel:\n```\nhotel Bairro, hotel Avenida\n```"
        memory.step(None, Turn.said(pasted), thread="t")
        assert watched.seen[-1][2] == []

    def test_a_long_text_that_is_read_is_left_out_with_all_its_parts(self) -> None:
        watched = Watched(limit=1_000)
        memory = MemoryController(InMemoryStore(), quiet, Settings(recall=watched))
        long = "\n".join(f"the hotel number {n}" for n in range(3_000))
        state = memory.step(None, turn_of(tool(long), user("Which hotel?")), thread="t").state
        assert watched.seen[-1][2] == []
        memory.step(state, Turn.said("Which hotel was it?"), thread="t")
        assert {c.artifact.ref for c in watched.seen[-1][2]} == {"t1", "u1"}


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
turns = st.builds(
    lambda before, said: turn_of(*before, user(said)),
    st.lists(st.one_of(texts.map(agent), texts.map(tool), texts.map(document)), max_size=2),
    texts,
)


class TestAnyHistory:
    @given(st.data())
    def test_candidates_come_from_the_states_own_past(self, data: st.DataObject) -> None:
        """Random trees of futures, with failed compressions among the turns."""
        watched = Watched()
        store = InMemoryStore()
        failing = [False]

        def now_and_then(*_: object) -> Proposal:
            if failing[0]:
                raise CompressionError("no")
            return Proposal()

        memory = MemoryController(store, now_and_then, Settings(recall=watched))
        pasts: list[tuple[State, tuple[str, ...]]] = [(State.empty(), ())]
        for _ in range(data.draw(st.integers(2, 7))):
            state, past = data.draw(st.sampled_from(pasts))
            failing[0] = data.draw(st.integers(0, 3)) == 0
            done = memory.step(state, data.draw(turns), thread="t")
            self._check(watched, done, state, past)
            own = tuple(f"{o.ref}: {o.text}" for o in done.turn.observations)
            pasts.append((done.state, (*past, *own)))

    @staticmethod
    def _check(watched: Watched, done: Step, state: State, past: tuple[str, ...]) -> None:
        turn, _, found = watched.seen[-1]
        assert len(found) <= watched.limit
        assert {f"{c.artifact.ref}: {c.artifact.text}" for c in found} <= set(past)
        assert not {c.artifact.ref for c in found} & {o.ref for o in turn.readable}
        assert all(c.artifact.turn <= state.turn for c in found)
        assert len({c.artifact.id for c in found}) == len(found)
        assert len(done.verdicts) == len(found)

    @given(st.lists(texts, min_size=1, max_size=8), texts)
    def test_the_same_from_any_reader(self, said: list[str], question: str) -> None:
        memory, state = remembering(*said)
        fresh = MemoryController(memory.artifacts, quiet)
        one, other = (recalled(m, state, question) for m in (memory, fresh))
        assert one == other
        assert one == recalled(memory, state, question)

    @given(st.lists(texts, min_size=2, max_size=8), texts)
    def test_exact_whatever_matches_is_found(self, said: list[str], question: str) -> None:
        memory, state = remembering(*said)
        asked = set(question.split()) - {"the"}
        matching = {n for n, text in enumerate(said, 1) if asked & set(text.split())}
        found = {c.artifact.seq for c in recalled(memory, state, question, Recall(limit=100))}
        assert matching <= found

    def test_what_came_later_does_not_change_what_an_old_state_recalls(self) -> None:
        """Neither scores nor verdicts of a retry know the turns that followed."""
        watched = Watched()
        memory = MemoryController(InMemoryStore(), quiet, Settings(recall=watched))
        said = [
            "hotel in Lisbon",
            "the budget is 900",
            "flight to Lisbon",
            "Which hotel in Lisbon?",
        ]
        states: list[State] = [State.empty()]
        for text in said:
            states.append(memory.step(states[-1], Turn.said(text), thread="t").state)
        first = watched.seen[-1][2]
        state = states[-1]
        for n in range(30):
            state = memory.step(state, Turn.said(f"Lisbon, budget {n}"), thread="t").state
        memory.step(states[-2], Turn.said(said[-1]), thread="t")
        again = watched.seen[-1][2]
        assert [c.artifact.ref for c in again] == [c.artifact.ref for c in first]
        assert [c.score for c in again] == pytest.approx([c.score for c in first])


class TestConditioning:
    """What the state adds to the user's words (an ablation in small)."""

    def test_a_question_that_names_nothing_finds_what_the_state_is_about(self) -> None:
        memory, state = remembering(
            "The Bairro hotel has a room at 140.", "Flights are on Tuesday.", "Bring an umbrella."
        )
        state = noting(memory, state, "Let us look at the Bairro.", name="Bairro hotel")
        blind = recalled(memory, state, "How much was it?", Recall(state_weight=0))
        sighted = recalled(memory, state, "How much was it?")
        assert blind == []
        assert sighted[0].artifact.ref in ("u1", "u4")
        assert "u1" in {c.artifact.ref for c in sighted}
        assert all(c.by_turn == 0 for c in sighted)

    def test_it_decides_between_equals(self) -> None:
        memory, state = remembering(
            "The room at the Avenida costs 90.", "x", "The room at the Bairro costs 140.", "y",
            "The room at the Chiado costs 120.",
        )  # fmt: skip
        state = noting(memory, state, "I like it there.", name="Avenida")
        question = "What does the room cost?"
        assert recalled(memory, state, question)[0].artifact.ref == "u1"
        blind = recalled(memory, state, question, Recall(state_weight=0))
        assert blind[0].artifact.ref != "u1"

    def test_the_users_words_dominate(self) -> None:
        memory, state = remembering(
            "The visa costs 60.", *["The Bairro hotel, the Bairro hotel."] * 6
        )
        state = noting(memory, state, "Fine.", name="Bairro hotel")
        found = recalled(memory, state, "What does the visa cost?")
        assert found[0].artifact.ref == "u1"
        assert found[0].by_turn > 0.9

    @given(st.lists(texts, min_size=2, max_size=8), texts, st.sampled_from(WORDS))
    def test_what_the_user_did_not_ask_for_never_beats_a_full_match(
        self, said: list[str], question: str, name: str
    ) -> None:
        memory, state = remembering(*said)
        state = noting(memory, state, "ok", name=name)
        found = recalled(memory, state, question, Recall(limit=100))
        for candidate in found:
            assert 0 <= candidate.by_turn <= 1 + 1e-9
        blind = recalled(memory, state, question, Recall(limit=100, state_weight=0))
        assert {c.artifact.seq for c in blind} <= {c.artifact.seq for c in found}

    def test_gaps_and_cues_condition_it_too_and_facts_do_not(self) -> None:
        memory, state = remembering("The visa costs 60.", "Umbrellas are sold out.")
        gap = noting(memory, state, "ok", add("uncertainty_signal", "u3", gap="price of the visa"))
        assert recalled(memory, gap, "And?")[0].artifact.ref == "u1"
        cue = add("predictive_cue", "u3", text="book the visa")
        cued = noting(memory, state, "ok then, book the visa", cue)
        assert "u1" in [c.artifact.ref for c in recalled(memory, cued, "And?")]
        known = noting(memory, state, "all right", fact("visa", "costs", "60", "u3"))
        assert recalled(memory, known, "And?") == []


def noting(
    memory: MemoryController, state: State, text: str, *items: object, name: str = ""
) -> State:
    """Step with a compressor that notes ``items``, or an entity of that name."""

    def note(turn: Turn, _: State, __: Sequence[Evidence]) -> Proposal:
        ref = turn.observations[-1].ref
        named = (add("focal_entities", ref, type="thing", name=name),) if name else ()
        return Proposal(items=(*named, *items))

    memory.compressor = note
    done = memory.step(state, Turn.said(text), thread="t")
    assert not done.commit.refused
    return done.state


def test_the_same_question_asked_before_is_no_measure_of_what_answers_it() -> None:
    answer = "The courier calls at the side door, says Mara."
    question = "At which door of the house does the courier call in the evening?"
    memory, state = remembering(answer, "Nice weather.", question, "Thanks.", "Bye.")
    scores = {c.artifact.ref: c.score for c in recalled(memory, state, question)}
    assert scores.pop("u3") == max(scores.values()) == 1.0
    assert scores["u1"] > 0.7  # measured against the question it was 0.52
