"""Checkpoints of LangGraph's savers: erased with a thread, and not forgotten where that has to wait."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_erasure import SECRET, standing, talk

from acc import MemoryController, Settings
from acc.cli import run
from acc.errors import ConfigurationError, StoreError
from acc.evidence.checkpoints import CheckpointsDue, checkpointer_at
from acc.evidence.erasure import Erasure, refuse_unproved
from acc.evidence.erasure_plan import Target, plan_erasure
from acc.evidence.marks import FolderMarks
from acc.evidence.upkeep import left_half_done, resume
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Thread

sys.path.append(str(Path(__file__).parents[1] / "graphs"))


def sqlite(path: Path, *threads: str) -> Path:
    """A file with the tables and columns of `SqliteSaver` that an erasure looks at."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    for table in ("checkpoints", "writes"):
        database.execute(f"CREATE TABLE {table} (thread_id TEXT, value BLOB)")
        rows = [(t, f"{SECRET} {n}".encode()) for t in threads or ("inc",) for n in range(50)]
        database.executemany(f"INSERT INTO {table} VALUES (?, ?)", [*rows, ("other", b"stays")])
    database.commit()
    database.close()
    return path


def test_a_thread_is_erased_from_an_sqlite_checkpointer(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "checkpoints.db")
    assert checkpointer_at(f"sqlite:{path}")(["inc"]) == 100
    assert standing(tmp_path) == []
    assert sqlite3.connect(path).execute("SELECT count(*) FROM writes").fetchone() == (1,)
    for url in ("sqlite:nowhere.db", "redis://x"):
        with pytest.raises(ConfigurationError):
            checkpointer_at(url)


@pytest.mark.slow
def test_a_real_savers_checkpoints_are_erased(tmp_path: Path) -> None:
    saver = pytest.importorskip("langgraph.checkpoint.sqlite").SqliteSaver
    from langgraph.checkpoint.base import empty_checkpoint

    path = tmp_path / "checkpoints.db"
    with saver.from_conn_string(str(path)) as kept:
        for thread in ("inc", "other"):
            config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
            checkpoint = {**empty_checkpoint(), "channel_values": {"said": f"{SECRET} {thread}"}}
            kept.put(config, checkpoint, {}, {})
    assert checkpointer_at(f"sqlite:{path}")(["inc", "other"]) == 2
    assert standing(tmp_path) == []


def kept(folder: Path) -> MemoryController:
    return MemoryController(InMemoryStore(), settings=Settings(audit=folder / "audit"))


def erased_with(memory: MemoryController, url: str, **what: str) -> Any:
    plan = plan_erasure(memory.artifacts, memory.settings.audit, Target(**what))
    return Erasure(memory).erase(plan, [url])


def test_a_users_threads_go_from_the_checkpointer_whatever_the_agent(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "checkpoints.db", "t1", "t2")
    with MemoryController(InMemoryStore(), settings=Settings(audit=None)) as memory:
        for thread, agent in (("t1", "default"), ("t2", "coder")):
            talk(memory, Thread(thread=thread, user="eve", agent=agent), SECRET)
        plan = plan_erasure(memory.artifacts, None, Target(user="eve"))
        receipt = Erasure(memory).erase(plan, [f"sqlite:{path}"])
    assert (receipt.checkpoints, receipt.proved) == (200, True)
    assert standing(tmp_path) == []


def test_a_database_that_is_away_is_tried_again_and_keeps_nobody_from_opening(
    tmp_path: Path,
) -> None:
    folder, path = tmp_path / "memory", tmp_path / "checkpoints.db"
    sqlite3.connect(path).execute("CREATE TABLE x (y)").connection.close()
    with kept(folder) as memory:
        talk(memory)
        receipt = erased_with(memory, f"sqlite:{path}", thread="inc", artifact="u3")
        assert len(receipt.left) == 1
        with pytest.raises(StoreError, match="no such table"):
            refuse_unproved(receipt)
        assert standing(folder) == []  # the note names threads and databases alone
        (name,) = CheckpointsDue(FolderMarks(folder)).notes()
        note = folder / name
        assert json.loads(note.read_text())["threads"] == ["inc"]
        assert note.stat().st_mode & 0o077 == 0
        assert left_half_done(memory)
        assert "no such table" in resume(memory)[0]
        path.unlink()
        sqlite(path)
        assert resume(memory) == [
            f"erasure {receipt.id} had not deleted all checkpoints of LangGraph: 100 rows deleted"
        ]
        assert CheckpointsDue(FolderMarks(folder)).notes() == []
        assert not left_half_done(memory)
        assert resume(memory) == []
    assert standing(tmp_path) == []


