"""What comes in and leaves: ``acc ingest``, ``export``, ``import``, ``backup``, ``reindex``, ``heads``."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from acc.artifacts.chroma import ChromaStore
from acc.cli import terminal
from acc.cli.opening import check_memory, looking, opened, reading
from acc.cli.terminal import argument, flag, option, tell
from acc.controller.indexing import FOLDER
from acc.errors import InputError, StoreError
from acc.evidence.base import plain
from acc.evidence.evidence import Evidence
from acc.folders import refuse_memorys
from acc.journal.opened import FILE
from acc.text.lines import count


def ingest(
    paths: Annotated[list[Path], argument("PATH", "Files of text.")],
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    scope: terminal.ScopeOption = None,
    replace: Annotated[bool, flag("--replace", "Delete earlier versions of the same files.")] = False,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Add documents that agents can recall.

    Reads text in UTF-8. The threads of --scope recall them; without it, those of no named owner.
    """
    with opened(memory, create=True) as controller:
        found = Evidence(controller).ingest(paths, replace=replace, **(scope or {}))
        warnings = controller.index.warnings
    lines = [f"{each.ref}  {each.name}: {_ingested(each)}" for each in found]
    tell([*lines, *warnings], [plain(each) for each in found], as_json=json)


def _ingested(each: Any) -> str:
    if not each.is_new:
        return "already in the memory"
    gone = f", {count(each.replaced, 'earlier version')} deleted" if each.replaced else ""
    return f"{count(each.parts, 'part')} added{gone}"


def export(
    out: Annotated[Path, argument("FILE", "The file to write; - is stdout.")],
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    scope: terminal.FilterOption = None,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Write threads to a file of JSON lines.

    With their commits and chain of hashes, as acc import and jq read them.
    """
    with looking(memory) as controller:
        evidence = Evidence(controller)
        if str(out) == "-":
            for line in evidence.lines(**(scope or {})):
                sys.stdout.write(f"{line.rstrip()}\n")
            return
        refuse_memorys(out)
        done = evidence.export(out, **(scope or {}))
    told = f"{count(done.threads, 'thread')}, {count(done.lines, 'line')} written to {out}"
    tell([told], plain(done), as_json=json)


def import_(
    source: Annotated[Path, argument("FILE", "A file that acc export wrote.")],
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Add the threads of an exported file to a memory.

    Checks the hashes first. If a check fails, nothing is imported.
    """
    if not source.is_file():  # what is none must not make a folder
        raise InputError("no such file", where=str(source), hint="give what acc export wrote")
    with opened(memory, create=True) as controller:
        keys = Evidence(controller).import_(source)
    tell([f"{count(len(keys), 'thread')} imported"], [plain(key) for key in keys], as_json=json)


def backup(
    to: Annotated[Path, argument("FOLDER", "The folder to create.")],
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Copy a memory to a folder while others write.

    To restore, end all writers, put the copy in the place of the memory's folder, and run acc reindex, which builds
    the index, then acc verify.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        what = "the folder is there already, and not empty"
        raise InputError(what, where=str(to), hint="name a new one")
    with reading(memory) as journal:
        size = journal.backup(to / FILE).stat().st_size
    told = f"{size:,} bytes copied to {to}; the index is built by acc reindex --memory {to}"
    tell([told], {"folder": str(to), "bytes": size}, as_json=json)


def reindex(
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY, json: terminal.JsonOption = False
) -> None:
    """Build the index of a memory anew from its journal.

    The journal is the truth: nothing is lost with an index. Needed after a restore, or with another embedder, or if
    its files are damaged.
    """
    check_memory(memory)
    if isinstance(memory, Path) and (memory / FOLDER).is_dir():
        ChromaStore.discard(memory / FOLDER)
    with opened(memory) as controller:
        done = Evidence(controller).reindex()
        warnings = controller.index.warnings
    if warnings:
        hint = "end the process that holds it, and run this again"
        raise StoreError(warnings[0], where=str(memory), hint=hint)
    told = f"{count(done.messages, 'message')} of {count(done.threads, 'thread')} in the index"
    tell([told], plain(done), as_json=json)


def heads(
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    out: Annotated[Path | None, option("FILE", "Write them to this file. [default: stdout]")] = None,
) -> None:  # fmt: skip
    """Print the last commit of each thread, to keep outside.

    Who rewrites a journal cannot rewrite what is kept elsewhere: acc verify --head FILE compares both.
    """
    with looking(memory) as controller, TemporaryDirectory() as folder:
        file = out or Path(folder) / "heads"
        written = Evidence(controller).write_heads(file)
        print(f"{count(written, 'head')} written to {out}" if out else file.read_text().rstrip())
