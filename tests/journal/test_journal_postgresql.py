"""The journal in PostgreSQL keeps the same promises, for several machines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from journal_conformance import POLICY, check_journal, step
from servers import engine_of, postgresql_server, schema_for, url_of
from services import PostgreSQL
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError
from workers import BESIDE, check, check_fork, check_snapshot, kills, two_workers

from acc.errors import (
    AccError,
    ConfigurationError,
    StoreError,
    StoreUnavailableError,
)
from acc.journal import Journal, ThreadKey

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    with postgresql_server() as made:
        yield made


@pytest.fixture
def url(server: PostgreSQL, request: pytest.FixtureRequest) -> str:
    """A journal's address in a schema of its own."""
    return schema_for(url_of(server), request.node.name)


@pytest.mark.parametrize("place_of", [str, engine_of])
def test_it_keeps_the_promises_of_every_journal(url: str, place_of: Any) -> None:
    where = place_of(url)
    check_journal(lambda: Journal.open(where))


def test_a_snapshot_sees_one_moment(url: str) -> None:
    with Journal.open(url) as journal:
        check_snapshot(journal)


def test_kills_of_workers_lose_and_double_nothing(url: str) -> None:
    kills(url, 20)


def test_two_machines_on_one_thread_take_turns_or_are_told(url: str) -> None:
    two_workers(url)


def test_a_killed_server_loses_nothing_that_was_acknowledged() -> None:
    with postgresql_server() as own:
        acked: list[str] = []
        with Journal.open(url_of(own), wait=5) as journal:
            for number in range(6):
                acked += _until_killed(journal, own, f"round {number}")
                with pytest.raises(StoreError):
                    step(journal, "t", "into the void")
                own.start()
            acked.append("and on")
            step(journal, "t", "and on")
            check(journal, acked)


def _until_killed(journal: Journal, server: PostgreSQL, name: str) -> list[str]:
    acked: list[str] = []
    killer = threading.Timer(0.25, server.kill)
    for number in range(10**6):
        said = f"{name}, {number}"
        try:
            step(journal, "t", said, one=bool(number % 2))
        except StoreError:
            break
        acked.append(said)
        if len(acked) == 1:
            killer.start()
    killer.join()
    assert acked
    return acked


def test_dropped_connections_are_not_noticed(url: str) -> None:
    with Journal.open(url) as journal:
        step(journal, "t", "one")
        engine = engine_of(url)
        for number in range(3):
            with engine.begin() as connection:
                connection.execute(
                    text(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
                    )
                )
            step(journal, "t", f"after drop {number}")
        engine.dispose()
        assert [m.message.text for m in journal.messages("t")][-1] == "after drop 2"


STOPPED = """
import os, signal, sys
from acc.errors import ConflictError, StoreError
from acc.journal import Journal, postgresql
from journal_conformance import messages, step
postgresql.IDLE_SECONDS = 4
journal = Journal.open(sys.argv[1], wait=1)
step(journal, "t", "first")
follows, begun, stops = journal.head("t").hash, Journal._next_seq, [signal.SIGSTOP]
def next_seq(journal, place):
    if stops:
        print("inside", flush=True)
        os.kill(os.getpid(), stops.pop())
    return begun(journal, place)
Journal._next_seq = next_seq
try:
    journal.append("t", messages(2, "too late"), follows=follows)
except (ConflictError, StoreError) as error:  # the signal may reach the process as late as its COMMIT
    print("told", error, flush=True)
"""


