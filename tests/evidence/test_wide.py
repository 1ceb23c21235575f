"""Whose words recall proposes: a known user's own threads, documents that a thread may see, nobody else's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc import InMemoryStore, MemoryController, Settings, Turn
from acc.errors import ConfigurationError, InputError
from acc.evidence.addition import Addition
from acc.evidence.documents import Documents
from acc.evidence.experience import ExperienceMemory
from acc.evidence.parsing import Section
from acc.recall.candidates import Recall, WideRecall
from acc.stores.directory import document_spaces, namespace
from acc.stores.protocol import Artifact, ArtifactStore, Thread
from acc.stores.shelf import Shelf

SALARY = "My salary is 91,000 EUR and my IBAN is DE02120300000000202052."
ASKED = "What is the salary and the IBAN?"
POLICY = "Vendor Harrow Ltd: payments above 5,000 EUR go to cost centre CC-4711."
QUESTION = "Which cost centre do payments to Harrow Ltd above 5,000 EUR go to?"


class Plain:
    """A store that offers no more than a store must, and counts how often it is read."""

    def __init__(self, *, shared: bool = False) -> None:
        self.shared = shared
        self.records: dict[tuple[str, str], Artifact] = {}
        self.asked: list[int] = []

    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        for artifact in artifacts:
            self.records.setdefault((tenant, artifact.id), artifact)

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        self.asked.append(len(ids))
        return [self.records[tenant, i] for i in ids if (tenant, i) in self.records]

    def close(self) -> None: ...


def on(store: ArtifactStore, recall: Recall | None = None) -> MemoryController:
    return MemoryController(store, settings=Settings(audit=None, recall=recall or Recall()))


def refs(memory: MemoryController, question: str, thread: Thread) -> list[str]:
    return [e.ref for e in memory.step(None, Turn.said(question), thread=thread).evidence]


def ingested(memory: MemoryController, text: str = POLICY, **names: str) -> str:
    return Documents.of(memory, namespace(**names)).add("policy.md", [Section(text)]).ref


NAMES = st.sampled_from(["default", "", " ", "alice", "bob"])
THREADS = st.builds(
    Thread,
    thread=st.sampled_from(["one", "two", "three"]),
    user=NAMES,
    agent=st.sampled_from(["default", "clerk"]),
    tenant=st.sampled_from(["default", "acme"]),
)


@given(st.lists(THREADS, min_size=2, max_size=8, unique_by=lambda t: t.key))
def test_no_recall_proposes_what_another_user_or_a_stranger_said(threads: list[Thread]) -> None:
    memory = on(InMemoryStore(), WideRecall(limit=50, wide=50))
    for number, thread in enumerate(threads):
        memory.step(None, Turn.said(f"My salary is {number}1,000 EUR."), thread=thread)
    owner = {thread.key: thread for thread in threads}
    for thread in threads:
        branch = memory._log_of(thread).branch("main")
        turn = Turn.said(ASKED).numbered(9)
        state = memory.load(None).model_copy(update={"turn": 8})
        found = {c.artifact.thread for c in memory.settings.recall(turn, state, branch)}
        assert thread.key in found
        for other in (owner[key] for key in found - {thread.key}):
            assert thread.has_user
            assert other.model_copy(update={"thread": thread.thread}) == thread
        alike = [t for t in threads if t.model_copy(update={"thread": thread.thread}) == thread]
        assert found == {t.key for t in (alike if thread.has_user else [thread])}


def test_strangers_read_nothing_of_one_another() -> None:
    memory = on(InMemoryStore(), WideRecall())
    memory.step(None, Turn.said(SALARY), thread="alice-1")
    step = memory.step(None, Turn.said(ASKED), thread="bob-1")
    assert (step.evidence, step.verdicts) == ((), ())
    ref = f"{Thread(thread='alice-1').key[:8]}/u1"
    with pytest.raises(InputError, match="no evidence"):
        memory.open_evidence(ref, step.state, thread="bob-1")


def test_a_users_other_thread_is_recalled_and_opened() -> None:
    memory = on(InMemoryStore(), WideRecall())
    first, second = (Thread(thread=name, user="alice") for name in ("one", "two"))
    memory.step(None, Turn.said(SALARY), thread=first)
    step = memory.step(None, Turn.said(ASKED), thread=second)
    (ref,) = (e.ref for e in step.evidence)
    assert memory.open_evidence(ref, step.state, thread=second) == SALARY
    for stranger in (Thread(thread="two", user="bob"), Thread(thread="two")):
        state = memory.step(None, Turn.said("Hello."), thread=stranger).state
        with pytest.raises(InputError, match="no evidence"):
            memory.open_evidence(ref, state, thread=stranger)


def test_the_same_question_in_many_threads_takes_one_place() -> None:
    memory = on(InMemoryStore(), WideRecall(wide=2))
    for number in range(12):
        thread = Thread(thread=f"t{number}", user="alice")
        memory.step(None, Turn.said(SALARY if number == 3 else ASKED), thread=thread)
    key = Thread(thread="t3", user="alice").key
    found = refs(memory, ASKED, Thread(thread="new", user="alice"))
    assert f"{key[:8]}/u1" in found


def test_experiences_of_nobody_in_particular_are_shown_to_all_only_where_that_is_said() -> None:
    store = InMemoryStore()
    for space in (namespace(), namespace(agent="clerk"), namespace(user=" ")):
        with pytest.raises(ConfigurationError, match="shared=True"):
            ExperienceMemory(store, space, lambda: "now")
        ExperienceMemory(store, space, lambda: "now", shared=True)
    ExperienceMemory(store, namespace(user="alice"), lambda: "now")


@pytest.mark.parametrize("store", [InMemoryStore(), Plain(), Plain(shared=True)])
def test_a_document_that_was_taken_in_for_all_reaches_everybody(store: ArtifactStore) -> None:
    memory = on(store)
    ref = ingested(memory)
    for thread in (
        Thread(thread="a"), Thread(thread="b", user="ana"), Thread(thread="c", agent="clerk"),
        Thread(thread="d", user="ana", agent="clerk"),
    ):  # fmt: skip
        step = memory.step(None, Turn.said(QUESTION), thread=thread)
        assert [e.ref for e in step.evidence] == [f"{ref}.1"]
        assert memory.open_evidence(f"{ref}.1", step.state, thread=thread) == POLICY
        assert memory.open_evidence(ref, step.state, thread=thread) == POLICY
    assert refs(memory, QUESTION, Thread(thread="e", tenant="other")) == []


@pytest.mark.parametrize(
    ("names", "reaches"),
    [({"user": "ana"}, [True, True, False, False]), ({"agent": "clerk"}, [False, True, True, False]),
     ({"user": "ana", "agent": "clerk"}, [False, True, False, False])],
)  # fmt: skip
def test_a_document_of_a_user_or_agent_reaches_no_other(
    names: dict[str, str], reaches: list[bool]
) -> None:
    memory = on(InMemoryStore(), WideRecall())
    ref = ingested(memory, **names)
    readers = [
        Thread(thread="t", user=user, agent=agent)
        for user, agent in (("ana", "x"), ("ana", "clerk"), ("bob", "clerk"), ("default", "x"))
    ]
    assert [bool(refs(memory, QUESTION, thread)) for thread in readers] == reaches
    for thread, may in zip(readers, reaches, strict=True):
        state = memory.load(None)
        if may:
            assert memory.open_evidence(ref, state, thread=thread) == POLICY
        else:
            with pytest.raises(InputError, match="no evidence"):
                memory.open_evidence(ref, state, thread=thread)


def test_each_sees_its_own_documents_first() -> None:
    spaces = document_spaces(Thread(thread="", user="ana", agent="clerk"))
    names = [(space.user, space.agent) for space in spaces]
    assert names == [("ana", "clerk"), ("ana", "default"), ("default", "clerk"), ("default",) * 2]
    assert document_spaces(namespace()) == (namespace(),)


def test_what_is_ingested_between_two_turns_is_seen_by_the_next() -> None:
    memory = on(InMemoryStore())
    thread = Thread(thread="a", user="ana")
    assert refs(memory, QUESTION, thread) == []
    ref = ingested(memory, user="ana")
    state = memory.last_state(thread)
    step = memory.step(state, Turn.said(QUESTION), thread=thread)
    assert [e.ref for e in step.evidence if e.ref.startswith("doc.")] == [f"{ref}.1"]


def reads_by_turn(store: Plain, recall: Recall, turns: int) -> list[int]:
    memory, state = on(store, recall), None
    counts = [len(store.asked)]
    thread = Thread(thread="t", user="ana", agent="clerk")
    for number in range(turns):
        state = memory.step(state, Turn.said(f"Note {number}: {QUESTION}"), thread=thread).state
        counts.append(len(store.asked))
    return [after - before for before, after in pairwise(counts)]


def test_without_documents_a_turn_reads_the_store_no_more_often() -> None:
    without = Recall(documents=0)
    alone, looking = (reads_by_turn(Plain(), recall, 5) for recall in (without, Recall()))
    assert looking[1:] == alone[1:] == [0] * 4  # nobody else writes to it
    alone, looking = (reads_by_turn(Plain(shared=True), r, 5) for r in (without, Recall()))
    assert [a - b for a, b in zip(looking, alone, strict=True)] == [1] * 5


def test_documents_cost_no_more_where_there_are_thousands_of_threads() -> None:
    store = Plain(shared=True)
    memory = on(store)
    shelf = Shelf(store, namespace(), "threads")
    entry = Artifact(id="", thread="", branch="", seq=0, turn=0, kind="thread", text="")
    names = [Thread(thread=f"t{n}") for n in range(3_000)]
    shelf.append([
        entry.model_copy(update={"text": t.model_dump_json(), "identity": t.key}) for t in names
    ])  # fmt: skip
    ref = ingested(memory)
    branch = memory._log_of(Thread(thread="new")).branch("main")
    turn, recall = Turn.said(QUESTION), Recall()
    store.asked.clear()
    assert [c.artifact.ref for c in recall(turn, memory.load(None), branch)] == [f"{ref}.1"]
    assert sum(store.asked) < 100
    store.asked.clear()
    recall(turn, memory.load(None), branch)
    assert store.asked == [1, 1]  # was anything added, and the passage itself


def test_an_erased_document_is_proposed_no_more() -> None:
    memory = on(InMemoryStore())
    ref = ingested(memory)
    shelf = Documents.of(memory, namespace())
    assert refs(memory, QUESTION, Thread(thread="a")) == [f"{ref}.1"]
    shelf.add("policy.md", [Section("Harrow Ltd: payments go to CC-9.")], replace=True)
    texts = [e.text for e in memory.step(None, Turn.said(QUESTION), thread="b").evidence]
    assert texts == ["Harrow Ltd: payments go to CC-9."]


def test_feedback_on_a_shared_document_is_heard() -> None:
    memory = on(InMemoryStore())
    ref = ingested(memory)
    keys = memory.feedback(f"{ref}.1", 1.0, thread=Thread(thread="a", user="ana"))
    assert keys == (f"{namespace().key}:{ref}.1",)
    shelf = Documents.of(memory, namespace(user="bob"), Addition("all"))
    other = shelf.add("b.md", [Section("Only Bob's.")]).ref
    with pytest.raises(InputError, match="no evidence"):
        memory.feedback(other, 1.0, thread=Thread(thread="a", user="ana"))
