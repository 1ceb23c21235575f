"""Dense vectors beside the words: what they find, where they are kept, and an embedder that fails."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_erasure import erased, raw, talk

from acc import InMemoryStore, MemoryController, Settings, Turn
from acc.errors import StoreError
from acc.evidence.deletion import Capacity
from acc.evidence.documents import Documents
from acc.evidence.erasure_plan import Target
from acc.evidence.parsing import Section
from acc.evidence.retention import Retention
from acc.evidence.upkeep import vacuum
from acc.recall.candidates import WideRecall, WideScope
from acc.recall.dense import Dense
from acc.stores.directory import namespace
from acc.stores.protocol import ArtifactStore

SPACE = namespace()
MEANINGS = (
    ("lamp", "light", "bulb"),
    ("car", "vehicle", "van"),
    ("doctor", "physician"),
    ("ledger",),
)
SAID = ("The bulb in room 9 is broken.", "The van is in the yard.", "Our physician is away in May.")


class Synonyms:
    """Texts as how often they speak of each of a few things, whatever the word."""

    def __init__(self, name: str = "synonyms") -> None:
        self.name = name
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [
            [float(sum(word in text.lower() for word in words)) for words in MEANINGS] + [0.01]
            for text in texts
        ]


def filled(store: ArtifactStore, said: Sequence[str] = SAID) -> ArtifactStore:
    with MemoryController(store, settings=Settings(audit=None)) as memory:
        shelf = Documents.of(memory, SPACE)
        for number, text in enumerate(said):
            shelf.add(f"{number}.md", [Section(text)])
        store.close = lambda: None  # type: ignore[method-assign]
    return store


def found(store: ArtifactStore, query: str, dense: Dense | None) -> list[str]:
    return [a.text for a, _ in WideScope(store, SPACE, dense=dense).recalled(query, 3, 0, SPACE)[0]]


def test_what_shares_no_word_is_found_by_meaning() -> None:
    store = filled(InMemoryStore())
    query = "Which light needs a repair?"
    assert found(store, query, None) == []
    assert found(store, query, Dense(Synonyms()))[0] == SAID[0]


def test_words_and_meaning_are_weighed() -> None:
    store = filled(InMemoryStore(), ("The light of the yard.", "The yard is closed."))
    query = "Is the yard closed, or the lamp?"
    assert found(store, query, Dense(Synonyms(), weight=0.1))[0] == "The yard is closed."
    assert found(store, query, Dense(Synonyms(), weight=2.0))[0] == "The light of the yard."


def test_one_record_alone_is_found() -> None:
    store = filled(InMemoryStore(), SAID[:1])
    assert found(store, "Which light?", Dense(Synonyms())) == [SAID[0]]


def test_an_embedder_is_asked_once_for_each_record_even_by_another_process() -> None:
    store = filled(InMemoryStore())
    first, second, third = Synonyms(), Synonyms(), Synonyms("another model")
    scope = WideScope(store, SPACE, dense=Dense(first))
    for _ in range(2):
        scope.recalled("Which light?", 3, 0, SPACE)
    assert sorted(first.asked) == sorted([*SAID, "Which light?", "Which light?"])
    found(store, "Which car?", Dense(second))
    assert second.asked == ["Which car?"]
    found(store, "Which car?", Dense(third))
    assert sorted(third.asked) == sorted([*SAID, "Which car?"])


def test_what_was_added_since_is_embedded_and_no_more_than_allowed() -> None:
    store = filled(InMemoryStore())
    embedder = Synonyms()
    scope = WideScope(store, SPACE, dense=Dense(embedder, most=4))
    scope.recalled("Which light?", 3, 0, SPACE)
    filled(store, [f"A lamp, number {n}." for n in range(4)])
    embedder.asked.clear()
    scope.recalled("Which light?", 3, 0, SPACE)
    assert embedder.asked == ["Which light?", "A lamp, number 3."]


@pytest.mark.parametrize(
    "answer",
    [[[1.0]], [[1.0, 2.0], [1.0]], [[float("nan")] * 2] * 9, "words", None, RuntimeError("down")],
)
def test_an_embedder_that_fails_leaves_the_words(answer: Any) -> None:
    def embedder(texts: Sequence[str]) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer if len(texts) > 1 or isinstance(answer, str) else [[1.0, 0.0]]

    told: list[Exception] = []
    store = filled(InMemoryStore())
    dense = Dense(embedder, name="odd", on_failure=told.append)
    assert found(store, "Where is the van?", dense) == [SAID[1]]
    assert len(told) == 1


def test_the_turn_goes_on_and_the_deployer_is_warned() -> None:
    def down(_: Sequence[str]) -> Any:
        raise StoreError("the endpoint is away", where="here", hint="wait")

    recall = WideRecall(dense=Dense(down))
    with MemoryController(InMemoryStore(), settings=Settings(audit=None, recall=recall)) as memory:
        Documents.of(memory, SPACE).add("a.md", [Section("The ledger is on bkp-3.")])
        with pytest.warns(RuntimeWarning, match="the endpoint is away"):
            step = memory.step(None, Turn.said("Where is the ledger?"), thread="inc")
    assert [e.text for e in step.evidence] == ["The ledger is on bkp-3."]


def test_a_pruned_texts_vector_goes_with_it() -> None:
    store = filled(InMemoryStore())
    found(store, "Which car?", Dense(Synonyms()))
    ids = [i for i in store.ids("default") if ".documents:" in i]  # type: ignore[attr-defined]
    embedder = f"synonyms:{len(MEANINGS) + 1}"
    assert len(store.dense("default", embedder, ids)) == 3  # type: ignore[attr-defined]
    with MemoryController(store, settings=Settings(audit=None)) as memory:
        keeper = Retention(memory)
        plan = keeper.plan(SPACE, Capacity(0))
        assert keeper.prune(plan) == 3
    assert store.dense("default", embedder, ids) == {}  # type: ignore[attr-defined]


@pytest.mark.slow
def test_in_chroma_they_outlive_the_process_and_not_the_text(tmp_path: Path) -> None:
    words = [f"{text} {n}" for n in range(60) for text in SAID]
    secret, rng = "Our ledger is kept by the physician Ottilie Quandt.", np.random.default_rng(3)
    made: dict[str, list[float]] = {}
    asked: set[str] = set()

    def embedder(texts: Sequence[str]) -> list[list[float]]:
        asked.update(texts)
        for text in texts:
            made.setdefault(text, list(rng.normal(size=48)))
        return [made[text] for text in texts]

    def bytes_of(text: str) -> bytes:
        vector = np.asarray(made[text], np.float32)
        return (vector / np.linalg.norm(vector)).tobytes()

    def standing(vector: bytes) -> list[str]:
        forms = vector[4:100], b64encode(vector)[4:100]
        return [name for name, data in raw(tmp_path).items() if any(form in data for form in forms)]

    dense = Dense(embedder, name="random")
    with MemoryController.open(tmp_path, recall=WideRecall(dense=dense)) as memory:
        shelf = Documents.of(memory, SPACE)
        for number, text in enumerate([*words, secret]):
            shelf.add(f"{number}.md", [Section(text)])
        talk(memory, "inc", "What do we know of the ledger?")
        ref = next(a.ref for a in shelf.shelf.records() if a.text == secret)
    assert asked == {*words, secret, "What do we know of the ledger?"}
    asked.clear()
    assert standing(bytes_of(secret))
    with MemoryController.open(tmp_path, recall=WideRecall(dense=dense)) as memory:
        talk(memory, "inc", "And of the van?")
        assert asked == {"And of the van?"}
        assert erased(memory, Target(artifact=ref)).proved
        assert standing(bytes_of(secret)) == []
        assert standing(bytes_of(words[0]))
    with MemoryController.open(tmp_path, recall=WideRecall(dense=dense)) as memory:
        vacuum(memory)
        talk(memory, "inc", "And of the bulb?")
        assert asked == {"And of the van?", "And of the bulb?"}
        assert standing(bytes_of(words[-1]))
