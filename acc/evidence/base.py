"""What every part of `acc.evidence.evidence.Evidence` works on, and results as plain JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from acc.clock import SystemClock
from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.journal import Journal, StoredMessage, ThreadKey
from acc.journal.names import MAIN, Key, is_home, key_of, whole_of
from acc.state.policy import Policy


class Base:
    """An open memory, and the threads of a scope in it.

    Args:
        memory: The open memory.
        policies: Policies of threads that have another schema, as of roles. Boards need none.
    """

    def __init__(
        self,
        memory: MemoryController[Any] | AsyncMemoryController[Any],
        policies: Sequence[Policy] = (),
    ) -> None:
        self.memory, self.policies = memory, tuple(policies)
        self.journal = memory.journal
        self._clock = memory.settings.clock or SystemClock()

    @property
    def files(self) -> list[Path]:
        """The memory's files; without a folder, those of its journal."""
        folder = self.memory.folder
        found = self.journal.database.files if folder is None else folder.rglob("*")
        return sorted(path for path in found if path.is_file())

    def threads(self, thread: Key | None = None, **scope: str | None) -> Iterator[ThreadKey]:
        """Yield the threads of a scope (tenant, user, agent), those of documents, too. None stands for any name."""
        if thread is not None:
            yield from (key for key in (key_of(thread),) if self.journal.branches(key))
            return
        wanted = {name: value for name, value in scope.items() if value is not None}
        yield from self.journal.threads(**wanted)


def branches_of(journal: Journal, key: ThreadKey) -> tuple[str, ...]:
    """Return a thread's branches, the main one first."""
    return tuple(dict.fromkeys((MAIN, *(head.branch for head in journal.branches(key)))))


def rows_of(
    journal: Journal, key: ThreadKey, *, also_blanked: bool = False
) -> Iterator[StoredMessage]:
    """Yield the messages of a thread, of each branch its own, committed or not; only on demand those without words."""
    for branch in branches_of(journal, key):
        for each in journal.messages(key, branch=branch, also_open=True):
            if each.branch == branch and (each.digest or also_blanked):
                yield each


@dataclass
class Group:
    """A piece of evidence on a branch: a message, or a document with all its parts."""

    thread: ThreadKey
    branch: str
    ref: str
    rows: list[StoredMessage] = field(default_factory=list)

    @property
    def refs(self) -> list[str]:
        """The refs of its rows."""
        return [each.message.ref for each in self.rows]


def groups_of(journal: Journal, key: ThreadKey) -> Sequence[Group]:
    """Return the evidence of a thread: its messages, or a home's documents."""
    found: dict[tuple[str, str], Group] = {}
    for each in rows_of(journal, key):
        ref = whole_of(each.message.ref) if is_home(key) else each.message.ref
        found.setdefault((each.branch, ref), Group(key, each.branch, ref)).rows.append(each)
    return list(found.values())


def refs_in(value: Any) -> Iterator[str]:
    """Yield the refs that stand in a part of a state."""
    if isinstance(value, Mapping):
        if isinstance(ref := value.get("ref"), str):
            yield ref
        yield from value.get("sources", ())
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for each in value:
        yield from refs_in(each)


def plain(value: Any) -> Any:
    """Return a result of `acc.evidence.evidence.Evidence` as plain JSON values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.repr}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value
