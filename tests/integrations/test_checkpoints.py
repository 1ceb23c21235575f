"""The state in a checkpoint: no warning, and strict deserialisation, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TWO_TURNS = """
import logging, sys
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
from langgraph.checkpoint.memory import InMemorySaver
from acc.testing.chat_model import ScriptedChatModel
from graphs import CONFIG, agent, looping, memory_of
memory = memory_of()
graph = agent(memory, ScriptedChatModel(script=looping(2)), checkpointer=InMemorySaver(), fold_over=0)
for n in range(2):
    graph.invoke({"messages": [f"Never restart shard-{n}. Why is it slow?"]}, CONFIG)
saver = graph.checkpointer
for saved in saver.list(CONFIG):  # every checkpoint is read back through the serialiser
    raw = saved.checkpoint["channel_values"].get("ccs")
    assert raw is None or memory.load(raw).canonical() == raw
print("turns", graph.get_state(CONFIG).values["ccs"]["turn"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("strict", ["", "true"])
def test_trap_unregistered_types_warn_or_load_as_something_else(strict: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWO_TURNS],
        env={"LANGGRAPH_STRICT_MSGPACK": strict, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "turns 4"  # and no warning
