"""Compaction where others write to the store too: every event counts once, whoever comes first."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from killing import ROOT

from acc.cli import run
from acc.evidence.unfinished import begin_intent, open_intents
from acc.evidence.usage import (
    Event,
    compact,
    execution_ledger,
    hold_record,
    holds,
    record_event,
    usage_records,
)
from acc.stores.directory import namespace
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact
from acc.stores.shelf import START, Shelf

sys.path.append(str(Path(__file__).parents[1] / "stores"))

SPACE = namespace()


class Shared(InMemoryStore):
    """Between whose calls other processes do what they do."""

    shared = True  # type: ignore[assignment]
    others: Callable[[Sequence[Artifact]], None] | None = None

    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        if (others := self.others) is not None:
            self.others = None
            others(artifacts)
            if self.others is None:
                self.others = others
        super().add(tenant, artifacts)


def usage(store: Any) -> Shelf:
    return Shelf(store, SPACE, "usage")


def tell(store: Any, *names: str) -> None:
    for name in names:
        record_event(usage(store), Event(of=(f"{SPACE.key}:doc.{name}",), utility=1.0), "t")


def counted(store: Any) -> Counter[str]:
    ledger = execution_ledger(usage(store).records())
    assert ledger.t == sum(len(tally.retrieved) for tally in ledger.tallies.values())
    return Counter({
        key.rpartition(".")[2]: len(tally.retrieved) for key, tally in ledger.tallies.items()
    })  # fmt: skip


def compacted(store: Any) -> int:
    return compact(store, SPACE, lambda: "t", least=2)


def test_a_shared_shelf_is_compacted_again_and_again_and_stays_short() -> None:
    store = Shared()
    hold = hold_record(f"{SPACE.key}:doc.1", "case 5", "t")
    usage(store).append([hold])
    begin_intent(usage(store), "ingest", ["doc.x.1"], "t")
    names: list[str] = []
    for generation in range(6):
        fresh = [f"{generation}-{n}" for n in range(20)]
        tell(store, *fresh)
        names += fresh
        assert compacted(store) > 15
        assert counted(store) == Counter(names)
        assert len(holds(usage(store).records()).reasons) == 1
        (open_,) = open_intents(usage(store).records())
        assert open_.ids == ("doc.x.1",)
    assert len(store.ids("default", kind="usage")) < 60


@pytest.mark.parametrize("times", range(5))
@pytest.mark.parametrize("each", [1, 7])
def test_who_reads_before_and_writes_after_compactions_is_counted_once(
    times: int, each: int
) -> None:
    store = Shared()
    tell(store, "a", "b", "c")
    late, names = usage(store), ["a", "b", "c"]
    late.refresh()

    def others(_: Sequence[Artifact]) -> None:
        store.others = lambda _: None
        for time_ in range(times):
            fresh = [f"{time_}-{n}" for n in range(each)]
            tell(store, *fresh)
            names.extend(fresh)
            assert compacted(store) >= 0

    store.others = others
    record_event(late, Event(of=(f"{SPACE.key}:doc.late",)), "t")
    store.others = None
    assert counted(store) == Counter([*names, "late"])
    record_event(late, Event(of=(f"{SPACE.key}:doc.later",)), "t")
    assert counted(store) == Counter([*names, "late", "later"])


@pytest.mark.parametrize("point", ["summary", START])
def test_of_two_compactions_at_once_one_happens(point: str) -> None:
    store = Shared()
    names = [str(n) for n in range(12)]
    tell(store, *names)
    done = []

    def others(artifacts: Sequence[Artifact]) -> None:
        if artifacts[0].name == point:
            store.others = lambda _: None
            tell(store, "between")
            done.append(compacted(store))

    store.others = others
    done.append(compacted(store))
    store.others = None
    assert sorted(bool(d) for d in done) == [False, True]
    for _ in range(3):
        assert counted(store) == Counter([*names, "between"])
        compacted(store)
    tell(store, "after")
    assert counted(store) == Counter([*names, "between", "after"])


def test_a_first_place_that_says_an_older_beginning_leads_on() -> None:
    store = Shared()
    names = [str(n) for n in range(30)]
    tell(store, *names[:10])
    compacted(store)
    old = store.get("default", [usage(store).id_of(1)])
    for start in (10, 20):
        tell(store, *names[start : start + 10])
        compacted(store)
    store.replace("default", old)  # by a process that slept meanwhile
    assert counted(store) == Counter(names)


def test_a_document_may_be_called_as_a_beginning_is() -> None:
    store = InMemoryStore()
    shelf = Shelf(store, SPACE, "documents")
    shelf.append([
        Artifact(id="", thread="", branch="", seq=0, turn=0, kind="document", name=START, text="Words.")
    ])  # fmt: skip
    assert [a.text for a in Shelf(store, SPACE, "documents").records()] == ["Words."]


WORK = """
import sys, os
from acc.evidence.usage import compact, Event, record_event
from acc.stores.directory import namespace
from acc.stores.shelf import Shelf
from acc.stores.chroma.store import ChromaArtifactStore
port, name, times = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store, space = ChromaArtifactStore.server(port=port), namespace()
usage = Shelf(store, space, "usage")
for n in range(times):
    record_event(usage, Event(of=(f"{space.key}:doc.{name}-{n}",)), "t")
    os.write(1, f"{name}-{n}\\n".encode())
    if n % 10 == 9:
        compact(store, space, lambda: "t", least=20)
"""


@pytest.mark.slow
def test_on_a_server_writers_compact_and_are_killed_and_nothing_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from test_chroma_server import Server

    server = Server(tmp_path)
    try:
        said, sizes = _written(server), []
        with_store = server.store()
        found = counted(with_store)
        assert set(found.values()) == {1}
        lost = said - set(found)
        assert not lost
        assert len(set(found) - said) <= 3  # a killed one may have told what it did not print
        for n in range(3):
            tell(with_store, *(f"later-{n}-{m}" for m in range(25)))
            assert compacted(with_store) > 0
            sizes.append(len(with_store.ids("default", kind="usage")))
        assert sizes[-1] < 80
        assert set(counted(with_store)) >= said
        event = Event(of=(f"{SPACE.key}:doc.x",)).model_dump_json()
        usage(with_store).append(
            [r for _ in range(1_000) for r in usage_records("event", event, "t")]
        )
        with_store.close()
        at = f"127.0.0.1:{server.port}"
        memory = str(tmp_path / "memory")
        Path(memory).mkdir()
        assert run(["vacuum", "--server", at, "--memory", memory, "--json"]) == 0
        assert '"server": true' in capsys.readouterr().out
        again = server.store()
        assert len(usage(again).records()) < 20
        assert counted(again)["x"] == 1_000
        again.close()
    finally:
        server.stop()


def _written(server: Any) -> set[str]:
    """What four processes say they told; three of them are killed midway, each replaced once."""
    started = [_started(server, str(n), 80) for n in range(4)]
    for n, process in enumerate(started[:3]):
        time.sleep(0.9)
        process.send_signal(signal.SIGKILL)
        started.append(_started(server, f"again-{n}", 40))
    said: set[str] = set()
    for process in started:
        out, complaint = process.communicate(timeout=120)
        assert process.returncode in (0, -signal.SIGKILL), complaint
        said |= set(out.split())
    return said


def _started(server: Any, name: str, times: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WORK, str(server.port), name, str(times)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": ROOT},
    )  # fmt: skip
