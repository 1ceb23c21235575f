"""What an operator wants to know of a memory, and the index written anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc.controller.parts import Parts
from acc.errors import AccError, InputError
from acc.journal import Journal, ThreadKey


@dataclass(frozen=True)
class Waiting:
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
    lag: tuple[Waiting, ...]
    open: tuple[Waiting, ...]
    problems: tuple[str, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong and nothing lags."""
        return not self.problems and not self.lag


def health(parts: Parts[Any], folder: Path | None, *, pages: bool = True) -> Health:
    """Look at a memory; nothing is written.

    Args:
        parts: The memory's.
        folder: Its folder.
        pages: Whether the database's own check reads every page.
    """
    journal, problems = parts.journal, list(parts.index.warnings)
    if pages:
        problems += [f"journal: {each}" for each in journal.check_pages()]
    heads, lag = list(journal.heads()), list[Waiting]()
    said = journal.said()
    open_ = [Waiting(each.thread, each.branch, each.open) for each in said if each.open]
    try:
        lag += [
            Waiting(each.thread, each.branch, lacks) for each, lacks in parts.index.lacking(said)
        ]
    except AccError as error:
        problems.append(f"index: {error}")
    counts = journal.counts()
    threads = len({head.thread for head in heads})
    return Health(
        threads, len(heads), counts["messages"], counts["commits"], _sizes(journal, folder),
        counts["free"], tuple(lag), tuple(open_), tuple(dict.fromkeys(problems)),
    )  # fmt: skip


def _sizes(journal: Journal, folder: Path | None) -> dict[str, int]:
    names = {
        path.absolute(): "log" if path.name.endswith(("-wal", "-shm")) else "journal"
        for path in journal.files
    }
    found = dict.fromkeys(("journal", "log", "index", "other"), 0)
    if not names:  # a server has them
        found["journal"] = journal.size()
    for each in folder.rglob("*") if folder is not None else names:
        if each.is_file():
            kind = names.get(each.absolute()) or ("index" if "chroma" in each.parts else "other")
            found[kind] += each.stat().st_size
    return found


@dataclass(frozen=True)
class Reindexed:
    """What was indexed anew: threads, and the messages that were missing."""

    threads: int
    messages: int


def reindex(parts: Parts[Any]) -> Reindexed:
    """Make the index what the journal says: delete what is not in the journal, add what is missing.

    Raises:
        InputError: The memory has no index.
        StoreError: It cannot be used.
    """
    store, journal = parts.index.store, parts.journal
    if store is None:
        why = "; ".join(parts.index.warnings) or "it was opened with index='none'"
        raise InputError("the memory has no index", where=why, hint="open it with index='now'")
    if store.stale:
        store.rebuild()
    parts.index.clean()
    threads = messages = 0
    for key in journal.threads():
        threads += 1
        heads = journal.branches(key)
        if store.count(key) > sum(map(parts.index.count, heads)):
            messages += parts.index.erase(key)
            continue
        try:
            messages += sum(parts.index.refill(key, head.branch) for head in heads)
        except AccError:  # an id with another text
            messages += parts.index.erase(key)
    return Reindexed(threads, messages)
