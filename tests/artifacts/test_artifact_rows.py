"""Rows: whatever names and texts are, no message is another thread's or branch's, and each comes back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from messages import said
from messages import texts as texts_of

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.store import key_of, parts, place_of, rows_of, seq_of
from acc.journal import ThreadKey

HOSTILE = [
    "a", "a/b", "a@b", "a:b", "a%3Ab", "a+1", "%", "_", "main", "$in", "$or", "seq:main", "'", '"', "' OR 1=1 --",
    '{"thread": "a"}', '{"thread": "a", "user": "b"}', "{", "[]", "null", "東京 🧬", "x" * 2_000, "\\", "\n", " ",
]  # fmt: skip
texts = st.sampled_from(HOSTILE) | st.text("ab:/+%@{}\"'$\\ 🧬", max_size=8)
names = texts | st.just("")
threads = st.builds(ThreadKey, texts, names, names, names)
places = st.tuples(threads, texts, texts)


@given(places, places)
def test_two_places_share_no_lane_and_no_id(one: tuple, other: tuple) -> None:  # type: ignore[type-arg]
    def rows(place: tuple[ThreadKey, str, str]) -> list[str]:
        thread, branch, ref = place
        return [row.id for row in rows_of(thread, said(1, "é" * 9_000, branch, ref=ref))]

    def lane(place: tuple[ThreadKey, str, str]) -> tuple[str, str]:
        return key_of(place[0]), seq_of(place[1])

    assert (lane(one) == lane(other)) == (one[:2] == other[:2])
    ids = [*rows(one), *rows(other)]
    assert len(set(ids)) == (6 if one != other else 3)
    found = [place_of(id_) for id_ in rows(one)]
    assert [(each.branch, each.ref, each.part) for each in found] == [(*one[1:], n) for n in range(3)]  # fmt: skip


def test_a_text_is_cut_where_a_paragraph_a_line_or_a_word_ends() -> None:
    text = "\n\n".join(f"Paragraph {n} " + "ä" * (n * 40) for n in range(80)) + "x" * 9_000
    found = list(parts(text, 2_000))
    assert "".join(found) == text
    assert max(len(each.encode()) for each in found) <= 2_000
    assert found[0].endswith("\n\n")
    assert list(parts("one two\nthree", 9)) == ["one two\n", "three"]
    assert list(parts("")) == [""]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaStore]:
    folder: Path = tmp_path_factory.mktemp("names")
    with closing(ChromaStore.embedded(folder)) as made:
        yield made


@given(places=st.lists(places, min_size=2, max_size=4, unique=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_store_keeps_hostile_names_apart(
    store: ChromaStore, places: list[tuple[ThreadKey, str, str]]
) -> None:
    for number, (thread, branch, ref) in enumerate(places):
        assert store.add(thread, [said(number, f"text {number}", branch, ref=ref)]) == 1
    for number, (thread, branch, ref) in enumerate(places):
        own = [(n, r) for n, (t, b, r) in enumerate(places) if (t, b) == (thread, branch)]
        found = store.query(thread, "text", branches=[(branch, None)])
        assert sorted((a.seq, a.ref) for a in found) == own
        assert texts_of(store, thread, [ref])[branch, ref] == f"text {number}"
        assert store.last(thread, branch) == own[-1][0]
        assert store.count(thread) == sum(t == thread for t, _, _ in places)
    for left, (thread, branch, ref) in reversed(list(enumerate(places))):
        store.delete(thread, [ref], branch)
        assert store.count() == left
