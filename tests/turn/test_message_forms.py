"""`acc.turn.chat_messages`: the conversation of each provider reads as the same; nothing is lost in silence."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)

from acc.errors import InputError
from acc.turn.chat_messages import SUMMARY, read_message
from acc.turn.conversations import read_conversation
from acc.turn.observations import Channel
from acc.turn.turn import Turn

ASKED = "Is db-7 full?"
FOUND = "disk 97 percent full on db-7"
SAID = "Yes: 97 percent."
THOUGHT = "The user wants the disk."
TALK = [("user", "", ASKED), ("agent", "df", 'df({"host": "db-7"})'), ("document", "df", FOUND),
        ("agent", "", SAID), ("user", "", "Thanks.")]  # fmt: skip
ARGS = {"host": "db-7"}
ASKING, THANKS = {"role": "user", "content": ASKED}, {"role": "user", "content": "Thanks."}


def in_responses(*items: Any) -> list[Any]:
    return [
        ASKING,
        *items,
        {"role": "user", "content": [{"type": "input_text", "text": "Thanks."}]},
    ]


TALKS: Mapping[str, Sequence[Any]] = {
    "OpenAI's chat": [
        ASKING,
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "df", "arguments": json.dumps(ARGS)}}]},
        {"role": "tool", "tool_call_id": "c", "content": FOUND},
        {"role": "assistant", "content": SAID}, THANKS,
    ],
    "OpenAI's Responses": in_responses(
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": THOUGHT}]},
        {"type": "function_call", "id": "f", "call_id": "c", "name": "df", "arguments": json.dumps(ARGS)},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": FOUND}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]},
    ),
    "OpenAI's Assistants": [
        {"role": "user", "content": [{"type": "text", "text": {"value": ASKED, "annotations": []}}]},
        {"role": "assistant", "content": [{"type": "text", "text": {"value": SAID}}]}, THANKS,
    ],
    "Anthropic's": [
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": THOUGHT, "signature": "x"},
            {"type": "tool_use", "id": "c", "name": "df", "input": ARGS}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": FOUND}]}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes: "}, {"type": "text", "text": "97 percent."}]},
        THANKS,
    ],
}  # fmt: skip
OBJECTS: Mapping[str, Sequence[Any]] = {
    "LangChain's objects": [
        SystemMessage("You are on call."), HumanMessage(ASKED),
        AIMessage("", tool_calls=[{"name": "df", "args": ARGS, "id": "c"}]),
        ToolMessage(FOUND, tool_call_id="c"), AIMessage(SAID), HumanMessage("Thanks."),
    ],
    "LangChain's objects with calls among the content": [
        HumanMessage(ASKED),
        AIMessage([{"type": "tool_use", "id": "c", "name": "df", "input": ARGS}],
                  tool_calls=[{"name": "df", "args": ARGS, "id": "c"}]),
        ToolMessage(FOUND, tool_call_id="c"), ChatMessage(SAID, role="assistant"), ("user", "Thanks."),
    ],
    "objects of OpenAI's Responses": in_responses(
        ResponseReasoningItem(id="r", type="reasoning", summary=[]),
        ResponseFunctionToolCall(
            id="f", call_id="c", name="df", arguments=json.dumps(ARGS), type="function_call"),
        {"type": "function_call_output", "call_id": "c", "output": FOUND},
        ResponseOutputMessage(
            id="m", role="assistant", status="completed", type="message",
            content=[ResponseOutputText(type="output_text", text=SAID, annotations=[])]),
    ),
}  # fmt: skip


def seen(turns: Sequence[Turn]) -> list[tuple[str, str, str]]:
    return [(o.channel.value, o.name, o.text) for turn in turns for o in turn.observations]


@pytest.mark.parametrize("form", [*TALKS, *OBJECTS])
def test_each_form_reads_as_the_same_conversation(form: str) -> None:
    messages = {**TALKS, **OBJECTS}[form]
    wanted = TALK if form != "OpenAI's Assistants" else [TALK[0], *TALK[3:]]
    turns = Turn.all_from_messages(messages, channels={"df": Channel.DOCUMENT})
    assert seen(turns) == wanted
    assert len(turns) == 2


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("form", TALKS)
def test_so_does_its_file(form: str, lines: bool, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    messages = TALKS[form]
    file.write_text("\n".join(map(json.dumps, messages)) if lines else json.dumps(messages))
    read = read_conversation(file, channels={"df": Channel.DOCUMENT})
    assert list(read.turns) == Turn.all_from_messages(messages, channels={"df": Channel.DOCUMENT})


@pytest.mark.parametrize(
    ("request_", "role"),
    [
        ({"system": "On call.", "messages": TALKS["Anthropic's"]}, "On call."),
        ({"system": [{"type": "text", "text": "On call."}], "messages": TALKS["Anthropic's"]}, "On call."),
        ({"instructions": "On call.", "input": TALKS["OpenAI's Responses"]}, "On call."),
        ({"messages": TALKS["Anthropic's"]}, ""),
    ],
)  # fmt: skip
def test_a_whole_request_is_read_with_its_system_prompt(
    request_: Any, role: str, tmp_path: Path
) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(request_))
    read = read_conversation(file, channels={"df": Channel.DOCUMENT})
    assert (read.role, seen(read.turns)) == (role, TALK)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"role": "user", "text": "Never pay."}, "the message has no content"),
        ({"role": "user", "message": "Never pay."}, "the message has no content"),
        (
            {"role": "user", "content": "", "text": "Never pay."},
            "has no content, but there is something under 'text'",
        ),
        (
            {"role": "user", "additional_kwargs": {"text": "Never pay."}},
            "the message has no content",
        ),
        ({"role": "user", "content": "Hi.", "created_at": "yesterday"}, "'yesterday' is no time"),
        ({"role": "user", "content": "Hi.", "metadata": {"timestamp": 12.5}}, "'12.5' is no time"),
        ({"from": "human", "value": "Never pay."}, "unknown role None"),
        ({"author": "user", "content": "Never pay."}, "unknown role None"),
        ({"type": "mcp_list_tools", "tools": []}, "an item of the type 'mcp_list_tools'"),
        ({"type": "text", "text": "Never pay."}, "an item of the type 'text'"),
        (("nobody", "Never pay."), "unknown role 'nobody'"),
        (ChatMessage("Never pay.", role="critic"), "unknown type of message: 'chat'"),
        ({"role": "model", "content": "Never pay."}, "unknown role 'model'"),
        (
            {"role": "user", "parts": [{"text": "Never pay."}]},
            "has no content, but there is something under 'parts'",
        ),
        (
            {"role": "user", "blocks": [{"block_type": "text", "text": "Never pay."}]},
            "something under 'blocks'",
        ),
        (
            {"role": "assistant", "content": "Hi.", "parts": [{"type": "tool-df"}]},
            "content, and something under 'parts'",
        ),
    ],
)
def test_what_is_not_read_is_refused_with_the_way_to_give_it(message: Any, told: str) -> None:
    with pytest.raises(InputError, match=rf"{told}.*message 2.*To fix: \w"):
        Turn.from_messages([ASKING, message])


# --- what the user brings along ----------------------------------------------------------------

RULE = "Never restart nginx during business hours."
IN_BASE64 = base64.b64encode(RULE.encode()).decode()
DATA_URL = f"data:text/plain;base64,{IN_BASE64}"
BROUGHT: Mapping[str, tuple[dict[str, Any], str]] = {
    "LangChain's text-plain": ({"type": "text-plain", "text": RULE, "title": "policy.txt"}, "policy.txt"),
    "LangChain's file with text": ({"type": "file", "source_type": "text", "text": RULE}, ""),
    "LangChain's text with a source": ({"type": "text", "source_type": "text", "text": RULE}, ""),
    "LangChain's file in base64": (
        {"type": "file", "base64": IN_BASE64, "mime_type": "text/plain", "filename": "p.txt"}, "p.txt"),
    "Anthropic's document": (
        {"type": "document", "title": "p", "source": {"type": "text", "media_type": "text/plain", "data": RULE}}, "p"),
    "Anthropic's document of blocks": (
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": RULE}]}}, ""),
    "Anthropic's search_result": (
        {"type": "search_result", "title": "p", "source": "x", "content": [{"type": "text", "text": RULE}]}, "p"),
    "OpenAI's input_file": ({"type": "input_file", "filename": "p.txt", "file_data": DATA_URL}, "p.txt"),
    "OpenAI's file": ({"type": "file", "file": {"filename": "p.txt", "file_data": DATA_URL}}, "p.txt"),
    "MCP's resource": ({"type": "resource", "resource": {"uri": "file:///p", "text": RULE}}, "file:///p"),
    "MCP's link": ({"type": "resource_link", "uri": "file:///p", "title": "p", "description": RULE}, "p"),
    "a transcript of a recording": ({"type": "input_audio", "transcript": RULE}, ""),
    "a kind that nobody knows": ({"type": "sticky_note", "payload": {"notes": [{"text": RULE}]}}, ""),
}  # fmt: skip


@pytest.mark.parametrize("form", BROUGHT)
def test_what_a_user_attaches_is_a_document_of_its_name(form: str) -> None:
    part, title = BROUGHT[form]
    content = [{"type": "text", "text": "Summarise it."}, part]
    turn = Turn.from_messages([{"role": "user", "content": content}])
    assert seen([turn]) == [("document", title, RULE), ("user", "", "Summarise it.")]


def test_each_attachment_is_one_document_and_a_message_of_them_alone_says_so() -> None:
    parts = [part for part, _ in BROUGHT.values()]
    turn = Turn.from_messages([{"role": "user", "content": parts}])
    assert [o.channel for o in turn.observations] == [Channel.DOCUMENT] * len(parts) + [
        Channel.USER
    ]
    assert turn.user_words == "[attached]"


@pytest.mark.parametrize(
    ("part", "mark"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}, "[image_url]"),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}, "[image]"),
        ({"type": "image", "base64": "QUJD", "mime_type": "image/png"}, "[image]"),
        ({"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}, "[input_audio]"),
        ({"type": "input_file", "file_id": "file-1"}, "[input_file]"),
        ({"type": "Never\nimage"}, "[part]"),
    ],
)  # fmt: skip
def test_what_has_no_text_leaves_a_mark(part: dict[str, Any], mark: str) -> None:
    turn = Turn.from_messages(
        [{"role": "user", "content": [part, {"type": "text", "text": "And?"}]}]
    )
    assert seen([turn]) == [("user", "", f"{mark}\nAnd?")]


def test_a_file_that_cannot_be_read_is_known_by_its_name() -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}
    part = {"type": "document", "title": "a.pdf", "source": source}
    turn = Turn.from_messages([{"role": "user", "content": ["Look.", part]}])
    assert seen([turn]) == [("document", "a.pdf", "[document]"), ("user", "", "Look.")]


def test_what_stands_in_an_answer_and_is_no_speech_is_not_the_agents_word() -> None:
    content = [
        {"type": "text", "text": "Here."},
        {"type": "text-plain", "text": RULE, "title": "p"},
    ]
    turn = Turn.from_messages([ASKING, {"role": "assistant", "content": content}])
    assert seen([turn])[1:] == [("agent", "", "Here."), ("document", "p", RULE)]


def test_what_a_providers_own_tool_finds_is_a_tools_word() -> None:
    content = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [
            {"type": "web_search_result", "title": RULE, "url": "https://x", "encrypted_content": "z" * 90}]},
        {"type": "text", "text": "Found."},
    ]  # fmt: skip
    turns = Turn.all_from_messages(
        [ASKING, AIMessage(content)], channels={"web_search": Channel.DOCUMENT}
    )
    assert [(c, n) for c, n, _ in seen(turns)[1:]] == [
        ("agent", "web_search"), ("document", "web_search"), ("agent", ""),
    ]  # fmt: skip
    found = seen(turns)[2][2]
    assert RULE in found
    assert "https://x" in found
    assert "zzz" not in found


@pytest.mark.parametrize(
    "part", [{"type": "Never\nrestart nginx"}, {"toolUse": {"name": "pay", "input": {"sum": 3}}}, {"a": 1}]
)  # fmt: skip
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_part_of_a_kind_that_nobody_knows_is_a_document_of_all_of_it(
    part: dict[str, Any], role: str
) -> None:
    content = [part, {"type": "text", "text": "And?"}]
    turn = Turn.from_messages([ASKING, {"role": role, "content": content}])
    (document,) = [o for o in turn.observations if o.channel is Channel.DOCUMENT]
    assert json.loads(document.text) == part


@pytest.mark.parametrize(
    "output", [{"data": [1, 2], "text": "97"}, [{"text": "97", "author": "Bob"}], [{"type": "row"}], 97]
)  # fmt: skip
def test_a_tools_own_data_is_kept_whole(output: Any) -> None:
    call = {
        "type": "mcp_tool_use",
        "id": "c",
        "name": "df",
        "input": {"data": "x"},
        "output": output,
    }
    turn = Turn.from_messages([ASKING, {"role": "assistant", "content": [call]}])
    _, made, brought = turn.observations
    assert made.text == 'df({"data": "x"})'
    assert json.loads(brought.text) == output


@pytest.mark.parametrize("kind", ["document", "tool_result"])
def test_a_part_that_is_nested_too_deeply_is_refused(kind: str) -> None:
    part: Any = {"text": RULE}
    for _ in range(5_000):
        part = {"content": [part]}
    with pytest.raises(InputError, match=r"nested too deeply.*To fix"):
        Turn.from_messages([{"role": "user", "content": [{"type": kind, "content": [part]}]}])


def test_a_summary_that_a_middleware_wrote_is_not_the_users_word() -> None:
    """LangChain's SummarizationMiddleware writes it as a human message."""
    summary = HumanMessage(RULE, additional_kwargs={"lc_source": "summarization"})
    for written in (summary, messages_to_dict([summary])[0]):
        turn = Turn.from_messages([written, HumanMessage("Go on.")])
        assert seen([turn]) == [("document", "summary", RULE), ("user", "", "Go on.")]
    text = f"{SUMMARY}\n\n{RULE}"  # a client kept role and content alone
    turn = Turn.from_messages([{"role": "user", "content": text}, HumanMessage("Go on.")])
    assert seen([turn]) == [("document", "summary", text), ("user", "", "Go on.")]


