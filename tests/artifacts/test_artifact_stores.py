"""Every artifact store keeps the promises; what Chroma's own faults are must not reach the caller."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from messages import THREAD, keeps_promises, said, words

from acc.artifacts.chroma import NAME, ChromaStore
from acc.artifacts.embedding import Embedder
from acc.errors import StoreError, StoreLockedError, StoreMismatchError
from acc.journal import ThreadKey
from acc.turn.observations import Channel

LENGTHS = Embedder("lengths", 3, lambda texts: [[1.0, len(text), 0.0] for text in texts])
"""Knows the length of a text."""


def plain(folder: Path) -> Any:
    settings = Settings(_env_file=None, anonymized_telemetry=False)
    return chromadb.PersistentClient(str(folder), settings=settings)


def test_it_keeps_the_promises(tmp_path: Path) -> None:
    keeps_promises(ChromaStore.embedded(tmp_path))


def test_a_plain_client_finds_each_text_with_thread_and_channel(tmp_path: Path) -> None:
    owned = '{"thread": "tickets", "user": "ann"}'
    with closing(ChromaStore.embedded(tmp_path)) as store:
        store.add(ThreadKey("tickets"), [said(1, "the key is blue")])
        store.add(ThreadKey("tickets"), [said(2, "ls", "fork", channel=Channel.TOOL, name="shell")])
        store.add(ThreadKey("tickets", user="ann"), [said(3, "the key is red")])
    client = plain(tmp_path)
    found = client.get_collection(NAME).get()
    client.close()
    rows = zip(found["documents"], found["metadatas"], strict=True)
    assert list(rows) == [
        ("the key is blue", {"thread": "tickets", "channel": "user", "ref": "u1", "seq:main": 1}),
        ("ls", {"thread": "tickets", "channel": "tool", "ref": "u2", "seq:fork": 2}),
        ("the key is red", {"thread": owned, "channel": "user", "ref": "u3", "seq:main": 3}),
    ]
    assert [id_.split(":", 1)[1] for id_ in found["ids"]] == ["main:u1", "fork:u2", "main:u3"]


def test_a_folder_is_one_stores(tmp_path: Path) -> None:
    with closing(ChromaStore.embedded(tmp_path)):
        with pytest.raises(StoreLockedError, match="Chroma server"):
            ChromaStore.embedded(tmp_path)
        with pytest.raises(StoreLockedError):
            ChromaStore.discard(tmp_path)
    ChromaStore.embedded(tmp_path).close()


def test_with_another_embedder_it_begins_anew(tmp_path: Path) -> None:
    with closing(ChromaStore.embedded(tmp_path)) as store:
        store.add(THREAD, [said(n, "x" * n) for n in range(1, 4)])
    with closing(ChromaStore.embedded(tmp_path, LENGTHS)) as store:
        assert "made by the embedder acc-hashed-words" in store.stale
        for use in (lambda: store.query(THREAD, "xx"), lambda: store.add(THREAD, [said(4, "x")])):
            with pytest.raises(StoreMismatchError, match="acc reindex"):
                use()
        assert (store.compact(), store.count(THREAD), store.last(THREAD, "main")) == (True, 3, 3)
        store.clear()
        assert store.add(THREAD, [said(n, "x" * n) for n in range(1, 4)]) == 3
        assert [a.seq for a in store.query(THREAD, "xxx", limit=1)] == [3]
    with closing(ChromaStore.embedded(tmp_path, LENGTHS)) as store:
        assert (store.stale, store.count()) == ("", 3)


def test_a_compaction_cut_short_leaves_an_index_that_can_be_filled(tmp_path: Path) -> None:
    """It was killed after the old files were deleted; what the new ones hold goes with the next compaction."""
    folder, new = tmp_path / "chroma", tmp_path / "chroma" / "new"
    with closing(ChromaStore.embedded(new)) as store:
        store.add(THREAD, [said(1, "kept")])
    with closing(ChromaStore.embedded(folder)) as store:
        assert store.last(THREAD, "main") == -1
        assert store.add(THREAD, [said(1, "kept")]) == 1
        assert store.compact()
        assert store.count(THREAD) == 1
    assert not new.exists()


def test_what_was_deleted_leaves_no_bytes(tmp_path: Path) -> None:
    with closing(ChromaStore.embedded(tmp_path)) as store:
        store.add(THREAD, [said(n, f"the xylophone is number {n}") for n in range(20)])
        store.add(THREAD, [said(30, "something else")])
        store.delete(THREAD, [f"u{n}" for n in range(20)])
        assert store.compact()
        assert store.add(THREAD, [said(31, "after the deletion")]) == 1
        assert [a.seq for a in store.query(THREAD, "deletion", limit=1)] == [31]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file for file in files if b"xylophone" in file.read_bytes()]
    assert len(list(tmp_path.glob("*-*-*-*-*"))) <= 1


def test_with_a_damaged_index_it_begins_empty(tmp_path: Path) -> None:
    rows = [said(n, words(n)) for n in range(300)]
    with closing(ChromaStore.embedded(tmp_path)) as store:
        for at in range(0, 300, 100):  # Chroma writes its index with each hundred
            store.add(THREAD, rows[at : at + 100])
    (header,) = tmp_path.glob("*/header.bin")
    data = header.parent / "data_level0.bin"
    with closing(ChromaStore.embedded(tmp_path)) as store:
        assert [a.seq for a in store.query(THREAD, words(77), limit=1)] == [77]
    os.truncate(data, data.stat().st_size // 2)
    with closing(ChromaStore.embedded(tmp_path)) as store:
        assert (store.stale, store.last(THREAD, "main")) == ("", -1)
        assert store.add(THREAD, rows[:100]) == 100
        assert [a.seq for a in store.query(THREAD, words(77), limit=1)] == [77]


def test_no_exception_of_a_vendors_escapes(tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"no database " * 500)
    with pytest.raises(StoreError, match=r"cannot be opened.*acc reindex"):
        ChromaStore.embedded(tmp_path)
    ChromaStore.discard(tmp_path)
    ChromaStore.embedded(tmp_path).close()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="FileExistsError"):
        ChromaStore.embedded(tmp_path / "file")
    with closing(ChromaStore.embedded(tmp_path)) as store:
        store.add(THREAD, [said(1, "text")])
        store._client.client.delete_collection(NAME)
        with pytest.raises(StoreError, match="cannot be counted"):
            store.count()
        assert store.count() == 0  # opened anew; the journal fills it


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_is_told_and_ends(tmp_path: Path) -> None:
    with closing(ChromaStore.embedded(tmp_path)) as store:
        store.add(THREAD, [said(1, "text")])
        child = os.fork()
        if not child:
            try:
                store.count()
            except StoreError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert store.count() == 1


def test_nobody_but_chroma_says_how_its_database_is_written(tmp_path: Path) -> None:
    """Chroma closes its connections late. With a write-ahead log and a second SQLite in this process, the second one
    cuts the memory that Chroma still reads, and the process ends with SIGBUS.
    """
    for number in range(3):
        with closing(ChromaStore.embedded(tmp_path)) as store:
            store.add(THREAD, [said(number, "text")])
            assert not (tmp_path / "chroma.sqlite3-wal").exists()
