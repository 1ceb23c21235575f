"""Classifies the parts of a chat message's content.

Read are the parts of OpenAI (Chat Completions, Responses, Assistants), Anthropic, MCP and LangChain. The kinds are:

- speech: the words of the message's author;
- document: text that the author attached: a file, a search result, a resource, a part of an unknown type;
- call and result: the agent's use of a tool;
- mark: a placeholder for a part without text, such as a picture;
- thought: the model's reasoning, which is not part of the conversation and is left out.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from acc.errors import InputError


class Part(NamedTuple):
    """One part of a message: its words, the arguments of a call, or the bracketed type of a mark.

    ``call_id`` is the same on a call and on its result.
    """

    kind: Literal["speech", "document", "call", "result", "mark", "thought"]
    text: str = ""
    name: str = ""
    call_id: str = ""


_OWN = ("text", "refusal")
"""Fields that hold the author's words."""
_SPEECH = {"text", "input_text", "output_text", "refusal"}
_CALLS = {
    "tool_use", "server_tool_use", "mcp_tool_use",  # Anthropic
    "function_call", "custom_tool_call", "mcp_call",  # OpenAI's Responses
    "tool_call", "server_tool_call",  # LangChain
}  # fmt: skip
_RESULT_ENDS = ("tool_result", "_call_output")
_ANY_TOOL = {"tool_result", "mcp", "server", "function", "custom_tool"}
"""Prefixes of result types that do not name the tool."""
_THOUGHTS = {
    "reasoning", "thinking", "redacted_thinking", "reasoning_content", "input_json_delta",
    "tool_call_chunk", "invalid_tool_call", "item_reference", "compaction",
}  # fmt: skip
"""Part types that are not words of the answer. A broken call is also in a field of the message."""

_IDS = ("call_id", "tool_use_id", "tool_call_id", "id")
_ARGUMENTS = ("input", "args", "arguments")
_OUTPUTS = ("output", "content", "result", "results", "error", "outputs")

_TITLES = (
    "title", "filename", "file_name", "name", "uri",
)  # fmt: skip
_WORDS = (
    "text", "value", "transcript", "content", "context", "description", "summary", "refusal",
    "code", "output",
)  # fmt: skip
_INSIDE = ("source", "file", "resource", "input_audio", "audio", "data")
_FILE = ("data", "base64", "bytes", "blob", "file_data")
_DATA = (*_FILE, "url", "file_url")
_MIMES = ("mime_type", "mimeType", "media_type")
_UNREADABLE = (*_FILE, "encrypted_content", "signature")
_TEXTUAL = (
    "text/",
    *(f"application/{x}" for x in ("json", "xml", "yaml", "x-yaml", "toml", "csv")),
)
_SHOWN = ("image", "audio", "video", "media", "file", "document", "resource", "search_result")
_MOST_HEAD, _MOST_MARK = 200, 40
"""Characters before the data in a data URL, and of a part's type that stand in its mark."""


def read_parts(content: Any, *, by_agent: bool, where: str) -> tuple[Part, ...]:
    """Classify the parts of a message's content. Only an agent's message has calls and thoughts.

    Raises:
        InputError: The content is neither text nor a list, or is nested too deeply.
    """
    if content is None:
        return ()
    if isinstance(content, str):
        return (Part("speech", content),)
    if not isinstance(content, list | tuple):
        what, hint = f"content is {type(content).__name__}", "use a string or a list of parts"
        raise InputError(what, where=where, hint=hint)
    parts = (part for raw in content for part in read_part(raw, by_agent=by_agent))
    try:
        return tuple(p for p in (_glued(parts) if by_agent else parts) if p.kind != "thought")
    except RecursionError as error:
        what = "a part of the content is nested too deeply"
        raise InputError(what, where=where, hint="give it fewer levels") from error


def read_part(raw: Any, *, by_agent: bool) -> Iterator[Part]:
    """Yield the parts that one raw part stands for; a call that includes its result gives two."""
    raw = raw.model_dump() if hasattr(raw, "model_dump") else raw
    if isinstance(raw, str):
        yield Part("speech", raw)
    elif not isinstance(raw, Mapping):
        yield Part("mark", f"[{type(raw).__name__}]")
    else:
        kind = raw.get("type") or next((key for key in _OWN if raw.get(key) is not None), "")
        kind = kind if isinstance(kind, str) else "part"
        yield from _tool_use(kind, raw, by_agent) or [_said(kind, raw, by_agent)]


def _glued(parts: Iterable[Part]) -> Iterator[Part]:
    """Join adjacent parts of speech: providers split a sentence of an answer, for example at a citation."""
    for kind, some in groupby(parts, lambda part: part.kind):
        if kind == "speech":
            yield Part(kind, "".join(part.text for part in some))
        else:
            yield from some


def as_arguments(value: Any) -> str:
    """Return a tool call's arguments as text: JSON, unless they are text already."""
    return value or "" if value is None or isinstance(value, str) else _json(value)


def as_text(value: Any) -> str:
    """Return a tool's output as text: JSON, unless it is text or content parts."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list | tuple) and value and all(map(_has_text, value)):
        return "\n".join(map(_brought_text, value))
    return _json(value)


def _brought_text(raw: Any) -> str:
    """The text of one part of a tool's output; for a document, JSON of all readable fields."""
    read = list(read_part(raw, by_agent=False))
    if any(part.kind not in ("speech", "mark") for part in read):
        return _json(_readable(raw))
    return "\n".join(part.text for part in read)


