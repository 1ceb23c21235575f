"""States in the journal: each written against the one before, and whole every few commits.

A state of 12 KB differs from the one before by a few hundred bytes. To read one takes at most `WHOLE_EVERY` rows,
however long the thread is.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, TypeVar

from sqlalchemy import Connection, bindparam, select

from acc.journal.faults import damaged
from acc.journal.record import unsqueezed
from acc.journal.tables import COMMITS
from acc.state.model import CompressedCognitiveState

S = TypeVar("S", bound=CompressedCognitiveState)

WHOLE_EVERY = 32

_CHAIN = (
    select(COMMITS.c.version, COMMITS.c.is_whole, COMMITS.c.state, COMMITS.c.id)
    .where(COMMITS.c.branch_id == bindparam("branch_id"), COMMITS.c.version <= bindparam("version"))
    .order_by(COMMITS.c.version.desc())
    .limit(WHOLE_EVERY)
)


class Recent:
    """The last states by hash, for all threads of a journal: as bytes, and as the values that were committed.

    A hash names its state, so that nothing in here is ever out of date.
    """

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._held: OrderedDict[str, tuple[bytes, CompressedCognitiveState]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str) -> bytes | None:
        """Return the state with this hash as bytes."""
        found = self._held.get(digest)
        return found[0] if found else None

    def value(self, digest: str, schema: type[S]) -> S | None:
        """Return the state with this hash, if it is of this class."""
        found = self._held.get(digest)
        return found[1] if found and type(found[1]) is schema else None

    def put(self, state: CompressedCognitiveState, data: bytes) -> None:
        """Keep a state, and let go of the oldest."""
        with self._lock:
            self._held[state.hash] = data, state
            while len(self._held) > self._most:
                self._held.popitem(last=False)

    def clear(self) -> None:
        """Let go of all: something was erased, or the process was forked."""
        self._lock = threading.Lock()
        self._held = OrderedDict()


def read_state(connection: Connection, branch_id: int, version: int) -> bytes | None:
    """Return a state as it was written; None where an erasure blanked it.

    Raises:
        AuditError: Rows of it are damaged or missing.
    """
    rows = connection.execute(_CHAIN, {"branch_id": branch_id, "version": version}).all()
    if rows and rows[0].version == version and rows[0].state is None:
        return None
    needed = []
    for row in rows:
        needed.append(row)
        if row.is_whole:
            break
    is_chain = [row.version for row in needed] == [version - n for n in range(len(needed))]
    if not needed or not needed[-1].is_whole or not is_chain:
        raise damaged(f"rows before version {version} are missing", f"branch row {branch_id}")
    data = b""
    for row in reversed(needed):
        try:
            data = unsqueezed(row.state, data)
        except (zlib.error, TypeError) as error:
            what = f"the state of row {row.id} in commits is damaged"
            raise damaged(what, f"branch row {branch_id}") from error
    return data


def body_of(data: bytes) -> Mapping[str, Any]:
    """Return a state's canonical form."""
    body: Mapping[str, Any] = json.loads(data)
    return body