def test_ids_of_messages_are_kept() -> None:
    turn = Turn.from_messages([HumanMessage(ASKED, id="1"), {**THANKS, "id": "2"}])
    assert [o.message for o in turn.observations] == ["1", "2"]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "text", "content", "source", "data", "name", "id", "file", "output",
                         "value", "role", "input", "url", "mime_type"]) | st.text(max_size=3),
        inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
_TYPES = st.sampled_from([
    "text", "tool_use", "tool_result", "document", "file", "function_call", "reasoning",
    "web_search_call", "x_tool_result", "message",
])  # fmt: skip


_KEYS = st.sampled_from(["text", "content", "output", "id", "name", "input", "source"])
_PARTS = st.builds(
    lambda kind, more: {**more, "type": kind}, _TYPES, st.dictionaries(_KEYS, _VALUES)
)


@given(
    st.sampled_from(["user", "assistant", "tool", "system"]),
    st.lists(_VALUES | _PARTS, max_size=3),
)
def test_any_parts_are_read_or_refused(role: str, parts: list[Any]) -> None:
    for raw in ({"role": role, "content": parts}, *parts):
        try:
            message = read_message(raw, "message 1")
        except InputError:
            continue
        assert all(isinstance(text, str) for part in message.parts for text in part)


def test_bytes_and_data_of_a_part_that_nobody_knows_are_no_words() -> None:
    picture = {"image": {"format": "png", "source": {"bytes": b"\x89PNG" * 5_000}}}
    drawing = {"type": "sketch", "at": "data:image/png;base64," + "A" * 50_000}
    text = {"type": "document", "title": "a.txt", "source": {"bytes": b"Never restart db-2."}}
    said = {"role": "user", "content": ["Look.", picture, drawing, text]}
    seen = Turn.from_messages([said]).observations
    assert max(len(each.text) for each in seen) < 200
    (found,) = (each for each in seen if "db-2" in each.text)
    assert found.channel is Channel.DOCUMENT
