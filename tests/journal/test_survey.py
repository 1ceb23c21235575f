"""Questions to a whole memory: sizes, turns that no commit took, and words."""

from __future__ import annotations

from pathlib import Path

from journal_conformance import messages, step

from acc.journal import Journal, ThreadKey
from acc.journal.names import Size


def test_each_branch_has_its_size_and_what_of_it_waits(tmp_path: Path) -> None:
    own, thread, new, gone = (
        ThreadKey("t", "acme", "ana"),
        ThreadKey("t"),
        ThreadKey("n"),
        ThreadKey("g"),
    )
    with Journal.open(tmp_path) as journal:
        assert journal.sizes() == {}
        first = step(journal, "t", "one", "two")
        step(journal, "t", "three")
        fork = journal.fork("t", first.head.hash, "b")
        step(journal, own, "five")
        assert journal.sizes() == {
            (thread, "main"): Size(2, 3, 3, 0), (thread, "b"): Size(1, 0, 0, 0), (own, "main"): Size(1, 1, 1, 0),
        }  # fmt: skip
        journal.append("t", messages(2, "two", "three"), follows=fork.hash, branch="b")
        journal.append("n", messages(1, "four"))
        journal.append("g", messages(1, "five"))
        journal.prune("g", [("main", 1)])
        journal.delete_thread(own)
        sizes = journal.sizes()
        assert sizes == {
            (thread, "main"): Size(2, 3, 3, 0), (thread, "b"): Size(1, 2, 0, 2),
            (new, "main"): Size(0, 1, 0, 1), (gone, "main"): Size(0, 1, 0, 0),
        }  # fmt: skip
        for (key, branch), size in sizes.items():
            assert len(journal.waiting(key, branch)) == size.open
