"""Reading the file of an export, which anybody may have written: what does not fit is refused whole.

A hash that is right proves that nothing was lost on the way, not who wrote it. So no record may
stand under another namespace's ids, no log under another thread's name, and each log's own chain
of digests has to hold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from acc.audit import AuditLog
from acc.audit_record import digest_of
from acc.errors import InputError
from acc.evidence.directory import threads_in
from acc.evidence.shelf import namespace_of
from acc.store import Artifact, Thread

FORMAT = 1

_WRONG = (ValueError, KeyError, TypeError, AttributeError, ValidationError, RecursionError)


class Exported(NamedTuple):
    """What a file of an export holds.

    Attributes:
        space: The namespace.
        artifacts: Its records.
        logs: Text of its audit logs by the names of their files.
    """

    space: Thread
    artifacts: list[Artifact]
    logs: dict[str, str]


def read_export(source: Path) -> Exported:
    """What ``source`` holds.

    Raises:
        InputError: It cannot be read, is not whole, was changed, or is of more than one namespace.
    """
    try:
        *body, last = source.read_bytes().splitlines(keepends=True)
        whole = json.loads(last).get("sha256") == hashlib.sha256(b"".join(body)).hexdigest()
        if not whole:
            raise _refused(source)
        return _read([json.loads(line.decode("utf-8", "surrogatepass")) for line in body], source)
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        raise InputError(what, where=str(source), mend="name a file of acc export") from error
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
    owners = [_thread_of(name, text) for name, text in logs.items()]
    owners += threads_in(a for a in artifacts if a.kind == "thread" and a.thread == space.key)
    keys = {space.key, *(owner.key for owner in owners)}
    strange = [owner for owner in owners if namespace_of(owner) != space]
    if space.thread or strange or not _all_of(keys, artifacts):
        raise InputError(
            "it holds evidence of another namespace than its own",
            where=str(source),
            mend="take nothing in from whoever made it",
        )
    return Exported(space, artifacts, logs)


def _all_of(keys: set[str], artifacts: Iterable[Artifact]) -> bool:
    return all(a.thread in keys and a.id.startswith(f"{a.thread}.") for a in artifacts)


def _thread_of(name: str, text: str) -> Thread:
    """The thread whose log it is, by every record of it; a `ValueError` where the log is none."""
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
        "not a whole export, or changed since", where=str(source), mend="export it anew"
    )
