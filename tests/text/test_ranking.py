"""`acc.text.ranking`: exact against its own formula, incremental, deterministic, hard to upset."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc.text.ranking import HEAD, K1, LONGEST, PREDECESSOR, B, LexicalIndex, terms

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates and NUL included
WORDS = st.sampled_from(["lisbon", "hotel", "budget", "flight", "INC-4211", "the"])
THREADS = st.lists(st.lists(WORDS, min_size=1, max_size=8).map(" ".join), min_size=1, max_size=12)


def index_of(*documents: str, linked: bool = False) -> LexicalIndex:
    index = LexicalIndex()
    for previous, document in pairwise(("", *documents)):
        index.add(document, previous if linked else "")
    return index


def scores(index: LexicalIndex, query: str) -> dict[int, float]:
    return {at: score for at, score in enumerate(index.bm25(query).tolist()) if score}


def by_formula(documents: list[str], query: str, *, linked: bool) -> dict[int, float]:
    """The module's docstring, written down word for word."""
    share = PREDECESSOR if linked else 0
    counts = [Counter(terms(document)) for document in documents]
    before = [Counter[str](), *counts]
    tf = [
        {t: own[t] + share * past[t] for t in (own | past if linked else own)}
        for own, past in zip(counts, before, strict=False)
    ]
    lengths = [sum(each.values()) for each in tf]
    average = sum(lengths) / len(lengths)
    bm25: dict[int, float] = {}
    for t in set(terms(query)):
        df = sum(t in each for each in tf)
        idf = math.log(1 + (len(tf) - df + 0.5) / (df + 0.5))
        for at, each in enumerate(tf):
            if t in each:
                norm = K1 * (1 - B + B * lengths[at] / average)
                gain = idf * each[t] * (K1 + 1) / (each[t] + norm)
                bm25[at] = bm25.get(at, 0.0) + gain
    return bm25


class TestTerms:
    @pytest.mark.parametrize(
        ("identifier", "parts"),
        [
            ("ORA-00942", ["ora", "00942"]),
            ("10.2.3.4", ["10", "2", "3", "4"]),
            ("INC-4211", ["inc", "4211"]),
            ("db-prod-3", ["db", "prod", "3"]),
            ("v2.14.1", ["v2", "14", "1"]),
            ("ops_team@example.com", ["op", "team", "exampl", "com"]),
        ],
    )
    def test_an_identifier_is_found_whole_and_by_its_parts(
        self, identifier: str, parts: list[str]
    ) -> None:
        assert terms(f"see {identifier}, please")[1:-1] == (identifier.lower(), *parts)
        index = index_of("nothing here", f"It was {identifier}.", "nor there")
        for query in (identifier, identifier.lower(), *parts):
            assert [*scores(index, query)] == [1]

    def test_the_whole_identifier_tells_apart_what_shares_its_parts(self) -> None:
        index = index_of("4.3.2.10 answers", "10.2.3.4 answers", "2.10.4.3 answers")
        assert index.bm25("10.2.3.4").argmax() == 1

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Bookings", "booked"),
            ("went", "going"),
            ("thoughts", "think"),
            ("children", "child"),
            ("Caroline’s", "caroline"),
            ("MÜNCHEN", "münchen"),
        ],
    )
    def test_forms_of_one_word_are_one_term(self, one: str, other: str) -> None:
        assert terms(one) == terms(other) != ()

    def test_stopwords_have_no_term(self) -> None:
        assert terms("What did you do there, and who wasn't it?") == ()

    def test_what_is_too_long_for_a_term_is_found_all_the_same(self) -> None:
        word, path = "x" * 1_000, "/".join(["srv"] * 100)
        assert terms(word) == ("x" * LONGEST,)
        assert set(terms(path)) == {"srv"}

    @given(ANY_TEXT)
    def test_any_text_has_terms(self, text: str) -> None:
        assert all(0 < len(term) <= LONGEST for term in terms(text))

    @pytest.mark.parametrize("garbage", ["a", "x-", "a.b:c/d@", "\ud800", "\x00", "_", " q1"])
    def test_the_terms_of_a_megabyte_are_no_larger_than_it(self, garbage: str) -> None:
        text = garbage * (1_000_000 // len(garbage))
        assert sum(map(len, terms(text))) <= len(text)


class TestScores:
    @given(THREADS, THREADS.map(" ".join), st.booleans())
    def test_they_are_what_the_formula_says(
        self, thread: list[str], query: str, linked: bool
    ) -> None:
        found = scores(index_of(*thread, linked=linked), query)
        assert found == pytest.approx(by_formula(thread, query, linked=linked))
        assert all(score > 0 for score in found.values())

    @given(THREADS, ANY_TEXT)
    def test_querying_between_additions_changes_nothing(
        self, documents: list[str], query: str
    ) -> None:
        index = LexicalIndex()
        for at, (previous, document) in enumerate(pairwise(("", *documents))):
            assert index.add(document, previous) == at
            index.bm25(f"{query} {document}")
        batch = index_of(*documents, linked=True)
        assert len(index) == len(batch) == len(documents)
        for asked in (query, *documents):
            assert scores(index, asked) == scores(batch, asked)

    @pytest.mark.parametrize("query", ["", "the", "\ud800\x00", "unheard"])
    def test_a_query_without_known_terms_has_none(self, query: str) -> None:
        assert scores(index_of("a hotel in Lisbon", "", "\x00\ud800"), query) == {}
        assert len(LexicalIndex().bm25(query)) == 0

    def test_an_answer_is_found_by_its_question(self) -> None:
        index = index_of("Which hotel?", "The Bairro, two nights.", "Thanks!", linked=True)
        assert [*scores(index, "hotel")] == [0, 1]

    def test_only_the_head_of_a_predecessor_counts(self) -> None:
        index = LexicalIndex()
        index.add("answer", "hotel " + "x " * HEAD + "budget")
        assert scores(index, "hotel")
        assert not scores(index, "budget")