def first(raw: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the first non-empty text under one of ``keys``; an empty text if there is none."""
    found = (raw.get(key) for key in keys)
    return next((value for value in found if isinstance(value, str) and value), "")


def _tool_use(kind: str, body: Mapping[str, Any], by_agent: bool) -> list[Part]:
    """The call, the result, or both, that a part stands for; empty for any other part."""
    named, call_id = first(body, ("name",)), first(body, _IDS)
    output = _given(body, _OUTPUTS)
    if kind.endswith(_RESULT_ENDS):
        of = kind.removesuffix("_tool_result").removesuffix("_call_output")
        name = named or ("" if of in _ANY_TOOL else of)
        return [Part("result", as_text(output), name, call_id)]
    if not by_agent or kind in _THOUGHTS:
        return []
    if kind in _CALLS:
        name = named or kind
        made = Part("call", as_arguments(_given(body, _ARGUMENTS)), name, call_id)
    elif kind.endswith("_call"):  # a tool run by the provider, such as web_search_call
        name = kind.removesuffix("_call")
        rest = {k: v for k, v in body.items() if k not in (*_IDS, *_OUTPUTS, "type", "status")}
        made = Part("call", as_arguments(rest), name, call_id)
    else:
        return []
    return [made] if output is None else [made, Part("result", as_text(output), name, call_id)]


def _given(body: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((body[key] for key in keys if body.get(key) is not None), None)


def _said(kind: str, body: Mapping[str, Any], by_agent: bool) -> Part:
    if by_agent and kind in _THOUGHTS:
        return Part("thought")
    brought = kind not in _SPEECH or bool({"source_type", "title", "filename"} & body.keys())
    own = {key: body[key] for key in _OWN if body.get(key) is not None}
    text = "\n".join(filter(None, _words(body if brought else own or body)))
    if (not brought and (own or text)) or (by_agent and "audio" in kind and text):
        return Part("speech", text)
    title = next((t for t in (first(at, _TITLES) for at in _levels(body)) if t), "")
    if text:
        return Part("document", text, title)
    if kind in _SPEECH or any(shown in kind for shown in _SHOWN):
        is_word = kind.replace("_", "").isalnum() and len(kind) <= _MOST_MARK
        mark = f"[{kind if is_word else 'part'}]"
        return Part("document", mark, title) if title else Part("mark", mark)
    return Part("document", _json(_readable(body)), title)  # of a kind that nobody knows: all of it


def _levels(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield ``body`` and the nested objects that describe it."""
    yield body
    for key in _INSIDE:
        if isinstance(body.get(key), Mapping):
            yield from _levels(body[key])


def _words(value: Any) -> Iterator[str]:
    """Yield all text in a part, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _words(entry)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _DATA and isinstance(inner, str | bytes):
                yield _decoded(inner, value)
            elif key in _WORDS or isinstance(inner, Mapping):
                yield from _words(inner)
            elif isinstance(inner, list | tuple):
                yield from _words([entry for entry in inner if isinstance(entry, Mapping)])


def _decoded(data: str | bytes, body: Mapping[str, Any]) -> str:
    """Return the text in a part's data; empty for a picture, another binary file, or a URL."""
    if isinstance(data, bytes):
        read = data.decode(errors="replace")
        return "" if "\ufffd" in read or "\x00" in read else read
    head, comma, _ = data[:_MOST_HEAD].partition(",")
    is_url = bool(comma) and head.startswith("data:")
    mime = head.removeprefix("data:").partition(";")[0] if is_url else first(body, _MIMES)
    is_plain = "text" in (body.get("type"), body.get("source_type")) and body.get("data") == data
    if is_plain and not is_url:
        return data  # Anthropic's source of the type text
    scheme, is_address, _ = data[:_MOST_MARK].partition("://")
    if not mime.startswith(_TEXTUAL) or (is_address and scheme.isalnum()):
        return ""
    given = data[len(head) + 1 :] if is_url else data
    try:
        return base64.b64decode(given, validate=True).decode()
    except ValueError:
        return given


def _json(value: Any) -> str:
    """Return JSON; Python's own notation for what JSON cannot hold, such as a tuple as a key or a value in itself."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return repr(value)
    except RecursionError as error:
        what = "a tool's arguments or output are nested too deeply"
        raise InputError(what, where="a message", hint="give them fewer levels") from error


def _has_text(value: Any) -> bool:
    """Whether a part of a tool's output is text, a picture or a document, not the tool's own data."""
    if not isinstance(value, Mapping):
        return isinstance(value, str)
    kind = value.get("type") or ("text" if value.keys() == {"text"} else "")
    return isinstance(kind, str) and (kind in _SPEECH or any(shown in kind for shown in _SHOWN))


def _readable(value: Any) -> Any:
    """Remove what only the provider can read: some fields, bytes, the data of URLs."""
    if isinstance(value, bytes):
        return "[bytes]"
    if isinstance(value, str) and value.startswith("data:"):
        return value[:_MOST_HEAD].partition(",")[0]
    if isinstance(value, Mapping):
        return {k: _readable(v) for k, v in value.items() if k not in _UNREADABLE}
    return [_readable(entry) for entry in value] if isinstance(value, list | tuple) else value
