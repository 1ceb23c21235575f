"""Export and import a user's evidence as one file: one line per record or audit log, and a hash.

The file names a namespace. It holds the evidence of that user with that agent and with runs of agents of its name;
if the agent is ``default``, with every agent, as those that are nested in a graph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from acc.audit.folder import FolderLogs
from acc.audit.log import AuditLog
from acc.audit.medium import AuditPlace, audit_store
from acc.audit.namespaces import Spaces, existing_log, known_spaces
from acc.audit.record import digest_of
from acc.errors import AuditError, InputError, StoreError
from acc.evidence.marks import Marks, folders, half_of, marks_of
from acc.folders import file_errors, opened_private, refuse_memorys
from acc.stores.directory import namespace_of, spaces_in, threads_in
from acc.stores.protocol import UNNAMED, Artifact, ArtifactStore, Thread, managed, nested_run
from acc.stores.shelf import documents_written
from acc.text.lines import canonical_json

if TYPE_CHECKING:
    from acc.memory import Memory

FORMAT = 1

_WRONG = (ValueError, KeyError, TypeError, AttributeError, ValidationError, RecursionError)


class Exported(NamedTuple):
    """The content of an export file; ``logs`` has the text of each audit log by file name."""

    space: Thread
    artifacts: list[Artifact]
    logs: dict[str, str]


def read_export(source: Path) -> Exported:
    """Read the export file; `InputError` if it is damaged or holds evidence that is not of its namespace."""
    hint = "name a file of acc export"
    with file_errors(InputError, "the export file cannot be read", where=source, hint=hint):
        written = source.read_bytes()
    try:
        *body, last = written.splitlines(keepends=True)
        whole = json.loads(last).get("sha256") == hashlib.sha256(b"".join(body)).hexdigest()
        if not whole:
            raise _refused(source)
        return _read([json.loads(line.decode("utf-8", "surrogatepass")) for line in body], source)
    except _WRONG as error:
        raise _refused(source) from error


def _read(lines: list[dict[str, Any]], source: Path) -> Exported:
    head, *rest = lines
    known = all(line.keys() in ({"artifact"}, {"log", "text"}) for line in rest)
    if head["format"] != FORMAT or not known:
        raise _refused(source)
    space = Thread(**head["export"])
    artifacts = [Artifact.model_validate(line["artifact"]) for line in rest if "artifact" in line]
    logs = {str(line["log"]): str(line["text"]) for line in rest if "log" in line}
    entries = [a for a in artifacts if a.kind == "thread"]
    owners = [_thread_of(name, text) for name, text in logs.items()]
    owners += [*threads_in(entries), *spaces_in(entries)]
    keys = {space.key, *(each.key for o in owners for each in (o, namespace_of(o)))}
    strange = [owner for owner in owners if not _has(space, owner)]
    own = all(a.thread in keys and a.id.startswith(f"{a.thread}.") for a in artifacts)
    if space.thread or strange or not own:
        raise InputError(
            "the export file holds evidence of another namespace than it names",
            where=str(source),
            hint="do not trust this file or its sender",
        )
    return Exported(space, artifacts, logs)


def _has(space: Thread, owner: Thread) -> bool:
    """Return whether an export of ``space`` holds the evidence of ``owner``."""
    if (owner.tenant, owner.user) != (space.tenant, space.user):
        return False
    is_run = owner.agent.startswith(nested_run(space.agent, ""))
    return is_run or space.agent in (UNNAMED, owner.agent)


def _spaces(store: ArtifactStore, audit: AuditPlace | None, space: Thread) -> Spaces:
    """Return the namespaces that an export of ``space`` holds, its own first, with their threads."""
    known = known_spaces(managed(store), audit, space.tenant)
    return {space: [], **{each: known[each] for each in known if _has(space, each)}}


def _thread_of(name: str, text: str) -> Thread:
    """Return the thread of a log after checking every record; a `ValueError` for an invalid log."""
    previous, owner = "", None
    for line in text.rstrip("\n").split("\n"):
        record = json.loads(line)
        is_next = record["previous"] == previous and record["digest"] == digest_of(record)
        if not is_next or owner not in (None, Thread(**record["thread"])):
            raise ValueError(name)
        previous, owner = record["digest"], Thread(**record["thread"])
    if owner is None or name not in AuditLog.names(owner):
        raise ValueError(name)
    return owner


def _refused(source: Path) -> InputError:
    return InputError(
        "the export file is incomplete, or was changed",
        where=str(source),
        hint="export the namespace again",
    )


MARK = "import.json"
_BATCH = 100


class Moved(NamedTuple):
    """The result of an export or import: numbers of records and logs, and of the records written.

    An import writes no record that exists already.
    """

    space: Thread
    records: int
    logs: int
    written: int = 0


def export(store: ArtifactStore, audit: AuditPlace | None, space: Thread, out: Path) -> Moved:
    """Write a user's evidence to ``out``: shelves, threads and audit logs, of nested agents too.

    Replaces an earlier export of the same namespace, but no other file.

    Raises:
        InputError: The namespace is empty, another file exists, or the file cannot be written.
    """
    _refuse_other(out, space)
    spaces = _spaces(store, audit, space)
    threads = [thread for each in spaces.values() for thread in each]
    ids = [
        id_ for each in (*spaces, *threads)
        for id_ in managed(store).ids(space.tenant, thread=each.key)
    ]  # fmt: skip
    if not ids:
        raise InputError(
            "the namespace has no records to export",
            where=f"user {space.user!r}",
            hint="name another user or agent",
        )
    logs = [log for t in threads if (log := existing_log(audit, t)) and log.last() is not None]
    half = half_of(out)
    digest = hashlib.sha256()
    what, hint = "the export file cannot be written", "name another file"
    try:
        with file_errors(InputError, what, where=out, hint=hint):
            with opened_private(half) as file:
                for line in _lines(store, space, ids, logs):
                    digest.update(line)
                    file.write(line)
                file.write(_line({"end": FORMAT, "sha256": digest.hexdigest()}))
            half.replace(out)
    finally:  # after an error the partial file would keep the user's evidence
        with suppress(OSError):
            half.unlink(missing_ok=True)
    return Moved(space, len(ids), len(logs))


def _refuse_other(out: Path, space: Thread) -> None:
    refuse_memorys(out)
    if not out.is_file():
        return
    with out.open("rb") as file:
        first = file.readline()
    if first != _line(_head(space)):
        raise InputError(
            "this file exists, and is not an export of this namespace",
            where=str(out),
            hint="name another file, or remove this one",
        )


def import_into(memory: Memory, source: Path) -> Moved:
    """Import the file of an `export` atomically: after a kill, `undo` removes a partial import.

    Raises:
        InputError: The file is incomplete, was changed, contains evidence of another namespace, or
            a different record has one of its ids.
        StoreError: The store or a log cannot be written: nothing is imported.
    """
    with memory._lock:
        memory._forget()  # an open thread would overwrite the imported records
        audit = memory.settings.audit or next((f / "audit" for f in folders(memory)), None)
        return _imported(memory.artifacts, marks_of(memory), source, audit)


def _imported(store: ArtifactStore, marks: Marks, source: Path, audit: AuditPlace | None) -> Moved:
    found = read_export(source)
    undo(store, marks, audit)  # remove an earlier import that failed
    space = found.space
    there = {a.id: a for a in store.get(space.tenant, [a.id for a in found.artifacts])}
    if other := [a.id for a in found.artifacts if a.id in there and there[a.id] != a]:
        raise InputError(
            "the memory has a different record under an id of the import",
            where=other[0],
            hint="import into a memory that does not have this namespace, or has it unchanged",
        )
    fresh = [a for a in found.artifacts if a.id not in there]
    _write_all(store, marks, space, fresh, _new_logs(found, audit), audit)
    return Moved(space, len(found.artifacts), len(found.logs), len(fresh))


def _new_logs(found: Exported, audit: AuditPlace | None) -> list[tuple[AuditLog, bytes]]:
    """Return the logs that the memory does not have yet, with their bytes."""
    new: list[tuple[AuditLog, bytes]] = []
    if audit is None:
        return new
    for text in found.logs.values():
        log, data = _log_of(audit, text), text.encode("utf-8", "surrogatepass")
        if not log.exists():
            new.append((log, data))
        elif not _holds(log, data):
            raise InputError(
                "the memory has a different audit log of this thread",
                where=log.where,
                hint="import into a memory that does not have this thread, or has it unchanged",
            )
    return new


def _holds(log: AuditLog, data: bytes) -> bool:
    with suppress(AuditError):
        return b"".join(log.lines()) == data
    return False


def _log_of(audit: AuditPlace, text: str) -> AuditLog:
    """Return the log for this text, whatever its name was in the export."""
    return AuditLog.of(audit, Thread(**json.loads(text.partition("\n")[0])["thread"]))


def _write_all(
    store: ArtifactStore, marks: Marks, space: Thread, fresh: list[Artifact],
    logs: list[tuple[AuditLog, bytes]], audit: AuditPlace | None,
) -> None:  # fmt: skip
    names = [log.where if isinstance(log.store, FolderLogs) else log.name for log, _ in logs]
    said = {"tenant": space.tenant, "ids": [a.id for a in fresh], "logs": names}
    marks.write(MARK, said)
    try:
        for start in range(0, len(fresh), _BATCH):
            store.add(space.tenant, fresh[start : start + _BATCH])
        for log, data in logs:
            log.store.rewrite(log.name, partial(data.splitlines, keepends=True))
    except BaseException as error:
        _delete(store, said, audit)
        marks.remove(MARK)
        if isinstance(error, AuditError):
            raise StoreError(error.what, where=error.where, hint=error.hint) from error
        raise
    documents_written(store)
    marks.remove(MARK)


def undo(store: ArtifactStore, marks: Marks, audit: AuditPlace | None) -> int | None:
    """Undo an import that a kill interrupted; return the number of records; None if none."""
    said = marks.read(MARK)
    if said is None:
        return None
    _delete(store, said, audit)
    marks.remove(MARK)
    return len(said["ids"])


def _delete(store: ArtifactStore, said: dict[str, Any], audit: AuditPlace | None) -> None:
    managed(store).delete(said["tenant"], said["ids"])
    for name in said["logs"]:  # a path in a folder, a name in a database
        if Path(name).name != name:
            FolderLogs(Path(name).parent).delete(Path(name).name)
        elif audit is not None:
            audit_store(audit).delete(name)


def _lines(
    store: ArtifactStore, space: Thread, ids: list[str], logs: list[AuditLog]
) -> Iterator[bytes]:
    yield _line(_head(space))
    for start in range(0, len(ids), _BATCH):
        for artifact in store.get(space.tenant, ids[start : start + _BATCH]):
            yield _line({"artifact": artifact.model_dump(mode="json")})
    for log in logs:
        text = "".join(canonical_json(record) + "\n" for record in log.records())
        yield _line({"log": log.name, "text": text})


def _head(space: Thread) -> dict[str, Any]:
    return {"export": space.model_dump(), "format": FORMAT}


def _line(value: Any) -> bytes:
    return (canonical_json(value) + "\n").encode("utf-8", "surrogatepass")
