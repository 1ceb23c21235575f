"""A schema gets a slot, a field, places or guidance: `verify` proves what it can, and finds a forger all the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest

from acc import InMemoryStore, MemoryController, Settings, Turn
from acc.audit.forms import UnderOtherForm
from acc.audit.log import AuditLog
from acc.audit.record import digested
from acc.audit.redaction import state_hash
from acc.audit.verify import verify
from acc.cli import run
from acc.errors import AuditError
from acc.state import Line, Name, OptionalLine
from acc.state.items import Item
from acc.state.migrations import Migration, Migrations
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.slots import Slot
from acc.testing import ScriptedCompressor

Schema = type[CompressedCognitiveState]
Record = dict[str, Any]


class Bed(Item):
    """A bed."""

    key = ("ward",)
    head = "ward"
    ward: Name
    free: Name


def before() -> Schema:
    class WardState(CompressedCognitiveState):
        beds: Annotated[tuple[Bed, ...], Slot(max_items=2, id_prefix="b", guidance="free beds")]

    return WardState


def other_guidance() -> Schema:
    class WardState(CompressedCognitiveState):
        beds: Annotated[tuple[Bed, ...], Slot(max_items=2, id_prefix="b", guidance="beds by ward")]

    return WardState


def more_places() -> Schema:
    class WardState(CompressedCognitiveState):
        beds: Annotated[tuple[Bed, ...], Slot(max_items=5, id_prefix="b", guidance="free beds")]

    return WardState


def another_slot() -> Schema:
    class WardState(CompressedCognitiveState):
        beds: Annotated[tuple[Bed, ...], Slot(max_items=2, id_prefix="b", guidance="free beds")]
        closed: Annotated[tuple[Bed, ...], Slot(max_items=2, id_prefix="l", guidance="closed")]

    return WardState


def another_field() -> Schema:
    class NotedBed(Bed):
        note: OptionalLine = ""

    class WardState(CompressedCognitiveState):
        beds: Annotated[tuple[NotedBed, ...], Slot(max_items=2, id_prefix="b", guidance="beds")]

    return WardState


def another_version() -> Schema:
    class Place(Item):
        key = ("place",)
        head = "place"
        place: Name
        free: Line

    def renamed(stored: Any) -> Any:
        beds = [{"id": b["id"], "place": b["ward"], "free": b["free"]} for b in stored["beds"]]
        return {**stored, "beds": beds}

    class WardState(CompressedCognitiveState):
        schema_version: ClassVar[int] = 2
        migrations: ClassVar[Migrations] = {1: Migration(renamed)}
        beds: Annotated[tuple[Place, ...], Slot(max_items=2, id_prefix="b", guidance="free beds")]

    return WardState


ADDITIONS = (other_guidance, more_places, another_slot, another_field)
WARDS = ("3B", "4A", "5C")


def stepped(folder: Path, schema: Schema, *wards: str, since: Any = None) -> Any:
    """The state after a turn for each ward, whose free beds the compressor writes."""
    (key,) = schema.slots()["beds"].item.key
    done = schema.load(since).turn if since else sum(1 for _ in lines_in(folder))
    script = [
        {"beds": [{key: ward, "free": "3", "cites": [f"u{number}"]}], "retire": []}
        for number, ward in enumerate(wards, done + 1)
    ]
    memory = MemoryController(
        STORES.setdefault(folder, InMemoryStore()),
        ScriptedCompressor(script),
        Settings(policy=Policy(schema=schema), audit=folder),
    )
    state = since or memory.last_state("t")
    for ward in wards:
        state = memory.step(state, Turn.said(f"Ward {ward} has 3 free beds."), thread="t").state
    return state


STORES: dict[Path, InMemoryStore] = {}


def lines_in(folder: Path) -> Iterator[bytes]:
    for path in folder.glob("*.jsonl"):
        yield from path.read_bytes().splitlines()


def log_in(folder: Path) -> AuditLog:
    (path,) = folder.glob("*.jsonl")
    return AuditLog(path)


def checked(folder: Path, *schemas: Schema) -> tuple[int, list[UnderOtherForm]]:
    """What `verify` returns with these schemas, the last of which stands in for the missing ones."""
    log, others = log_in(folder), list[UnderOtherForm]()
    policies = {(p := Policy(schema=schema)).fingerprint: p for schema in schemas}
    named = {record["policy"]["fingerprint"] for record in log.records()}
    stand_ins = dict.fromkeys(named - policies.keys(), Policy(schema=schemas[-1]))
    return verify(log, policies, stand_ins=stand_ins, under_other_forms=others), others


@pytest.mark.parametrize("later", [*ADDITIONS, another_version])
def test_commits_under_the_earlier_form_are_recomputed_under_that_of_today(
    tmp_path: Path, later: Callable[[], Schema]
) -> None:
    stepped(tmp_path, before(), "3B", "4A")
    assert checked(tmp_path, later())[0] == 2
    stepped(tmp_path, later(), "3B")
    count, others = checked(tmp_path, later())
    is_same = later is not another_version  # its compressor wrote other fields
    assert (count, [each.is_same for each in others]) == (3, [is_same, is_same])
    assert {each.schema for each in others} == {"WardState"}


@pytest.mark.parametrize("later", [*ADDITIONS, another_version])
def test_with_both_forms_all_is_recomputed_even_after_a_fork(
    tmp_path: Path, later: Callable[[], Schema]
) -> None:
    first = stepped(tmp_path, before(), "3B")
    stepped(tmp_path, before(), "4A")
    stepped(tmp_path, later(), "5C")
    assert checked(tmp_path, before(), later()) == (3, [])
    forked = stepped(tmp_path, later(), "5C", since=first.canonical())
    assert forked.branch != "main"
    assert checked(tmp_path, before(), later()) == (4, [])
    assert checked(tmp_path, later())[0] == 4


def test_what_comes_out_otherwise_under_the_form_of_today_is_counted(tmp_path: Path) -> None:
    stepped(tmp_path, before(), *WARDS)  # one is evicted
    stepped(tmp_path, more_places(), "3B")
    count, others = checked(tmp_path, more_places())
    assert (count, [each.is_same for each in others]) == (4, [True, True, False])
    assert checked(tmp_path, before(), more_places()) == (4, [])


def test_the_command_says_what_is_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, places in (("forms_now", 5), ("forms_before", 2)):
        text = f"""
