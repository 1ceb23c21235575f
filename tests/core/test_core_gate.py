"""Recall and gate of the core: what of the thread is shown beside a question."""

from __future__ import annotations

from collections.abc import Sequence

from core_threads import turn
from hypothesis import given
from hypothesis import strategies as st

from acc.artifacts.recall import Recall
from acc.gate import Candidate, Verdict, passages, qualify
from acc.journal import StoredMessage, ThreadKey
from acc.state.policy import Gate
from acc.state.tail import Message, messages_of
from acc.text.tokens import utf8_quarter
from acc.turn.observations import Channel, Evidence, Observation
from acc.turn.turn import Turn

OTHERS = (
    "The office plants need water on Friday.",
    "Ann has booked the room for the review.",
    "The printer on the second floor is out of toner.",
    "Lunch is at noon, in the garden if it stays dry.",
    "The train from Leeds was late again.",
    "Bob will bring the projector.",
)
GATE = Gate()
QUESTION = "What is the disk quota of db-7?"


class Thread:
    """The messages of a thread, and recall over them."""

    def __init__(self) -> None:
        self.rows: list[StoredMessage] = []

    def add(self, message: Message) -> None:
        self.rows.append(StoredMessage(message, "main", len(self.rows)))

    def recall(self, question: str) -> list[Candidate]:
        newest = reversed(self.rows)
        numbered = lambda numbers: [self.rows[number] for number in numbers]  # noqa: E731
        return Recall(None).recall(ThreadKey("t"), question, lambda: newest, numbered)


def index_of(*turns: Sequence[tuple[str, str]], others: bool = True) -> Thread:
    """Return the thread of the turns, after six that speak of something else."""
    index = Thread()
    said = [[("user", text)] for text in OTHERS] if others else []
    for number, each in enumerate([*said, *turns], 1):
        for message in messages_of(turn(*each, number=number)):
            index.add(message)
    return index


def gated(
    index: Thread,
    question: str = QUESTION,
    read: str = "",
    tail: Sequence[str] = (),
    gate: Gate = GATE,
) -> tuple[tuple[Evidence, ...], tuple[Verdict, ...]]:
    return qualify(index.recall(question), question, read, frozenset(tail), gate)


