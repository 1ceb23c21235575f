"""Chroma's vector indexes: whatever becomes of their files, ACC reads and writes every record."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from store_processes import PRELUDE, Record, opened

from acc.stores.chroma.collections import DENSE

VECTORS = {f"id {n}": np.full(2_000, n, np.float32).tobytes() for n in range(120)}


@contextmanager
def bare(path: Path) -> Iterator[Any]:
    """Another program's client."""
    client: Any = chromadb.PersistentClient(str(path), Settings(_env_file=None))
    with closing(client):
        yield client


def snapshot(path: Path, copy: Path, record: Record) -> Path:
    """A store's folder as a power cut leaves it: records, dense vectors and the files of both indexes."""
    with opened(path) as store:
        store.add("tenant", [record(seq, f"text {seq}") for seq in range(250)])
        store.keep_dense("tenant", "model:2000", VECTORS)
        shutil.copytree(path, copy)
    return copy


READ = (
    PRELUDE
    + """
wanted = [record(seq, f"text {seq}") for seq in range(250)]
for folder in sys.argv[1:]:
    store = ChromaArtifactStore.embedded(folder)
    assert store.get("tenant", [one.id for one in wanted]) == wanted, folder
    assert len(store.dense("tenant", "model:2000", [f"id {n}" for n in range(120)])) == 120, folder
    store.add("tenant", [record(seq, f"text {seq}") for seq in range(250, 400)])
    store.delete("tenant", ["thread.main:3"])
    store.replace("tenant", [record(4, "another")])
    store.close()
    store = ChromaArtifactStore.embedded(folder)
    assert len(store.ids("tenant")) == 399, folder
    assert store.get("tenant", ["thread.main:4"]) == [record(4, "another")]
    store.close()
    print(folder)
"""
)


def damaged(index: Path, name: str, size: int | None) -> None:
    """Cut one file of an index to ``size`` bytes, or delete it."""
    if size is None:
        (index / name).unlink()
    else:
        (index / name).write_bytes((index / name).read_bytes()[:size])


@pytest.mark.slow
def test_no_damage_of_an_index_matters(
    tmp_path: Path, record: Record, output: Callable[..., str]
) -> None:
    whole = snapshot(tmp_path / "memory", tmp_path / "whole", record)
    names = ("data_level0.bin", "header.bin", "length.bin", "link_lists.bin")
    faults: dict[str, Callable[[Path], Any]] = {
        "none": Path.exists,
        "no folder": shutil.rmtree,
        "all empty": lambda index: [(index / name).write_bytes(b"") for name in names],
        "all zeros": lambda index: [
            (index / name).write_bytes(bytes((index / name).stat().st_size)) for name in names
        ],
        "list of ids cut": lambda index: os.truncate(index / "index_metadata.pickle", 40),
        "list of ids missing": lambda index: (index / "index_metadata.pickle").unlink(),
        "read-only": lambda index: index.chmod(0o500),
        "set aside by an earlier release": lambda index: index.rename(f"{index}.damaged"),
    }
    for name in names:
        faults[f"{name} missing"] = partial(damaged, name=name, size=None)
        faults[f"{name} cut"] = partial(damaged, name=name, size=50)
    for fault, damage in faults.items():
        shutil.copytree(whole, tmp_path / fault)
        indexes = [header.parent for header in (tmp_path / fault).glob("*/header.bin")]
        assert len(indexes) == 2
        for index in indexes:
            damage(index)
    folders = [str(tmp_path / fault) for fault in faults]
    assert output(READ, *folders).splitlines() == folders  # one of these killed the process
    left = {path.name for folder in folders for path in Path(folder).iterdir() if path.is_dir()}
    assert left == set()


def test_a_collection_of_somebody_else_is_left_alone(tmp_path: Path, record: Record) -> None:
    rng = np.random.default_rng(3)
    theirs = rng.normal(size=(150, 8)).astype(np.float32)
    ids = [str(n) for n in range(150)]
    with bare(tmp_path) as client:
        for name in ("notes", "acc-notes"):  # 50 vectors of each are only in the log of writes
            configuration = {"hnsw": {"sync_threshold": 100}}
            collection = client.create_collection(name, None, configuration=configuration)
            for start in range(0, 150, 50):
                part = slice(start, start + 50)
                collection.add(ids=ids[part], embeddings=theirs[part])
        collection.delete(ids=["7"])
    with opened(tmp_path) as store:
        store.add("tenant", [record(1, "The ledger is closed.")])
        store.delete("tenant", ["thread.main:1"])
        assert store.compact()
    with bare(tmp_path) as client:
        for name, count in (("notes", 150), ("acc-notes", 149)):
            found = client.get_collection(name, None).get(include=["embeddings"])
            assert len(found["ids"]) == count
            for id_, vector in zip(found["ids"], found["embeddings"], strict=True):
                assert np.allclose(vector, theirs[int(id_)], atol=1e-6)
    assert b"ledger" not in (tmp_path / "chroma.sqlite3").read_bytes()


