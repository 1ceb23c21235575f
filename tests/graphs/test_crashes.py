"""A process killed in any node of a reference graph: nothing lost, nothing twice."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import runs as runs
from killed_runs import ran

from acc.controller.controller import MemoryController
from acc_graphs.deployment import prepare

NODES = {
    "react": ("memory", "reason", "act"),
    "plan_execute_reflect": (
        "memory", "begin", "plan", "act", "tools", "fold", "commit", "reflect",
    ),
}  # fmt: skip

EVERY = [
    (name, node, how)
    for name, nodes in NODES.items()
    for node in nodes
    for how in ("async", "exit")
]


def places(folder: Path) -> tuple[str, str]:
    """A memory and a checkpointer of their own."""
    checkpoints = str(folder / "checkpoints.sqlite")
    prepare(checkpoints)
    return str(folder / "memory"), checkpoints


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[runs.Texts, str, str]]:
    """What three turns come to when nobody is killed."""
    found = {}
    for name in NODES:
        code, found[name] = ran(runs.uninterrupted, name, places(tmp_path_factory.mktemp(name)))
        assert code == 0
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "node", "durability"), EVERY)
def test_a_process_killed_in_a_node_loses_nothing_and_doubles_nothing(
    name: str,
    node: str,
    durability: str,
    tmp_path: Path,
    whole: dict[str, tuple[runs.Texts, str, str]],
) -> None:
    where = places(tmp_path)
    code, _ = ran(runs.die_in, name, where, node, durability)
    assert code == -signal.SIGKILL
    code, after = ran(runs.go_on, name, where, durability)
    assert code == 0
    assert after == whole[name]


def test_the_nodes_that_are_killed_are_all_there_are(tmp_path: Path) -> None:
    for name, nodes in NODES.items():
        settings = runs.settings_of(name)
        with MemoryController.open(tmp_path / name, store="none", **settings) as memory:
            drawn = runs.graph_of(name, {"memory": memory}).get_graph().nodes
        assert {*drawn} - {"__start__", "__end__"} == {*nodes}
