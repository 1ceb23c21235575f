"""What every part of `acc.evidence.evidence.Evidence` works on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acc.clock import SystemClock
from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.errors import InputError
from acc.journal import ThreadKey
from acc.journal.opened import Key, key_of
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
        self.journal, self.parts = memory.journal, memory.parts
        self.folder: Path | None = memory.folder
        self._clock = memory.settings.clock or SystemClock()

    @property
    def files(self) -> list[Path]:
        """The memory's files; without a folder, those of its journal."""
        found = self.journal.files if self.folder is None else self.folder.rglob("*")
        return sorted(path for path in found if path.is_file())

    def threads(
        self,
        thread: Key | None = None,
        *,
        tenant: str | None = None,
        user: str | None = None,
        agent: str | None = None,
    ) -> Iterator[ThreadKey]:
        """Yield the threads of a scope, those of documents, too. None stands for any name."""
        if thread is not None:
            yield from (key for key in (key_of(thread),) if self.journal.branches(key))
            return
        names = {"tenant": tenant, "user": user, "agent": agent}
        wanted = {name: value for name, value in names.items() if value is not None}
        for key in self.journal.threads(**wanted):
            if all(getattr(key, name) == value for name, value in wanted.items()):
                yield key


def missing(what: str, key: ThreadKey) -> InputError:
    """Return the error for a ref or a turn that a thread does not have."""
    hint = "acc show and acc search list what there is"
    return InputError(f"there is no {what}", where=str(key), hint=hint)
