"""Recall over the part of a thread that was read, and the store's own query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from messages import THREAD, Journal, said, words

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.embedding import Embedder
from acc.artifacts.recall import Recall, backwards
from acc.gate import qualify
from acc.journal import StoredMessage
from acc.text.ranking import LexicalIndex

TEXTS = [
    "We deploy billing on Fridays. Lunch is at noon.",
    "Who owns the budget?",
    "Ann does, since March.",
    "The deploy of billing-db-7 failed with ORA-00942.",
    "The weather is fine.",
]


def themes(texts: Sequence[str]) -> list[list[float]]:
    """Know two themes by their words."""
    pets, money = ("cat", "dog", "animal"), ("budget", "cost", "money")
    return [
        [0.01, *(float(any(word in text.lower() for word in own)) for own in (pets, money))]
        for text in texts
    ]


def journal(texts: Sequence[str] = TEXTS) -> Journal:
    made = Journal()
    for text in texts:
        made.write(text)
    return made


def test_an_index_scores_the_same_whatever_the_order() -> None:
    texts = [*TEXTS, *TEXTS[::-1]]

    def scored(rows: Sequence[int]) -> dict[int, float]:
        index = LexicalIndex()
        for row in rows:
            index.add(texts[row], texts[row - 1] if row else "", row)
        scores = index.in_context(index.bm25("deploy billing budget"))
        return dict(zip(rows, scores.tolist(), strict=True))

    wanted = scored(range(10))
    assert max(wanted.values()) > 0
    assert scored([7, 8, 9, 0, 1, 2, 3, 4, 5, 6]) == pytest.approx(wanted)


def test_the_gate_admits_what_answers() -> None:
    made, question = journal(), "When do we deploy billing?"
    found = Recall(None).recall(THREAD, question, made.newest, made.around)
    admitted, _ = qualify(found, question, "", frozenset())
    assert admitted[0].text.startswith("We deploy billing on Fridays.")


def test_new_messages_are_read_and_known_ones_are_not_read_again() -> None:
    made, recall = journal(), Recall(None)
    recall.recall(THREAD, "budget", made.newest, made.around)
    made.write("The budget is 40,000.")
    seen = []

    def newest() -> object:
        for row in made.newest():
            seen.append(row.seq)
            yield row

    found = recall.recall(THREAD, "budget", newest, made.around)  # type: ignore[arg-type]
    assert "The budget is 40,000." in [c.evidence.text for c in found]
    assert seen == [5, 4]


def test_the_store_proposes_what_lies_before_the_window(tmp_path: Path) -> None:
    made = journal(["The xylophone is in room 9.", *(words(n) for n in range(200))])
    store = ChromaStore.embedded(tmp_path)
    store.add(THREAD, made.rows)
    question = "Where is the xylophone?"
    found = Recall(store, window=500).recall(THREAD, question, made.newest, made.around)
    assert found[0].evidence.text == "The xylophone is in room 9."


def test_meaning_finds_what_shares_no_word(tmp_path: Path) -> None:
    made = journal([*TEXTS, "My cat needs a vet."])
    store = ChromaStore.embedded(tmp_path, Embedder("themes", 3, themes))
    store.add(THREAD, made.rows)
    by_words = Recall(store, weight=0.0).recall(THREAD, "Any animals?", made.newest, made.around)
    by_meaning = Recall(store, weight=0.7).recall(THREAD, "Any animals?", made.newest, made.around)
    assert by_words == []
    assert by_meaning[0].evidence.text == "My cat needs a vet."
    assert qualify(by_meaning, "Any animals?", "", frozenset())[0]


@pytest.mark.parametrize("window", [100, 400_000])
def test_a_store_that_fails_is_told_where_it_is_asked_and_words_are_left(
    window: int, tmp_path: Path
) -> None:
    """One that knows words alone is not asked while the whole thread is read."""
    made, store = journal(), ChromaStore.embedded(tmp_path)
    store.close()
    recall = Recall(store, window=window)
    assert recall.recall(THREAD, "Who owns the budget?", made.newest, made.around)
    assert (recall.last_error is None) == (window > 100)


def test_a_fork_sees_nothing_later_than_it(tmp_path: Path) -> None:
    made = journal(["The code is 1.", "Then this.", "The code is 2."])
    fork = [said(2, "The code is 3.", "fork")]
    store = ChromaStore.embedded(tmp_path)
    store.add(THREAD, [*made.rows, *fork])
    branches = (("main", 1), ("fork", None))

    def newest() -> list[StoredMessage]:
        return [*fork, *made.rows[1::-1]]

    around = Journal(newest()).around
    found = Recall(store).recall(THREAD, "What is the code?", newest, around, branches=branches)
    assert {c.evidence.text for c in found} == {"The code is 1.", "The code is 3.", "Then this."}
    upto = Recall(store).recall(THREAD, "the code?", newest, around, branches=branches, upto=1)
    assert "The code is 3." not in {c.evidence.text for c in upto}


def test_a_journal_is_read_backwards_by_pages() -> None:
    made, pages = journal(["x"] * 10), []

    def read(first: int, count: int) -> list[StoredMessage]:
        pages.append(first)
        return made.rows[first : first + count]

    assert [row.seq for row in backwards(read, 8, 4)] == list(range(8, -1, -1))
    assert pages == [5, 1, 0]


def test_what_is_around_a_proposal_lies_on_the_ancestry(tmp_path: Path) -> None:
    made = journal(["filler"] * 3 + ["The xylophone is red."] + ["filler"] * 4)
    secret = said(4, "The xylophone is blue.")
    made.rows[4] = secret
    fork = [said(n, f"filler number {n}", "fork") for n in range(4, 60)]
    store = ChromaStore.embedded(tmp_path)
    store.add(THREAD, [*made.rows, *fork])
    branches = (("main", 3), ("fork", None))
    recall = Recall(store, window=100)
    seen = Journal([*made.rows[:4], *fork])
    found = recall.recall(
        THREAD, "the xylophone?", lambda: reversed(fork), seen.around, branches=branches
    )
    texts = [c.evidence.text for c in found]
    assert texts[0] == "The xylophone is red."
    assert "The xylophone is blue." not in texts


def test_what_was_erased_is_forgotten() -> None:
    made, recall = journal(), Recall(None)
    recall.recall(THREAD, "budget", made.newest, made.around)
    del made.rows[1]
    recall.forget(THREAD)
    found = recall.recall(THREAD, "Who owns the budget?", made.newest, made.around)
    assert "Who owns the budget?" not in [c.evidence.text for c in found]
