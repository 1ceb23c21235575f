"""The Chroma store in this process: what it keeps, and what it refuses to open."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.api import ClientAPI
from chromadb.config import Settings
from conftest import Record
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acc.errors import StoreError, StoreMismatchError
from acc.store import RECORD_BYTES, Artifact
from acc.stores.chroma import ChromaArtifactStore
from acc.stores.chroma_collections import collection_name, identity
from acc.stores.chroma_rows import from_row, row_id, to_rows
from acc.stores.embedding import embed
from acc.testing import check_store
from acc.turn import Channel, Trust

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


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[Callable[[], ClientAPI]]:
    """Opens the same path without this library."""
    clients: list[Any] = []

    def connect() -> ClientAPI:
        chosen = Settings(_env_file=None, anonymized_telemetry=False)
        clients.append(chromadb.PersistentClient(str(tmp_path), chosen))
        return clients[-1]  # type: ignore[no-any-return]

    yield connect
    for client in clients:
        client.close()


def test_it_keeps_what_a_store_promises(tmp_path: Path) -> None:
    check_store(lambda: ChromaArtifactStore.embedded(tmp_path / "made" / "on the way?mode=ro"))


def test_one_process_has_it(store: ChromaArtifactStore) -> None:
    assert store.shared is False


class TestRows:
    @given(artifacts(ANY_TEXT))
    def test_an_artifact_comes_back_equal(self, artifact: Artifact) -> None:
        (row,) = to_rows("tenant", [artifact])
        assert from_row(row.id, row.document, row.metadata) == artifact

    @given(artifacts(HOSTILE_TEXT))
    def test_what_is_no_text_is_refused(self, artifact: Artifact) -> None:
        texts = map(str, (*artifact.model_dump().values(), *artifact.sources))
        if re.search("[\ud800-\udfff]", "".join(texts)):
            with pytest.raises(StoreError, match="lone surrogate"):
                to_rows("tenant", [artifact])
        else:
            (row,) = to_rows("tenant", [artifact])
            assert from_row(row.id, row.document, row.metadata) == artifact

    _numbers = count()

    @settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(artifact=artifacts(ANY_TEXT))
    def test_chroma_keeps_it(self, store: ChromaArtifactStore, artifact: Artifact) -> None:
        unique = artifact.model_copy(update={"id": f"{artifact.id}{next(self._numbers)}"})
        store.add("hypothesis", [unique])
        assert store.get("hypothesis", [unique.id]) == [unique]

    @pytest.mark.parametrize("filler", ["x", "é", "語", "🧬"])
    def test_quotas_of_the_hosted_chroma_hold(self, record: Record, filler: str) -> None:
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

    def test_ids_that_look_hashed_stay_apart(self) -> None:
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
        self, store: ChromaArtifactStore, record: Record, fields: dict[str, Any]
    ) -> None:
        good = record(1, id=f"beside {sorted(fields)}")
        with pytest.raises(StoreError, match="To mend:"):
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
        self, record: Record, document: str | None, changed: dict[str, Any]
    ) -> None:
        (row,) = to_rows("tenant", [record(1, "text")])
        with pytest.raises(StoreError, match=r"record 'thread\.main:1'"):
            from_row(row.id, document, {**row.metadata, **changed})
        with pytest.raises(StoreError, match="not the one that was stored"):
            from_row(row.id, "text", None)


class TestMismatch:
    def test_a_collection_says_what_wrote_it(
        self, tmp_path: Path, raw: Callable[[], ClientAPI], record: Record
    ) -> None:
        with closing(ChromaArtifactStore.embedded(tmp_path)) as store:
            store.add("tenant", [record(1, "the words")])
        (collection,) = raw().list_collections()
        assert collection.name == collection_name("tenant")
        assert collection.metadata == identity()
        assert "embedding_function" not in collection.metadata
        (vector,) = collection.get(include=["embeddings"])["embeddings"]  # type: ignore[misc]
        assert vector.tolist() == embed("the words").tolist()

    @pytest.mark.parametrize("key", sorted(identity()))
    def test_other_metadata_is_refused(
        self, tmp_path: Path, raw: Callable[[], ClientAPI], record: Record, key: str
    ) -> None:
        with closing(ChromaArtifactStore.embedded(tmp_path)) as store:
            store.add("tenant", [record(1)])
        client: Any = raw()
        client.get_collection(collection_name("tenant"), None).modify(
            metadata={**identity(), key: "another"}
        )
        client.close()
        here = identity()[key]
        with pytest.raises(StoreMismatchError, match=f"there {key}=another; here {key}={here}"):
            ChromaArtifactStore.embedded(tmp_path)

    def test_a_collection_of_another_embedder_is_refused(
        self, tmp_path: Path, raw: Callable[[], ClientAPI]
    ) -> None:
        other = f"{collection_name('tenant')[:-8]}00000000"
        client: Any = raw()
        metadata = {**identity(), "acc:dim": 256}
        client.create_collection(other, metadata=metadata, embedding_function=None)
        client.close()
        with pytest.raises(StoreMismatchError, match=f"acc:dim=256; here acc:dim=512 .*{other}"):
            ChromaArtifactStore.embedded(tmp_path)
        assert raw().count_collections() == 1, "the refusal let the path go, and made nothing"

    def test_an_index_of_another_space_is_refused(
        self, tmp_path: Path, raw: Callable[[], ClientAPI], record: Record
    ) -> None:
        client: Any = raw()
        name, metadata = collection_name("tenant"), dict(identity())
        client.create_collection(name, metadata=metadata, embedding_function=None)
        client.close()
        with closing(ChromaArtifactStore.embedded(tmp_path)) as store:
            with pytest.raises(StoreMismatchError, match="space of the index=l2"):
                store.add("tenant", [record(1)])
            with pytest.raises(StoreMismatchError, match="space of the index=l2"):
                store.get("tenant", ["1"])
            store.add("another tenant", [record(1)])

    def test_other_collections_on_the_path_are_let_be(
        self, tmp_path: Path, raw: Callable[[], ClientAPI], record: Record
    ) -> None:
        client: Any = raw()
        client.create_collection("acc-of-somebody-else", embedding_function=None)
        client.close()
        with closing(ChromaArtifactStore.embedded(tmp_path)) as store:
            store.add("tenant", [record(1)])
        assert raw().count_collections() == 2


class TestReading:
    def test_reading_makes_no_collection(
        self, tmp_path: Path, raw: Callable[[], ClientAPI]
    ) -> None:
        with closing(ChromaArtifactStore.embedded(tmp_path)) as store:
            assert store.get("nobody", ["1"]) == []
        assert raw().count_collections() == 0

    def test_a_collection_that_went_away_is_told_once(
        self, raw: Callable[[], ClientAPI], record: Record
    ) -> None:
        client = raw()
        store = ChromaArtifactStore(client)
        store.add("tenant", [record(1)])
        client.delete_collection(collection_name("tenant"))
        with pytest.raises(StoreError, match="collection is gone"):
            store.get("tenant", ["thread.main:1"])
        store.add("tenant", [record(2)])
        assert store.get("tenant", ["thread.main:1", "thread.main:2"]) == [record(2)]

    def test_a_client_of_the_callers_stays_open(
        self, raw: Callable[[], ClientAPI], record: Record
    ) -> None:
        client = raw()
        store = ChromaArtifactStore(client, shared=False)
        assert store.shared is False
        store.add("tenant", [record(1)])
        store.close()
        assert client.count_collections() == 1


SETTINGS_PROGRAM = """
import sys
from acc.stores.chroma import ChromaArtifactStore
from acc.store import Artifact
store = ChromaArtifactStore.embedded(sys.argv[1])
record = Artifact(id="1", thread="t", branch="b", seq=1, turn=1)
store.add("tenant", [record])
assert store.get("tenant", ["1"]) == [record]
chosen = store._collections._client.get_settings()
print(chosen.allow_reset, chosen.anonymized_telemetry, chosen.persist_directory)
store.close()
"""


def test_settings_of_the_working_directory_are_not_read(
    tmp_path: Path, output: Callable[..., str]
) -> None:
    (tmp_path / ".env").write_text(
        "ALLOW_RESET=true\nANONYMIZED_TELEMETRY=true\nPERSIST_DIRECTORY=elsewhere\n"
        "IS_PERSISTENT=false\nCHROMA_API_IMPL=chromadb.api.fastapi.FastAPI\nMIGRATIONS=none\n"
        "CHROMA_SERVER_HOST=192.0.2.1\nCHROMA_PRODUCT_TELEMETRY_IMPL=os.path.Evil\n"
    )
    path = tmp_path / "store"
    assert output(SETTINGS_PROGRAM, path, cwd=tmp_path).split() == ["False", "False", str(path)]
    assert os.listdir(tmp_path / "store")
    assert not (tmp_path / "elsewhere").exists()


def test_broken_settings_of_the_working_directory_are_named(
    tmp_path: Path, output: Callable[..., str]
) -> None:
    (tmp_path / ".env").write_text("MIGRATIONS=yes\n")
    program = SETTINGS_PROGRAM.replace(
        "store = ChromaArtifactStore.embedded(sys.argv[1])",
        "from acc.errors import StoreError\n"
        "try: ChromaArtifactStore.embedded(sys.argv[1])\n"
        "except StoreError as error: print(error); sys.exit()",
    )
    assert "a .env of the working directory, is not valid" in output(program, "s", cwd=tmp_path)
