"""Opens a memory to read or to change it, with the schemas and keys of the environment; finds threads by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import combinations, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from acc.controller.controller import MemoryController
from acc.controller.settings import Settings
from acc.errors import ConfigurationError, InputError
from acc.journal import Journal, ThreadKey
from acc.journal.names import MAIN, is_home
from acc.journal.opened import FILE
from acc.journal.recompute import policy_of
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.step.update import KEYLESS, WITH_A_MODEL
from acc.text.lines import inert_line

CHROMA = "ACC_CHROMA"
"""Environment variable with the address of the Chroma server."""

SCHEMA = "ACC_SCHEMA"
"""Environment variable that names schemas of the operator's own, as file.py or module:Class, separated by commas."""

STATE_KEY = "ACC_STATE_KEY"
"""Environment variable with the keys that sign states, separated by commas (`Settings.state_key`)."""

DIGEST_KEY = "ACC_DIGEST_KEY"
"""Environment variable with the key of the messages' digests (`Policy.digest_key`)."""

INSTALL = f"install the schema's package, or set {SCHEMA}=file.py or module:Class"

_MOST_LISTED = 10

Memory = Path | str
"""A memory's folder, or the address of its journal."""

Schema: TypeAlias = type[CompressedCognitiveState]


class NamedBranch(NamedTuple):
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
    """Open the journal of a memory by connections that cannot write. Agents go on meanwhile. No memory is made."""
    check_memory(memory)
    with Journal.open(memory, digest_key=_digest_key(), reads_only=True) as journal:
        yield journal


@contextmanager
def looking(memory: Memory) -> Iterator[MemoryController[Any]]:
    """Open a memory as `reading` does, for what needs a controller. It has no index and no model."""
    with reading(memory) as journal:
        yield MemoryController(journal, Settings(store="none"))


def opened(memory: Memory, *, create: bool = False, **settings: Any) -> MemoryController[Any]:
    """Open a memory to change it, beside its agents; ``settings`` as of `MemoryController.open`.

    Its index is on the server that the environment names (`CHROMA`), or in its folder.
    """
    if not create:
        check_memory(memory)
        if isinstance(memory, str):
            with reading(memory):  # raises if there is none
                pass
    found = os.environ.get(CHROMA)
    store = found or ("none" if isinstance(memory, str) else None)
    keys = [key for key in os.environ.get(STATE_KEY, "").split(",") if key] or None
    settings = {"policy": plain_policy(), "store": store, **settings}
    return MemoryController.open(memory, state_key=keys, **settings)


def _digest_key() -> bytes:
    return os.environ.get(DIGEST_KEY, "").encode()


def plain_policy(**given: Any) -> Policy:
    """Return a policy with the digest key of the environment."""
    return Policy(digest_key=_digest_key(), **given)


def new_policy(schema: Schema | None, model: Any, max_tokens: int | None = None) -> Policy:
    """Return the policy of a memory that begins: by default the generic state with the bound of its compressor."""
    schema = schema or CompressedCognitiveState
    bound, _ = KEYLESS if model is None else WITH_A_MODEL
    return plain_policy(schema=schema, max_tokens=max_tokens or max(bound, schema.max_tokens))


def schema_of(class_name: str) -> Schema:
    """Return the installed class with the name that a state or a policy carries.

    A stored name is untrusted: only the generic class, published ones and those of ACC_SCHEMA are loaded.
    """
    if class_name == CompressedCognitiveState.__name__:
        return CompressedCognitiveState
    from acc.schema import published, schema_named

    own = filter(None, os.environ.get(SCHEMA, "").split(","))
    for name in (*own, *(entry.value for entry in published().values())):
        with suppress(ConfigurationError):  # another package that is broken is no matter here
            if (found := schema_named(name)).__name__ == class_name:
                return found
    what = "the thread uses a schema that is not installed"
    raise ConfigurationError(what, where=class_name, hint=INSTALL)


def policy_for(journal: Journal, fingerprint: str) -> Policy:
    """Return the policy of a commit, if its schema is installed and unchanged, and its token counter is known here."""
    body = journal.policies().get(fingerprint)
    if body is None:
        return plain_policy()
    known = plain_policy(schema=schema_of(body["schema"]))
    found = policy_of(fingerprint, body, [known])
    if found is None:
        what = f"the schema {body['schema']} has changed, or its counter is not {body['counter']!r}"
        hint = "use the Python library with the schema and the counter of that time"
        raise ConfigurationError(what, where=f"policy {fingerprint}", hint=hint)
    return found


def last_policy(journal: Journal, place: NamedBranch) -> Policy:
    """Return the policy of a branch's last commit."""
    head = journal.head(place.thread, place.branch)
    last = next(journal.commits(place.thread, place.branch, max(0, head.version - 1)), None)
    return policy_for(journal, last.policy if last else "")


def conversations(journal: Journal) -> Iterator[NamedBranch]:
    """Yield the threads of a journal, without those that hold documents."""
    return (NamedBranch(key) for key in journal.threads() if not is_home(key))


def thread_named(journal: Journal, name: str | None) -> NamedBranch:
    """Return the one thread that ``--thread`` names: by its name, its label or as NAME@BRANCH; None: the only one."""
    every = islice(conversations(journal), 2) if name is None else _matching(journal, name)
    found = list(dict.fromkeys(every))
    if len(found) == 1:
        return found[0]
    listed = [place.label for place in islice(conversations(journal), _MOST_LISTED + 1)]
    what = f"no thread {name!r}"
    if name is None:
        what = "the memory has several threads" if found else "no thread has a commit"
    elif found:
        what, listed = f"{len(found)} threads match", [inert_line(p.full_name) for p in found]
    more = " and others" if len(listed) > _MOST_LISTED else ""
    hint = f"choose one with --thread: {', '.join(listed[:_MOST_LISTED])}{more}"
    raise InputError(what, where=journal.where, hint=hint if listed else "step a thread first")


def erased_named(journal: Journal, name: str) -> NamedBranch:
    """Return the thread that ``--thread`` names, be it deleted: the journal keeps a digest of its names."""
    parts = name.split("/")
    for cut in range(min(len(parts), 4)):
        thread = "/".join(parts[cut:])
        for owners in combinations(("tenant", "user", "agent"), cut):
            key = ThreadKey(thread, **dict(zip(owners, parts[:cut], strict=True)))
            if thread and journal.was_deleted(key) and not journal.branches(key):
                return NamedBranch(key)
    return thread_named(journal, name)


def _matching(journal: Journal, name: str) -> Iterator[NamedBranch]:
    exact = list(journal.heads(thread=name))
    heads = exact or list(journal.heads())
    places = [NamedBranch(h.thread) for h in heads]
    found = places if exact else [p for p in places if name in (str(p.thread), p.full_name)]
    yield from found
    base, at, branch = name.rpartition("@")
    if not found and at:
        keys = {place.thread for place in _matching(journal, base)}
        named = (h for h in heads if h.branch == branch and h.thread in keys)
        yield from (NamedBranch(h.thread, branch) for h in named)
