"""What an erasure announces is what it does: to the record, whatever the memory holds."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_erasure import SECRET, talk

from acc import MemoryController, Settings, Turn
from acc.errors import ConflictError, InputError
from acc.evidence.addition import Addition
from acc.evidence.documents import Documents
from acc.evidence.erasure import Erasure
from acc.evidence.erasure_plan import ErasurePlan, Target
from acc.evidence.experience import ExperienceMemory
from acc.evidence.parsing import Section
from acc.evidence.references import hold
from acc.evidence.retention import cited_in
from acc.recall.candidates import WideRecall
from acc.stores.directory import document_spaces, namespace, namespace_of
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact, Thread
from acc.stores.shelf import Shelf
from acc.turn.observations import Channel, Observation

SAID = (
    SECRET,
    "Never deploy on a Friday.",
    f"Again: {SECRET}",
    "The gateway has 4 replicas.",
    "The gateway has 6 replicas now, not 4.",
    "Never call anybody named Ottilie Quandt after 6 pm.",
    "What do we know of Ottilie Quandt and of the gateway?",
    "Stop with the rule on Fridays: deploy whenever you like.",
)
PLACES = [
    Thread(thread=name, user=user, agent=agent)
    for name in ("inc", "other")
    for user, agent in (
        ("default", "default"), ("default", "coder"), ("eve", "default"), ("bob", "coder"),
    )
]  # fmt: skip


def document_ref(words: str) -> str:
    """The ref of the document of these words, in whichever namespace it is taken in."""
    return "doc." + hashlib.sha256(f"{SAID.index(words)}.md\x00{words}".encode()).hexdigest()[:10]


ACT = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(PLACES), st.sampled_from(SAID)),
    st.tuples(st.just("hear"), st.sampled_from(PLACES), st.sampled_from(SAID)),
    st.tuples(st.just("fork"), st.sampled_from(PLACES), st.sampled_from(SAID)),
    st.tuples(st.just("document"), st.sampled_from(PLACES), st.sampled_from(SAID)),
    st.tuples(st.just("experience"), st.sampled_from(PLACES), st.sampled_from(SAID)),
)
TARGET = st.one_of(
    st.builds(
        Target,
        thread=st.sampled_from(["inc", "other"]),
        artifact=st.sampled_from(["u1", "u2", "x2"]),
        user=st.sampled_from([None, "eve"]),
    ),
    st.builds(
        Target,
        thread=st.sampled_from(["inc", "other"]),
        agent=st.sampled_from(["default", "coder"]),
    ),
    st.builds(Target, user=st.sampled_from(["default", "eve"])),
)


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[tuple[str, Thread, str]], Target]:
    """What was said and taken in, and what is to be erased: a document of it, too."""
    acts = draw(st.lists(ACT, min_size=3, max_size=14))
    targets = [TARGET]
    if documents := [(who, words) for what, who, words in acts if what == "document"]:
        targets.append(st.builds(of_document, st.sampled_from(documents)))
    return acts, draw(st.one_of(targets))


def of_document(taken_in: tuple[Thread, str]) -> Target:
    who, words = taken_in
    return Target(artifact=document_ref(words), user=who.user, agent=who.agent)


def carried(memory: MemoryController, acts: list[tuple[str, Thread, str]]) -> None:
    past: dict[str, list[Any]] = {}
    for what, who, words in acts:
        if what == "document":
            Documents.of(memory, namespace_of(who)).add(f"{SAID.index(words)}.md", [Section(words)])
        elif what == "experience":
            tasks = ExperienceMemory(
                memory.artifacts,
                namespace_of(who),
                memory._now,
                addition=Addition("all"),
                shared=True,
            )
            tasks.finish("a task", words)
        else:
            states = past.setdefault(who.key, [None])
            prior = states[len(states) // 2 if what == "fork" else -1]
            agent = Observation(channel=Channel.AGENT, text=words)
            turn = Turn(observations=(agent,)) if what == "hear" else Turn.said(words)
            states.append(memory.step(prior, turn, thread=who).state)


def records(memory: MemoryController) -> dict[str, Artifact]:
    store: Any = memory.artifacts
    return {a.id: a for a in store.get("default", store.ids("default"))}


def logs(folder: Path) -> dict[str, list[dict[str, Any]]]:
    paths = sorted((folder / "audit").glob("*.jsonl"))
    return {p.name: [json.loads(line) for line in p.read_text().splitlines()] for p in paths}


def newest_items(log: list[dict[str, Any]]) -> set[str]:
    newest = {record["state"]["branch"]: record["state"] for record in log}
    return {
        str(item.get("id") or item.get("ref"))
        for state in newest.values()
        for value in state.values()
        if isinstance(value, list)
        for item in value
    }


def cited(memory: MemoryController, thread: Thread) -> set[str]:
    """What the newest states of a thread's branches rest on, and the evidence that is pending."""
    log = memory._audit_of(thread)
    newest = {r["state"]["branch"]: r["state"] for r in log.records()} if log is not None else {}
    return {ref for state in newest.values() for ref in cited_in(state)}


