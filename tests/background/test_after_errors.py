"""What a commit behind the agent raises is told to somebody, and nothing is lost by it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from driving import KINDS, SAID, Driven, Held, in_front, whole

from acc import Settings
from acc.controller import MemoryController
from acc.errors import ConfigurationError, ConflictError, PinnedOverflow
from acc.memory import whose
from acc.pipeline.update import seed
from acc.state.policy import Policy
from acc.stores.in_memory import InMemoryStore

kinds = pytest.mark.parametrize("kind", KINDS)

NO_KEY = ConfigurationError("no key", hint="set it")


@kinds
def test_the_next_entry_tries_again_and_raises_until_it_is_mended(kind: str) -> None:
    held = Held()
    held.error = NO_KEY
    driven = Driven(kind, compressor=held)
    state = driven.turn(None, SAID[0])
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="set it"):
            driven.begin(state, SAID[1], wait=None)
    held.error = None
    entry = driven.begin(state, SAID[1])  # waits for the commit that failed before
    assert entry.state.hash == in_front(SAID[:1]).hash
    assert driven.close()


@kinds
def test_a_passing_error_is_told_though_it_was_mended(kind: str) -> None:
    held = Held()
    held.error = NO_KEY
    driven = Driven(kind, compressor=held)
    state = driven.turn(None, SAID[0])
    driven.settle()
    held.error = None
    entry = driven.begin(state, SAID[1], wait=None)
    assert entry.errors == (NO_KEY,)
    assert [c.text for c in entry.state.constraints] == [SAID[0].rstrip(".")]
    assert driven.begin(state, SAID[1]).errors == ()


@kinds
def test_with_a_callback_the_agent_goes_on_behind_the_error(kind: str) -> None:
    held, told = Held(), []
    held.error = NO_KEY
    driven = Driven(kind, compressor=held, on_error=lambda *error: told.append(error))
    state = driven.turn(driven.turn(None, SAID[0]), SAID[1])
    entry = driven.begin(state, SAID[2], wait=None)
    assert entry.waiting == 2
    assert SAID[0] in entry.reads
    assert set(told) == {(whose("t"), NO_KEY)}
    held.error = None
    state = driven.finish(entry, f"Answer to {SAID[2]}")
    assert driven.drain()
    assert driven.begin(state, "So?").state.hash == in_front(SAID[:3]).hash


LONG = "Never restart " + ", ".join(f"host-{n:03}" for n in range(60)) + "."
NARROW = Policy(max_tokens=64)


@kinds
def test_rules_that_do_not_fit_are_told_once_and_the_thread_goes_on_without_them(kind: str) -> None:
    told: list[Any] = []
    driven = Driven(kind, policy=NARROW, on_error=lambda *error: told.append(error))
    first = seed(rules=["Speak German."], policy=NARROW)
    state = driven.turn(first, LONG)
    with pytest.raises(PinnedOverflow) as raised:
        driven.begin(state, SAID[2], wait=None)
    assert told == [(whose("t"), raised.value)]
    assert raised.value.state == first
    assert [words[:22] for words in raised.value.refused] == [LONG[:22]]
    entry = driven.begin(state, SAID[2], wait=None)
    assert (entry.waiting, entry.state) == (0, first)
    assert "host-001" not in entry.reads
    state = driven.finish(entry, "Noted.")
    done = driven.begin(state, "So?", wait=None).state
    assert [c.text for c in done.constraints] == ["Speak German."]
    assert (done.pending, done.turn) == ((), 1)
    assert driven.close()


@kinds
def test_turns_behind_the_refused_one_are_committed(kind: str) -> None:
    held = Held()
    held.hold()
    driven = Driven(kind, compressor=held, policy=NARROW)
    state = driven.turn(driven.turn(None, LONG), SAID[0])
    held.let_go()
    driven.settle()
    with pytest.raises(PinnedOverflow):
        driven.begin(state, "So?", wait=None)
    done = driven.begin(state, "So?", wait=None).state
    assert [c.text for c in done.constraints] == [SAID[0].rstrip(".")]
    assert (done.turn, done.pending) == (1, ())
    assert driven.close()


@kinds
def test_a_refused_turn_is_not_taken_up_after_the_process_ended(kind: str, tmp_path: Any) -> None:
    driven = Driven(kind, policy=NARROW, audit=tmp_path)
    state = driven.turn(driven.turn(None, SAID[0]), LONG)
    with pytest.raises(PinnedOverflow):
        driven.begin(state, "So?", wait=None)
    store = driven.memory.artifacts
    again = Driven(kind, store=store, policy=NARROW, audit=tmp_path)
    kept = again.begin(state, SAID[2], wait=None)
    assert [c.text for c in kept.state.constraints] == [SAID[0].rstrip(".")]
    assert kept.state.pending == ()
    third = Driven(kind, store=store, policy=NARROW, audit=tmp_path)
    last = third.last_state()
    assert last is not None
    assert last.pending == ()


@kinds
def test_an_overflow_that_nobody_asks_for_is_told_at_the_end(kind: str) -> None:
    driven = Driven(kind, policy=NARROW)
    driven.turn(None, LONG)
    with pytest.raises(PinnedOverflow):
        driven.close()
    assert driven.close()


@kinds
def test_a_handler_makes_room_behind_the_agent(kind: str) -> None:
    driven = Driven(kind, policy=NARROW, on_overflow=lambda overflow: overflow.items[:2])
    other = "Never deploy checkout on a Friday without asking the platform team in Bern first."
    more = "Never release the ledger file to anybody outside of the treasury team before noon."
    last = "Never call the clinic in Zurich about a bill before the patient has seen the letter."
    state = None
    for words in (SAID[0], other, more, last):
        state = driven.turn(state, words)
    done = driven.begin(state, "So?", wait=None).state
    said = [c.text for c in done.constraints]
    assert said[-1] == last.rstrip(".")
    assert SAID[0].rstrip(".") not in said
    assert driven.close()


@kinds
def test_what_an_operator_retired_stays_retired_behind_the_agent(kind: str) -> None:
    driven = Driven(kind)
    state = driven.turn(None, SAID[0])
    committed = driven.begin(state, SAID[2], wait=None).state
    MemoryController(driven.memory.artifacts).retire(
        [committed.constraints[0].id], thread="t", state=committed
    )
    entry = driven.begin(state, SAID[2], wait=None)
    assert entry.state.constraints == ()
    done = driven.begin(driven.finish(entry, "Noted."), "So?", wait=None).state
    assert done.constraints == ()
    assert driven.close()


@kinds
def test_a_full_backlog_behind_an_error_raises_it_and_the_turn_is_stored(
    kind: str, tmp_path: Any
) -> None:
    held = Held()
    held.error = NO_KEY
    driven = Driven(kind, compressor=held, audit=tmp_path, a_thread=1, on_error=lambda *_: None)
    state = driven.turn(None, SAID[0])
    entry = driven.begin(state, SAID[1], wait=None)
    with pytest.raises(ConfigurationError, match="set it"):
        driven.finish(entry, f"Answer to {SAID[1]}")
    held.error = None
    again = Driven(kind, store=driven.memory.artifacts, compressor=held, audit=tmp_path)
    assert again.begin(again.last_state(), "So?", wait=None).state.hash == in_front(SAID[:2]).hash


@kinds
def test_closing_tells_what_nobody_was_told(kind: str) -> None:
    held = Held()
    held.error = NO_KEY
    driven = Driven(kind, compressor=held)
    driven.turn(None, SAID[0], "one")
    driven.turn(None, SAID[0], "two")
    with pytest.raises(ConfigurationError, match="no key") as raised:
        driven.close()
    assert "another thread" in raised.value.__notes__[0]
    assert not driven.close()  # told once; the turns stay stored


@kinds
def test_a_callback_that_raises_hides_nothing(kind: str) -> None:
    def broken(*_: Any) -> None:
        raise OSError("no disk")

    held = Held()
    held.error = ConfigurationError("no key")
    driven = Driven(kind, compressor=held, on_error=broken)
    driven.turn(None, SAID[0])
    with pytest.raises(ConfigurationError) as raised:
        driven.close()
    assert "OSError: no disk" in raised.value.__notes__[0]


@kinds
def test_a_step_beside_a_commit_under_way_is_a_conflict_that_harms_nothing(kind: str) -> None:
    held = Held(open=False)
    driven = Driven(kind, compressor=held)
    state = driven.turn(None, SAID[0])
    driven.start()
    held.wait_until_begun()
    with pytest.raises(ConflictError):
        driven.step(None, whole(SAID[0]))
    held.let_go()
    assert driven.begin(state, "?", wait=None).state.hash == in_front(SAID[:1]).hash


_EXITS = """
import sys
from acc import InMemoryStore, MemoryController, Settings, Turn
from acc.background import BackgroundMemory
from acc.keyless.compressor import RuleCompressor
from acc.errors import ConfigurationError
import threading, time

def slow(*read):
    time.sleep(0.2)
    {what}

behind = BackgroundMemory(MemoryController(InMemoryStore(), slow, Settings(audit=__import__("pathlib").Path("audit"))))
state = None
for n in range(3):
    state = behind.finish(behind.begin(state, Turn.said(f"Never restart db-{{n}}."), thread="t"))
print("ends", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_a_process_that_ends_without_closing_commits_and_tells(tmp_path: Any, fails: bool) -> None:
    what = 'raise ConfigurationError("no key")' if fails else "return RuleCompressor()(*read)"
    command = [sys.executable, "-c", _EXITS.format(what=what)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "ends"
    assert ("no key" in done.stderr) is fails
    last = MemoryController(
        InMemoryStore(), settings=Settings(audit=tmp_path / "audit")
    ).last_state("t")
    kept = [c.text for c in last.constraints] if last else []
    assert kept == ([] if fails else [f"Never restart db-{n}" for n in range(3)])
