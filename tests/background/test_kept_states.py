"""A kept state leads to the turns of its own thread, and to each of them once."""

from __future__ import annotations

import pytest
from driving import KINDS, SAID, Driven, Held

kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
def test_threads_that_begin_with_the_same_words_have_nothing_in_common(kind: str) -> None:
    """Their states are equal as long as nothing is committed; what comes of them is not."""
    held = Held(open=False)
    driven = Driven(kind, compressor=held, threads=2)
    kept = [driven.turn(None, SAID[0], thread) for thread in ("one", "two")]
    assert kept[0].hash == kept[1].hash
    held.let_go()
    driven.drain()
    for thread, state in zip(("one", "two"), kept, strict=True):
        entry = driven.begin(state, "So?", thread=thread, wait=None)
        (step,) = entry.steps
        assert entry.state is step.state
        assert entry.thread.thread == thread


@kinds
def test_a_turn_that_is_finished_again_is_committed_once(kind: str) -> None:
    held = Held(open=False)
    driven = Driven(kind, compressor=held)
    entry = driven.begin(None, SAID[0])
    kept = [driven.finish(entry, "An answer.") for _ in range(2)]
    assert kept[0] == kept[1]
    held.let_go()
    driven.drain()
    done = driven.finish(entry, "An answer.")
    driven.drain()
    assert held.turns == [1]
    assert not done.pending
