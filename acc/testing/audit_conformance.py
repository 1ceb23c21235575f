"""`check_audit_store`: tests that a place for audit logs keeps the promises of its protocol.

Each promise is a function that tries to break it. Its docstring states the promise.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

from acc.audit.log import AuditLog
from acc.audit.medium import SUFFIX, AuditStore, End
from acc.errors import AccError, ConflictError
from acc.stores.protocol import Thread
from acc.testing.store_conformance import tested

WRITERS = 6
EACH = 10


def check_audit_store(open_store: Callable[[], AuditStore]) -> None:
    """Test that a place keeps the promises of `acc.audit.medium.AuditStore`.

    Call it in a test of any framework: ``check_audit_store(lambda: MyLogs(address))``. Each run uses new
    names, which makes it safe for a place that holds logs.

    Args:
        open_store: Opens the place, as a process does. It is called several times; all objects that it
            returns must reach the same logs.

    Raises:
        AssertionError: A promise is broken; the error names the first one and how it failed.
    """
    for promise in PROMISES:
        store, other = open_store(), open_store()
        try:
            tested("The audit store", promise.__doc__, partial(promise, Case(store, other)))
        finally:
            store.close()
            other.close()


class Case:
    """Two openings of the place under test, and a log that no other run uses."""

    def __init__(self, store: AuditStore, other: AuditStore) -> None:
        self.store = store
        self.other = other
        self.thread = Thread(thread=f"check {uuid.uuid4()}")
        self.name = AuditLog.names(self.thread)[0]

    def line(self, number: int, more: str = "") -> bytes:
        return f'{{"line":{number},"more":"{more}"}}\n'.encode()

    def written(self, count: int) -> list[bytes]:
        """Append ``count`` lines, and return them."""
        lines = [self.line(n) for n in range(count)]
        after = None
        for line in lines:
            after = self.store.append(self.name, line, after)
        return lines

    def expect(self, lines: list[bytes]) -> None:
        for store in (self.store, self.other):
            found = list(store.lines(self.name))
            assert found == lines, f"{len(found)} lines, not the {len(lines)} that were written"
            assert list(store.newest_first(self.name)) == lines[::-1], "newest first, they differ"

    def refused(self, store: AuditStore, after: End | None) -> None:
        try:
            store.append(self.name, self.line(99), after)
        except ConflictError:
            return
        raise AssertionError(f"a line was appended after the end {after!r}, which is not the end")


def _absent(case: Case) -> None:
    """A log that nobody wrote has no end and no lines, and deleting it does nothing."""
    case.store.delete(case.name)
    assert case.store.end(case.name) is None, "it has an end"
    assert case.name not in case.store.names(), "it is listed"
    case.expect([])


def _appends(case: Case) -> None:
    """Lines come back as they were written, in order, from every opening; the log is listed."""
    lines = [
        case.line(1), case.line(2, "Größe 日本語 \\u0000 👩‍👩‍👧 %s ' \\\\"),
        "\ud800".encode("utf-8", "surrogatepass") + b"\x00\n", case.line(4, "x" * 300_000),
    ]  # fmt: skip
    after = None
    for line in lines:
        after = case.store.append(case.name, line, after)
        assert case.other.end(case.name) == after, "another opening sees another end"
    case.expect(lines)
    assert case.name in case.other.names(), "it is not listed"
    assert case.other.ends().get(case.name) == after, "it is listed with another end"
    note = f"note {case.name.removesuffix(SUFFIX)}"
    case.store.append(note, case.line(1), None)
    assert note not in case.other.names(), "what is no log is listed"
    case.store.delete(note)
    assert case.other.where(case.name), "it has no place"


def _many(case: Case) -> None:
    """A long log is read whole, from both ends, and by the words in its lines."""
    lines = case.written(300)
    case.expect(lines)
    found = list(case.other.newest_first(case.name, b'"line":29'))
    assert found == [*lines[290:][::-1], lines[29]], "lines with the words are missing"
    newest = case.store.newest_first(case.name)
    assert next(newest) == lines[-1], "the newest line is not the first"


def _one_end(case: Case) -> None:
    """A line is appended at the end of the log only: who has an old end is refused, and nothing is written."""
    first = case.store.append(case.name, case.line(0), None)
    case.refused(case.other, None)
    second = case.other.append(case.name, case.line(1), first)
    assert first.edition == second.edition, "a line that was appended changed the edition"
    assert first.length < second.length, "the length did not grow"
    case.refused(case.store, first)
    case.refused(case.store, None)
    case.expect([case.line(0), case.line(1)])


def _one_first(case: Case) -> None:
    """Of several writers that append at one end at the same moment, exactly one succeeds."""
    after: End | None = None
    for turn in range(EACH):
        ready = Barrier(WRITERS)

        def write(n: int, turn: int, after: End | None, ready: Barrier) -> End | None:
            ready.wait(30)
            try:
                store = case.store if n % 2 else case.other
                return store.append(case.name, case.line(turn, str(n)), after)
            except ConflictError:
                return None

        with ThreadPoolExecutor(WRITERS) as pool:
            act = partial(write, turn=turn, after=after, ready=ready)
            ends = [end for end in pool.map(act, range(WRITERS)) if end is not None]
        assert len(ends) == 1, f"{len(ends)} writers appended line {turn + 1}"
        after = ends[0]
    assert len(list(case.store.lines(case.name))) == EACH, "lines are missing or doubled"


def _rewritten(case: Case) -> None:
    """A log is rewritten as a whole, also from its own lines; None leaves it; ends from before are refused."""
    lines = case.written(200)
    old = case.store.end(case.name)
    case.store.rewrite(case.name, lambda: None)
    assert case.other.end(case.name) == old, "a change to nothing changed it"

    def shorter() -> Iterator[bytes]:
        return (line for line in case.store.lines(case.name) if b"9" not in line)

    case.store.rewrite(case.name, shorter)
    new = case.other.end(case.name)
    assert old is not None, "it has no end"
    assert new is not None, "it has no end after it was rewritten"
    assert old.edition != new.edition, "the edition is the same"
    kept = [line for line in lines if b"9" not in line]
    case.expect(kept)
    case.refused(case.other, old)
    case.other.append(case.name, case.line(99), case.other.end(case.name))
    case.expect([*kept, case.line(99)])


def _undone(case: Case) -> None:
    """A rewriting that fails changes nothing, and does not keep others from writing."""
    lines = case.written(3)

    def broken() -> Iterator[bytes]:
        yield case.line(7)
        raise _Broken("on purpose")

    try:
        case.store.rewrite(case.name, broken)
    except _Broken:
        pass
    else:
        raise AssertionError("the error was lost")
    case.expect(lines)
    case.other.append(case.name, case.line(3), case.other.end(case.name))


class _Broken(AccError):
    pass


def _deleted(case: Case) -> None:
    """A deleted log is gone; ends from before are refused, also in a log written anew with as many lines."""
    case.written(3)
    old = case.other.end(case.name)
    case.store.delete(case.name)
    case.store.tidy()
    assert case.other.end(case.name) is None, "it has an end"
    case.expect([])
    case.refused(case.other, old)
    after = None
    for n in range(3):
        after = case.store.append(case.name, case.line(n, "anew"), after)
    case.refused(case.other, old)
    case.expect([case.line(n, "anew") for n in range(3)])


def _closed(case: Case) -> None:
    """A closed place opens again when it is used."""
    lines = case.written(2)
    case.store.close()
    case.store.close()
    case.expect(lines)


PROMISES = (
    _absent, _appends, _many, _one_end, _one_first, _rewritten, _undone, _deleted, _closed,
)  # fmt: skip