def test_an_index_of_a_deleted_collection_goes_and_any_other_folder_stays(tmp_path: Path) -> None:
    uuid = "8abcfd32-7a39-4de9-877c-e0e65c31e039"
    (tmp_path / uuid).mkdir()
    (tmp_path / uuid / "header.bin").write_bytes(b"")
    (tmp_path / uuid.replace("8", "9") / "photos").mkdir(parents=True)
    with opened(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [uuid.replace("8", "9")]


def test_dense_vectors_of_an_earlier_release_make_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tenant = hashlib.sha256(b"tenant").hexdigest()[:24]
    embedder = hashlib.sha256(b"model:2000").hexdigest()[:8]
    with bare(tmp_path) as client:
        earlier = client.create_collection(f"{DENSE}{tenant}-{embedder}", None)
        vectors = [np.frombuffer(vector, np.float32) for vector in VECTORS.values()]
        earlier.add(ids=list(VECTORS), embeddings=vectors)
    with opened(tmp_path) as store:
        assert store.dense("tenant", "model:2000", list(VECTORS)) == {}
        store.delete("tenant", ["id 1"])  # of the earlier ones too
        with caplog.at_level(logging.WARNING, "acc"):
            store.keep_dense("tenant", "model:2000", VECTORS)
        assert "model:2000" in caplog.text
        assert store.dense("tenant", "model:2000", [*VECTORS, "absent"]) == VECTORS
        assert store.compact()
    with opened(tmp_path) as store:
        assert store.dense("tenant", "model:2000", list(VECTORS)) == VECTORS
    with closing(sqlite3.connect(tmp_path / "chroma.sqlite3")) as database:
        (count,) = database.execute("SELECT count(*) FROM collections").fetchone()
    assert count == 1


class Interrupt:
    """Raises `KeyboardInterrupt` at the Nth call of a Python function in a block; counts them."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            self.left -= 1
            if not self.left:
                sys.setprofile(None)
                raise KeyboardInterrupt

    def __enter__(self) -> Interrupt:
        sys.setprofile(self)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.setprofile(None)


@pytest.mark.slow
def test_an_interrupt_at_any_call_leaves_the_process_able_to_go_on(
    tmp_path: Path, record: Record
) -> None:
    def use() -> None:
        with opened(tmp_path) as store:
            store.add("tenant", [record(at) for at in range(30)])
            store._connection.failed = True  # the next call opens Chroma again
            store.get("tenant", ["thread.main:1"])

    use()
    with (counting := Interrupt(0)):
        use()
    calls, interrupted = -counting.left, 0
    for at in range(1, calls, calls // 12):
        try:
            with Interrupt(at):
                use()  # Python ignores an interrupt in a finalizer
        except KeyboardInterrupt:
            interrupted += 1
        with opened(tmp_path) as store:
            store.add("tenant", [record(1_000 + at)])
            assert store.get("tenant", [f"thread.main:{1_000 + at}"]) == [record(1_000 + at)]
        assert str(tmp_path) not in SharedSystemClient._identifier_to_system
    assert interrupted > 8
    with opened(tmp_path) as store:  # an open store goes on, too
        for at in range(1, 400, 40):
            with suppress(KeyboardInterrupt), Interrupt(at):
                store.add("tenant", [record(10_000 + at)])
            store.add("tenant", [record(20_000 + n) for n in range(at, at + 40)])
            assert store.get("tenant", [f"thread.main:{20_000 + at}"])


def test_a_new_index_holds_nothing_of_the_process_memory(tmp_path: Path, record: Record) -> None:
    """Chroma writes it at full capacity from uninitialized memory, which may hold an erased text."""

    def unused() -> list[bytes]:
        found = []
        for header in tmp_path.glob("*/header.bin"):
            count, size = np.frombuffer(header.read_bytes()[20:36], np.uint64).tolist()
            found.append((header.parent / "data_level0.bin").read_bytes()[int(count * size) :])
            found.append((header.parent / "length.bin").read_bytes()[int(count) * 4 :])
        return found

    with opened(tmp_path) as store:
        store.add("tenant", [record(1, "text")])
        assert len(unused()) == 2
        assert not any(map(any, unused()))
    with opened(tmp_path) as store:
        assert store.get("tenant", [record(1, "text").id])
        assert len(unused()) == 2, "a read makes an index"
        assert not any(map(any, unused()))
        store.compact()  # drops the index; the next read makes it again under the same name
        assert store.get("tenant", [record(1, "text").id])
        assert len(unused()) == 2
        assert not any(map(any, unused()))
