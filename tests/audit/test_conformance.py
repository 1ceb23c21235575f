"""`acc.testing.check_audit_store`: both places for audit logs keep its promises, and a broken one is caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from acc.audit.folder import FolderLogs
from acc.audit.medium import End
from acc.testing import check_audit_store


@pytest.mark.parametrize("sync", [True, False])
def test_a_folder_keeps_the_promises(tmp_path: Path, sync: bool) -> None:
    check_audit_store(lambda: FolderLogs(tmp_path / "audit", sync=sync))
    assert sorted(p.suffix for p in (tmp_path / "audit").iterdir() if p.suffix != ".jsonl") == []


class Overwriting(FolderLogs):
    """Appends whatever end the writer knows."""

    def append(self, name: str, line: bytes, after: End | None) -> End:
        return super().append(name, line, self.end(name))


class Hasty(FolderLogs):
    """Writes a rewritten log line by line in its place."""

    def rewrite(self, name: str, change: object) -> None:
        lines = change()  # type: ignore[operator]
        if lines is not None:
            with (self.folder / name).open("wb") as file:
                file.writelines(lines)


class Forgetful(FolderLogs):
    """Does not see the logs that another opening wrote."""

    def names(self) -> list[str]:
        return []


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (Overwriting, "at the end of the log only"),
        (Hasty, "rewritten as a whole"),
        (Forgetful, "the log is listed"),
    ],
)
def test_a_broken_place_is_caught(tmp_path: Path, broken: type[FolderLogs], promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_audit_store(lambda: broken(tmp_path / "audit"))
