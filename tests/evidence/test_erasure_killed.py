"""A deletion that is killed at any point is carried to its end by the same command; no word is shown meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from helpers_evidence import evidence_of, left_of, opened, talk

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.store import lane_of, place_of
from acc.controller.controller import MemoryController
from acc.evidence.erasure import Receipt
from acc.evidence.evidence import Evidence
from acc.evidence.policies import Capacity
from acc.evidence.target import Target
from acc.evidence.traces import ErasedTraces
from acc.journal import Journal, ThreadKey
from acc.journal.boards import BoardState
from acc.journal.names import home
from acc.state.policy import Policy
from acc.turn.turn import Turn

SECRET = "Huntington"
MESSAGE = f"My brother Karl has had {SECRET} since last spring but keep that to yourself."
DOCUMENT = f"The patient Karl Keller was diagnosed with {SECRET} in the spring of last year."
QUESTION = "What has my brother Karl had since last spring?"
ANA = ThreadKey("a", user="ana")
OTHER = ThreadKey("b", user="ana")
BOARD = ThreadKey("ops", agent="board")


class Killed(BaseException):
    """The process is gone."""


class Kill:
    """Kills before one of the steps of a deletion; counts them if ``at`` is None."""

    def __init__(self, at: int | None = None) -> None:
        self.at, self.points, self.is_dead = at, 0, False

    def _pass(self) -> None:
        if self.is_dead or self.points == self.at:
            self.is_dead = True
            raise Killed
        self.points += 1

    def around(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            self._pass()
            return step(*args, **named)

        return wrapped

    @contextmanager
    def __call__(self) -> Iterator[None]:
        steps: list[tuple[Any, str]] = [
            (ChromaStore, name) for name in ("delete", "add", "compact")
        ]
        steps += [
            (Journal, name)
            for name in ("commit_anew", "delete_thread", "prune", "settle", "scrub")
        ]  # fmt: skip
        with ExitStack() as stack:
            for owner, name in [*steps, (ErasedTraces, "left_in")]:
                stack.enter_context(patch.object(owner, name, self.around(getattr(owner, name))))
            yield


Told = Callable[[Path], tuple[MemoryController[Any], ChromaStore]]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Return what opens a copy of a memory in a folder."""
    folder = tmp_path_factory.mktemp("told")
    with opened(folder, store=None) as memory:
        _tell(memory)

    def opened_copy(to: Path) -> tuple[MemoryController[Any], ChromaStore]:
        shutil.copytree(folder, to)
        memory = opened(to, store=None)
        assert memory.index.store is not None
        return memory, memory.index.store

    return opened_copy


def _tell(memory: MemoryController[Any]) -> None:
    evidence_of(memory).ingest_text("record", DOCUMENT)
    for key in (ANA, OTHER, ThreadKey("t")):
        talk(memory, "Never call him before noon.", MESSAGE, "And the gate?", thread=key)  # type: ignore[arg-type]
    fork = memory.state_at("t", 2)
    assert fork is not None
    memory.step(fork, Turn.said("Always answer in French."), thread="t")
    talk(memory, MESSAGE, "Something else.", thread=BOARD)  # type: ignore[arg-type]


def _document(memory: MemoryController[Any]) -> Target:
    return Target(document=evidence_of(memory).documents()[0].ref)


TARGETS: dict[str, Callable[[MemoryController[Any]], Target]] = {
    "message": lambda _: Target(thread="t", refs=("u2",)),
    "words": lambda _: Target(words=(SECRET,)),
    "thread": lambda _: Target(thread=ANA),
    "user": lambda _: Target(user="ana"),
    "document": _document,
}


def _shown(memory: MemoryController[Any], thread: Any) -> str:
    return memory.step(None, Turn.said(QUESTION), thread=thread).text()


def _check_rid(memory: MemoryController[Any]) -> None:
    """Check that the store has nothing but what the journal holds."""
    journal, store = memory.journal, memory.index.store
    assert store is not None
    kept = {
        (lane_of(head.thread, each.branch), each.message.ref)
        for head in journal.heads()
        for each in journal.messages(head.thread, branch=head.branch)
        if each.digest
    }
    assert {place_of(id_)[:2] for id_ in store._ids()} <= kept
    assert journal.unindexed() == []
    report = journal.verify([memory.policy, Policy(schema=BoardState)])
    assert report.is_clean, report.damages


def _guesses(memory: MemoryController[Any]) -> list[str]:
    """Return the blanked messages whose commits stay, as a prune leaves them."""
    return [
        each.message.ref
        for head in memory.journal.heads()
        for each in memory.journal.messages(head.thread, branch=head.branch, also_open=True)
        if not each.digest and each.version
    ]


def _check_shown(memory: MemoryController[Any]) -> None:
    """Check that recall shows no erased message, though the store may still have it."""
    erased = {note.thread for note in memory.journal.unindexed()}
    for key in erased - {home()}:
        messages = memory.journal.messages(key, also_open=True)
        if not any(SECRET in each.message.text for each in messages):
            assert MESSAGE not in _shown(memory, key)


