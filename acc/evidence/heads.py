"""Heads kept outside: who rewrites a journal, rewrites them, too, unless they lie elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from acc.errors import InputError, StoreError
from acc.folders import file_errors, opened_private
from acc.journal import Head, Journal, ThreadKey
from acc.journal.places import names_of


def line_of(head: Head) -> str:
    """Return a head as a JSON line."""
    body = {
        **names_of(head.thread),
        "branch": head.branch,
        "version": head.version,
        "hash": head.hash,
    }
    return json.dumps(body, sort_keys=True)


def write_heads(heads: Iterable[Head], out: Path) -> int:
    """Write heads to a file, a line each; return how many.

    Raises:
        StoreError: It cannot be written.
    """
    count = 0
    with (
        file_errors(StoreError, "the heads cannot be written", where=out, hint="check the disk"),
        opened_private(out, "w", encoding="utf-8") as file,
    ):
        for head in heads:
            if head.hash:
                file.write(f"{line_of(head)}\n")
                count += 1
    return count


def read_heads(path: Path) -> tuple[Head, ...]:
    """Return the heads of a file.

    Raises:
        InputError: It is no file of heads.
    """
    hint = "give a file that acc heads --out wrote"
    with file_errors(InputError, "the heads cannot be read", where=path, hint=hint):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(_head(line, f"{path}, line {n}", hint) for n, line in enumerate(lines, 1) if line)


def _head(line: str, where: str, hint: str) -> Head:
    try:
        body = json.loads(line)
        key = ThreadKey(**{name: str(body[name]) for name in names_of(ThreadKey(""))})
        return Head(key, str(body["branch"]), str(body["hash"]), int(body["version"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("the line is no head", where=where, hint=hint) from error


def check_heads(journal: Journal, heads: Iterable[Head]) -> Iterator[str]:
    """Yield what is wrong with heads that were kept outside: each has to be a commit still.

    It looks for the commits alone; `acc.journal.journal.Journal.verify` recomputes everything.
    """
    for head in heads:
        where = f"{head.thread}, branch {head.branch}, version {head.version}"
        found = journal.commit_with(head.thread, head.hash)
        if found is not None and (found.branch, found.version) == (head.branch, head.version):
            continue
        if journal.was_erased(head.thread, head.hash):
            yield f"{where}: an erasure took it away; anchor the heads again"
        else:
            yield f"{where}: it is not in the journal"