def check_nobody_cites_what_is_gone(
    memory: MemoryController, plan: ErasurePlan, before: dict[str, Artifact]
) -> None:
    """No state names an erased document, unless its thread may see another copy."""
    gone = {before[id_].ref for id_ in plan.bury if before[id_].kind == "document"}
    for thread in PLACES:
        shelves = (Shelf(memory.artifacts, s, "documents") for s in document_spaces(thread))
        stays = {a.ref for shelf in shelves for a in shelf.records()}
        assert not cited(memory, thread) & (gone - stays)


@given(situation=situations(), echoes=st.booleans())
def test_what_is_announced_is_what_is_done(
    situation: tuple[list[tuple[str, Thread, str]], Target], echoes: bool
) -> None:
    acts, target = situation
    with (
        TemporaryDirectory() as name,
        MemoryController(
            InMemoryStore(), settings=Settings(audit=Path(name) / "audit", recall=WideRecall())
        ) as memory,
    ):
        folder = Path(name)
        carried(memory, acts)
        eraser = Erasure(memory)
        try:
            plan = eraser.plan(target, echoes=echoes)
        except InputError:
            assume(False)
        assert eraser.plan(target, echoes=echoes) == plan
        before, said = records(memory), logs(folder)
        receipt = eraser.erase(plan)
        after, told = records(memory), logs(folder)

        if "set_aside" not in dict(plan.effects.kinds):  # its words may be another's item's, too
            assert receipt.traces == ()
        check_records(plan, before, after)
        assert receipt.effects == plan.effects.without_words()
        check_logs(plan, said, told)
        check_nobody_cites_what_is_gone(memory, plan, before)
        with pytest.raises((InputError, ConflictError)):
            eraser.erase(plan)
        assert (records(memory), logs(folder)) == (after, told)


def check_records(
    plan: ErasurePlan, before: dict[str, Artifact], after: dict[str, Artifact]
) -> None:
    """The records that the plan names went, and no other."""
    assert set(before) - set(after) == set(plan.delete)
    changed = {i for i in after if before.get(i) != after[i]}
    assert changed == {*plan.bury, *(i for i in plan.claims if i in before)}
    assert len(changed) - len(plan.bury) == plan.effects.digests
    gone = [before[i].kind for i in (*plan.delete, *plan.bury)]
    assert dict(plan.effects.kinds) == Counter(gone)


Logs = dict[str, list[dict[str, Any]]]


def check_logs(plan: ErasurePlan, said: Logs, told: Logs) -> None:
    """The audit logs went or changed as the plan says, and no other."""
    assert {d.log: d.records for d in plan.effects.dropped} == {
        log: len(said[log]) for log in said if log not in told
    }
    announced = {r.log: r for r in plan.effects.rewritten}
    assert set(announced) == {log for log in told if told[log] != said[log]}
    for log, rewritten in announced.items():
        assert rewritten.of == len(said[log])
        assert rewritten.records == sum(bool(r.get("redacted")) for r in told[log])
        assert set(rewritten.items) >= newest_items(said[log]) - newest_items(told[log])
        assert rewritten.head == told[log][-1]["state"]["hash"]
        removed = {c["id"] for r in told[log] if "erasure" in r for c in r["diff"]}
        assert set(rewritten.items) == removed


def test_the_items_that_leave_are_named_with_their_words_and_the_receipt_has_none(
    tmp_path: Path,
) -> None:
    with MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path / "audit")) as memory:
        talk(memory)
        plan = Erasure(memory).plan(Target(thread="inc", artifact="u3"))
        (log,) = plan.effects.rewritten
        rules = [item for item in log.leaving if item.slot == "constraints"]
        assert [item.words for item in rules] == [SECRET[:-1]]
        receipt = Erasure(memory).erase(plan)
        (done,) = receipt.rewritten
        assert done.items == log.items
        assert (done.records, done.of) == (log.records, log.of)
        assert not any(item.words for item in done.leaving)
        assert "Ottilie" not in repr(receipt)


def test_a_plan_is_refused_once_the_memory_has_changed(tmp_path: Path) -> None:
    with MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path / "audit")) as memory:
        talk(memory)
        eraser, target = Erasure(memory), Target(thread="inc", artifact="u3")
        plan = eraser.plan(target)
        talk(memory, "inc", "Is bill-db-7 healthy?")
        before = records(memory), logs(tmp_path)
        with pytest.raises(ConflictError, match="make a new plan"):
            eraser.erase(plan)
        usage = Shelf(memory.artifacts, namespace(), "usage")
        assert (records(memory), logs(tmp_path)) == before
        plan = eraser.plan(target)
        hold(usage, Thread(thread="inc"), "u3", "case 17", "2026-01-01Z")
        with pytest.raises(InputError, match="case 17"):
            eraser.erase(plan)
        assert eraser.erase(eraser.plan(target, despite_holds=True)).proved


def test_a_plan_finds_what_waits_to_be_written(tmp_path: Path) -> None:
    """An item that left the state a moment ago and is not in the store yet."""
    with MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path / "audit")) as memory:
        talk(memory, "inc", "The gateway has 4 replicas.", "The gateway has 6 replicas now, not 4.")
        plan = Erasure(memory).plan(Target(thread="inc", artifact="u1"))
        gone = [a for a in records(memory).values() if a.kind == "set_aside"]
        assert gone
        assert {a.id for a in gone if a.sources == ("u1",)} <= set(plan.bury)
        assert Erasure(memory).erase(plan).proved
