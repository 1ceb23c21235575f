"""What an operator wants to know of a memory, and the index written anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from acc.errors import AccError, InputError
from acc.evidence.base import Base
from acc.journal import Journal, ThreadKey


@dataclass(frozen=True)
class Lag:
    """How many messages of a branch wait: for the index, or for a commit."""

    thread: ThreadKey
    branch: str
    messages: int


@dataclass(frozen=True)
class Health:
    """How a memory is.

    Attributes:
        threads: Number of threads.
        branches: Number of their branches.
        messages: Number of messages.
        commits: Number of commits.
        sizes: Bytes of its files: ``journal``, ``log``, ``index``, ``other``.
        free_bytes: Bytes of the journal that are free.
        lag: What the index lacks.
        open: Turns that no commit took: recorded, or of a step that failed. The thread's next step takes them.
        problems: What is wrong: damaged pages, an index that cannot be used.
    """

    threads: int
    branches: int
    messages: int
    commits: int
    sizes: Mapping[str, int]
    free_bytes: int
    lag: tuple[Lag, ...]
    open: tuple[Lag, ...]
    problems: tuple[str, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong and nothing lags."""
        return not self.problems and not self.lag


@dataclass(frozen=True)
class Reindexed:
    """What was indexed anew: threads, and the messages that were missing."""

    threads: int
    messages: int


class Upkeep(Base):
    """Looks after a memory."""

    def health(self) -> Health:
        """Look at the memory: sizes, free pages, what the index lacks, turns that no commit took; writes nothing."""
        journal, index = self.journal, self.parts.index
        problems = [*index.warnings, *(f"journal: {each}" for each in journal.check_pages())]
        heads, said, lag = list(journal.heads()), journal.said(), list[Lag]()
        open_ = [Lag(each.thread, each.branch, each.open) for each in said if each.open]
        try:
            lag += [Lag(each.thread, each.branch, lacks) for each, lacks in index.lacking(said)]
        except AccError as error:
            problems.append(f"index: {error}")
        counts = journal.counts()
        return Health(
            len({head.thread for head in heads}), len(heads), counts["messages"], counts["commits"],
            _sizes(journal, self.files), counts["free"], tuple(lag), tuple(open_),
            tuple(dict.fromkeys(problems)),
        )  # fmt: skip

    def reindex(self) -> Reindexed:
        """Make the index what the journal says: delete what is not in the journal, add what is missing.

        Raises:
            InputError: The memory has no index.
            StoreError: It cannot be used.
        """
        index, store, journal = self.parts.index, self.parts.index.store, self.journal
        if store is None:
            why = "; ".join(index.warnings) or "it was opened with index='none'"
            raise InputError("the memory has no index", where=why, hint="open it with index='now'")
        if store.stale:
            store.clear()
        index.note(alone=True)
        index.clean()
        threads = messages = 0
        for key in journal.threads():
            threads += 1
            heads = journal.branches(key)
            if store.count(key) > sum(map(index.count, heads)):
                messages += index.erase(key)
            else:
                messages += sum(index.refill(key, head.branch) for head in heads)
        return Reindexed(threads, messages)


def _sizes(journal: Journal, files: Iterable[Path]) -> dict[str, int]:
    names = {
        path.absolute(): "log" if path.name.endswith(("-wal", "-shm")) else "journal"
        for path in journal.files
    }
    found = dict.fromkeys(("journal", "log", "index", "other"), 0)
    if not names:  # a server has them
        found["journal"] = journal.size()
    for each in files:
        kind = names.get(each.absolute()) or ("index" if "chroma" in each.parts else "other")
        found[kind] += each.stat().st_size
    return found
