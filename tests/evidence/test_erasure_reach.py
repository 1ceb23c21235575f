"""How far an erasure reaches: every agent of a user, every part and every reader of a document, no further."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_erasure import SECRET, erased, standing

from acc import MemoryController, Settings, Turn
from acc.audit.verify import verify
from acc.errors import AuditError, InputError
from acc.evidence.addition import Addition
from acc.evidence.documents import Documents
from acc.evidence.erasure import Erasure, ErasureJournal, RunningErasure
from acc.evidence.erasure_plan import Target, plan_erasure
from acc.evidence.experience import ExperienceMemory
from acc.evidence.marks import FolderMarks
from acc.evidence.parsing import Section
from acc.evidence.references import hold
from acc.evidence.retention import cited_in
from acc.state.policy import Policy
from acc.stores.directory import namespace, namespace_of
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact, Thread
from acc.stores.shelf import Shelf
from acc.turn.observations import Channel, Observation

RESTORED = (
    "The ledger is restored from the backup on bkp-3, with the key KRL-55810-ZT of the vault."
)
ASKED = "From where is the ledger restored?"
WORDS = ("bkp-3", "KRL-55810-ZT")
ANA = Thread(thread="inc", user="ana")
BOB = Thread(thread="inc", user="bob", agent="clerk")


def normalize(memory: MemoryController, user: str = "default", agent: str = "default") -> str:
    space = namespace(user=user, agent=agent)
    return Documents.of(memory, space).add("vault.md", [Section(RESTORED)]).ref


def ask(memory: MemoryController, thread: Thread, words: str = ASKED) -> None:
    memory.step(memory.last_state(thread), Turn.said(words), thread=thread)


def hear(memory: MemoryController, thread: Thread, channel: Channel, words: str) -> None:
    heard = Observation(channel=channel, text=words, call_id="c1" * (channel is Channel.TOOL))
    memory.step(memory.last_state(thread), Turn(observations=(heard,)), thread=thread)


def cited(memory: MemoryController, thread: Thread) -> set[str]:
    state = memory.last_state(thread)
    return set(cited_in(state.canonical())) if state is not None else set()


def texts(memory: MemoryController) -> list[str]:
    store = memory.artifacts
    return [a.text for a in store.get("default", store.ids("default"))]  # type: ignore[attr-defined]


def test_a_users_documents_and_experiences_go_though_their_agent_never_spoke(
    tmp_path: Path,
) -> None:
    coder = namespace(user="eve", agent="coder")
    with MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path / "audit")) as memory:
        Documents.of(memory, coder).add("a.md", [Section(SECRET)])
        tasks = ExperienceMemory(
            memory.artifacts, namespace(user="eve", agent="planner"), memory._now,
            addition=Addition("all"),
        )  # fmt: skip
        tasks.finish("call a patient", SECRET)
        Documents.of(memory, namespace(user="bob")).add("b.md", [Section("Bob's words stay.")])
        assert erased(memory, Target(user="eve")).proved
        store = memory.artifacts
        left = store.get("default", store.ids("default"))  # type: ignore[attr-defined]
        assert {a.text for a in left if a.kind == "document"} == {"Bob's words stay."}
        assert not [a for a in left if "eve" in a.text or "Quandt" in a.text]


def test_one_document_goes_by_its_ref_with_all_its_parts_and_no_other(tmp_path: Path) -> None:
    with MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path / "audit")) as memory:
        shelf = Documents.of(memory, namespace())
        gone = shelf.add("a.md", [Section(SECRET), Section(f"{SECRET} And more.")])
        stays = shelf.add("b.md", [Section("The lamp in room 9 is broken.")])
        for name in ("doc", "doc.", gone.ref[:-1], "exp"):
            with pytest.raises(InputError, match="no evidence of the artifact"):
                plan_erasure(memory.artifacts, None, Target(artifact=name))
        assert erased(memory, Target(artifact=gone.ref)).records == 2
        left = Shelf(memory.artifacts, namespace(), "documents").records()
        assert [a.ref for a in left] == [f"{stays.ref}.1"]


def test_a_shared_document_is_in_no_file_and_in_nobodys_state_once_it_is_erased(
    tmp_path: Path,
) -> None:
    """Of no user, of one agent, or of one user: whoever could see it."""
    for user, agent, readers in (
        ("default", "default", (ANA, BOB, Thread(thread="inc"))),
        ("default", "clerk", (BOB, Thread(thread="o", agent="clerk"))),
        ("ana", "default", (ANA, Thread(thread="inc", user="ana", agent="planner"))),
    ):
        folder = tmp_path / user / agent
        with MemoryController.open(folder) as memory:
            ref = normalize(memory, user, agent)
            for thread in readers:
                ask(memory, thread)
                assert f"{ref}.1" in cited(memory, thread)
            target = Target(artifact=ref, user=user, agent=agent)
            plan = Erasure(memory).plan(target)
            assert len(plan.effects.rewritten) == len(readers)
            receipt = Erasure(memory).erase(plan)
            assert receipt.proved
            for thread in readers:
                assert f"{ref}.1" not in cited(memory, thread)
                ask(memory, thread, "Go on.")
                log = memory._audit_of(thread)
                assert log is not None
                policy = Policy()
                verify(log, {policy.fingerprint: policy})
        assert standing(folder, WORDS) == []


def test_what_the_agent_and_its_tools_said_of_it_goes_and_what_users_said_stays(
    tmp_path: Path,
) -> None:
    said = f"I was told: {RESTORED}"
    with MemoryController.open(tmp_path) as memory:
        ref = normalize(memory)
        ask(memory, ANA)
        hear(memory, ANA, Channel.AGENT, f"It is so: {RESTORED}")
        hear(memory, ANA, Channel.TOOL, f"result: {RESTORED}")
        ask(memory, BOB, said)
        plan = Erasure(memory).plan(Target(artifact=ref))
        assert plan.echoes == (f"{ANA.key[:8]}/a2", f"{ANA.key[:8]}/t3")
        assert dict(plan.effects.kinds)["observation"] == 2
        assert Erasure(memory).erase(plan).proved
        assert [text for text in texts(memory) if WORDS[1] in text] == [said]
        kept = memory.last_state(BOB)
        assert kept is not None
        assert memory.open_evidence("u1", kept, thread=BOB) == said
        mine = memory.last_state(ANA)
        assert mine is not None
        assert WORDS[1] not in mine.render()


def test_echoes_of_others_stay_when_told_and_what_rests_on_it_alone_goes(tmp_path: Path) -> None:
    with MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path / "audit")) as memory:
        ref = normalize(memory)
        ask(memory, ANA)
        hear(memory, ANA, Channel.AGENT, f"It is so: {RESTORED}")
        left = Artifact(
            id=f"{ANA.key}.side:1", thread=ANA.key, branch="side", seq=1, turn=1, kind="set_aside",
            ref="x1", text="The ledger comes from bkp-3.", sources=(f"{ref}.1",),
        )  # fmt: skip
        memory.artifacts.add("default", [left])
        plan = Erasure(memory).plan(Target(artifact=ref), echoes=False)
        assert dict(plan.effects.kinds) == {"document": 1, "set_aside": 1}
        assert left.id in plan.bury


@pytest.mark.parametrize(("user", "agent"), [("ana", "default"), ("default", "planner")])
def test_who_has_another_copy_keeps_it_and_all_that_cites_it(
    tmp_path: Path, user: str, agent: str
) -> None:
    reader = Thread(thread="inc", user="ana", agent="planner")
    with MemoryController.open(tmp_path) as memory:
        ref = normalize(memory)
        assert normalize(memory, user, agent) == ref
        ask(memory, reader)
        ask(memory, BOB)
        before = memory.last_state(reader)
        plan = Erasure(memory).plan(Target(artifact=ref))
        assert [log.thread for log in plan.effects.rewritten] == [BOB.thread]
        assert Erasure(memory).erase(plan).proved
        assert memory.last_state(reader) == before
        assert before is not None
        assert memory.open_evidence(f"{ref}.1", before, thread=reader) == RESTORED
        assert f"{ref}.1" not in cited(memory, BOB)


def test_a_document_of_one_agent_leaves_the_others_alone(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        ref = normalize(memory, "ana", "planner")
        ask(memory, BOB, f"I was told: {RESTORED}")
        ask(memory, ANA, f"I was told: {RESTORED}")
        plan = Erasure(memory).plan(Target(artifact=ref, user="ana", agent="planner"))
        assert (plan.records, plan.threads, plan.effects.rewritten) == (1, (), ())


def test_with_all_of_who_took_it_in_a_document_leaves_other_users_states(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        ref = normalize(memory)
        ask(memory, Thread(thread="own"), SECRET)
        ask(memory, ANA)
        ask(memory, BOB, "The lamp in room 9 is broken.")
        plan = Erasure(memory).plan(Target(user="default"))
        assert [log.thread for log in plan.effects.dropped] == ["own"]
        assert [log.where for log in plan.effects.rewritten] == [memory._audit_of(ANA).where]  # type: ignore[union-attr]
        assert Erasure(memory).erase(plan).proved
        assert f"{ref}.1" not in cited(memory, ANA)
    assert standing(tmp_path, WORDS) == []


def test_a_hold_on_what_another_user_would_lose_stops_it(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        ref = normalize(memory)
        hear(memory, ANA, Channel.AGENT, RESTORED)
        usage = Shelf(memory.artifacts, namespace_of(ANA), "usage")
        hold(usage, ANA, "a1", "case 17", "2026-01-01Z")
        with pytest.raises(InputError, match="case 17"):
            Erasure(memory).plan(Target(artifact=ref))
        assert Erasure(memory).plan(Target(artifact=ref), echoes=False).records == 1


def test_a_damaged_log_stops_it_only_where_it_speaks_of_the_document(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        ref = normalize(memory)
        ask(memory, ANA)
        ask(memory, BOB, "The lamp in room 9 is broken.")
        for thread, harm in ((BOB, False), (ANA, True)):
            log = memory._audit_of(thread)
            assert log is not None
            with log.path.open("ab") as file:
                file.write(b"no record at all\n")
            if harm:
                with pytest.raises(AuditError, match="restore the log"):
                    Erasure(memory).plan(Target(artifact=ref))
            else:
                assert len(Erasure(memory).plan(Target(artifact=ref)).effects.rewritten) == 1


@pytest.mark.parametrize("earlier", [False, True])
def test_one_that_was_killed_is_ended_for_every_reader(tmp_path: Path, earlier: bool) -> None:
    """By its journal; one of an earlier version does not say whose the texts are."""
    with MemoryController.open(tmp_path) as memory:
        ref = normalize(memory)
        ask(memory, ANA)
        hear(memory, ANA, Channel.AGENT, f"It is so: {RESTORED}")
        ask(memory, BOB)
        plan = Erasure(memory).plan(Target(artifact=ref))
        begun = RunningErasure("0123456789abcdef", memory._now(), plan)
        noted = replace(begun, plan=replace(plan, owners=())) if earlier else begun
        ErasureJournal(FolderMarks(tmp_path)).begin(noted)
    with MemoryController.open(tmp_path) as memory:
        assert "is now complete" in memory.resumed[0]
        assert not {f"{ref}.1"} & (cited(memory, ANA) | cited(memory, BOB))
    assert standing(tmp_path, WORDS) == []