from typing import Annotated
from acc import CompressedCognitiveState, Item, Slot
from acc.state import Name

class Bed(Item):
    key = ("ward",)
    head = "ward"
    ward: Name
    free: Name

class WardState(CompressedCognitiveState):
    beds: Annotated[tuple[Bed, ...], Slot(max_items={places}, id_prefix="b", guidance="free beds")]
"""
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    import forms_before  # type: ignore[import-not-found]
    import forms_now  # type: ignore[import-not-found]

    folder = tmp_path / "m" / "audit"
    stepped(folder, forms_before.WardState, *WARDS)
    stepped(folder, forms_now.WardState, "3B")
    old = Policy(schema=forms_before.WardState).fingerprint
    kept = ["verify", "--memory", str(tmp_path / "m")]
    now, then = (["--schema", str(tmp_path / f"forms_{name}.py")] for name in ("now", "before"))

    assert run([*kept, *now]) == 0
    out = capsys.readouterr().out
    assert "t: 1 commit recomputed, all equal" in out
    under = f"under an earlier form of WardState (fingerprint {old})"
    assert f"2 commits {under} recomputed under its form of now, the same items" in out
    assert f"1 commit {under} not recomputed, but complete and in order; give the file of" in out

    assert run([*kept, *now, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    other = {"schema": "WardState", "fingerprint": old, "commits": 3, "recomputed": 2}
    assert told["other_forms"] == [other]

    assert run([*kept, *now, *then]) == 0
    assert "t: 4 commits recomputed, all equal; head" in capsys.readouterr().out
    assert run([*kept, *then]) == 1
    assert "a form of WardState that is not given, after commits" in capsys.readouterr().err


class TestForgers:
    """A forger can make every digest anew, and may claim any form of the schema."""

    @pytest.mark.parametrize("later", ADDITIONS)
    def test_a_state_under_the_earlier_form_is_not_taken_for_recomputed(
        self, tmp_path: Path, later: Callable[[], Schema]
    ) -> None:
        records = self.records(tmp_path, later)
        first, *_ = records
        first["state"]["beds"][0]["free"] = "9"
        first["state"]["hash"] = state_hash(first["state"])
        self.reseal(tmp_path, records)
        with pytest.raises(AuditError, match="does not follow the state before"):
            checked(tmp_path, later())
        self.reseal(tmp_path, [first])
        _, (other,) = checked(tmp_path, later())
        assert not other.is_same
        with pytest.raises(AuditError, match="gives another state"):
            checked(tmp_path, before(), later())

    def test_a_changed_state_that_keeps_its_hash(self, tmp_path: Path) -> None:
        records = self.records(tmp_path, another_slot)
        records[0]["state"]["beds"][0]["free"] = "9"
        self.reseal(tmp_path, records)
        with pytest.raises(AuditError, match="changed after its commit"):
            checked(tmp_path, another_slot())

    @pytest.mark.parametrize("schema", ["", "acc.state.model:CompressedCognitiveState"])
    def test_a_commit_of_a_made_up_form_after_those_of_today(
        self, tmp_path: Path, schema: str
    ) -> None:
        records = self.records(tmp_path, another_slot)
        last = json.loads(json.dumps(records[-1]))
        last["policy"] |= {"fingerprint": "0" * 16, **({"schema": schema} if schema else {})}
        state = last["state"]
        state |= {"policy": "0" * 16, "parent": state["hash"], "version": state["version"] + 1}
        state["beds"][0]["free"] = "9"
        state["hash"] = state_hash(state)
        last.pop("prior_state", None)
        last["prior"] = state["parent"]
        self.reseal(tmp_path, [*records, last])
        with pytest.raises(AuditError, match=r"a form of .* not given, after commits"):
            checked(tmp_path, another_slot(), *([CompressedCognitiveState] if schema else []))

    @pytest.mark.parametrize("later", [another_slot, another_version])
    @pytest.mark.parametrize("claim", ["", "main", "another"])
    def test_a_prior_state_that_no_commit_made(
        self, tmp_path: Path, later: Callable[[], Schema], claim: str
    ) -> None:
        """Not even if its form differs from that of the commit that it names as its parent."""
        records = self.records(tmp_path, later)
        prior = records[-1]["prior_state"]
        prior["beds"][0]["free"] = "9"
        prior["branch"] = claim or prior["branch"]
        prior["hash"] = records[-1]["prior"] = state_hash(prior)
        self.reseal(tmp_path, records)
        for schemas in ((later(),), (before(), later())):
            with pytest.raises(AuditError, match="continues a state that no commit made"):
                checked(tmp_path, *schemas)

    @staticmethod
    def records(folder: Path, later: Callable[[], Schema]) -> list[Record]:
        """The records of two commits before a schema changed, and of one after."""
        stepped(folder, before(), "3B", "4A")
        stepped(folder, later(), "3B")
        return list(log_in(folder).records())

    @staticmethod
    def reseal(folder: Path, records: Sequence[Record]) -> None:
        def lines() -> Iterator[str]:
            digest = ""
            for each in records:
                line, digest = digested({**each, "previous": digest})
                yield line

        log_in(folder).path.write_text("".join(lines()), encoding="utf-8")
