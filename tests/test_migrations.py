"""Stored states of every earlier version load, or fail with a message; nothing is silently dropped."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest

from acc import Settings
from acc.audit.log import AuditLog
from acc.audit.verify import verify
from acc.commit.commit import commit
from acc.controller import MemoryController
from acc.errors import AuditError, StateError
from acc.state import Line, Name, OptionalLine
from acc.state.items import Item, Quote
from acc.state.migrations import Migration, Stored, stored_name
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.state.reasons import Reason
from acc.state.slots import Slot
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Thread
from acc.testing import ScriptedCompressor
from acc.turn.observations import Trust
from acc.turn.turn import Turn

State = type[CompressedCognitiveState]


class Job(Item):
    """A job as the first version had it."""

    key = ("job",)
    head = "job"
    job: Name
    note: Line


class Rule(Item):
    """A rule of the clinic."""

    key = ("text",)
    head = "text"
    text: Quote
    quote: Quote


RULES = Slot(max_items=4, min_trust=Trust.USER, pinned=True, quote=True, id_prefix="l")


def first() -> State:
    """Version 1: jobs with a note, and rules."""

    class ClinicState(CompressedCognitiveState):
        jobs: Annotated[tuple[Job, ...], Slot(max_items=4, id_prefix="j")]
        rules: Annotated[tuple[Rule, ...], RULES]

    return ClinicState


class Run(Item):
    """A job as later versions have it."""

    key = ("name",)
    head = "name"
    name: Name
    note: Line
    stage: Literal["unknown", "failed"]


def renamed(stored: Stored) -> Stored:
    """1 to 2: jobs are runs, and have a stage."""
    runs = [
        {"id": j["id"], "name": j["job"], "note": j["note"], "stage": "unknown"}
        for j in stored.pop("jobs")
    ]
    return {**stored, "runs": runs}


def shouted(stored: Stored) -> Stored:
    """2 to 3: notes in capitals."""
    return {**stored, "runs": [{**run, "note": run["note"].upper()} for run in stored["runs"]]}


CHAIN = {1: Migration(renamed), 2: Migration(shouted, rewrites=("runs.note",))}


def later(version: int, chain: dict[int, Migration] | None = None) -> State:
    """Version 2 or later: runs."""

    class ClinicState(CompressedCognitiveState):
        schema_version: ClassVar[int] = version
        migrations = {n: m for n, m in (chain or CHAIN).items() if n < version}  # noqa: RUF012
        runs: Annotated[tuple[Run, ...], Slot(max_items=4, id_prefix="j")]
        rules: Annotated[tuple[Rule, ...], RULES]

    return ClinicState


WRITTEN = {
    "jobs": [{"job": "lab-3", "note": "failed at noon", "cites": ["u1"]},
             {"job": "lab-4", "note": "slow", "cites": ["u1"]}],
    "rules": [{"text": "Never rerun lab-3", "quote": "Never rerun lab-3", "cites": ["u1"]}],
}  # fmt: skip
SAID = Turn.said("Never rerun lab-3. Job lab-3 failed at noon, lab-4 is slow.")


def stored() -> dict[str, Any]:
    schema = first()
    done = commit(schema.empty(), Proposal.from_wire(WRITTEN, schema), SAID.numbered(1))
    assert not done.refused
    return done.state.canonical()


def test_a_chain_of_migrations_brings_a_state_up_to_date() -> None:
    raw = stored()
    state = later(3).load(raw)
    assert state.schema_name == "ClinicState@3"
    assert [(r.name, r.note, r.stage) for r in state.runs] == [  # type: ignore[attr-defined]
        ("lab-3", "FAILED AT NOON", "unknown"),
        ("lab-4", "SLOW", "unknown"),
    ]
    old = {item["id"]: item for item in (*raw["jobs"], *raw["rules"])}
    for _, item in state.items():
        assert item.trust.word == old[item.id]["trust"]
        assert list(item.sources) == old[item.id]["sources"]
        assert (item.turn, item.touched) == (old[item.id]["turn"], old[item.id]["touched"])


def test_what_was_brought_up_to_date_is_in_the_chain_and_loads_as_it_is() -> None:
    raw, schema = stored(), later(3)
    state = schema.load(raw)
    assert (state.parent, state.version, state.turn) == (raw["hash"], raw["version"], raw["turn"])
    assert state.hash == state.digest()
    assert schema.load(json.dumps(raw)) == schema.load(raw) == state
    assert schema.load(state.canonical()) == state
    assert later(2).load(raw).schema_name == "ClinicState@2"
    assert schema.load(later(2).load(raw).canonical()).items  # from the middle of the chain, too


def test_a_migrated_state_goes_on_and_keeps_its_rules() -> None:
    schema = later(2)
    state = schema.load(stored())
    done = commit(state, Proposal(), Turn.said("And now?").numbered(2))
    assert Reason.POLICY_CHANGED in [note.reason for note in done.notes]
    assert [r.text for r in done.state.rules] == ["Never rerun lab-3"]  # type: ignore[attr-defined]


def lossy(change: Callable[[Stored], Any], *rewrites: str) -> State:
    def both(given: Stored) -> Stored:
        changed: Stored = change(renamed(given))
        return changed

    return later(2, {1: Migration(both, rewrites)})


def _fail(_: Stored) -> Stored:
    raise KeyError("job")


LOSSES: dict[str, tuple[Callable[[Stored], Any], str]] = {
    "an item": (lambda s: {**s, "runs": s["runs"][1:]}, "drops j1 of jobs"),
    "a slot": (lambda s: {"rules": s["rules"]}, "drops j1, j2 of jobs"),
    "a value": (lambda s: {**s, "runs": [{**r, "note": "?"} for r in s["runs"]]}, "loses note of j1 in jobs: 'failed"),
    "what was quoted": (
        lambda s: {**s, "rules": [{**r, "text": "Rerun lab-3"} for r in s["rules"]]}, "loses text of l3 in rules"),
    "nothing, but makes one up": (
        lambda s: {**s, "rules": [*s["rules"], {"id": "l9", "text": "x", "quote": "x"}]}, "was not stored"),
    "nothing, but gives one twice": (lambda s: {**s, "runs": s["runs"] * 2}, "returns j1 twice"),
    "nothing, but raises the trust": (
        lambda s: {**s, "runs": [{**r, "trust": "operator"} for r in s["runs"]]}, "writes trust of j1"),
    "all, by a defect": (_fail, "the migration fails: KeyError"),
    "all, by returning nothing": (lambda _: None, "the migration fails: AttributeError"),
}  # fmt: skip


@pytest.mark.parametrize("what", LOSSES)
def test_a_migration_that_loses_something_is_an_error_that_names_it(what: str) -> None:
    change, message = LOSSES[what]
    raw = stored()
    with pytest.raises(StateError) as error:
        lossy(change).load(raw)
    assert message in error.value.what
    assert error.value.where == f"{lossy(change).__qualname__}, version 1 to 2"
    assert error.value.hint
    assert raw == stored(), "the stored state is as it was"


def test_a_value_may_be_rewritten_where_that_is_declared_but_never_a_quoted_one() -> None:
    assert lossy(LOSSES["a value"][0], "jobs.note").load(stored()).turn == 1
    with pytest.raises(StateError, match="loses text of l3"):
        lossy(LOSSES["what was quoted"][0], "rules.text").load(stored())


def test_a_quoted_item_cannot_move_to_a_slot_that_keeps_no_quotes() -> None:
    def move(given: Stored) -> Stored:
        given["focal_entities"] = given.pop("rules")
        return {**given, "rules": []}

    with pytest.raises(StateError, match="quoted item l3 to 'focal_entities'"):
        lossy(move).load(stored())


def test_a_version_that_can_no_longer_be_read_says_what_to_do() -> None:
    def ended(_: Stored) -> Stored:
        raise StateError("version 1 is no longer read", hint="load it with release 4 once")

    with pytest.raises(StateError, match="load it with release 4 once"):
        later(2, {1: Migration(ended)}).load(stored())


def test_a_state_of_a_later_version_is_refused() -> None:
    newer = later(3).load(stored()).canonical()
    with pytest.raises(
        StateError, match="stored under version 3 of ClinicState, but this is version 2"
    ):
        later(2).load(newer)


def test_another_shape_under_the_same_version_is_refused_with_the_mend() -> None:
    class ClinicState(CompressedCognitiveState):
        runs: Annotated[tuple[Run, ...], Slot(max_items=4, id_prefix="j")]

    with pytest.raises(StateError, match="acc schema diff OLD NEW") as error:
        ClinicState.load(stored())
    assert error.value.where == "jobs"


def test_what_is_only_added_needs_no_migration() -> None:
    class NotedJob(Job):
        owner: OptionalLine = ""

    class ClinicState(CompressedCognitiveState):
        jobs: Annotated[tuple[NotedJob, ...], Slot(max_items=4, id_prefix="j")]
        rules: Annotated[tuple[Rule, ...], RULES]
        runs: Annotated[tuple[Run, ...], Slot(max_items=4, id_prefix="n")]

    raw = stored()
    state = ClinicState.load(raw)
    assert [job.owner for job in state.jobs] == ["", ""]
    assert (state.parent, state.runs) == (raw["hash"], ())
    assert ClinicState.load(state.canonical()) == state


def test_an_edited_state_of_an_earlier_version_is_found_or_adopted() -> None:
    raw = copy.deepcopy(stored())
    raw["rules"][0]["text"] = "Always rerun lab-3"
    with pytest.raises(StateError, match="changed after it was committed"):
        later(2).load(raw)
    adopted = later(2).load(raw, adopt=Trust.TOOL)
    assert {item.trust for _, item in adopted.items()} == {Trust.TOOL}


def test_a_parents_versions_are_counted_apart() -> None:
    parent_1, parent_3 = first(), later(3)

    def child(parent: State, version: int = 1) -> State:
        body = {"schema_version": version, "migrations": {1: Migration(lambda s: s)} if version > 1 else {},
                "__module__": __name__}  # fmt: skip
        return type("WardState", (parent,), body)

    assert stored_name(child(parent_1)) == "WardState"
    assert stored_name(child(parent_3, 2)) == "WardState@2/ClinicState@3"
    old = child(parent_1)
    done = commit(old.empty(), Proposal.from_wire(WRITTEN, old), SAID.numbered(1))
    state = child(parent_3, 2).load(done.state.canonical())
    assert [r.note for r in state.runs] == ["FAILED AT NOON", "SLOW"]  # type: ignore[attr-defined]
    assert state.schema_name == "WardState@2/ClinicState@3"
    with pytest.raises(StateError, match="version 3 of ClinicState, but this is version 1"):
        child(parent_1, 2).load(state.canonical())


# --- in a memory --------------------------------------------------------------------------


def test_a_thread_goes_on_under_the_next_version_and_its_log_recomputes(tmp_path: Path) -> None:
    store, thread = InMemoryStore(), Thread(thread="ward")
    old, new = Policy(schema=first()), Policy(schema=later(2))
    before = MemoryController(
        store, ScriptedCompressor([WRITTEN]), Settings(policy=old, audit=tmp_path)
    )
    before.step(None, SAID, thread=thread)
    after = MemoryController(
        store, ScriptedCompressor([Proposal()]), Settings(policy=new, audit=tmp_path)
    )
    state = after.last_state(thread)
    assert state is not None
    done = after.step(state.canonical(), Turn.said("What failed?"), thread=thread)
    assert done.state.branch == "main"
    assert [r.name for r in done.state.runs] == ["lab-3", "lab-4"]  # type: ignore[attr-defined]
    log = AuditLog.of(tmp_path, thread)
    assert (
        verify(log, {policy.fingerprint: policy for policy in (old, new)}, head=done.state.hash)
        == 2
    )
    with pytest.raises(AuditError, match="made under a policy"):
        verify(log, {new.fingerprint: new})


def test_what_a_killed_process_had_set_aside_is_migrated_too(tmp_path: Path) -> None:
    retiring = {**WRITTEN, "retire": []}
    script = [retiring, {"retire": [{"id": "j1", "cites": [], "quote": ""}]}]
    store, thread = InMemoryStore(), Thread(thread="ward")
    before = MemoryController(
        store, ScriptedCompressor(script), Settings(policy=Policy(schema=first()), audit=tmp_path)
    )
    state = before.step(None, SAID, thread=thread).state
    before.step(state, Turn.said("lab-3 is history."), thread=thread)
    # Not closed: what was set aside stands in the audit log alone, as after a kill.
    after = MemoryController(
        InMemoryStore(), settings=Settings(policy=Policy(schema=later(2)), audit=tmp_path)
    )
    log = after._log_of(thread)
    log.flush()
    (gone,) = [a for a in log.branch("main").artifacts if a.kind == "set_aside"]
    assert (gone.name, gone.text) == ("runs", "lab-3 failed at noon unknown")
