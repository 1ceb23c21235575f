"""``acc search``: every record that holds a word of the query is considered, whatever the store holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from acc.controller import MemoryController
from acc.pipeline.session import Settings
from acc.recall import full_text
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.directory import enrolled, namespace
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import SearchableStore, Thread
from acc.turn.turn import Turn

SPACE = namespace("u1")


def filled(store: SearchableStore, said: dict[tuple[str, str], tuple[str, ...]]) -> SearchableStore:
    """Step threads, named with their users, through their messages."""
    memory = MemoryController(store, settings=Settings(audit=None))
    for (user, thread), messages in said.items():
        state = None
        for message in messages:
            owner = Thread(thread=thread, user=user)
            state = memory.step(state, Turn.said(message), thread=owner).state
    return store


def texts(store: SearchableStore, query: str, most: int = 8) -> list[str]:
    return [
        a.text
        for a, _ in full_text.search(store, {SPACE: enrolled(store, SPACE)}, query, most).found
    ]


@pytest.fixture(params=["memory", "chroma"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SearchableStore:
    return InMemoryStore() if request.param == "memory" else ChromaArtifactStore.embedded(tmp_path)


def test_the_rarer_word_decides_and_other_forms_of_a_word_are_found(store: SearchableStore) -> None:
    filled(
        store,
        {
            ("u1", "a"): ("The gateway restarted.", "The gateway of Zürich is ORA-00942."),
            ("u1", "b"): ("The gateway is green.", "RESTARTING the proxy took an hour."),
        },
    )
    assert texts(store, "Which gateway is ORA-00942?")[0] == "The gateway of Zürich is ORA-00942."
    assert set(texts(store, "restart")) == {
        "The gateway restarted.", "RESTARTING the proxy took an hour.",
    }  # fmt: skip
    assert texts(store, "zÜRICH") == ["The gateway of Zürich is ORA-00942."]
    assert texts(store, "the of and") == texts(store, "submarine") == texts(store, "") == []


def test_other_users_are_not_searched_and_do_not_count(store: SearchableStore) -> None:
    filled(store, {("u1", "a"): ("The key is K1.",), ("u2", "a"): ("The key is K2.",) * 3})
    found, matching = full_text.search(store, {SPACE: enrolled(store, SPACE)}, "key", 8)
    assert [a.text for a, _ in found] == ["The key is K1."]
    assert matching == 1


def test_more_matches_than_are_ranked_are_counted(
    store: SearchableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_text, "RANKED", 3)
    filled(store, {("u1", "a"): (*(f"Host {n} is up." for n in range(6)), "Host z9 is up.")})
    found, matching = full_text.search(store, {SPACE: enrolled(store, SPACE)}, "host z9", 2)
    assert found[0][0].text == "Host z9 is up."
    assert (len(found), matching) == (2, 7)
