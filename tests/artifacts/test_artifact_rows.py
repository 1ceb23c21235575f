"""Rows: whatever names and texts are, no message is another thread's or branch's, and each comes back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.protocol import Artifact, ArtifactStore, key_of
from acc.artifacts.rows import artifacts_of, id_of, part_id, parts, rows_of, seq_of, whole_id
from acc.artifacts.store import InMemoryArtifacts
from acc.journal import ThreadKey
from acc.state.tail import Message
from acc.testing.artifact_conformance import kept, said
from acc.turn.observations import Channel, Observation, storable

HOSTILE = [
    "a", "a/b", "a@b", "a:b", "a%3Ab", "a+1", "%", "_", "main", "$in", "$or", "seq:main", "'", '"', "' OR 1=1 --",
    '{"thread": "a"}', '{"thread": "a", "user": "b"}', "{", "[]", "null", "東京 🧬", "x" * 2_000, "\\", "\n", " ",
]  # fmt: skip
texts = st.sampled_from(HOSTILE) | st.text("ab:/+%@{}\"'$\\ 🧬", max_size=8)
names = texts | st.just("")
threads = st.builds(ThreadKey, texts, names, names, names)
words = st.text(max_size=20).map(storable)
places = st.tuples(threads, texts, texts)


@given(places, places)
def test_two_places_share_no_lane_and_no_id(one: tuple, other: tuple) -> None:  # type: ignore[type-arg]
    def lane(place: tuple[ThreadKey, str, str]) -> tuple[str, str]:
        return key_of(place[0]), seq_of(place[1])

    assert (lane(one) == lane(other)) == (one[:2] == other[:2])
    assert (id_of(*one) == id_of(*other)) == (one == other)
    ids = [part_id(id_of(*place), number) for place in (one, other) for number in range(12)]
    assert len(set(ids)) == (24 if one != other else 12)
    assert {whole_id(id_) for id_ in ids} == {id_of(*one), id_of(*other)}


@given(
    thread=threads, branch=texts, ref=texts, seq=st.integers(0, 1 << 40), channel=st.sampled_from(Channel),
    text=words | st.builds(lambda word: f"{word} é" * 4_000, words),
)  # fmt: skip
def test_text_channel_and_place_come_back(
    thread: ThreadKey, branch: str, ref: str, seq: int, channel: Channel, text: str
) -> None:
    seen = Observation(channel=channel, text=text, ref=ref)
    artifact = Artifact(Message(seen, 0), branch, seq)
    rows = list(rows_of(thread, artifact))
    assert artifacts_of(rows[::-1]) == [artifact]
    assert all(len(row.metadata) == 3 for row in rows if len(rows) == 1)


def test_a_text_is_cut_where_a_paragraph_a_line_or_a_word_ends() -> None:
    text = "\n\n".join(f"Paragraph {n} " + "ä" * (n * 40) for n in range(80)) + "x" * 9_000
    found = list(parts(text, 2_000))
    assert "".join(found) == text
    assert max(len(each.encode()) for each in found) <= 2_000
    assert found[0].endswith("\n\n")
    assert list(parts("one two\nthree", 9)) == ["one two\n", "three"]
    assert list(parts("")) == [""]


@pytest.fixture(scope="module", params=["memory", "chroma"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArtifactStore]:
    folder: Path = tmp_path_factory.mktemp("names")
    made = InMemoryArtifacts() if request.param == "memory" else ChromaStore.embedded(folder)
    with closing(made):
        yield made


@given(places=st.lists(places, min_size=2, max_size=4, unique=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_store_keeps_hostile_names_apart(
    store: ArtifactStore, places: list[tuple[ThreadKey, str, str]]
) -> None:
    for number, (thread, branch, ref) in enumerate(places):
        assert store.add(thread, [said(number, f"text {number}", branch, ref=ref)]) == 1
    for number, (thread, branch, ref) in enumerate(places):
        own = [(n, r) for n, (t, b, r) in enumerate(places) if (t, b) == (thread, branch)]
        seen = [(branch, None)]
        found = store.query(thread, "text", branches=seen)
        assert sorted((a.seq, a.message.ref) for a, _ in found) == own
        assert store.get(thread, [(branch, ref)]) == [
            kept(said(number, f"text {number}", branch, ref=ref))
        ]
        assert store.last(thread, branch) == own[-1][0]
        assert store.count(thread) == sum(t == thread for t, _, _ in places)
    for left, (thread, branch, ref) in reversed(list(enumerate(places))):
        store.delete(thread, [(branch, ref)])
        assert store.count() == left
