"""A picture in a tool's text: the journal keeps it, the index does without it, and the step takes no time for it."""

from __future__ import annotations

import base64
import random
import time
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from acc.controller.controller import MemoryController
from acc.integrations.voices import Voices
from acc.state.policy import Policy
from acc.turn.redact import SecretRedactor
from acc.turn.turn import Turn

PICTURE = base64.encodebytes(random.Random(7).randbytes(3_000_000)).decode()
FOUND = f"The invoice of Harrow is 7,200 EUR.\n{PICTURE}\nIt is due on Friday."
MESSAGES = [
    HumanMessage("Never pay Harrow. What does the page show?", id="h"),
    AIMessage("", tool_calls=[{"id": "s1", "name": "capture", "args": {}}], id="a"),
    ToolMessage(FOUND, tool_call_id="s1", id="t"),
]


def test_a_tools_picture_costs_a_step_no_second_and_is_kept(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        step = memory.step(None, Turn.said("Hello. How are you?"), thread="t")  # loads what is slow
        start = time.process_time()
        step = memory.step(step.state, Turn.from_messages(MESSAGES), thread="t")
        asked = Turn.said("When is the invoice of Harrow due?")
        step = memory.step(step.state, asked, thread="t", force=True)
        took = time.process_time() - start
        assert memory.open_evidence("t2", thread="t").text == FOUND
        store = memory.index.store
        assert store is not None
        (indexed,) = (row for row in store._rows.get()["documents"] or () if "7,200" in row)
    assert indexed.startswith("The invoice of Harrow is 7,200 EUR.\n[data] ")
    assert indexed.endswith("\nIt is due on Friday.")
    assert len(indexed) < 200
    assert took < 3, "0.5 s; 10 s if it is searched for secrets, indexed and found"


def test_a_graphs_message_with_a_picture_is_read_in_no_time() -> None:
    voices = Voices(policy=Policy(digest_key=b"k"), redact=SecretRedactor(b"k"))
    start = time.process_time()
    *_, last = voices.read(MESSAGES)
    assert time.process_time() - start < 1, "0.05 s; 3 s if it is searched for secrets"
    assert last.observations[0].text == FOUND