def test_a_worker_that_is_stopped_in_a_transaction_loses_its_lock_and_is_told(url: str) -> None:
    with Journal.open(url, wait=0.1) as hasty:  # ready before the worker stops
        process = subprocess.Popen(
            [sys.executable, "-c", STOPPED, url], stdout=subprocess.PIPE, text=True, env=BESIDE
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "inside\n"
            with pytest.raises(StoreUnavailableError):
                step(hasty, "t", "too early")
            with Journal.open(url, wait=30) as journal:
                step(journal, "t", "second")
            os.kill(process.pid, signal.SIGCONT)
            out, _ = process.communicate(timeout=30)
        finally:
            process.kill()  # a stopped one, too
    assert out.startswith("told ")


def test_writers_of_other_threads_do_not_wait(url: str) -> None:
    with Journal.open(url, wait=5) as journal:
        step(journal, "slow", "one")
        entered, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            def wait(*_: object) -> None:
                entered.set()
                go_on.wait(30)

            journal.database.write(wait, ThreadKey("slow").digest(b""))

        holder = threading.Thread(target=hold)
        holder.start()
        entered.wait(30)
        step(journal, "quick", "does not wait")
        go_on.set()
        holder.join()


def test_a_writer_may_not_change_what_was_said_and_an_eraser_may(url: str) -> None:
    sql = resources.files("acc.journal") / "roles.sql"
    one = [("main", 1)]
    with Journal.open(url) as owner:
        step(owner, "t", "My pin is 4711.")
    admin = engine_of(url)
    schema = url.rpartition("%3D")[2]
    with admin.begin() as connection:
        connection.exec_driver_sql(sql.read_text())
        for name, role in (("agent", "acc_writer"), ("officer", "acc_eraser")):
            connection.exec_driver_sql(f"CREATE ROLE {name} LOGIN PASSWORD 'x' IN ROLE {role}")
        connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA {schema} TO agent, officer")
    at = url.partition("@")[2]
    with Journal.open(f"postgresql://agent:x@{at}") as journal:
        step(journal, "t", "And on.")
        step(journal, "new", "A new thread.", one=True)
        for act in (lambda: journal.prune("t", one), lambda: journal.delete_thread("t")):
            with pytest.raises(StoreError, match="may not"):
                act()
        assert journal.verify([POLICY]).is_clean
    agent = engine_of(f"postgresql://agent:x@{at}")
    for change in (
        "UPDATE messages SET version = 0 WHERE seq = 1",
        "UPDATE messages SET turn = 7 WHERE seq = 1",
        "UPDATE messages SET text = '' WHERE seq = 1",
        "UPDATE heads SET seq = seq + 1",
        "UPDATE heads SET version = 1, hash = (SELECT min(hash) FROM commits WHERE version = 1)",
        "DELETE FROM messages",
    ):
        with pytest.raises(ProgrammingError, match="InsufficientPrivilege"), agent.begin() as on:
            on.exec_driver_sql(change)
    agent.dispose()
    with Journal.open(f"postgresql://officer:x@{at}") as journal:
        journal.prune("t", one)
        assert not journal.texts("t", ["u1"])
        assert journal.delete_thread("new") == 1
    with admin.begin() as connection:
        for name in ("acc_keep_head", "acc_keep_message", "acc_of_a_writer"):
            connection.exec_driver_sql(f"DROP FUNCTION {name} CASCADE")
        for name in ("agent", "officer", "acc_writer", "acc_eraser"):
            connection.exec_driver_sql(f"DROP OWNED BY {name}")
            connection.exec_driver_sql(f"DROP ROLE {name}")
    admin.dispose()


def test_a_reader_writes_nothing(url: str) -> None:
    with Journal.open(url) as journal:
        step(journal, "t", "one")
    with Journal.open(url, reads_only=True) as journal:
        assert journal.head("t").version == 1
        assert journal.verify([POLICY]).is_clean
        with pytest.raises(StoreError):
            step(journal, "t", "no")


def test_a_forked_child_is_told_and_its_parent_goes_on(url: str) -> None:
    with Journal.open(url) as journal:
        check_fork(journal)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("acc:", "nobody:"), "password authentication failed"),
        (("/postgres?", "/nowhere?"), "does not exist"),
        (("@127.0.0.1", "@127.0.0.2"), "cannot be reached"),
    ],
)
def test_a_wrong_address_says_so_without_the_password(
    server: PostgreSQL, url: str, change: tuple[str, str], what: str
) -> None:
    with pytest.raises(StoreError, match=what) as caught:
        Journal.open(url.replace(*change), wait=2)
    assert server.password not in str(caught.value)


def test_it_is_no_file_that_could_be_copied(url: str, tmp_path: Path) -> None:
    with Journal.open(url) as journal, pytest.raises(ConfigurationError, match="own means"):
        journal.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_workers_that_begin_at_once_make_the_tables_once(url: str) -> None:
    errors: list[AccError | None] = []

    def begin_() -> None:
        try:
            Journal.open(url).close()
            errors.append(None)
        except AccError as error:
            errors.append(error)

    threads = [threading.Thread(target=begin_) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == [None] * 8


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://acc:p@q:hidden@127.0.0.1:1/db",
        "postgresql:/acc:hidden@h/db",
        "postgresql://acc:hidden@[::1/db",
        "postgresql://acc:hidden@h:port/db",
    ],
)
def test_an_odd_address_is_refused_and_not_repeated(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AccError) as caught:
        Journal.open(address, wait=2)
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is None or "hidden" not in str(caught.value.__cause__)
    assert list(tmp_path.iterdir()) == []
