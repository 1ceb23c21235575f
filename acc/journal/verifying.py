"""Verify many threads at once, in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import groupby, islice
from multiprocessing import get_context

from sqlalchemy import URL

from acc.journal.connecting import connected
from acc.journal.listing import Listing
from acc.journal.names import Head, ThreadKey
from acc.journal.report import Report
from acc.journal.verify import verify_thread
from acc.state.policy import Policy

CHUNK = 32
"""Threads that a process gets at a time."""

Work = list[tuple[ThreadKey, list[Head]]]
Progress = Callable[[Report], None]


def by_thread(
    heads: Iterable[Head], anchors: Iterable[Head]
) -> Iterator[tuple[ThreadKey, list[Head]]]:
    """Yield each thread with its anchors; threads of anchors that are not in the journal come last."""
    kept: dict[ThreadKey, list[Head]] = {}
    for head in anchors:
        kept.setdefault(head.thread, []).append(head)
    seen = set()
    for key, _ in groupby(heads, lambda head: head.thread):
        if key not in seen:  # a fork's row may stand apart from its thread's
            seen.add(key)
            yield key, kept.pop(key, [])
    yield from kept.items()


def verify_here(
    journal: Listing,
    work: Iterable[tuple[ThreadKey, list[Head]]],
    policies: Sequence[Policy],
    progress: Progress | None = None,
) -> Report:
    """Check threads one after the other; ``progress`` gets the report so far after each."""
    report = Report()
    for key, anchors in work:
        report.add(verify_thread(journal, key, policies, anchors))
        if progress is not None:
            progress(report)
    return report


def verify_spread(
    address: URL,
    work: Iterable[tuple[ThreadKey, list[Head]]],
    policies: Sequence[Policy],
    digest_key: bytes,
    processes: int,
    progress: Progress | None = None,
) -> Report:
    """Check threads in several processes; ``progress`` gets the report so far after each chunk."""
    report, todo = Report(), iter(work)
    with ProcessPoolExecutor(
        processes, get_context("spawn"), _begin, (address, tuple(policies), digest_key)
    ) as pool:
        running = [
            pool.submit(_verify, chunk) for chunk in iter(lambda: list(islice(todo, CHUNK)), [])
        ]
        for done in as_completed(running):
            report.add(done.result())
            if progress is not None:
                progress(report)
    return report


_MINE: list[tuple[Listing, Sequence[Policy]]] = []


def _begin(address: URL, policies: Sequence[Policy], digest_key: bytes) -> None:
    _MINE.append((Listing(connected(address), digest_key), policies))


def _verify(chunk: Work) -> Report:
    journal, policies = _MINE[0]
    return verify_here(journal, chunk, policies)
