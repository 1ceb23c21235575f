"""`acc.turn.conversations`: every form of a conversation gives the same turns."""

from __future__ import annotations

from pathlib import Path

import pytest
from conversation_files import (
    agent,
    as_json,
    as_lines,
    call,
    operations,
    result,
    user,
)

from acc.errors import InputError
from acc.text.tokens import utf8_quarter
from acc.turn.conversations import read_conversation
from acc.turn.observations import Channel

SCENARIO = {
    "id": "s",
    "domain": "d",
    "role": "An agent.",
    "turns": [
        {"t": 1, "user": "Where is it?", "tool_outputs": [{"tool": "find", "content": "on 4"}],
         "assistant": "On the fourth floor."},
        {"t": 2, "user": "Thanks.", "tool_outputs": [], "assistant": "Gladly."},
    ],
    "constraints": [],
}  # fmt: skip


def test_array_object_and_lines_are_one_conversation(tmp_path: Path) -> None:
    messages = operations(3)
    lines = as_lines(tmp_path / "a.jsonl", messages)
    spaced = tmp_path / "b.jsonl"
    spaced.write_text("\ufeff" + lines.read_text().replace("\n", "\r\n\r\n"), encoding="utf-8")
    files = [
        lines,
        spaced,
        as_json(tmp_path / "c.json", messages),
        as_json(tmp_path / "d.json", {"model": "m", "messages": messages}),
    ]
    first, *others = [read_conversation(file) for file in files]
    assert all(other == first for other in others)
    assert first.role == "You are the operations agent."
    assert len(first.turns) == 3
    channels = [o.channel.value for o in first.turns[0].observations]
    assert channels == ["user", "agent", "agent", "tool", "tool", "agent"]


def test_a_scenario_is_a_conversation(tmp_path: Path) -> None:
    first, second = read_conversation(as_json(tmp_path / "s.json", SCENARIO)).turns
    assert [(o.channel, o.name, o.text) for o in first.observations] == [
        (Channel.USER, "", "Where is it?"),
        (Channel.TOOL, "find", "on 4"),
        (Channel.AGENT, "", "On the fourth floor."),
    ]
    assert [o.text for o in second.observations] == ["Thanks.", "Gladly."]


def test_transcript_tokens_count_every_message_so_far(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "abcd"},
        user("abcdefgh"),
        call("c", "get", "abcdefg"),
        result("c", "abcd"),
        agent("abcde"),
        {"role": "user", "content": [{"type": "text", "text": "abcd"}, {"type": "image_url"}]},
    ]
    read = read_conversation(as_json(tmp_path / "a.json", messages))
    assert read.transcript_tokens(utf8_quarter) == [1 + 2 + 3 + 1 + 2, 9 + 1]


def test_what_no_store_can_hold_is_replaced(tmp_path: Path) -> None:
    messages = [user("a\x00b \ud800"), call("c", "get", "\udfff"), result("other", "kept")]
    file = as_lines(tmp_path / "a.jsonl", messages)
    texts = ["a\ufffdb \ufffd", "get(\ufffd)", "kept"]
    assert [o.text for o in read_conversation(file).turns[0].observations] == texts
    file.write_bytes(file.read_bytes() + b'{"role": "assistant", "content": "\xff"}\n')
    with pytest.raises(InputError, match=r"not UTF-8: byte 0xff.*line 4"):
        read_conversation(file)


def test_a_broken_line_is_refused_by_its_number(tmp_path: Path) -> None:
    file = as_lines(tmp_path / "a.jsonl", [user("Hello."), agent("Hi.")])
    first, second = file.read_text().splitlines()
    for broken, number in (
        ([first, '{"role": "us', second], 2), ([first, second[:-9]], 2), (['{"role": "us'], 1),
        ([first, f"{second} {second}"], 2),
    ):  # fmt: skip
        file.write_text("\n".join(broken) + "\n")
        with pytest.raises(InputError, match=rf"not JSON: .*line {number}\)"):
            read_conversation(file)
