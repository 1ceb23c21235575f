"""Dumps of LangChain messages, read as what they stand for, and without building anything."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)

from acc.errors import InputError
from acc.turn.conversations import read_conversation
from acc.turn.observations import Channel

TALK: list[BaseMessage] = [
    SystemMessage("You are on call."),
    HumanMessage("Never restart. Why is it slow?"),
    AIMessage("", tool_calls=[{"name": "logs", "args": {"q": "é"}, "id": "c1", "type": "tool_call"}]),
    ToolMessage("60 of 60", tool_call_id="c1"),
    AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Pool "},
               {"type": "text", "text": "full."}]),
    HumanMessage([{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": {"url": "x"}}]),
    AIMessage("A chart."),
]  # fmt: skip

PLAIN: list[dict[str, Any]] = [
    {"role": "system", "content": "You are on call."},
    {"role": "user", "content": "Never restart. Why is it slow?"},
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "logs", "arguments": '{"q": "é"}'}}]},
    {"role": "tool", "content": "60 of 60", "tool_call_id": "c1"},
    {"role": "assistant", "content": "Pool full."},
    {"role": "user", "content": [{"type": "text", "text": "And this?"}, {"type": "image_url"}]},
    {"role": "assistant", "content": "A chart."},
]  # fmt: skip

FORMS: dict[str, Callable[[], str]] = {
    "messages_to_dict": lambda: json.dumps(messages_to_dict(TALK)),
    "dumpd": lambda: json.dumps(dumpd(TALK)),
    "dumpd of a state": lambda: json.dumps(dumpd({"messages": TALK})),
    "a served thread's values": lambda: json.dumps({"messages": [m.model_dump() for m in TALK]}),
    "one message a line": lambda: "\n".join(map(json.dumps, messages_to_dict(TALK))),
    "dumpd, one message a line": lambda: "\n".join(json.dumps(dumpd(m)) for m in TALK),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_each_form_reads_as_the_openai_messages_do(form: Callable[[], str], tmp_path: Path) -> None:
    dumped, plain = tmp_path / "dumped.json", tmp_path / "plain.json"
    dumped.write_text(form(), encoding="utf-8")
    plain.write_text(json.dumps(PLAIN), encoding="utf-8")
    channels = {"logs": Channel.DOCUMENT}
    assert read_conversation(dumped, channels=channels) == read_conversation(
        plain, channels=channels
    )


def test_calls_of_old_dumps_stand_among_the_additional_fields(tmp_path: Path) -> None:
    calls = PLAIN[2]["tool_calls"]
    old = messages_to_dict(TALK)
    old[2]["data"] = {"content": "", "additional_kwargs": {"tool_calls": calls}}
    file = tmp_path / "old.json"
    file.write_text(json.dumps(old), encoding="utf-8")
    assert [o.text for o in read_conversation(file).turns[0].observations][1] == 'logs({"q": "é"})'


REFUSED: dict[str, tuple[Any, str]] = {
    "a removal": ([{"type": "remove", "data": {"content": "", "id": "x"}}], "type of message: 'remove'"),
    "another object": (
        [{"lc": 1, "type": "constructor", "id": ["x", "PromptTemplate"], "kwargs": {}}],
        "type of message: 'PromptTemplate'",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("dump", "match"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_conversation_is_refused_by_its_place(
    dump: Any, match: str, tmp_path: Path
) -> None:
    file = tmp_path / "dump.json"
    file.write_text(json.dumps(dump), encoding="utf-8")
    with pytest.raises(InputError, match=match) as caught:
        read_conversation(file)
    assert f"message {len(dump)}" in caught.value.where


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    file = tmp_path / "dump.pkl"
    file.write_bytes(pickle.dumps(TALK))
    with pytest.raises(InputError):
        read_conversation(file)


def test_reading_a_dump_loads_no_vendor(tmp_path: Path) -> None:
    file = tmp_path / "dump.json"
    file.write_text(json.dumps(dumpd(TALK)), encoding="utf-8")
    code = (
        "import sys; from acc.turn.conversations import read_conversation;"
        f"assert len(read_conversation({str(file)!r}).turns) == 2;"
        "print([v for v in ('langchain_core', 'langgraph') if v in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
