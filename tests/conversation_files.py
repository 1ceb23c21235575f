"""Conversations as files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def agent(text: str) -> Message:
    return {"role": "assistant", "content": text}


def call(call_id: str, name: str, arguments: str = "{}") -> Message:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def operations(turns: int) -> list[Message]:
    """A conversation with tool calls, and twice the same tool result in a turn; rules at first."""
    messages = [{"role": "system", "content": "You are the operations agent."}]
    for turn in range(1, turns + 1):
        # A state has places for 24 rules: one more is an overflow.
        first = f"Never restart db-{turn} before noon." if turn <= 20 else f"db-{turn} is slow."
        messages += [
            user(f"{first} What is the state of node-{turn}?"),
            call(f"c{turn}", "get_node", json.dumps({"node": turn})),
            call(f"d{turn}", "get_node", json.dumps({"node": turn})),
            result(f"c{turn}", f"node-{turn} Ready cpu={turn}% pods={turn * 3}"),
            result(f"d{turn}", f"node-{turn} Ready cpu={turn}% pods={turn * 3}"),
            agent(f"node-{turn} is ready with {turn * 3} pods; db-{turn} stays up until noon."),
        ]
    return messages


def as_lines(path: Path, messages: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(m) + "\n" for m in messages), encoding="utf-8")
    return path


def as_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
