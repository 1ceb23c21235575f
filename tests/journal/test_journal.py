"""The journal with steps of the core: recomputing, erasing, migrating, and what stands in the files."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Annotated

import pytest
from journal_steps import core_step, memory
from sqlalchemy import create_engine
from workers import change, check_snapshot

from acc.commit.commit import Given, commit
from acc.errors import CompressionError, ConfigurationError, InputError, StateError
from acc.folders import file_system, is_network
from acc.gate import Verdict
from acc.journal import Entry, Journal, Report
from acc.journal.erasing import Anew
from acc.journal.journal import FILE
from acc.journal.record import given_of, record_of
from acc.journal.tables import packed, unpacked
from acc.models.protocol import Usage
from acc.state.items import Fact
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.state.proposal import Proposal, read
from acc.state.reading import Reading
from acc.state.slots import Slot
from acc.testing.journal_conformance import POLICY, entry, messages, rule, step
from acc.turn.observations import Channel, Evidence

LONG = " ".join(f"Line {n} says that host {n} restarts at {n} o'clock." for n in range(900))


class Domain(CompressedCognitiveState):
    """A schema of an application."""

    tickets: Annotated[tuple[Fact, ...], Slot("tickets", "i", "Tickets", places=5)] = ()


def test_steps_of_the_core_recompute(tmp_path: Path) -> None:
    """Windows, judgements, provisional commits and their rereading, missing messages: all of it comes out again."""
    failing = [False]

    def sometimes(reading: Reading) -> Proposal:
        if failing[0]:
            raise CompressionError("it is down", outcome="timeout")
        from acc.compress.keyless.compressor import compress

        return compress(reading)

    mem = memory(
        compressor=sometimes,
        cadence=Cadence(compress_over=120, tail_bound=200, request_tokens=3000),
    )
    said = [
        ("user", "Never restart db-7 on Fridays. From now on answer in German."),
        ("user", "You may restart db-7 on Fridays again: the freeze is over."),
        ("user", "Forget the rule about German, English is fine from now on."),
    ]
    with Journal.open(tmp_path) as journal:
        for number in range(36):
            failing[0] = 10 < number < 22
            more = [("tool", LONG)] if number == 6 else []
            words = said[number // 3 % 3] if number % 3 == 0 else ("user", f"What about {number}?")
            answer = ("agent", f"Ticket {number} is open, host {number} is slow today.")
            core_step(journal, "t", words, answer, *more, mem=mem)
            if number == 30:
                change(tmp_path, "UPDATE messages SET ref = 'u999' WHERE ref = 'a31'")
        change(tmp_path, "UPDATE messages SET ref = 'a31' WHERE ref = 'u999'")
        commits = list(journal.commits("t"))
        given = [each.record["given"] for each in commits if each.record]
        assert any(len(str(piece)) > 1000 for each in given for piece in each.get("read", ()))
        assert any(each.get("is_provisional") for each in given)
        assert any(each.get("before") for each in given)
        assert len(commits) > 37
        report = journal.verify([mem.policy])
        assert [str(each) for each in report.damages] == []
        assert report.recomputed == len(commits)
        assert report.messages == 73


def test_a_record_comes_back_as_it_was() -> None:
    turn = messages(3, "Never restart db-7.", "Sure.")
    answer = {
        "rules": [{"quote": "restart db-7", "ref": "u3", "about": "db-7"}],
        "later": [{"id": "c1", "quote": "fine", "ref": "u3", "ends": True, "from": "May"}],
        "done": [{"id": "g1", "ref": "u3"}],
        "facts": [{"text": "odd \ud800 value", "refs": ["u3"], "id": "r4"}],
        "keep": ["r1"],
        "nonsense": 1,
    }
    proposal = read(answer, CompressedCognitiveState)
    seen = Evidence(channel=Channel.TOOL, text="log", name="sql", ref="t1", turn=1)
    given = Given(turn, 3, turn, proposal, (seen,), is_repair=True)
    made = commit(CompressedCognitiveState.empty(), POLICY, Given(turn, 3))
    made = type(made)(made.state, made.notes, ("u3",), given)
    kept = Entry(made, POLICY, Usage(2, 100, 10), "done", "slow", (Verdict("t1", 0, "admitted"),))
    stored = unpacked(packed(record_of(kept)))
    back = given_of(stored, turn, {m.ref: m for m in turn}.__getitem__)
    assert back == given
    assert back.proposal is not None
    assert back.proposal.notes == proposal.notes
    assert stored["verdicts"] == [["t1", 0, "admitted"]]
    assert stored["usage"] == {"requests": 2, "input": 100, "output": 10}


def test_policies_change_and_old_commits_recompute(tmp_path: Path) -> None:
    before, after = memory(0, max_tokens=400), memory(0, schema=Domain, max_tokens=900)
    with Journal.open(tmp_path, digest_key=b"") as journal:
        for number in range(4):
            core_step(journal, "t", ("user", f"Never restart db-{number}."), mem=before)
        for number in range(4):
            core_step(journal, "t", ("user", f"Never stop web-{number}."), mem=after)
        assert isinstance(journal.state("t", schema=Domain), Domain)
        assert type(journal.state("t")) is CompressedCognitiveState
        report = journal.verify([Policy(), Policy(schema=Domain)])  # numbers are in the journal
        assert report.is_clean, report.damages
        assert report.recomputed == 8
        lone = journal.verify([Policy(schema=Domain)])
        assert lone.is_clean
        assert lone.reasons == {"the schema CompressedCognitiveState is not known here": 4}
        assert (lone.recomputed, lone.unexplained) == (4, 4)
        changed = type("Domain", (CompressedCognitiveState,), {})
        reasons = journal.verify([Policy(), Policy(schema=changed)]).reasons
        assert reasons == {"the schema Domain has another form here": 4}


SECRET = "Zanzibar-7734"


def test_no_byte_of_erased_words_is_left(tmp_path: Path) -> None:
    def has(words: str) -> bool:
        return words.encode() in b"".join(file.read_bytes() for file in tmp_path.iterdir())

    with Journal.open(tmp_path) as journal:
        step(journal, "t", "Keep every answer short.", proposal=rule("Keep every answer", "u1"))
        step(journal, "t", f"Never say {SECRET}.", proposal=rule(f"Never say {SECRET}.", "u2"))
        step(journal, "t", "What else?")
        for size in (10, 900, 5000, 70_000):  # in a page, over it, in pages of its own
            step(journal, "sizes", SECRET + "z" * size)
        assert has(SECRET)
        head = journal.head("t")
        journal.commit_anew("t", [Anew("main", head.hash, 1, ())], [("main", 2)])
        journal.delete_thread("sizes")
        assert not has(SECRET)
        assert SECRET not in "".join(journal.export("t"))
        said = [each.message.text for each in journal.messages("t", also_open=True)]
        assert said == ["Keep every answer short.", "", "What else?"]
        step(journal, "t", "And on.")
        report = journal.verify([POLICY])
        assert report.is_clean, [str(each) for each in report.damages]
        journal.delete_thread("t")
        assert not has("Keep every answer short")


def test_settings_of_the_file(tmp_path: Path) -> None:
    for kind, mode, sync in (("ext4", "wal", 2), ("cifs", "delete", 3)):
        with Journal.open(tmp_path / kind, file_system=lambda _, k=kind: k) as journal:  # type: ignore[misc]
            pragmas = {
                name: journal.database.raw(lambda c, n=name: c.execute(f"PRAGMA {n}").fetchone()[0])  # type: ignore[misc]
                for name in ("journal_mode", "synchronous", "secure_delete", "busy_timeout")
            }
            expected = {"journal_mode": mode, "synchronous": sync, "secure_delete": 1}
            assert pragmas == {**expected, "busy_timeout": 30_000}
    Journal.open(tmp_path / "ext4", file_system=lambda _: "nfs").close()  # moved to a server
    with sqlite3.connect(tmp_path / "ext4" / FILE) as database:
        assert database.execute("PRAGMA journal_mode").fetchone()[0] == "delete"


def test_network_file_systems_are_known(tmp_path: Path) -> None:
    kinds = {
        "nfs4": True,
        "fuse.sshfs": True,
        "9p": True,
        "cifs": True,
        "ext4": False,
        "overlay": False,
    }
    assert {kind: is_network(kind) for kind in kinds} == kinds
    (tmp_path / "a b" / "inner").mkdir(parents=True)
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nserver:/x {tmp_path}/a\\040b nfs4 rw 0 0\n")
    assert file_system(tmp_path / "a b" / "inner", str(mounts)) == "nfs4"
    assert file_system(tmp_path, str(mounts)) == "ext4"
    assert file_system(tmp_path, str(tmp_path / "none")) == ""


def test_a_long_thread_is_read_by_its_end(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        for number in range(60):
            step(journal, "t", f"turn {number}")
    with Journal.open(tmp_path) as journal:
        counted: list[str] = []
        from sqlalchemy import event

        event.listen(
            journal.database._engine, "before_cursor_execute",
            lambda _c, _u, statement, *_: counted.append(statement),
        )  # fmt: skip
        step(journal, "t", "the next")
        assert len(counted) < 25
        plans = [
            row[3]
            for statement in counted
            if statement.startswith("SELECT") and "?" in statement
            for row in sqlite3.connect(tmp_path / FILE).execute(
                f"EXPLAIN QUERY PLAN {statement}", ["1"] * statement.count("?")
            )
        ]
    assert not [plan for plan in plans if plan.startswith("SCAN") and "CONSTANT" not in plan], plans


def test_a_snapshot_sees_one_moment(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        check_snapshot(journal)


def test_what_cannot_be_opened_or_written_is_refused(tmp_path: Path) -> None:
    own = create_engine(f"sqlite:///{tmp_path}/engine.db")
    for where in ("mysql://someone:secret@host/db", "sqlite://", "sqlite:///:memory:", own):
        with pytest.raises(ConfigurationError) as caught:
            Journal.open(where)
        assert "secret" not in str(caught.value)
    with Journal.open(f"sqlite:///{tmp_path}/own.db") as journal:
        with pytest.raises(InputError):
            journal.append("t", ())
        with pytest.raises(InputError):
            list(journal.heads(colour="red"))
        for name in ("", "\ud800", "a\x00b"):
            with pytest.raises(InputError):
                journal.head(name)
        turn = messages(1, "hello")
        made = entry(POLICY.schema.empty(), turn)
        journal.append("t", turn)
        with pytest.raises(StateError):  # the commit took no turn that was appended
            journal.commit("t", [made], follows="")
        later = entry(made.commit.state, messages(2, "more"))
        with pytest.raises(StateError):  # a version is missing
            journal.append_and_commit("t", messages(2, "more"), [later])
        assert journal.head("t").hash == ""
        with pytest.raises(StateError):
            journal.fork("t", "0" * 64, "aside")
        assert journal.verify([POLICY]) == Report(threads=1, messages=1)


def test_an_import_takes_no_name_and_no_row_that_the_journal_would_not_write(
    tmp_path: Path,
) -> None:
    with Journal.open(tmp_path / "a") as journal:
        step(journal, "t", "hello")
        lines = list(journal.export("t"))
    first = json.loads(lines[0])
    odd = [{**first, "thread": name} for name in ("a\x00b", "", 7)]
    bodies = [[json.dumps(each), *lines[1:]] for each in odd]
    with Journal.open(tmp_path / "b") as journal:
        for each in bodies:
            with pytest.raises(InputError):
                journal.import_(each)
        huge = [line.replace('"seq":1', f'"seq":{10**30}') for line in lines]
        with pytest.raises(InputError):
            journal.import_(huge)
        assert list(journal.threads()) == []
        numbered = [line.replace('"row":"message"', '"row":"message","id":1') for line in lines]
        journal.import_(numbered)
        assert [each.message.text for each in journal.messages("t")] == ["hello"]