QUICK = ("message",)


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=[] if each in QUICK else pytest.mark.slow) for each in TARGETS],
)
def test_an_erasure_that_is_killed_is_repeated(name: str, tmp_path: Path, told: Told) -> None:
    def erased(number: int, kill: Kill) -> Receipt:
        folder = tmp_path / str(number)
        memory, store = told(folder)
        with memory:
            target = TARGETS[name](memory)
            plan = evidence_of(memory).plan_erasure(target)
            try:
                with kill():
                    receipt = plan.apply()
            except Killed:
                store.close()  # as the end of the process does
                with opened(folder, store=None) as other:
                    if number % 2:  # it begins a deleted thread anew
                        _check_shown(other)
                    receipt = evidence_of(other).erase(target)
                    assert not (receipt.proved and _guesses(other))
                    _check_rid(other)
            else:
                _check_rid(memory)
        if target.words:  # Chroma clears what no element uses when it is closed
            with opened(folder) as closed:
                assert left_of(closed, SECRET) == []
        return receipt

    count = Kill()
    assert erased(0, count).proved
    for at in range(count.points):
        receipt = erased(at + 1, Kill(at))
        assert receipt.traces == ()
        is_known = not any("not known any more" in each for each in receipt.foreign)
        assert is_known or name != "words"
        assert receipt.proved == is_known


def _deletions(memory: MemoryController[Any]) -> dict[str, Callable[[], Any]]:
    evidence = evidence_of(memory)
    return {
        "prune": lambda: evidence.prune(Capacity(0), kind="messages"),
        "expire": lambda: evidence.expire(timedelta(0)),
        "replace": lambda: evidence.ingest_text("record", "Nothing is known.", replace=True),
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("prune", marks=pytest.mark.slow),
        pytest.param("expire", marks=pytest.mark.slow),
        "replace",
    ],
)
def test_another_deletion_that_is_killed_is_repeated(name: str, tmp_path: Path, told: Told) -> None:
    def deleted(number: int, kill: Kill) -> None:
        folder = tmp_path / str(number)
        memory, store = told(folder)
        with memory:
            with kill(), suppress(Killed):
                _deletions(memory)[name]()
            store.close()  # as the end of the process does
            with opened(folder, store=None) as other:
                _check_shown(other)
                _deletions(other)[name]()
                _check_rid(other)

    count = Kill()
    deleted(0, count)
    assert count.points
    for at in range(count.points):
        deleted(at + 1, Kill(at))


def test_what_is_erased_while_the_store_is_filled_is_not_left_there(tmp_path: Path) -> None:
    class Slow(ChromaStore):
        meanwhile: Any = None

        def add(self, thread: Any, artifacts: Any) -> int:
            if self.meanwhile is not None:
                act, self.meanwhile = self.meanwhile, None
                act()
            return super().add(thread, artifacts)

    store: Any = Slow.embedded(tmp_path / "slow")
    folder = tmp_path / "memory"
    with opened(folder, store=store) as memory, opened(folder) as other:
        talk(memory, "Hello.")
        target = Target(thread="t", refs=("u2",))
        store.meanwhile = lambda: evidence_of(other).erase(target)
        talk(memory, MESSAGE)
        assert not any(place_of(id_).ref == "u2" for id_ in store._ids())
        assert left_of(memory, SECRET) == []


def test_what_was_pruned_is_proved_by_an_erasure(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, "Never call him before noon.", MESSAGE, "And the gate?")
        target = Target(thread="t", refs=("u2",), words=(SECRET,))
        memory.journal.prune("t", [("main", 2)])
        assert _guesses(memory) == ["u2"]
        assert evidence_of(memory).erase(target).proved
        assert _guesses(memory) == []
        assert memory.journal.verify([memory.policy]).is_clean


def test_nothing_is_proved_while_another_index_may_hold_the_words(tmp_path: Path) -> None:
    away = tmp_path / "away"
    target = Target(thread="t", refs=("u1",))
    with MemoryController.open(tmp_path / "m", store=ChromaStore.embedded(away)) as memory:
        memory.step(None, Turn.said(MESSAGE), thread="t")
    with MemoryController.open(tmp_path / "m") as operators:  # without the name of the index
        receipt = Evidence(operators).erase(target)
        assert not receipt.proved
        assert any("away" in each for each in receipt.foreign)
    with MemoryController.open(tmp_path / "m", store=ChromaStore.embedded(away)) as memory:
        Evidence(memory).erase(target)
        assert memory.index.store is not None
        assert memory.index.store.count() == 0
    with MemoryController.open(tmp_path / "m") as operators:
        Evidence(operators).reindex()
        assert "index at" not in str(Evidence(operators).erase(target).foreign)