def test_no_such_checkpointer_is_said_before_anything_goes(tmp_path: Path) -> None:
    with kept(tmp_path) as memory:
        talk(memory)
        with pytest.raises(ConfigurationError):
            erased_with(memory, "sqlite:nowhere.db", thread="inc")
        assert memory.last_state("inc") is not None


def test_an_erasure_that_failed_is_ended_before_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kept(tmp_path) as memory:
        talk(memory)
        talk(memory, "other", f"Again: {SECRET}")

        def full(*_: Any) -> bool:
            raise StoreError("no room", where="disk", hint="free some")

        with monkeypatch.context() as patched:
            patched.setattr(memory.artifacts, "compact", full)
            plan = plan_erasure(memory.artifacts, memory.settings.audit, Target(thread="inc"))
            with pytest.raises(StoreError, match="no room"):
                Erasure(memory).erase(plan)
        plan = plan_erasure(memory.artifacts, memory.settings.audit, Target(thread="other"))
        assert Erasure(memory).erase(plan).proved
    assert standing(tmp_path) == []
    told = [json.loads(line)["of"] for line in (tmp_path / "erasures.jsonl").open()]
    assert told == [[Thread(thread="inc").key], [Thread(thread="other").key]]


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    from servers import postgresql

    with postgresql() as address:
        yield address


def kept_in(address: str, *threads: str) -> None:
    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(address) as saver:
        saver.setup()
        for thread in threads:
            config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
            said = {"said": f"{SECRET} {thread}", "heard": [SECRET] * 3}
            checkpoint = {**empty_checkpoint(), "channel_values": said}
            checkpoint["channel_versions"] = dict.fromkeys(said, "1")
            where = saver.put(config, checkpoint, {}, checkpoint["channel_versions"])
            saver.put_writes(where, [("said", SECRET)], "task")


def saying(address: str, words: str) -> dict[str, list[str]]:
    """The threads that say ``words``, by table; plain, or in the bytes of a blob."""
    import psycopg

    hexed = words.encode().hex()
    found = {}
    with psycopg.connect(address) as connection:
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            rows = connection.execute(f"SELECT thread_id, t::text FROM {table} t").fetchall()
            found[table] = sorted({thread for thread, row in rows if words in row or hexed in row})
    return found


@pytest.mark.slow
def test_a_real_postgres_loses_a_threads_checkpoints_and_no_other(
    tmp_path: Path, postgres: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kept_in(postgres, "inc", "other")
    assert saying(postgres, "Ottilie")["checkpoint_blobs"] == ["inc", "other"]
    with MemoryController.open(tmp_path) as memory:
        talk(memory)
    erase = ["erase", "--thread", "inc", "--checkpointer", postgres, "--memory", str(tmp_path)]
    assert run([*erase, "--json", "--dry-run"]) == 0
    announced = json.loads(capsys.readouterr().out)["checkpoints"]
    assert announced >= 3
    assert run([*erase, "--json", "--yes"]) == 0
    assert json.loads(capsys.readouterr().out)["checkpoints"] == announced
    left = saying(postgres, "Ottilie")
    assert "inc" not in {thread for threads in left.values() for thread in threads}
    assert left["checkpoint_blobs"] == ["other"]
    assert left["checkpoint_writes"] == ["other"]


@pytest.mark.slow
def test_a_postgres_user_who_may_not_rewrite_the_tables_is_told(postgres: str) -> None:
    import psycopg

    kept_in(postgres, "inc")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE clerk LOGIN PASSWORD 'clerk'")
        connection.execute("GRANT SELECT, DELETE ON ALL TABLES IN SCHEMA public TO clerk")
    clerk = f"postgresql://clerk:clerk@{postgres.partition('@')[2]}"
    with pytest.raises(StoreError, match="tables cannot be rewritten"):
        checkpointer_at(clerk)(["inc"])
    for wrong in (clerk.replace("clerk@", "wrong@"), clerk.replace("/postgres", "/nowhere")):
        with pytest.raises(StoreError, match="cannot be erased") as raised:
            checkpointer_at(wrong)(["inc"])
        assert "clerk" not in str(raised.value)
    with pytest.raises(StoreError, match="stores no password"):
        checkpointer_at(clerk.replace(":clerk@", "@"))(["inc"])
