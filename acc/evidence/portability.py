"""A namespace as one file: every record and audit log, a line each, under one hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from acc.errors import InputError
from acc.evidence import marks
from acc.evidence.audits import Audits
from acc.evidence.tombstones import managed
from acc.state import canonical_json
from acc.store import Artifact, ArtifactStore, Thread

FORMAT = 1
MARK = "import.json"
_BATCH = 100


class Moved(NamedTuple):
    """What an export wrote or an import read.

    Attributes:
        space: The namespace.
        records: Records.
        logs: Audit logs.
        written: Records that an import wrote; the others were there already.
    """

    space: Thread
    records: int
    logs: int
    written: int = 0


def export(store: ArtifactStore, audit: Path | None, space: Thread, out: Path) -> Moved:
    """Write a namespace to ``out``: shelves, threads and audit logs.

    Raises:
        InputError: There is nothing in the namespace, or the file cannot be written.
        StoreError: The store cannot be read.
    """
    audits = Audits(store, audit, space)
    threads = audits.threads()
    ids = [
        id_ for key in (space.key, *(t.key for t in threads))
        for id_ in managed(store).ids(space.tenant, thread=key)
    ]  # fmt: skip
    if not ids:
        raise InputError(
            "nothing to export", where=f"user {space.user!r}", mend="name another user"
        )
    logs = [log.path for t in threads if (log := audits.log(t))]
    half = marks.half_of(out)
    digest = hashlib.sha256()
    try:
        with half.open("wb") as file:
            for line in _lines(store, space, ids, logs):
                digest.update(line)
                file.write(line)
            file.write(_line({"end": FORMAT, "sha256": digest.hexdigest()}))
        half.replace(out)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror or error}",
            where=str(out),
            mend="name another file",
        ) from error
    return Moved(space, len(ids), len(logs))


def import_from(store: ArtifactStore, folder: Path, source: Path) -> Moved:
    """Take in what `export` wrote, all of it or nothing: a kill meanwhile is undone by `undo`.

    Args:
        store: Where to.
        folder: The memory's folder; audit logs go to ``audit`` below it.
        source: The file.

    Raises:
        InputError: It is not whole, was changed, or something else stands under one of its ids.
        StoreError: The store cannot be written.
    """
    lines = _checked(source)
    space = Thread(**lines[0]["export"])
    artifacts = [_artifact(line, source) for line in lines if "artifact" in line]
    there = {a.id: a for a in store.get(space.tenant, [a.id for a in artifacts])}
    if other := [a.id for a in artifacts if a.id in there and there[a.id] != a]:
        raise InputError(
            "something else stands under an id of the import",
            where=other[0],
            mend="import into a memory that does not have this namespace, or has it unchanged",
        )
    fresh = [a for a in artifacts if a.id not in there]
    logs = {folder / "audit" / line["log"]: str(line["text"]) for line in lines if "log" in line}
    new = {path: text for path, text in logs.items() if not path.exists()}
    if changed := [p for p in logs if p not in new and p.read_text("utf-8") != logs[p]]:
        raise InputError("another audit log is there", where=str(changed[0]), mend="see above")
    mark = folder / MARK
    marks.begin(mark, {"tenant": space.tenant, "ids": [a.id for a in fresh],
                       "logs": [str(p) for p in new]})  # fmt: skip
    for start in range(0, len(fresh), _BATCH):
        store.add(space.tenant, fresh[start : start + _BATCH])
    for path, text in new.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    marks.wipe(mark)
    return Moved(space, len(artifacts), len(logs), len(fresh))


def undo(store: ArtifactStore, folder: Path) -> int | None:
    """Take back an import that a kill left half done; how many records, None if there is none.

    Raises:
        StoreError: It cannot be taken back now.
    """
    said = marks.read(folder / MARK)
    if said is None:
        return None
    managed(store).delete(said["tenant"], said["ids"])
    for path in said["logs"]:
        Path(path).unlink(missing_ok=True)
    marks.wipe(folder / MARK)
    return len(said["ids"])


def _lines(
    store: ArtifactStore, space: Thread, ids: list[str], logs: list[Path]
) -> Iterator[bytes]:
    yield _line({"export": space.model_dump(), "format": FORMAT})
    for start in range(0, len(ids), _BATCH):
        for artifact in store.get(space.tenant, ids[start : start + _BATCH]):
            yield _line({"artifact": artifact.model_dump(mode="json")})
    for path in logs:
        text = path.read_bytes().decode("utf-8", "surrogatepass")
        yield _line({"log": path.name, "text": text})


def _line(value: Any) -> bytes:
    return (canonical_json(value) + "\n").encode("utf-8", "surrogatepass")


def _checked(source: Path) -> list[dict[str, Any]]:
    try:
        *body, last = source.read_bytes().splitlines(keepends=True)
        end = json.loads(last)
        whole = end.get("sha256") == hashlib.sha256(b"".join(body)).hexdigest()
        lines = [json.loads(line.decode("utf-8", "surrogatepass")) for line in body]
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        raise InputError(what, where=str(source), mend="name a file of acc export") from error
    except (ValueError, AttributeError) as error:
        raise _refused(source) from error
    if not whole or not lines or lines[0].get("format") != FORMAT:
        raise _refused(source)
    if any("/" in line["log"] or "\\" in line["log"] for line in lines if "log" in line):
        raise _refused(source)
    return lines


def _artifact(line: dict[str, Any], source: Path) -> Artifact:
    try:
        return Artifact.model_validate(line["artifact"])
    except ValidationError as error:
        raise _refused(source) from error


def _refused(source: Path) -> InputError:
    return InputError(
        "not a whole export, or changed since", where=str(source), mend="export it anew"
    )
