"""The journal on SQLite keeps its promises, in both modes of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from journal_conformance import check_journal

from acc.journal import Journal


@pytest.mark.parametrize("kind", ["ext4", pytest.param("nfs4", marks=pytest.mark.slow)])
def test_sqlite(tmp_path: Path, kind: str) -> None:
    check_journal(lambda: Journal.open(tmp_path, file_system=lambda _: kind))
    has_log = (tmp_path / "journal.sqlite3-wal").exists()
    assert has_log is False  # closed: the log is gone; on nfs there never was one
