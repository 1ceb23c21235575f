"""Imports: what was changed, cut, or written by somebody else is refused, and nothing is taken in."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from test_erasure import SECRET, talk

from acc import MemoryController, Settings
from acc.errors import InputError, StoreError
from acc.evidence.portability import export, import_into
from acc.stores.directory import namespace
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Thread
from acc.text.lines import canonical_json

SPACE = namespace()


@pytest.mark.parametrize("harm", ["byte", "line", "end", "path"])
def test_a_changed_export_is_refused_and_nothing_is_written(tmp_path: Path, harm: str) -> None:
    out = tmp_path / "out.jsonl"
    with MemoryController(
        InMemoryStore(), settings=Settings(audit=tmp_path / "one" / "audit")
    ) as memory:
        talk(memory, "inc", SECRET)
        export(memory.artifacts, memory.settings.audit, SPACE, out)
    lines = out.read_bytes().splitlines(keepends=True)
    changed = {
        "byte": out.read_bytes().replace(b"Ottilie", b"Ottilia"),
        "line": b"".join([*lines[:1], *lines[2:]]),
        "end": b"".join(lines[:-1]),
        "path": out.read_bytes().replace(b'"log":"', b'"log":"../'),
    }
    out.write_bytes(changed[harm])
    with MemoryController(
        InMemoryStore(), settings=Settings(audit=tmp_path / "two" / "audit")
    ) as memory:
        with pytest.raises(InputError, match="export file is incomplete"):
            import_into(memory, out)
        assert memory.artifacts.ids("default") == []


def memory_of(store: InMemoryStore, folder: Path) -> MemoryController:
    return MemoryController(store, settings=Settings(audit=folder / "audit"))


def sealed(out: Path, lines: list[Any]) -> Path:
    """A file with the right hash."""
    body = "".join(canonical_json(line) + "\n" for line in lines).encode()
    end = {"end": 1, "sha256": hashlib.sha256(body).hexdigest()}
    out.write_bytes(body + canonical_json(end).encode() + b"\n")
    return out


def strange(lines: list[dict[str, Any]], harm: str) -> list[Any]:
    """The lines of an export as somebody with other intentions would have written them."""
    stranger = Thread(thread="inc", user="bob")
    record = dict(lines[1]["artifact"], thread=stranger.key, id=f"{stranger.key}.main:1")
    entry = dict(record, kind="thread", thread=SPACE.key, id=f"{SPACE.key}.threads:9")
    log = next(line for line in lines if "log" in line)
    first = json.loads(log["text"].split("\n")[0])
    first["state"]["turn"] = 9
    return {
        "another's record": [*lines, {"artifact": record}],
        "another's thread": [*lines, {"artifact": {**entry, "text": stranger.model_dump_json()}}],
        "another's id": [*lines, {"artifact": {**lines[1]["artifact"], "id": record["id"]}}],
        "a changed log": [*lines, {**log, "text": canonical_json(first) + "\n"}],
        "another name": [*lines, {**log, "log": "other.jsonl"}],
        "a folder": [*lines, {**log, "log": ".."}],
        "no namespace": [{**lines[0], "export": {"user": 7}}, *lines[1:]],
        "a thread's": [{**lines[0], "export": {"thread": "inc"}}, *lines[1:]],
        "a list": [*lines, []],
        "a number": [*lines, 3],
        "nothing": [],
    }[harm]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("exported")
    with MemoryController(InMemoryStore(), settings=Settings(audit=folder / "audit")) as memory:
        talk(memory, "inc", SECRET, "A line\u2028separator.")
        export(memory.artifacts, memory.settings.audit, SPACE, folder / "out")
    return [json.loads(line) for line in (folder / "out").open("rb")][:-1]


@pytest.mark.parametrize(
    "harm",
    ["another's record", "another's thread", "another's id", "a changed log", "another name",
     "a folder", "no namespace", "a thread's", "a list", "a number", "nothing"],
)  # fmt: skip
def test_an_export_that_reaches_beyond_its_namespace_is_refused(
    tmp_path: Path, exported: list[dict[str, Any]], harm: str
) -> None:
    out = sealed(tmp_path / "out.jsonl", strange(exported, harm))
    store = InMemoryStore()
    with pytest.raises(InputError, match=r"is incomplete|another namespace"):
        import_into(memory_of(store, tmp_path / "memory"), out)
    assert store.ids("default") == []
    assert [p.name for p in (tmp_path / "memory").iterdir()] == ["acc.key"]


def test_an_import_that_fails_has_not_happened(
    tmp_path: Path, exported: list[dict[str, Any]]
) -> None:
    out = sealed(tmp_path / "out.jsonl", exported)
    folder = tmp_path / "memory"
    (folder / "audit").parent.mkdir()
    (folder / "audit").write_text("a file stands in the way of the folder")
    store = InMemoryStore()
    with pytest.raises(StoreError, match="audit log cannot be written"):
        import_into(memory_of(store, folder), out)
    assert store.ids("default") == []
    assert sorted(p.name for p in folder.iterdir()) == ["acc.key", "audit"]


def test_a_thread_that_was_open_reads_what_an_import_brought(
    tmp_path: Path, exported: list[dict[str, Any]]
) -> None:
    out = sealed(tmp_path / "out.jsonl", exported)
    with MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path / "audit")) as memory:
        assert memory.last_state("inc") is None
        assert memory._log_of(Thread(thread="inc")).branch("main").artifacts == []
        import_into(memory, out)
        talk(memory, "inc", "And a third.")
        state = memory.last_state("inc")
        assert state is not None
        assert memory.open_evidence("u1", state, thread="inc") == SECRET
        assert memory.open_evidence("u3", state, thread="inc") == "And a third."
