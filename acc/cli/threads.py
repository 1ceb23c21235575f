"""``acc threads`` and ``search``: which threads there are, and what threads and documents say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

from acc.cli import options
from acc.cli.opening import Place, looking, reading
from acc.cli.options import argument, option
from acc.cli.output import print_table, tell
from acc.controller.documents import is_home
from acc.evidence.evidence import Evidence
from acc.evidence.plain import plain
from acc.journal import ThreadKey
from acc.journal.names import MAIN, Head
from acc.text.lines import count, inert_line

_EXCERPT = 300


def threads(
    memory: options.MemoryOption = options.DEFAULT_MEMORY, json: options.JsonOption = False
) -> None:
    """List the threads of a memory.

    Commits and messages are those of all its branches; the column branches names those beside main.
    """
    with reading(memory) as journal:
        found = list(_by_thread([h for h in journal.heads() if not is_home(h.thread)]))
        sizes = journal.sizes()
    counted = [(head, forks, *sizes.get(head.thread, (0, 0))) for head, forks in found]
    if json or not found:
        value = [
            {**asdict(h.thread), "commits": commits, "messages": said, "head": h.hash, "branches": forks}
            for h, forks, commits, said in counted
        ]  # fmt: skip
        tell("no thread has a commit", value, as_json=json)
        return
    rows = [
        (Place(h.thread).label, f"{commits:,}", f"{said:,}", " ".join(forks))
        for h, forks, commits, said in counted
    ]
    print_table(("thread", "commits", "messages", "branches"), rows, wrap=("thread", "branches"))
    print(count(len(found), "thread"))


def _by_thread(heads: list[Head]) -> Iterator[tuple[Head, list[str]]]:
    """Yield the head of each thread's main branch, and the names of its other branches."""
    forks: dict[ThreadKey, list[str]] = {}
    for head in heads:
        if head.branch != MAIN:
            forks.setdefault(head.thread, []).append(head.branch)
    yield from ((head, forks.get(head.thread, [])) for head in heads if head.branch == MAIN)


def search(
    query: Annotated[str, argument("WORDS", "Words to search for.")],
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    scope: options.FilterOption = None,
    limit: Annotated[int, option("N", "Results at most.", min=1)] = 8,
    json: options.JsonOption = False,
) -> None:  # fmt: skip
    """Search threads and documents by words.

    acc erase and acc hold take the threads and refs that this prints.
    """
    with looking(memory) as controller:
        found = Evidence(controller).search(query, limit=limit, **options.named(scope))
    if found and not json:
        rows = [
            (str(h.thread), h.ref, h.name or str(h.channel), " ".join(h.text.split())[:_EXCERPT])
            for h in found
        ]
        print_table(("thread", "ref", "from", "text"), rows, wrap=("thread", "text"))
        return
    whose = ", ".join(f"{name} {value!r}" for name, value in (scope or {}).items())
    told = inert_line(f"nothing found ({whose or 'all threads and documents'})")
    tell(told, [plain(each) for each in found], as_json=json)
