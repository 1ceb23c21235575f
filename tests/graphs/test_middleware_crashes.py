"""A process killed in any node of an agent with the memory as middleware: nothing lost or doubled."""

from __future__ import annotations

import signal
from pathlib import Path

import middleware_runs as middleware_runs
import pytest
import runs as runs
from killed_runs import ran
from test_crashes import places

PLACES = {
    "before the agent": ("AccMemory.before_agent", 0),
    "in the commit": ("AccMemory.before_model", 0),
    "in the first call of the model": ("model", 0),
    "in the tool": ("tools", 0),
    "between tool and model": ("AccMemory.before_model", 1),
    "in the answer": ("model", 1),
    "behind the agent": ("AccMemory.after_agent", 0),
}


EVERY = [
    pytest.param(*place, how, id=f"{name}, {how}")
    for name, place in PLACES.items()
    for how in ("async", "exit")
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[runs.Texts, str, str]:
    """What three turns come to when nobody is killed."""
    code, found = ran(middleware_runs.uninterrupted, places(tmp_path_factory.mktemp("whole")))
    assert code == 0
    return found  # type: ignore[no-any-return]


@pytest.mark.slow
@pytest.mark.parametrize(("node", "skip", "durability"), EVERY)
def test_a_killed_agent_loses_nothing_and_doubles_nothing(
    node: str, skip: int, durability: str, tmp_path: Path, whole: tuple[runs.Texts, str, str]
) -> None:
    where = places(tmp_path)
    code, _ = ran(middleware_runs.die_in, where, node, skip, durability)
    assert code == -signal.SIGKILL
    code, after = ran(middleware_runs.go_on, where, durability)
    assert code == 0
    assert after == whole


@pytest.mark.slow
def test_a_result_that_no_model_has_read_is_in_the_checkpoint_and_goes_to_the_memory(
    tmp_path: Path,
) -> None:
    where = places(tmp_path)
    node, skip = PLACES["between tool and model"]
    code, _ = ran(middleware_runs.die_in, where, node, skip, "sync")
    assert code == -signal.SIGKILL
    code, (texts, _, branch) = ran(middleware_runs.go_on_with_new_input, where, "sync")
    assert code == 0
    assert branch == "main"
    assert texts.count(("tool", "shard 2: pool exhausted")) == 1
    assert len(texts) == len(set(texts)) == 4 + 3 + 4
