"""The Chroma store in this process: what it keeps, and what it refuses to open."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.api import ClientAPI
from chromadb.config import Settings
from store_processes import Record

from acc.errors import StoreError, StoreMismatchError
from acc.stores.chroma.collections import collection_name, identity
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.embedding import embed
from acc.testing import check_store


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


def test_one_process_has_it(tmp_path: Path) -> None:
    with closing(ChromaArtifactStore.embedded(tmp_path)) as store:
        assert store.shared is False


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


@pytest.mark.slow
def test_any_number_of_records_is_listed(tmp_path: Path, record: Record) -> None:
    """Chroma reads the metadata of 32,766 records at most in one call: SQLite allows that many variables."""
    with closing(ChromaArtifactStore.embedded(tmp_path)) as store:
        count = 33_000
        for first in range(0, count, 1_000):
            store.add("tenant", [record(first + n) for n in range(1_000)])
        store.add("tenant", [record(count, id="thread.größer:1", kind="thread")])
        assert len(store.ids("tenant")) == count + 1
        assert len(store.ids("tenant", thread="thread")) == count + 1
        assert len(store.ids("tenant", kind="observation")) == count
        assert store.ids("tenant", kind="thread") == ["thread.größer:1"]


SETTINGS_PROGRAM = """
import sys
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.protocol import Artifact
store = ChromaArtifactStore.embedded(sys.argv[1])
record = Artifact(id="1", thread="t", branch="b", seq=1, turn=1)
store.add("tenant", [record])
assert store.get("tenant", ["1"]) == [record]
chosen = store._collections._client.get_settings()
print(chosen.allow_reset, chosen.anonymized_telemetry, chosen.persist_directory)
store.close()
"""


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert "a .env file of the working directory, is not valid" in output(
        program, "s", cwd=tmp_path
    )
