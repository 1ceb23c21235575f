"""Every artifact comes back from Chroma equal, or is refused before it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_processes import Record

from acc.errors import StoreError
from acc.stores.chroma.rows import from_row, row_id, to_rows
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.protocol import RECORD_BYTES, Artifact
from acc.turn.observations import Channel, Trust

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=200)
HOSTILE_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
INTEGERS = st.integers(-(2**63), 2**63 - 1)


def artifacts(text: st.SearchStrategy[str]) -> st.SearchStrategy[Artifact]:
    fields: dict[str, st.SearchStrategy[Any]] = dict.fromkeys(
        ["id", "thread", "branch", "ref", "name", "call_id", "text", "identity", "reason", "at"],
        text,
    )
    fields |= dict.fromkeys(["seq", "turn", "part", "parts"], INTEGERS)
    fields["channel"] = st.sampled_from(Channel)
    fields["trust"] = st.none() | st.sampled_from(Trust)
    fields["kind"] = st.sampled_from(["observation", "set_aside", "branch", "successor"])
    fields["sources"] = st.lists(text, max_size=4).map(tuple)
    return st.builds(Artifact, **fields)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaArtifactStore]:
    with closing(ChromaArtifactStore.embedded(tmp_path_factory.mktemp("chroma"))) as opened:
        yield opened


@given(artifacts(ANY_TEXT))
def test_an_artifact_comes_back_equal(artifact: Artifact) -> None:
    (row,) = to_rows("tenant", [artifact])
    assert from_row(row.id, row.document, row.metadata) == artifact


@given(artifacts(HOSTILE_TEXT))
def test_what_is_no_text_is_refused(artifact: Artifact) -> None:
    texts = map(str, (*artifact.model_dump().values(), *artifact.sources))
    if re.search("[\ud800-\udfff]", "".join(texts)):
        with pytest.raises(StoreError, match="lone surrogate"):
            to_rows("tenant", [artifact])
    else:
        (row,) = to_rows("tenant", [artifact])
        assert from_row(row.id, row.document, row.metadata) == artifact


numbers = count()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(artifact=artifacts(ANY_TEXT))
def test_chroma_keeps_it(store: ChromaArtifactStore, artifact: Artifact) -> None:
    unique = artifact.model_copy(update={"id": f"{artifact.id}{next(numbers)}"})
    store.add("hypothesis", [unique])
    assert store.get("hypothesis", [unique.id]) == [unique]


@pytest.mark.parametrize("filler", ["x", "é", "語", "🧬"])
def test_quotas_of_the_hosted_chroma_hold(record: Record, filler: str) -> None:
    size = len(filler.encode())
    long = record(
        1,
        filler * (RECORD_BYTES // size),
        name=filler * (11_000 // size),
        call_id=filler * (11_000 // size),
        reason=filler * (11_000 // size),
        sources=("u1", filler * (11_000 // size)),
        id=filler * 200,
    )
    (row,) = to_rows(filler * 250, [long])
    assert from_row(row.id, row.document, row.metadata) == long
    assert len(row.id.encode()) <= 128
    assert len(row.document.encode()) <= 16_384
    assert len(row.metadata) <= 32
    assert all(len(key.encode()) <= 36 for key in row.metadata)
    assert all(len(str(value).encode()) <= 4_096 for value in row.metadata.values())


def test_ids_that_look_hashed_stay_apart() -> None:
    long = "x" * 300
    assert row_id(long) != row_id(row_id(long))
    assert row_id("thread.main:7") == "thread.main:7"


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "é" * 8_001},
        {"reason": "r" * 48_000},
        {"sources": ("",) * 16_000},
        {"seq": 2**63},
        {"part": -(2**63) - 1},
    ],
)
def test_too_much_is_refused_before_anything_is_written(
    store: ChromaArtifactStore, record: Record, fields: dict[str, Any]
) -> None:
    good = record(1, id=f"beside {sorted(fields)}")
    with pytest.raises(StoreError, match="To fix:"):
        store.add("tenant", [good, record(2).model_copy(update=fields)])
    assert store.get("tenant", [good.id]) == []


@pytest.mark.parametrize(
    ("document", "changed"),
    [
        ("another text", {}),
        (None, {}),
        ("text", {"sha256": "0" * 64}),
        ("text", {"seq": "first"}),
        ("text", {"channel": "system"}),
        ("text", {"sources": "[1"}),
        ("text", {"name.x": "more"}),
        ("text", {"reason.1": "more"}),
    ],
)
def test_a_changed_row_is_found(
    record: Record, document: str | None, changed: dict[str, Any]
) -> None:
    (row,) = to_rows("tenant", [record(1, "text")])
    with pytest.raises(StoreError, match=r"record 'thread\.main:1'"):
        from_row(row.id, document, {**row.metadata, **changed})
    with pytest.raises(StoreError, match="changed after it was stored"):
        from_row(row.id, "text", None)
