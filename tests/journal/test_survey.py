"""Questions to a whole memory: sizes, turns that no commit took, and words."""

from __future__ import annotations

from pathlib import Path

import pytest

from acc.journal import Journal, ThreadKey, survey
from acc.journal.survey import Said
from acc.testing.journal_conformance import messages, step


def test_sizes_are_those_of_all_branches(tmp_path: Path) -> None:
    own = ThreadKey("t", "acme", "ana")
    with Journal.open(tmp_path) as journal:
        first = step(journal, "t", "one", "two")
        step(journal, "t", "three")
        fork = journal.fork("t", first.head.hash, "b")
        step(journal, "t", "four", branch="b")
        step(journal, own, "five")
        journal.append("waiting", messages(1, "six"))
        commits = [c for name in ("main", "b") for c in journal.commits("t", name)]
        assert fork.version > 1
        assert journal.sizes() == {
            ThreadKey("t"): (len(commits), 4), own: (1, 1), ThreadKey("waiting"): (0, 1),
        }  # fmt: skip
        journal.delete_thread(own)
        assert own not in journal.sizes()


def test_what_each_branch_said_and_what_of_it_waits(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        assert journal.said() == []
        first = step(journal, "t", "one")
        fork = journal.fork("t", first.head.hash, "b")
        assert journal.said() == [Said(ThreadKey("t"), "main", 1, 0)]
        journal.append("t", messages(2, "two", "three"), follows=fork.hash, branch="b")
        journal.append("new", messages(1, "four"))
        gone = journal.append("gone", messages(1, "five"))
        journal.blank("gone", gone.refs)
        assert journal.said() == [
            Said(ThreadKey("t"), "main", 1, 0), Said(ThreadKey("t"), "b", 0, 2), Said(ThreadKey("new"), "main", 0, 1),
        ]  # fmt: skip
        for each in journal.said():
            assert len(journal.waiting(each.thread, each.branch)) == each.open


def test_words_are_found_newest_first_across_stretches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "STRETCH", 3)
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
