"""Chat windows from the store: the conversation, a page at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acc import AsyncMemoryController, InMemoryStore, MemoryController, Settings, Turn
from acc.errors import InputError

CALL = {"id": "c1", "type": "function", "function": {"name": "logs", "arguments": '{"q": "pool"}'}}


def spoken(n: int) -> list[dict[str, Any]]:
    """A turn of a conversation, with a tool's call in it."""
    return [
        {"role": "user", "content": f"Question {n}?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [{**CALL, "id": f"c{n}"}]},
        {"role": "tool", "tool_call_id": f"c{n}", "name": "logs", "content": f"line {n}"},
        {"role": "assistant", "content": f"Answer {n}."},
    ]


def talk(memory: MemoryController, turns: int, *, record: bool = True) -> Any:
    """``turns`` turns; returns the last state."""
    state = None
    transcript: list[Any] = []
    for n in range(turns):
        said = spoken(n)
        state = memory.step(state, Turn.from_messages([*transcript, said[0]]), thread="t").state
        transcript = said
        if record:
            later = Turn.from_messages([{"role": "user", "content": "x"}, *said[1:]])
            memory.record(later.observations[1:], state=state, thread="t")
    return state


@pytest.mark.parametrize("kind", [MemoryController, AsyncMemoryController])
def test_the_last_turns_are_served_as_messages_to_the_very_answer(
    kind: Any, tmp_path: Path
) -> None:
    store = InMemoryStore()
    talk(MemoryController(store, settings=Settings(audit=tmp_path)), 5)
    window = kind(store, settings=Settings(audit=tmp_path)).history("t", last=2)
    assert window.messages == [
        {"role": m["role"], "content": m["content"]}
        for n in (3, 4) for m in spoken(n) if m["role"] != "tool"
    ]  # fmt: skip


def test_pages_join_to_the_whole_conversation(tmp_path: Path) -> None:
    memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
    talk(memory, 7)
    pages: list[Any] = []
    before = None
    while True:
        window = memory.history("t", last=3, before=before, tools=True)
        pages = window.messages + pages
        if (before := window.before) is None:
            break
    assert pages == [message for n in range(7) for message in spoken(n)]


def test_a_fork_shows_its_own_past_and_not_the_abandoned_future(tmp_path: Path) -> None:
    memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
    early = talk(memory, 2)
    talk_on = memory.step(early, Turn.said("The future that was left."), thread="t").state
    fork = memory.step(early, Turn.said("Another way."), thread="t").state
    said = [m["content"] for m in memory.history("t", state=fork, last=2).messages]
    assert said[-1] == "Another way."
    assert "The future that was left." not in said
    left = [m["content"] for m in memory.history("t", state=talk_on).messages]
    assert left[-1] == "The future that was left."
    past = [m["content"] for m in memory.history("t", state=early).messages]
    assert "The future that was left." not in past


def test_what_the_user_pasted_stands_below_their_words() -> None:
    memory = MemoryController(InMemoryStore())
    memory.step(None, Turn.said("Look:\n```\nERROR 1\n```\nWhat is it?"), thread="t")
    (message,) = memory.history("t").messages
    assert message["content"] == "Look:\n[pasted]\nWhat is it?\n\n```\nERROR 1\n```"


@pytest.mark.parametrize("message_id", [{}, {"id": "m1"}])
def test_what_the_user_attached_stands_with_their_words_and_reads_as_attached(
    message_id: dict[str, str],
) -> None:
    memory = MemoryController(InMemoryStore())
    text = {"type": "text", "text": "Look:\n```\nERROR 1\n```\nWhat is it?"}
    file = {"type": "text-plain", "title": "p.txt", "text": "Never restart nginx."}
    turn = Turn.from_messages([{"role": "user", "content": [text, file], **message_id}])
    memory.step(None, turn, thread="t")
    for tools in (False, True):
        (message,) = memory.history("t", tools=tools).messages
        said, attached = message["content"]
        assert said["text"] == "Look:\n[pasted]\nWhat is it?\n\n```\nERROR 1\n```"
        assert attached == file
        assert "nginx" not in Turn.from_messages([message]).user_words


def test_an_operators_act_is_no_part_of_the_conversation(tmp_path: Path) -> None:
    from acc.pipeline.update import seed

    memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
    memory.step(seed(["Never restart anything."]), Turn.said("Hello"), thread="t")
    assert [m["content"] for m in memory.history("t").messages] == ["Hello"]


def test_a_text_of_several_records_comes_back_whole() -> None:
    memory = MemoryController(InMemoryStore())
    long = "word " * 8_000
    memory.step(None, Turn.said(long), thread="t")
    assert memory.history("t").messages[0]["content"].split() == long.split()


def test_an_unknown_thread_has_no_history() -> None:
    assert MemoryController(InMemoryStore()).history("nobody") == ([], None)


def test_no_turns_asked_for_is_an_error() -> None:
    with pytest.raises(InputError, match="at least one"):
        MemoryController(InMemoryStore()).history("t", last=0)
