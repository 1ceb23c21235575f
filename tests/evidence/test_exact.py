"""Words counted once give the scores of the index that counts them at each query."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acc.recall.candidates import WordCounts
from acc.stores.protocol import Artifact
from acc.text.ranking import LexicalIndex

TEXTS = st.lists(
    st.sampled_from(["lamp", "lamps", "yard", "of", "ORA-00942", "went", "9"]), max_size=9
)


def record(seq: int, words: list[str]) -> Artifact:
    return Artifact(
        id=f"t.main:{seq}", thread="t", branch="main", seq=seq, turn=seq, text=" ".join(words)
    )


@given(st.lists(TEXTS, max_size=12), st.lists(TEXTS, min_size=1, max_size=4), st.integers(0, 12))
def test_the_scores_are_those_of_an_index(
    texts: list[list[str]], queries: list[list[str]], most: int
) -> None:
    counts, records = WordCounts(most), [record(n, words) for n, words in enumerate(texts)]
    for turn, query in enumerate(queries):
        shown = [*records[turn:], record(0, query)]  # the text under an id may be another by now
        index = LexicalIndex()
        for artifact in shown:
            index.add(artifact.text)
        assert counts.bm25(" ".join(query), shown).tolist() == index.bm25(" ".join(query)).tolist()
