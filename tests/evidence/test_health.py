"""The doctor of vectors: lost ones, and those that no query comes to, in a real Chroma."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_erasure import talk

from acc import MemoryController
from acc.evidence.upkeep import check_vectors
from acc.stores.chroma.collections import wide
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact

sys.path.append(str(Path(__file__).parents[1] / "stores"))


@pytest.mark.slow
def test_the_doctor_finds_and_mends_a_lost_vector(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        talk(memory)
        ids = memory.artifacts.ids("default")
    database = sqlite3.connect(tmp_path / "chroma.sqlite3")
    with database:  # the log of writes is gone, and the index too: the records are whole
        database.execute(
            "DELETE FROM embeddings_queue WHERE seq_id < (SELECT max(seq_id) FROM embeddings_queue)"
        )
    database.close()
    for header in tmp_path.glob("*/header.bin"):
        shutil.rmtree(header.parent)
    # A process of its own: Chroma keeps an index in memory beyond the close of its client.
    lost, repaired = doctor(tmp_path)
    assert repaired == len(lost) >= len(ids) - 1
    assert doctor(tmp_path) == ([], 0)
    with MemoryController.open(tmp_path) as memory:
        assert len(memory.artifacts.get("default", ids)) == len(ids)
        assert len(memory.artifacts.vectors("default", ids)) == len(ids)


def doctor(folder: Path) -> tuple[list[str], int]:
    command = [sys.executable, "-m", "acc", "doctor", "--repair", "--memory", str(folder), "--json"]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return said["lost"], said["repaired"]


def record(seq: int, text: str) -> Artifact:
    return Artifact(id=f"t.main:{seq}", thread="t", branch="main", seq=seq, turn=seq, text=text)


def same(seq: int) -> list[float]:
    """One vector for most, another for each of the rest."""
    return [1.0, 1.0, 1.0] if seq % 3 else [float(seq), 1.0, -float(seq % 7)]


def filled(store: ChromaArtifactStore, count: int) -> list[str]:
    """Texts that many records share cut others off from Chroma's graph."""
    records = [
        record(
            n, "Yes, do that." if (n // 100) % 2 else f"Word{n} told of word{n % 90} and lamp{n}."
        )
        for n in range(1, count + 1)
    ]
    store.add("default", records)
    ids = [a.id for a in records]
    vectors = [np.array(same(n), np.float32).tobytes() for n in range(1, count + 1)]
    store.keep_dense("default", "model:3", dict(zip(ids, vectors, strict=True)))
    return ids


def cut_off(folder: Path) -> tuple[ChromaArtifactStore, list[str]]:
    """A store with vectors that no query comes to: Chroma draws its graph by lot, seldom without any."""
    for draw in range(5):
        store = ChromaArtifactStore.embedded(folder / str(draw))
        ids = filled(store, 800)
        if check_vectors(store, "default", repair=False).unreachable:
            return store, ids
        store.close()
    pytest.fail("five graphs of Chroma's, and a query comes to every vector of each")


def answered(store: ChromaArtifactStore, index: str, key: str, most: int) -> list[str]:
    """What Chroma itself answers a query with that record's own vector."""
    collection: Any = store._index("default", index)
    (vector,) = collection.get(ids=[key], include=["embeddings"])["embeddings"]
    return list(collection.query(query_embeddings=[vector], n_results=most)["ids"][0])


def tied(store: ChromaArtifactStore, index: str, key: str) -> bool:
    """Whether all that Chroma answers it is equal to it."""
    near = answered(store, index, key, 8)
    found = (
        store.dense("default", index, [*near, key])
        if index
        else store.vectors("default", [*near, key])
    )
    return len(near) == 8 and len(set(found.values())) == 1


@pytest.mark.slow
def test_vectors_that_no_query_comes_to_are_found_and_mended(tmp_path: Path) -> None:
    store, ids = cut_off(tmp_path)
    before = (
        store.get("default", ids),
        store.vectors("default", ids),
        store.dense("default", "model:3", ids),
    )
    seen: list[tuple[int, int]] = []
    found = check_vectors(store, "default", repair=False, progress=lambda *of: seen.append(of))
    assert seen[:8] == [(100 * n, 800) for n in range(1, 9)]
    assert (found.lost, found.repaired) == ((), 0)
    assert found.unreachable
    for index in found.indexes:
        assert index.left == index.unreachable
        for key in index.unreachable[:5]:  # not among all that Chroma knows
            assert key not in answered(store, index.embedder, key, 8)
    mended = check_vectors(store, "default")
    assert mended.unreachable == found.unreachable
    left = {key for index in mended.indexes for key in index.left}
    assert mended.repaired == len(mended.unreachable) - len(left)
    assert len(left) <= len(mended.unreachable) / 10  # Chroma's graph is drawn by lot
    assert set(check_vectors(store, "default", repair=False).unreachable) == left
    for index in found.indexes:
        for key in set(index.unreachable[:5]) - left:
            assert key in answered(store, index.embedder, key, 8) or tied(
                store, index.embedder, key
            )
    after = (
        store.get("default", ids),
        store.vectors("default", ids),
        store.dense("default", "model:3", ids),
    )
    assert after == before
    store.close()


@pytest.mark.slow
def test_equal_vectors_are_ties_and_not_unreachable(tmp_path: Path) -> None:
    store = ChromaArtifactStore.embedded(tmp_path)
    store.add("default", [record(n, "Yes.") for n in range(1, 201)])
    assert check_vectors(store, "default", repair=False).unreachable == ()
    store.close()


@pytest.mark.slow
def test_an_index_is_made_anew_with_more_links_and_loses_nothing(tmp_path: Path) -> None:
    store = ChromaArtifactStore.embedded(tmp_path)
    ids = filled(store, 250)
    for index in ("", "model:3"):
        vectors = store.vectors("default", ids), store.dense("default", "model:3", ids)
        assert store.widen("default", index, 32)
        assert (store.vectors("default", ids), store.dense("default", "model:3", ids)) == vectors
        collection: Any = store._index("default", index)
        written = collection.configuration_json["hnsw"]
        assert {name: written[name] for name in wide(32)} == wide(32)
        assert written["space"] == ("l2" if index else "cosine")
    assert not store.widen("default", "another", 32)
    store.close()
    again = ChromaArtifactStore.embedded(tmp_path)  # the identity of the collection is as it was
    again.add("default", [record(251, "Late.")])
    assert len(again.get("default", [*ids, "t.main:251"])) == 251
    assert len(again.vectors("default", ids)) == 250
    again.close()


LOSE = """
import pickle, sys
from pathlib import Path
folder, lost = Path(sys.argv[1]), sys.argv[2:]
for file in folder.glob("*/index_metadata.pickle"):
    known = pickle.loads(file.read_bytes())
    for key in lost:
        label = known["id_to_label"].pop(key, None)
        known["label_to_id"].pop(label, None)
    file.write_bytes(pickle.dumps(known))
"""


@pytest.mark.slow
def test_a_vector_that_its_index_alone_has_lost_is_found_and_made_anew(tmp_path: Path) -> None:
    store = ChromaArtifactStore.embedded(tmp_path)
    ids = filled(store, 200)
    store.close()
    lost = [ids[4], ids[120]]
    subprocess.run([sys.executable, "-c", LOSE, str(tmp_path), *lost], check=True)
    for look in ((), ("--dry-run",)):  # only looks, either way
        said = json.loads(doctored(tmp_path, *look, code=1))
        assert sorted(said["lost"]) == sorted(lost * 2)  # of the words and of the model
        assert said["checks"][-1]["hint"].startswith("run acc doctor --repair --memory")
    said = json.loads(doctored(tmp_path, "--repair"))
    assert sorted(said["lost"]) == sorted(lost * 2)
    assert not {key for index in said["indexes"] for key in index["left"]} & set(lost)
    store = ChromaArtifactStore.embedded(tmp_path)
    assert len(store.vectors("default", ids)) == 200
    assert store.dense("default", "model:3", ids).keys() == set(ids) - set(lost)
    found = check_vectors(store, "default")
    assert (found.lost, found.records) == ((), 200)
    for index in ("", "model:3"):
        assert len(answered(store, index, ids[0], 8)) == 8  # no query fails any more
    store.close()


def doctored(folder: Path, *more: str, code: int = 0) -> bytes:
    command = [sys.executable, "-m", "acc", "doctor", "--memory", str(folder), "--json", *more]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_of_a_store_without_an_index_lost_vectors_are_looked_for() -> None:
    class Forgetful(InMemoryStore):
        known = False

        def vectors(self, tenant: str, ids: Any) -> dict[str, bytes]:
            found = super().vectors(tenant, ids)
            return found if self.known else {k: v for k, v in found.items() if k != "t.main:2"}

        def replace(self, tenant: str, artifacts: Any) -> None:
            self.known = True
            super().replace(tenant, artifacts)

    store = Forgetful()
    store.add("default", [record(n, f"Text {n}.") for n in range(1, 4)])
    assert check_vectors(store, "default", repair=False).lost == ("t.main:2",)
    mended = check_vectors(store, "default")
    assert (mended.lost, mended.unreachable, mended.repaired) == (("t.main:2",), (), 1)


@pytest.mark.slow
def test_pages_of_one_template_are_all_come_to_again(tmp_path: Path) -> None:
    store = ChromaArtifactStore.embedded(tmp_path)
    page = "This page says how the service is restarted, who is called and what is written down. Page {} of 600."
    for start in range(1, 601, 100):
        store.add("default", [record(n, page.format(n)) for n in range(start, start + 100)])
    found = check_vectors(store, "default")
    assert found.unreachable
    assert [index.left for index in found.indexes] == [()]
    assert not check_vectors(store, "default", repair=False).unreachable
    store.close()
