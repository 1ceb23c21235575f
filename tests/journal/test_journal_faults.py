"""Nothing acknowledged is lost, doubled or locked, whatever happens to processes, files and the disk."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from journal_conformance import POLICY, messages, rule, step
from servers import begin
from sqlalchemy import event
from workers import change, check, check_fork, kills, said, two_workers, worker

from acc.errors import AuditError, ConflictError, StoreError, StoreUnavailableError
from acc.journal import Journal
from acc.journal.journal import FILE


def test_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    kills(tmp_path, 3)


@pytest.mark.slow
def test_sixty_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    kills(tmp_path, 60)


def test_two_processes_on_one_thread_take_turns_or_are_told(tmp_path: Path) -> None:
    assert two_workers(tmp_path) > 0


def test_a_full_disk_is_told_and_the_repeated_step_works(tmp_path: Path) -> None:
    """SQLite's own limit of pages fails at each point at which the file has to grow."""
    limit = [0]

    def limited(_: Any, cursor: sqlite3.Cursor, *__: object) -> None:
        if limit[0]:
            cursor.connection.execute(f"PRAGMA max_page_count={limit[0]}")

    with Journal.open(tmp_path) as journal:
        database = journal.database
        event.listen(database._engine, "before_cursor_execute", limited)
        told, acked = 0, []
        for number in range(60):
            text = f"{number} " + "x" * (number * 97 % 9000)
            pages = database.raw(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
            for extra in range(8):
                limit[0] = pages + extra
                try:
                    step(journal, "t", text, one=bool(number % 2))
                except StoreError as error:
                    assert "the disk is full" in str(error)  # noqa: PT017
                    told += 1
                else:
                    acked.append(text)
                    break
            else:
                limit[0] = 10**6
                step(journal, "t", text)
                acked.append(text)
            limit[0] = 10**6
        assert told > 20
        check(journal, acked)


@pytest.mark.parametrize("names", [["-wal"], ["-shm"], ["-wal", "-shm"]])
def test_deleted_files_of_an_open_journal_are_told(tmp_path: Path, names: list[str]) -> None:
    acked = []
    with Journal.open(tmp_path) as journal:
        for number in range(30):
            text = f"turn {number}"
            if number % 7 == 3:
                for name in names:
                    (tmp_path / f"{FILE}{name}").unlink()
            try:
                step(journal, "t", text)
            except StoreError as error:
                assert "was deleted" in str(error)  # noqa: PT017
                step(journal, "t", text)
            acked.append(text)
            with Journal.open(tmp_path) as other:  # somebody else, meanwhile
                assert said(other)[text] == 1
        check(journal, acked)
        (tmp_path / FILE).unlink()
        for _ in range(2):  # it is not begun anew
            with pytest.raises(StoreError):
                step(journal, "t", "after")


def test_a_log_that_another_process_replaced_is_told(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        step(journal, "t", "before")
        for name in ("-wal", "-shm"):
            (tmp_path / f"{FILE}{name}").unlink()
        other = worker(tmp_path, "other")
        begin(other)
        assert other.stdout is not None
        assert other.stdout.readline().startswith("acked")
        with pytest.raises(StoreError, match=r"was deleted or replaced while in use"):
            step(journal, "t", "after")
        other.kill()
        other.communicate()


def test_a_forked_child_is_told_and_its_parent_goes_on(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        check_fork(journal)


def test_a_lock_that_is_held_too_long_is_told(tmp_path: Path) -> None:
    with Journal.open(tmp_path, wait=0.2) as journal:
        other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError, match="another process is writing"):
            step(journal, "t", "hello")
        other.close()
        step(journal, "t", "hello")


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_damaged_pages_are_told(tmp_path: Path, every: int) -> None:
    """Whatever page is overwritten: an error of the library, a damage in the report, or nothing was lost."""
    with Journal.open(tmp_path) as journal:
        for number in range(1, 90):
            step(journal, "t", f"Rule {number}.", proposal=rule(f"Rule {number}.", f"u{number}"))
        lines = list(journal.export("t"))
    whole = (tmp_path / FILE).read_bytes()
    silent, pages = 0, range(1, len(whole) // 4096, every)
    for page in [0, *pages]:
        bent = bytearray(whole)
        bent[page * 4096 + 200 : page * 4096 + 3900] = bytes(
            each ^ 0x5A for each in bent[page * 4096 + 200 : page * 4096 + 3900]
        )
        (tmp_path / FILE).write_bytes(bent)
        try:
            with Journal.open(tmp_path) as journal:
                problems = [*journal.database.damages(), *journal.verify([POLICY]).damages]
                if not problems:
                    silent += 1
                    assert list(journal.export("t")) == lines
        except (StoreError, AuditError):
            pass
    assert silent < len(pages) // 2  # the middle of a page may hold nothing


@pytest.fixture(scope="module")
def fifteen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a journal with fourteen turns that are committed, and one that waits."""
    folder = tmp_path_factory.mktemp("fifteen")
    with Journal.open(folder) as journal:
        for number in range(1, 15):
            proposal = rule(f"Rule {number}.", f"u{number}") if number % 5 == 0 else None
            step(journal, "t", f"Rule {number}.", proposal=proposal)
        journal.append("t", messages(15, "This waits."), follows=journal.head("t").hash)
        assert journal.verify([POLICY]).is_clean
    return folder


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE messages SET text = text || '!' WHERE seq = 7",
        "UPDATE messages SET channel = 'operator' WHERE seq = 7",
        "UPDATE messages SET channel = 'nobody' WHERE seq = 7",
        "UPDATE messages SET version = 9 WHERE seq = 7",
        "UPDATE messages SET version = 0 WHERE seq = 7",
        "UPDATE messages SET version = 14 WHERE seq = 15",
        "UPDATE messages SET version = 99 WHERE seq = 15",
        "UPDATE messages SET turn = 99 WHERE seq = 15",
        "UPDATE messages SET seq = 99 WHERE seq = 15",
        "DELETE FROM messages WHERE seq = 15",
        "DELETE FROM messages WHERE seq = 14",
        "DELETE FROM messages WHERE seq = 7",
        "DELETE FROM turns WHERE number = 7",
        "UPDATE turns SET last_seq = 99 WHERE number = 15",
        "UPDATE branches SET ancestry = 'x'",
        "UPDATE branches SET ancestry = '[[1, 3]]'",
        "UPDATE commits SET state = (SELECT state FROM commits WHERE version = 1) WHERE version = 9",
        "UPDATE commits SET record = (SELECT record FROM commits WHERE version = 9) WHERE version = 10",
        "UPDATE commits SET parent = hash WHERE version = 9",
        "UPDATE commits SET record = x'00' WHERE version = 9",
        "UPDATE commits SET kind = 'taken' WHERE version = 9",
        "UPDATE commits SET kind = 'ingest' WHERE version = 9",
        "UPDATE commits SET seq = 3 WHERE version = 9",
        "UPDATE commits SET seq = 15 WHERE version = 14",
        "UPDATE commits SET turn = 3 WHERE version = 9",
        "UPDATE commits SET first_seq = 3 WHERE version = 9",
        "UPDATE commits SET last_seq = 10 WHERE version = 9",
        "UPDATE commits SET first_seq = 0, last_seq = 0 WHERE version = 9",
        "DELETE FROM commits WHERE version = 14",
        "UPDATE heads SET hash = 'x'",
        "UPDATE heads SET seq = seq + 1",
        "UPDATE heads SET version = 4, hash = (SELECT hash FROM commits WHERE version = 4)",
        "DELETE FROM heads",
        "UPDATE policies SET body = replace(body, 'slots', 'spots')",
        "UPDATE policies SET body = 'nonsense'",
        "DELETE FROM policies",
    ],
)  # fmt: skip
def test_a_changed_row_is_told(fifteen: Path, tmp_path: Path, statement: str) -> None:
    shutil.copytree(fifteen, tmp_path, dirs_exist_ok=True)
    assert change(tmp_path, statement) >= 1
    with Journal.open(tmp_path) as journal:
        report = journal.verify([POLICY])
        assert report.damages
        assert all(str(each).startswith("t, branch main") for each in report.damages)


def test_a_document_that_lost_its_end_is_told(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.ingest("manual", messages(1, "Part one.", "Part two."))
        assert journal.verify([POLICY]).is_clean
    change(tmp_path, "DELETE FROM messages WHERE seq = 2")
    with Journal.open(tmp_path) as journal:
        assert "messages after number 1 are missing" in str(journal.verify([POLICY]).damages[0])


def test_a_changed_key_is_told(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        held = journal.key("of placeholders")
        assert journal.key("of placeholders") == held
        assert len(held) == 32
    change(tmp_path, "UPDATE keys SET value = zeroblob(40)")
    with (
        Journal.open(tmp_path) as journal,
        pytest.raises(AuditError, match="the key 'of placeholders' was changed"),
    ):
        journal.key("of placeholders")


def test_a_text_that_is_damaged_is_told_and_not_quoted(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        step(journal, "t", "My pin is 4711.")
    change(tmp_path, "UPDATE messages SET text = CAST(text || x'ff' AS TEXT)")
    with Journal.open(tmp_path) as journal:
        with pytest.raises(AuditError, match="Could not decode to UTF-8") as told:
            list(journal.messages("t"))
        assert "4711" not in str(told.value)
        assert "Could not decode" in str(journal.verify([POLICY]).damages[0])


@pytest.mark.parametrize("act", ["step", "prune", "delete", "delete and begin"])
def test_who_verifies_while_others_write_sees_no_damage(tmp_path: Path, act: str) -> None:
    """They write after it read what there is to check."""
    with Journal.open(tmp_path) as journal, Journal.open(tmp_path, wait=0.2) as other:
        for number in range(1, 6):
            step(journal, "t", f"turn {number}")
        journal.append("t", messages(6, "turn 6"), follows=journal.head("t").hash)
        reading, acts = Journal._message_page, [0]

        def page(*asked: Any, **how: Any) -> Any:
            acts[0] += 1
            if acts[0] == 1:
                write()
            return reading(*asked, **how)

        def write() -> None:
            if act == "step":
                step(other, "t", "turn 6")
                step(other, "t", "turn 7")
            elif act == "prune":
                other.prune("t", [("main", 2), ("main", 5)])
            else:
                other.delete_thread("t")
            if act == "delete and begin":
                step(other, "t", "A new beginning.")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Journal, "_message_page", page)
            report = journal.verify([POLICY])
        assert acts[0]
        assert report.damages == []


def test_what_is_no_journal_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / FILE).write_bytes(b"this is no database, whatever its name says " * 100)
    (tmp_path / "b").mkdir()
    change(tmp_path / "b", "CREATE TABLE collections (id)")
    (tmp_path / "c").write_text("a file")
    Journal.open(tmp_path / "d").close()
    change(tmp_path / "d", "UPDATE format SET number = 99")
    for name, words in {
        "a": "no journal",
        "b": "no journal",
        "c": "cannot|exists|File",
        "d": "format 99",
    }.items():
        with pytest.raises(StoreError, match=words) as caught:
            Journal.open(tmp_path / name)
        assert str(tmp_path) in str(caught.value)
        assert "To fix" in str(caught.value)


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Journal.open(tmp_path / "m") as journal:
            step(journal, "t", "hello")
            files = list((tmp_path / "m").iterdir())
            assert len(files) == 3
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    finally:
        os.umask(before)


def test_a_backup_is_a_journal(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "m") as journal:
        for number in range(20):
            step(journal, "t", f"turn {number}")
        (tmp_path / "copy").mkdir()
        journal.backup(tmp_path / "copy" / FILE)
        step(journal, "t", "later")
    assert [file.name for file in (tmp_path / "copy").iterdir()] == [FILE]
    with Journal.open(tmp_path / "copy") as copy:
        check(copy, [f"turn {n}" for n in range(20)])


def test_interrupted_writers_leave_others_jobs_alone(tmp_path: Path) -> None:
    """Ctrl-C arrives while the main thread writes for others, too."""
    with Journal.open(tmp_path) as journal:
        from concurrent.futures import ThreadPoolExecutor

        interrupts, armed = 0, []

        def interrupt(*_: object) -> None:
            if armed:  # never outside of a step
                armed.clear()
                raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        with ThreadPoolExecutor(8) as pool:
            others = [
                pool.submit(lambda n=n: [step(journal, f"o{n}", f"{k}") for k in range(20)])
                for n in range(8)
            ]  # type: ignore[misc]
            for number in range(60):
                try:
                    try:
                        armed.append(number)
                        signal.setitimer(signal.ITIMER_REAL, 0.001 + number % 9 * 0.002)
                        step(journal, "t", f"turn {number}")
                    finally:
                        armed.clear()
                except KeyboardInterrupt:
                    interrupts += 1
                except ConflictError:  # the interrupted one was being written
                    assert interrupts
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            assert all(len(each.result()) == 20 for each in others)
        assert interrupts
        report = journal.verify([POLICY])
        assert report.is_clean
        assert json.dumps(sorted(said(journal, "o3"), key=int)) == json.dumps(
            [str(n) for n in range(20)]
        )
