"""Questions to a whole memory: sizes, turns that no commit took, and words."""

from __future__ import annotations

from pathlib import Path

from acc.journal import Journal, ThreadKey
from acc.journal.names import Size
from acc.testing.journal_conformance import messages, step


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


def test_words_are_found_newest_first(tmp_path: Path) -> None:
    said = [f"Word {n}{', rare' if n in (1, 8) else ''}" for n in range(10)]
    with Journal.open(tmp_path) as journal:
        assert journal.holding(["rare"], 5, None, {}) == []
        for number in range(10):
            step(journal, ThreadKey("t", user=f"u{number % 2}"), said[number])

        def found(
            words: str, limit: int, thread: ThreadKey | None = None, **names: str
        ) -> list[str]:
            hits = journal.holding(words.split(), limit, thread, names)
            return [message.text for _, _, message in hits]

        every = said[::-1]
        assert found("wORD", 100) == every
        assert found("word", 4) == every[:4]
        assert found("rare word", 5) == ["Word 8, rare", "Word 1, rare"]
        assert found("rare", 1) == ["Word 8, rare"]
        assert found("word", 9, user="u1") == every[::2]
        assert found("word", 2, ThreadKey("t", user="u0")) == ["Word 8, rare", "Word 6"]
        assert found("%", 5) == []
