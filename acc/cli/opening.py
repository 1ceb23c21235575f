"""Opens a memory to read or to change it, and finds its threads by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, islice
from pathlib import Path
from typing import Any, NamedTuple

from acc.cli.policies import digest_key, policy_for, state_keys
from acc.controller.controller import MemoryController
from acc.controller.documents import is_home
from acc.controller.settings import Settings
from acc.errors import InputError
from acc.journal import Journal, ThreadKey
from acc.journal.names import MAIN
from acc.journal.opened import FILE
from acc.state.policy import Policy
from acc.text.lines import inert_line

MOST_NAMED = 10


class Place(NamedTuple):
    """A branch of a thread."""

    thread: ThreadKey
    branch: str = MAIN

    @property
    def label(self) -> str:
        """What names it in output and for ``--thread``."""
        name = inert_line(str(self.thread))
        return name if self.branch == MAIN else f"{name}@{self.branch}"

    @property
    def full_name(self) -> str:
        """The four names of the thread, empty ones too: no two threads share it."""
        key = self.thread
        return "/".join((key.tenant, key.user, key.agent, key.thread))


CHROMA = "ACC_CHROMA"
"""The environment's name for the address of the Chroma server."""

Memory = Path | str
"""A memory's folder, or the address of its journal."""


def check_memory(memory: Memory) -> None:
    """Raise `InputError` if the folder holds no memory. Opening it would make one."""
    if isinstance(memory, str):
        return
    file = memory / FILE
    if memory.exists() and not memory.is_dir():
        what, hint = "this is a file, not the folder of a memory", "name the folder with --memory"
    elif not file.is_file() or not file.stat().st_size:
        what = "no memory in this folder"
        hint = "name another with --memory, or make one with acc replay FILE --memory DIR"
    else:
        return
    raise InputError(what, where=str(memory), hint=hint)


@contextmanager
def reading(memory: Memory) -> Iterator[Journal]:
    """Open the journal of a memory by connections that cannot write. Agents go on meanwhile.

    Raises:
        InputError: There is no memory; none is made.
    """
    check_memory(memory)
    with Journal.open(memory, digest_key=digest_key(), reads_only=True) as journal:
        yield journal


@contextmanager
def looking(memory: Memory) -> Iterator[MemoryController[Any]]:
    """Open a memory as `reading` does, for what needs a controller. It has no index and no model."""
    with reading(memory) as journal:
        yield MemoryController(journal, Settings(index="none"))


def opened(memory: Memory, *, create: bool = False, **settings: Any) -> MemoryController[Any]:
    """Open a memory to change it, beside its agents; ``settings`` as of `MemoryController.open`.

    Its index is on the server that the environment names (`CHROMA`), or in its folder.

    Raises:
        InputError: There is no memory, and ``create`` is False.
    """
    if not create:
        check_memory(memory)
        if isinstance(memory, str):
            with reading(memory):  # raises if there is none
                pass
    found = os.environ.get(CHROMA)
    index = {"store": found} if found else {"index": "none"} if isinstance(memory, str) else {}
    settings = {"policy": Policy(digest_key=digest_key()), **index, **settings}
    return MemoryController.open(memory, state_key=state_keys(), **settings)


def last_policy(journal: Journal, place: Place) -> Policy:
    """Return the policy of a branch's last commit."""
    head = journal.head(place.thread, place.branch)
    last = next(journal.commits(place.thread, place.branch, max(0, head.version - 1)), None)
    return policy_for(journal, last.policy if last else "")


def conversations(journal: Journal) -> Iterator[Place]:
    """Yield the threads of a journal, without those that hold documents."""
    return (Place(key) for key in journal.threads() if not is_home(key))


def thread_named(journal: Journal, name: str | None) -> Place:
    """Return the thread that ``--thread`` names: by its name, by its label, or as ``NAME@BRANCH``.

    None is the memory's only thread.

    Raises:
        InputError: No thread matches, or several do.
    """
    every = islice(conversations(journal), 2) if name is None else _matching(journal, name)
    found = list(dict.fromkeys(every))
    if len(found) == 1:
        return found[0]
    named = list(islice(conversations(journal), MOST_NAMED + 1))
    what = f"{len(found)} threads match" if found else f"no thread {name!r}"
    if name is None:
        what = "the memory has several threads" if found else "no thread has a commit"
    elif found:
        named = found
    hint = f"choose one with --thread: {_listed(named)}" if named else "step a thread first"
    raise InputError(what, where=journal.where, hint=hint)


def erased_named(journal: Journal, name: str) -> Place:
    """Return the thread that ``--thread`` names, be it deleted: the journal keeps a digest of its names.

    Raises:
        InputError: No thread matches, or several do.
    """
    parts = name.split("/")
    for cut in range(min(len(parts), 4)):
        thread = "/".join(parts[cut:])
        for owners in combinations(("tenant", "user", "agent"), cut):
            key = ThreadKey(thread, **dict(zip(owners, parts[:cut], strict=True)))
            if thread and journal.was_deleted(key) and not journal.branches(key):
                return Place(key)
    return thread_named(journal, name)


def _matching(journal: Journal, name: str) -> Iterator[Place]:
    exact = [h for h in journal.heads(thread=name) if h.thread.thread == name]
    heads = exact or list(journal.heads())
    places = [Place(h.thread) for h in heads]
    found = places if exact else [p for p in places if name in (str(p.thread), p.full_name)]
    yield from found
    base, at, branch = name.rpartition("@")
    if not found and at:
        keys = {place.thread for place in _matching(journal, base)}
        named = (h for h in heads if h.branch == branch and h.thread in keys)
        yield from (Place(h.thread, branch) for h in named)


def _listed(places: Sequence[Place]) -> str:
    labels = [place.label for place in places]
    if len(set(labels)) < len(labels):
        labels = [inert_line(place.full_name) for place in places]
    return ", ".join(labels[:MOST_NAMED]) + (" and others" if len(labels) > MOST_NAMED else "")
