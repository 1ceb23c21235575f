"""kill -9 at any point of what the first set of kills leaves out: users, checkpoints, shelves, vectors."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from killing import killed_at
from test_erased_checkpoints import sqlite
from test_erasure import raw, speaks, standing, talk
from test_evidence_kills import SPACE, filled, killed

from acc import MemoryController
from acc.evidence.addition import Addition
from acc.evidence.documents import Documents
from acc.evidence.experience import ExperienceMemory
from acc.evidence.parsing import Section
from acc.evidence.usage import Event, compact, events, execution_ledger, record_event
from acc.stores.directory import namespace
from acc.stores.shelf import Shelf

__all__ = ["filled"]

pytestmark = pytest.mark.slow

FEW = 10

ERASE_USER = """
from acc.evidence.erasure_plan import plan_erasure, Target
from acc.evidence.erasure import Erasure
plan = plan_erasure(memory.artifacts, memory.settings.audit, Target(user="default"))
act(lambda: Erasure(memory).erase(plan))
"""


def test_a_users_erasure_happens_or_does_not(filled: Path, tmp_path: Path) -> None:
    seen = set()
    for folder, point in killed(ERASE_USER, filled, tmp_path, most=FEW):
        with MemoryController.open(folder) as memory:
            said, left = memory.resumed, len(memory.artifacts.ids("default"))
            assert (memory.last_state("inc") is None) == (left == 0), (point, said)
        assert bool(standing(folder)) == bool(left), (point, said)
        assert not [name for name in raw(folder) if "erasure.json" in name]
        told_of = (folder / "erasures.jsonl").read_text().count("\n") if not left else 0
        assert told_of == (not left)
        seen.add((left == 0, bool(said)))
    assert {(False, False), (True, True), (True, False)} <= seen


ERASE_CHECKPOINTS = """
from acc.evidence.erasure_plan import plan_erasure, Target
from acc.evidence.erasure import Erasure
plan = plan_erasure(memory.artifacts, memory.settings.audit, Target(thread="inc", artifact="u3"))
act(lambda: Erasure(memory).erase(plan, [f"sqlite:{path}/checkpoints.db"]))
"""


def test_an_erasure_takes_the_checkpoints_or_nothing(filled: Path, tmp_path: Path) -> None:
    with_checkpoints = tmp_path / "with"
    with_checkpoints.mkdir()
    for file in raw(filled):
        target = with_checkpoints / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((filled / file).read_bytes())
    sqlite(with_checkpoints / "checkpoints.db")
    seen = set()
    for folder, point in killed(ERASE_CHECKPOINTS, with_checkpoints, tmp_path, most=2 * FEW):
        with MemoryController.open(folder) as memory:
            said = memory.resumed
            state = memory.last_state("inc")
        assert state is not None
        happened = not speaks(state)
        database = sqlite3.connect(folder / "checkpoints.db")
        (rows,) = database.execute("SELECT count(*) FROM writes").fetchone()
        database.close()
        assert rows == (1 if happened else 51), (point, said)
        assert bool(standing(folder)) != happened, (point, said, standing(folder))
        assert not list(folder.glob("checkpoints-*"))
        seen.add((happened, bool(said)))
    assert {(False, False), (True, True), (True, False)} <= seen


PRUNE = """
from acc.evidence.deletion import Capacity
from acc.evidence.retention import Retention
from acc.stores.directory import namespace
keeper = Retention(memory)
plan = keeper.plan(namespace(user="ana", tenant="t"), Capacity(0))
assert len(plan.ids) == 7, plan
act(lambda: keeper.prune(plan))
"""


def test_a_prune_of_a_user_without_a_thread_is_resumed_and_told(tmp_path: Path) -> None:
    folder, space = tmp_path / "memory", namespace(user="ana", tenant="t")
    with MemoryController.open(folder) as memory:
        found = [Section(f"Paragraph {n} of the handbook about lamps.") for n in range(7)]
        Documents.of(memory, space).add("handbook.md", found)
    seen = set()
    for killed_in, point in killed(PRUNE, folder, tmp_path / "kills", most=4 * FEW):
        with MemoryController.open(killed_in) as memory:
            left = len(Shelf(memory.artifacts, space, "documents").records())
            said = "; ".join(memory.resumed)
        assert left in (0, 7), (point, said)
        if said:
            assert ("is now complete" in said) == (left == 0), (point, said)
        assert not list(killed_in.glob("prune-*"))
        seen.add((left, bool(said)))
    assert {(7, True), (0, True), (0, False)} <= seen


REPLACE = """
from acc.evidence.documents import Documents
from acc.evidence.parsing import Section
from acc.stores.directory import namespace
shelf = Documents.of(memory, namespace())
act(lambda: shelf.add("handbook.md", [Section("The second edition.")], replace=True))
"""


def test_an_earlier_version_goes_whole_or_stays(filled: Path, tmp_path: Path) -> None:
    seen = set()
    for folder, point in killed(REPLACE, filled, tmp_path, most=FEW):
        with MemoryController.open(folder) as memory:
            texts = [a.text for a in Shelf(memory.artifacts, SPACE, "documents").records()]
            old = sum("Paragraph" in text for text in texts)
            assert old in (0, 7), (point, memory.resumed)
            assert old or texts == ["The second edition."]
            seen.add(old)
    assert seen == {0, 7}


COMPACT = """
from acc.evidence.usage import compact
from acc.stores.directory import namespace
act(lambda: compact(memory.artifacts, namespace(), memory._now, least=10))
"""


def test_a_compaction_loses_and_doubles_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with MemoryController.open(folder) as memory:
        usage = Shelf(memory.artifacts, SPACE, "usage")
        for n in range(40):
            record_event(
                usage, Event(of=(f"{SPACE.key}:doc.{n % 5}",), utility=n / 40), f"t{n:03d}"
            )
        before = execution_ledger(usage.records())
    sizes = set()
    for killed_in, point in killed(COMPACT, folder, tmp_path / "kills", most=2 * FEW):
        with MemoryController.open(killed_in) as memory:
            after = execution_ledger(Shelf(memory.artifacts, SPACE, "usage").records())
            assert (after.t, after.tallies) == (before.t, before.tallies), point
            record_event(Shelf(memory.artifacts, SPACE, "usage"), Event(utility=1.0), "t100")
            compact(memory.artifacts, SPACE, memory._now, least=2)
            again = execution_ledger(Shelf(memory.artifacts, SPACE, "usage").records())
            assert (again.t, again.tallies) == (before.t + 1, before.tallies), point
            sizes.add(len(memory.artifacts.ids("default", kind="usage")))
    assert sizes == {2}


FINISH = """
import itertools
from acc.evidence.addition import Addition
from acc.evidence.deletion import Capacity
from acc.evidence.experience import ExperienceMemory
from acc.stores.directory import namespace
memory_of_tasks = ExperienceMemory(
    memory.artifacts, namespace(), memory._now, addition=Addition("all"), deletion=Capacity(4),
    shared=True,
)
act(lambda: memory_of_tasks.finish("task 9", "right " * 9000))
"""


def experiences_of(memory: MemoryController) -> ExperienceMemory:
    return ExperienceMemory(
        memory.artifacts, SPACE, memory._now, addition=Addition("all"), shared=True
    )


def test_an_execution_is_counted_and_kept_whole_or_not(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with MemoryController.open(folder) as memory:
        tasks = experiences_of(memory)
        for n in range(4):
            tasks.finish(f"task {n}", "right", utility=1.0)
    seen = set()
    for killed_in, point in killed(FINISH, folder, tmp_path / "kills", most=FEW):
        with MemoryController.open(killed_in) as memory:
            tasks = experiences_of(memory)
            told_of = len(events(Shelf(memory.artifacts, SPACE, "usage").records()))
            names = [e.task for e in tasks.experiences()]
            assert tasks.t == told_of in (4, 5), point
            assert len(names) in (4, 5), (point, names)
            assert "task 9" not in names or told_of == 5
            seen.add((told_of, "task 9" in names, len(names)))
    assert {(4, False, 4), (5, True, 4)} <= seen


DENSE = """
import numpy as np
vectors = {f"id {n}": np.full(9, n, np.float32).tobytes() for n in range(250)}
memory.artifacts.keep_dense("default", "one", dict(list(vectors.items())[:100]))
act(lambda: memory.artifacts.keep_dense("default", "one", vectors))
"""


def test_dense_vectors_that_were_half_written_are_missing_not_wrong(tmp_path: Path) -> None:
    import numpy as np

    folder = tmp_path / "memory"
    with MemoryController.open(folder):
        pass
    vectors = {f"id {n}": np.full(9, n, np.float32).tobytes() for n in range(250)}
    for killed_in, point in killed(DENSE, folder, tmp_path / "kills", most=FEW):
        with MemoryController.open(killed_in) as memory:
            found = memory.artifacts.dense("default", "one", list(vectors))  # type: ignore[attr-defined]
            assert found.items() <= vectors.items(), point
            memory.artifacts.keep_dense("default", "one", vectors)  # type: ignore[attr-defined]
            assert memory.artifacts.dense("default", "one", list(vectors)) == vectors  # type: ignore[attr-defined]


def test_a_kill_leaves_a_point_to_be_killed_at(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        talk(memory, "inc", "Hello.")
    assert killed_at("act(lambda: (path / 'x').write_text('y'))", tmp_path, 1) is None
    assert not (tmp_path / "x").exists()
