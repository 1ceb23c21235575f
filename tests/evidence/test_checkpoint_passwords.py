"""Passwords of checkpointers' databases: in no file, and asked for again where an erasure waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_erased_checkpoints import erased_with, kept_in, postgres, saying
from test_erasure import standing, talk

from acc import MemoryController
from acc.cli import run
from acc.errors import StoreError
from acc.evidence.checkpoints import CheckpointsDue, lasting_url
from acc.evidence.marks import FolderMarks
from acc.evidence.upkeep import resume

__all__ = ["postgres"]


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("postgresql://ana:s3cret@db:5432/x", "postgresql://ana@db:5432/x"),
        (
            "postgres://ana:s3c@ret/s3cret@db/x?sslmode=require",
            "postgres://ana@db/x?sslmode=require",
        ),
        ("postgresql://ana:s3?cret@db/x", "postgresql://ana@db/x"),
        ("postgresql://db/x?user=ana&password=s3cret&a=b", "postgresql://db/x?user=ana&a=b"),
        ("postgresql://db/x?sslpassword=s3cret", "postgresql://db/x"),
        ("postgresql://ana@db/x", "postgresql://ana@db/x"),
        ("postgresql:///x", "postgresql:///x"),
        ("redis:s3cret", "redis:..."),
    ],
)
def test_an_address_is_kept_without_its_password(url: str, kept: str) -> None:
    assert lasting_url(url) == kept
    assert lasting_url(kept) == kept


def test_no_password_is_in_what_an_interrupted_erasure_leaves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, asked = "postgresql://ana:s3cret@db/x", []

    def hook(address: str) -> Any:
        def erase(threads: Any) -> int:
            asked.append((address, tuple(threads)))
            if "s3cret" not in address or len(asked) == 1:
                raise StoreError("not now", where="postgresql", hint="later")
            return 7

        return erase

    monkeypatch.setattr("acc.evidence.erasure.checkpointer_at", hook)
    monkeypatch.setattr("acc.evidence.checkpoints.checkpointer_at", hook)
    journals = []
    write = FolderMarks.write
    monkeypatch.setattr(
        FolderMarks, "write", lambda self, n, v: (journals.append(str(v)), write(self, n, v))
    )
    with MemoryController.open(tmp_path) as memory:
        talk(memory)
        assert erased_with(memory, url, thread="inc", artifact="u3").left
    assert len(journals) == 3
    assert not [said for said in journals if "s3cret" in said]
    assert standing(tmp_path, ("s3cret",)) == []
    again = ["erase", "--checkpointer", url, "--memory", str(tmp_path), "--json"]
    assert run(again) == 0
    out = capsys.readouterr()
    assert "not now" in out.err  # opening the memory tried without a password
    assert json.loads(out.out)[0]["checkpoints"] == 7
    assert [address for address, _ in asked] == [url, "postgresql://ana@db/x", url]
    assert {threads for _, threads in asked} == {("inc",)}
    assert CheckpointsDue(FolderMarks(tmp_path)).notes() == []
    assert run(again) == 1
    assert "no erasure waits" in capsys.readouterr().err


@pytest.mark.slow
def test_a_password_is_given_again_where_an_erasure_waits(
    tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    kept_in(postgres, "inc")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE keeper LOGIN SUPERUSER PASSWORD 'keep3r'")
    where = postgres.partition("@")[2]
    with MemoryController.open(tmp_path) as memory:
        talk(memory)
        due = CheckpointsDue(FolderMarks(tmp_path)).owe(
            "1", ["inc"], [f"postgresql://keeper:keep3r@{where}"]
        )
        assert due.urls == (f"postgresql://keeper@{where}",)
        assert standing(tmp_path, ("keep3r",)) == []
        assert "PGPASSWORD" in resume(memory)[0]
        monkeypatch.setenv("PGPASSWORD", "keep3r")
        assert "rows deleted" in resume(memory)[0]
    assert saying(postgres, "Ottilie")["checkpoints"] in ([], ["other"])