def reasons(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return the verdict on the first passage of each message."""
    return {v.ref: v.reason for v in reversed(verdicts) if v.place == 0}


class TestRecall:
    def test_a_passage_with_more_of_the_question_ranks_first(self) -> None:
        index = index_of(
            [("user", "The quota is under review.")], [("user", "The disk quota of db-7 is 40 GB.")]
        )
        assert [c.evidence.ref for c in index.recall(QUESTION)] == ["u8", "u7"]

    def test_of_the_same_words_the_later_ones_rank_first(self) -> None:
        same = [("user", "db-7 has a disk quota.")]
        refs = [
            c.evidence.ref for c in index_of(same, [("agent", "Noted.")], same).recall(QUESTION)
        ]
        assert refs.index("u9") < refs.index("u7")

    def test_an_answer_that_leaves_out_its_subject_follows_its_question(self) -> None:
        asked, answer = ("user", "And the disk quota of db-7?"), ("agent", "Forty, since May.")
        assert [c.evidence.ref for c in index_of([asked, answer]).recall(QUESTION)] == ["u7", "a7"]

    def test_tools_count_less_than_speech(self) -> None:
        text = "The disk quota of db-7 is 40 GB."
        first = index_of([("user", text)], [("agent", "Noted.")], [("tool:df", text)]).recall(
            QUESTION
        )[0]
        assert first.evidence.ref == "u7"

    def test_calls_and_empty_messages_are_left_out(self) -> None:
        call = Observation(channel=Channel.AGENT, text="disk quota db-7", name="df", call_id="1")
        empty = Observation(channel=Channel.USER, text=" \n")
        index = Thread()
        for message in messages_of(Turn(observations=(call, empty)).numbered(1)):
            index.add(message)
        assert index.recall(QUESTION) == []

    def test_passages_are_sentences_lines_and_pieces(self) -> None:
        assert list(passages("One is here. Two is there.")) == ["One is here.", "Two is there."]
        assert list(passages("a  1\nb  2\nc  3")) == ["a 1", "b 2", "c 3"]
        pieces = list(passages("word " * 200))
        assert " ".join(pieces).split() == ["word"] * 200
        assert max(map(len, pieces)) <= 400
        assert "".join(passages("x" * 999)) == "x" * 999


class TestGate:
    SAID = (("user", "The disk quota of db-7 is 40 GB."),)

    def test_what_answers_is_admitted_with_its_source(self) -> None:
        (found, *_), verdicts = gated(index_of(self.SAID))
        assert (found.ref, found.turn, found.text) == ("u7", 7, "The disk quota of db-7 is 40 GB.")
        assert reasons(verdicts)["u7"] == "admitted"

    def test_each_candidate_has_a_verdict(self) -> None:
        index = index_of(self.SAID, [("user", "A quota? Fine.")])
        assert len(gated(index)[1]) == len(index.recall(QUESTION))

    def test_nothing_is_admitted_where_the_best_covers_too_little(self) -> None:
        question = "Could Ann please tell the caterers that vegetarian sandwiches suit everybody tomorrow morning?"
        evidence, verdicts = gated(index_of(self.SAID), question)
        assert evidence == ()
        assert {v.reason for v in verdicts} == {"off_topic"}

    def test_small_talk_brings_nothing(self) -> None:
        index = index_of(self.SAID)
        assert not any(gated(index, words)[0] for words in ("", "Thanks!", "Great, perfect.", "👍"))

    def test_weak_passages_stay_out_when_the_gate_is_open(self) -> None:
        index = index_of(self.SAID, [("user", "Good.")], [("user", "The disk arrived.")])
        found = reasons(gated(index, gate=Gate(least=0.6))[1])
        assert (found["u7"], found["u9"]) == ("admitted", "off_topic")

    def test_what_stands_in_the_tail_is_not_repeated(self) -> None:
        evidence, verdicts = gated(index_of(self.SAID), tail=["u7"])
        assert "u7" not in [e.ref for e in evidence]
        assert reasons(verdicts)["u7"] == "in_tail"

    def test_what_state_or_tail_say_is_known(self) -> None:
        evidence, verdicts = gated(index_of(self.SAID), read="db-7: 40 GB (disk quota)")
        assert "u7" not in [e.ref for e in evidence]
        assert reasons(verdicts)["u7"] == "known"

    def test_a_new_figure_in_a_known_sentence_is_news(self) -> None:
        _, verdicts = gated(index_of(self.SAID), read="The disk quota of db-7 is 80 GB.")
        assert reasons(verdicts)["u7"] == "admitted"

    def test_what_an_admitted_passage_says_is_known(self) -> None:
        _, verdicts = gated(index_of(self.SAID, [("agent", "So db-7 has a quota of 40 GB.")]))
        assert sorted(reasons(verdicts)[ref] for ref in ("u7", "a8")) == ["admitted", "known"]

    def test_the_question_said_before_is_no_evidence(self) -> None:
        _, verdicts = gated(index_of([("user", QUESTION)]))
        assert reasons(verdicts)["u7"] == "known"

    def test_the_newer_version_stands_beside_the_older(self) -> None:
        index = index_of(self.SAID, [("user", "The disk quota of db-7 is now 90 GB.")])
        text = " ".join(e.text for e in gated(index)[0])
        assert "40 GB" in text
        assert "90 GB" in text

    def test_a_table_shows_the_lines_that_answer(self) -> None:
        rows = "\n".join(f"db-{n}   disk quota   {n}1 GB" for n in range(20))
        (found, *_), _ = gated(index_of([("tool:df", rows)]), gate=Gate(tokens=20))
        assert found.text.splitlines()[0] == "[...] db-7 disk quota 71 GB"

    def test_passages_of_a_message_stand_together_in_its_order(self) -> None:
        text = "The disk quota was checked by Carl. It rained. db-7 has 40 GB."
        (found, *_), _ = gated(index_of([("user", text)]), gate=Gate(least=0.45))
        assert found.text == "The disk quota was checked by Carl.\n[...] db-7 has 40 GB."

    def test_all_fits_the_budget_with_labels(self) -> None:
        turns = [
            [("user", f"db-7, disk quota, note {n}: rack {n * 37} row {n * 91}.")]
            for n in range(40)
        ]
        evidence, verdicts = gated(index_of(*turns))
        labelled = "\n".join(
            f"[earlier, {e.channel.value}, turn {e.turn}] {e.text}" for e in evidence
        )
        assert 200 < utf8_quarter(labelled) <= Gate().tokens
        assert "no_room" in reasons(verdicts).values()

    def test_evidence_stands_in_the_order_of_the_thread(self) -> None:
        index = index_of(
            self.SAID, [("user", "Carl asked for a quota."), ("agent", "db-7 is in rack 9.")]
        )
        refs = [e.ref for e in gated(index)[0]]
        assert refs == sorted(refs, key=["u7", "u8", "a8"].index)


TEXTS = st.text(max_size=60) | st.sampled_from(
    [
        "disk quota db-7",
        "\ud800 quota",
        "|" * 50,
        "quota\n" * 9,
        "\x00",
        "割当は40です。",
        "x" * 3000,
    ]
)


@given(
    st.lists(st.tuples(st.sampled_from(["user", "agent", "tool:df"]), TEXTS), max_size=5),
    TEXTS,
    TEXTS,
)
def test_hostile_text_never_raises_and_the_result_is_always_the_same(
    said: list[tuple[str, str]], question: str, read: str
) -> None:
    turns = [[each] for each in said]
    first = gated(index_of(*turns, others=False), question, read)
    assert first == gated(index_of(*turns, others=False), question, read)
    assert sum(utf8_quarter(e.text) for e in first[0]) <= Gate().tokens
