"""LangChain's messages by their fields, as OpenAI chat messages. Loads no vendor.

A message comes as a kind (``human``, ``ai``, ...) with fields, whether it is an object, the
JSON that `messages_to_dict` or `dumpd` made of one, or that of a served thread.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acc.errors import InputError

_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "function": "function",
}

_TOLD_ELSEWHERE = {
    "tool_call", "tool_call_chunk", "invalid_tool_call", "server_tool_call", "tool_use",
    "input_json_delta", "function_call", "reasoning", "thinking", "redacted_thinking",
    "reasoning_content",
}  # fmt: skip
"""Parts of a content that are no speech: calls have a field of their own, thoughts are not said."""


def as_openai(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """An OpenAI chat message of a LangChain message's kind and fields.

    Raises:
        InputError: A kind that is none of a message, such as ``remove``.
    """
    role = _role(kind, fields)
    message: dict[str, Any] = {"role": role, "content": _content(fields.get("content"), role)}
    if fields.get("id"):
        message["id"] = str(fields["id"])
    if fields.get("name"):
        message["name"] = str(fields["name"])
    if role == "assistant" and (calls := list(_calls(fields))):
        message["tool_calls"] = calls
    if role == "tool":
        message["tool_call_id"] = str(fields.get("tool_call_id") or "")
    return message


def of_dump(raw: Any) -> Any:
    """What stands for a message in JSON, as an OpenAI chat message; anything else as it is.

    Reads the forms of `messages_to_dict`, of `dumpd`, and of a served thread's values. Nothing
    is imported or built by a name that stands in the file.
    """
    if not isinstance(raw, Mapping) or "role" in raw:
        return raw
    if isinstance(raw.get("data"), Mapping) and isinstance(raw.get("type"), str):
        return as_openai(raw["type"], raw["data"])
    if raw.get("lc") and isinstance(raw.get("kwargs"), Mapping):
        named = raw.get("id")
        last = str(named[-1]) if isinstance(named, list) and named else ""
        return as_openai(str(raw["kwargs"].get("type") or last), raw["kwargs"])
    if isinstance(raw.get("type"), str) and "content" in raw:
        return as_openai(raw["type"], raw)
    return raw


def is_dump(raw: Any) -> bool:
    """Whether ``raw`` stands for a message in one of LangChain's forms."""
    if not isinstance(raw, Mapping) or "role" in raw:
        return False
    typed = isinstance(raw.get("type"), str) and ("data" in raw or "content" in raw)
    return typed or ("lc" in raw and "kwargs" in raw)


def _role(kind: str, fields: Mapping[str, Any]) -> str:
    plain = kind.removesuffix("Chunk").removesuffix("Message").lower()
    if plain == "chat":
        plain = str(fields.get("role"))
    if plain not in _ROLES:
        raise InputError(
            f"a message of the kind {kind!r}",
            where="LangChain messages",
            mend=f"give only {', '.join(_ROLES)}",
        )
    return _ROLES[plain]


def _content(content: Any, role: str) -> Any:
    """Text, or its parts without what is no speech; what an assistant said is one text."""
    if not isinstance(content, list):
        return content
    parts = [
        p for p in content if not (isinstance(p, Mapping) and p.get("type") in _TOLD_ELSEWHERE)
    ]
    texts = [_text(part) for part in parts]
    # Providers cut one sentence of an answer into several parts, at a citation say.
    if role == "assistant" and all(text is not None for text in texts):
        return "".join(text or "" for text in texts)
    return parts


def _text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else None


def _calls(fields: Mapping[str, Any]) -> Iterator[Any]:
    made = [*_listed(fields, "tool_calls"), *_listed(fields, "invalid_tool_calls")]
    if not made:  # dumps of old versions hold the calls only as the provider sent them
        made = list(_listed(fields.get("additional_kwargs") or {}, "tool_calls"))
    for call in made:
        if not isinstance(call, Mapping) or "function" in call:
            yield call
            continue
        given = call.get("args")
        arguments = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
        function = {"name": call.get("name") or "", "arguments": arguments}
        yield {"id": call.get("id") or "", "type": "function", "function": function}


def _listed(fields: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = fields.get(name)
    return found if isinstance(found, list | tuple) else ()
