"""``acc vacuum``, ``acc export`` and ``acc import``."""

from __future__ import annotations

from pathlib import Path

from acc.cli.evidence import Names, Server, kept, space_of
from acc.cli.screen import told_json
from acc.evidence import portability
from acc.evidence.exported import read_export
from acc.evidence.keeping import take_in
from acc.evidence.upkeep import vacuum as rewrite


def vacuum(memory: Path, *, server: Server = None, as_json: bool = False) -> None:
    """Rewrite the files of a memory; on a server, compact what is told of the use of evidence."""
    with kept(memory, server) as controller:
        before, after, own = rewrite(controller)
    if as_json:
        told_json({"bytes_before": before, "bytes_after": after, "server": not own})
        return
    print(f"{before:,} bytes before, {after:,} after")
    if not own:
        print("the server's files stay as they are: stop it, and run acc vacuum on its folder")


def export(
    out: Path, memory: Path, names: Names, *, server: Server = None, as_json: bool = False
) -> None:
    """Write a namespace to a file."""
    with kept(memory, server) as controller:
        moved = portability.export(
            controller.artifacts, controller.settings.audit, space_of(names), out
        )
    if as_json:
        told_json({"records": moved.records, "audit_logs": moved.logs, "file": str(out)})
    else:
        print(f"{moved.records:,} records and {moved.logs} audit logs in {out}")


def import_(source: Path, memory: Path, *, server: Server = None, as_json: bool = False) -> None:
    """Take in a file of `export`."""
    if not memory.exists():
        read_export(source)  # a file that is none leaves no folder behind
    with kept(memory, server, new=True) as controller:
        moved = take_in(controller, source)
    if as_json:
        told_json({"records": moved.records, "written": moved.written, "audit_logs": moved.logs})
    else:
        print(f"{moved.records:,} records, {moved.written:,} of them new; {moved.logs} audit logs")
