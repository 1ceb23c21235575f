"""``acc ingest`` and ``search``: documents that agents recall, and what threads and documents say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from acc.cli import options
from acc.cli.opening import looking, opened
from acc.cli.options import argument, flag, option
from acc.cli.output import count, print_table, tell
from acc.evidence.base import plain
from acc.evidence.evidence import Evidence
from acc.text.lines import inert_line

_EXCERPT = 300


def ingest(
    paths: Annotated[list[Path], argument("PATH", "Files or folders.")],
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    scope: options.ScopeOption = None,
    replace: Annotated[bool, flag("--replace", "Delete earlier versions of the same files.")] = False,
    json: options.JsonOption = False,
) -> None:  # fmt: skip
    """Add documents that agents can recall.

    Reads text, Markdown, HTML and PDF. The threads of --scope recall them; without it, those of no named owner.
    """
    with opened(memory, create=True) as controller:
        found = Evidence(controller).ingest(paths, replace=replace, **(scope or {}))
        warnings = controller.index.warnings
    lines = [f"{each.ref}  {each.name}: {_ingested(each)}" for each in found]
    told = "\n".join(map(inert_line, (*lines, *warnings)))
    tell(told, [plain(each) for each in found], as_json=json)


def _ingested(each: Any) -> str:
    if not each.is_new:
        return "already in the memory"
    gone = f", {count(each.replaced, 'earlier version')} deleted" if each.replaced else ""
    return f"{count(each.parts, 'part')} added{gone}"


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
        rows = [list(_row(each)) for each in found]
        print_table(("thread", "ref", "from", "text"), rows, wrap=("thread", "text"))
        return
    whose = ", ".join(f"{name} {value!r}" for name, value in (scope or {}).items())
    told = inert_line(f"nothing found ({whose or 'all threads and documents'})")
    tell(told, [plain(each) for each in found], as_json=json)


def _row(hit: Any) -> Iterator[str]:
    yield str(hit.thread)
    yield hit.ref
    yield hit.name or str(hit.channel)
    yield " ".join(hit.text.split())[:_EXCERPT]
