"""Audit logs in a real PostgreSQL: the promises, restarts, rights, and two threads at one end."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from acc import InMemoryStore, MemoryController, Settings, Turn
from acc.audit.postgres import PostgresLogs
from acc.audit.verify import verify
from acc.cli import run
from acc.errors import AuditError, ConfigurationError, ConflictError
from acc.evidence.marks import DatabaseMarks
from acc.state.policy import Policy
from acc.stores.protocol import Thread
from acc.testing import check_audit_store

sys.path.append(str(Path(__file__).parents[1] / "graphs"))

SAID = ("Never restart nginx.", "Why is checkout slow?", "Since when?")
POLICIES = {Policy().fingerprint: Policy()}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    from servers import postgresql

    with postgresql() as found:
        yield found


def connected(address: str) -> Any:
    import psycopg

    return psycopg.connect(address, autocommit=True)


def end_connections(address: str) -> None:
    """End every other connection, as a restart of the server does."""
    with connected(address) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


def memory_at(address: str, store: InMemoryStore | None = None) -> MemoryController:
    return MemoryController(store or InMemoryStore(), settings=Settings(audit=address))


def talked(memory: MemoryController, thread: str, *texts: str) -> Any:
    state = memory.last_state(thread)
    for text in texts:
        state = memory.step(state, Turn.said(text), thread=thread).state
    return state


@pytest.mark.slow
def test_postgresql_keeps_the_promises(address: str) -> None:
    check_audit_store(lambda: PostgresLogs(address))


@pytest.mark.slow
def test_a_thread_is_read_verified_and_retired_from_the_database(address: str) -> None:
    with memory_at(address) as memory:
        state = talked(memory, "read", *SAID)
        assert memory.last_state("read") == state
        assert memory.state_at("read", "main", 1).turn == 1  # type: ignore[union-attr]
        assert len(memory.history("read").messages) == len(SAID)
        freed = memory.retire([state.constraints[0].id], thread="read").state
        assert memory.last_state("read") == freed
        log = memory._audit_of(Thread(thread="read"))
        assert log is not None
        assert verify(log, POLICIES, head=freed.hash) == len(SAID) + 1


@pytest.mark.slow
def test_a_memory_goes_on_after_the_server_ended_its_connections(address: str) -> None:
    with memory_at(address) as memory:
        talked(memory, "restart", SAID[0])
        end_connections(address)
        talked(memory, "restart", *SAID[1:])
        log = memory._audit_of(Thread(thread="restart"))
        assert log is not None
        end_connections(address)
        assert verify(log, POLICIES) == len(SAID)


@pytest.mark.slow
def test_a_record_that_was_written_before_the_answer_was_lost_is_not_written_twice(
    address: str,
) -> None:
    class Broken(PostgresLogs):
        def append(self, name: str, line: bytes, after: Any) -> Any:
            super().append(name, line, after)
            # The connection broke after the commit, and the second attempt found another end.
            return super().append(name, line, after)

    with MemoryController(InMemoryStore(), settings=Settings(audit=Broken(address))) as memory:
        talked(memory, "doubled", *SAID)
        log = memory._audit_of(Thread(thread="doubled"))
        assert log is not None
        assert verify(log, POLICIES) == len(SAID)


@pytest.mark.slow
def test_an_append_waits_for_a_deletion_and_then_finds_another_end(address: str) -> None:
    logs, name = PostgresLogs(address), "waits.jsonl"
    after = logs.append(name, b"1\n", None)
    found: list[object] = []

    def late() -> None:
        try:
            found.append(logs.append(name, b"2\n", after))
        except ConflictError as error:
            found.append(error)

    writer = threading.Thread(target=late)

    def change() -> tuple[()]:
        writer.start()
        with connected(address) as connection:
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            while connection.execute(waiting).fetchone() == (0,):
                pass
        return ()

    logs.rewrite(name, change)
    writer.join(30)
    assert isinstance(found[0], ConflictError)
    assert list(logs.lines(name)) == []
    logs.close()


@pytest.mark.slow
def test_writers_of_a_log_take_turns_in_the_order_in_which_they_come(address: str) -> None:
    stores = [PostgresLogs(address) for _ in range(3)]
    name, came = "turns.jsonl", list[int]()

    def write(number: int) -> None:
        with stores[number].in_turn(name):
            came.append(number)

    later = [threading.Thread(target=write, args=(number,)) for number in (1, 2)]
    with connected(address) as connection, stores[0].in_turn(name):
        for waiters, writer in enumerate(later, 1):
            writer.start()
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while connection.execute(waiting).fetchone() != (waiters,):
                pass
        with stores[0].in_turn("another.jsonl"):  # another log is nobody's turn
            came.append(0)
    for writer in later:
        writer.join(30)
    assert came == [0, 1, 2]
    for store in stores:
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize("why", ["too long", "unreachable", "ended"])
def test_a_writer_without_its_turn_goes_on(
    address: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acc.audit.postgres.LONGEST_TURN", 0.05)
    logs, other, done = PostgresLogs(address), PostgresLogs(address), False
    if why == "unreachable":
        other = PostgresLogs("postgresql://nobody@127.0.0.1:1/none")
    with logs.in_turn("t.jsonl"), other.in_turn("u.jsonl" if why == "ended" else "t.jsonl"):
        if why == "ended":
            end_connections(address)
        done = True
    assert done
    with logs.in_turn("t.jsonl"):
        assert logs.end("t.jsonl") is None
    for store in (logs, other):
        store.close()


@pytest.mark.slow
def test_a_log_that_is_rewritten_while_it_is_read_is_told(address: str) -> None:
    logs, name = PostgresLogs(address), "reads.jsonl"
    after = None
    for n in range(200):
        after = logs.append(name, b"%d\n" % n, after)
    oldest, newest = logs.lines(name), logs.newest_first(name)
    assert (next(oldest), next(newest)) == (b"0\n", b"199\n")
    logs.rewrite(name, lambda: [b"x\n"])
    assert len(list(oldest)) == 199
    with pytest.raises(ConflictError, match="another writer changed"):
        list(newest)
    logs.close()


@pytest.mark.slow
def test_the_durability_says_whether_an_append_waits_for_the_disk(address: str) -> None:
    with connected(address) as connection:
        PostgresLogs(address).names()  # makes the table
        connection.execute("CREATE TABLE waited (log text, how text)")
        connection.execute(
            "CREATE FUNCTION note_how() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO waited "
            "VALUES (NEW.log, current_setting('synchronous_commit')); RETURN NULL; END $$"
        )
        connection.execute(  # deferred: it sees the setting with which the transaction ends
            "CREATE CONSTRAINT TRIGGER how AFTER INSERT ON acc_audit DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION note_how()"
        )

        def ends_of(durability: Any, of_server: str) -> list[str]:
            connection.execute("TRUNCATE waited")
            at = f"{address}?options=-csynchronous_commit%3D{of_server}"
            settings = Settings(audit=at, durability=durability)
            thread = f"{durability} {of_server}"
            with MemoryController(InMemoryStore(), settings=settings) as memory:
                talked(memory, thread, *SAID[:2])
                log = memory._audit_of(Thread(thread=thread))
                assert log is not None
                assert verify(log, POLICIES) == 2
                log.store.rewrite("rewritten", lambda: [b"1\n"])
            return [how for (how,) in connection.execute("SELECT how FROM waited").fetchall()]

        assert ends_of("power", "on") == ["on", "on", "on"]
        assert ends_of("power", "off") == ["on", "on", "on"]
        assert ends_of("power", "remote_apply") == ["remote_apply"] * 3
        assert ends_of("kill", "on") == ["off", "off", "on"]
        connection.execute("DROP TABLE waited CASCADE")
        connection.execute("DROP FUNCTION note_how CASCADE")


@pytest.mark.slow
def test_receipts_of_workers_that_race_are_all_kept(address: str) -> None:
    def write(worker: int) -> None:
        marks = DatabaseMarks(PostgresLogs(address))
        for n in range(20):
            marks.append_receipt({"id": f"{worker}-{n}", "records": 1})

    with ThreadPoolExecutor(4) as workers:
        list(workers.map(write, range(4)))
    found = [json.loads(line)["id"] for line in PostgresLogs(address).lines("erasures")]
    assert sorted(found) == sorted(f"{worker}-{n}" for worker in range(4) for n in range(20))


@pytest.mark.slow
def test_errors_say_where_and_how_and_hold_no_password(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    password = address.partition("acc:")[2].partition("@")[0]
    with connected(address) as connection:
        connection.execute("CREATE USER reader PASSWORD 'reader'")
        connection.execute("GRANT SELECT ON acc_audit TO reader")
    talked_to = PostgresLogs(address)
    talked_to.append("rights.jsonl", b"1\n", None)
    reader = PostgresLogs(f"postgresql://reader:reader@{address.partition('@')[2]}")
    assert list(reader.lines("rights.jsonl")) == [b"1\n"]
    assert password not in repr(talked_to) + talked_to.where("x") + repr(Settings(audit=talked_to))
    with pytest.raises(AuditError, match=r"permission denied.*To fix"):
        reader.append("rights.jsonl", b"2\n", reader.end("rights.jsonl"))
    with MemoryController.open(tmp_path / "memory", audit=talked_to) as memory:
        memory.step(None, Turn.said(SAID[0]), thread="t")
    there = f"postgresql://reader:reader@{address.partition('@')[2]}"
    doctor = ["doctor", "--memory", str(tmp_path / "memory"), "--audit", there]
    assert run(doctor) == 1
    assert "permission denied" in capsys.readouterr().out
    with connected(address) as connection:
        connection.execute("GRANT INSERT, DELETE ON acc_audit TO reader")
    run(doctor)  # it still finds that "rights.jsonl" is no log of acc
    assert "permission denied" not in capsys.readouterr().out
    assert talked_to.names().count("marks") == 0
    assert list(talked_to.lines("marks")) == []
    reader.append("rights.jsonl", b"2\n", reader.end("rights.jsonl"))
    reader.rewrite("rights.jsonl", lambda: [b"3\n"])
    reader.tidy()
    assert list(talked_to.lines("rights.jsonl")) == [b"3\n"]
    wrong = PostgresLogs(address.replace(password, "wr0ng"))
    with pytest.raises(AuditError, match="cannot be read") as told:
        wrong.names()
    assert "wr0ng" not in str(told.value)
    for each in (talked_to, reader, wrong):
        each.close()


def test_an_address_that_is_malformed_is_refused_without_its_words() -> None:
    with pytest.raises(ConfigurationError, match="malformed") as told:
        Settings(audit="postgresql://acc:s3cret@/x?what=1")
    assert "s3cret" not in str(told.value)


def test_a_database_that_does_not_answer_is_an_audit_error() -> None:
    address = "postgresql://acc:s3cret@127.0.0.1:1/x?connect_timeout=2"
    told_where = r"postgresql://127.0.0.1:1/x.*To fix"
    with memory_at(address) as memory, pytest.raises(AuditError, match=told_where) as told:
        memory.step(None, Turn.said(SAID[0]), thread="t")
    assert "s3cret" not in str(told.value)


@pytest.mark.slow
def test_the_command_reads_the_logs_of_the_database(
    address: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = tmp_path / "m"
    with connected(address) as connection:
        connection.execute("CREATE DATABASE told")
    address = address.replace(
        "/postgres", "/told"
    )  # doctor compares all logs of a database with the store
    with MemoryController.open(memory, audit=address) as opened:
        state = talked(opened, "told", *SAID)
    assert not (memory / "audit").exists()
    at = ["--memory", str(memory), "--thread", "told"]
    assert run(["verify", *at, "--audit", address]) == 0
    assert f"{len(SAID)} commits recomputed, all equal" in capsys.readouterr().out
    monkeypatch.setenv("ACC_AUDIT", address)
    assert run(["show", *at]) == 0
    assert SAID[0].rstrip(".") in capsys.readouterr().out
    assert run(["retire", state.constraints[0].id, *at]) == 0
    assert run(["diff", *at]) == 0
    assert run(["doctor", "--memory", str(memory)]) == 0
    assert run(["backup", str(tmp_path / "copy"), "--memory", str(memory)]) == 1
    assert "both databases by their own means" in capsys.readouterr().err
    assert run(["erase", "--thread", "told", "--memory", str(memory), "--yes"]) == 0
    with MemoryController.open(memory, audit=address) as opened:
        assert opened.last_state("told") is None
    monkeypatch.delenv("ACC_AUDIT")
    assert run(["verify", *at]) == 1
    assert run(["verify", *at, "--audit", "mysql://x"]) == 2
