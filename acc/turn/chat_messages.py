"""Normalizes a chat message of any supported provider to one form: its author and its parts.

Supported are OpenAI's chat messages, Assistants and Responses items, Anthropic's messages, and LangChain's messages as
objects or as JSON (`messages_to_dict`, `dumpd`, a served thread). A message whose words stand elsewhere is refused.
`acc.turn.content_parts` reads the parts, `acc.clock` the time. The module imports no vendor's package and never
instantiates a class named in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from acc.clock import time_of
from acc.errors import InputError
from acc.turn.content_parts import Part, as_arguments, first, read_parts

Role = Literal["system", "user", "assistant", "tool"]

_ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip
LANGCHAIN: Mapping[str, Role] = {**_ROLES, "human": "user", "ai": "assistant"}
"""The role of a LangChain message, by its kind."""

_ITEMS = ("_call", "_call_output", "reasoning", "compaction", "item_reference")
"""Type suffixes of Responses items that are not messages and have no role."""

SUMMARY = "Here is a summary of the conversation to date:"
"""With this line summaries begin: those of LangChain's summariser, and of `MemoryController.export_messages`."""

_PARTS = ("parts", "blocks", "toolInvocations", "experimental_attachments")
_ELSEWHERE = ("text", "message", "items", "value", "attachments", "files")
"""Fields in which other programs keep what belongs to the content: beside it, or in its place."""

READ = "OpenAI's, Anthropic's or LangChain's"


class ChatMessage(NamedTuple):
    """One message in the common form, without the model's reasoning.

    ``is_item`` marks one of several items that make up an answer. ``at`` is the message's time in ISO 8601, if it
    has one.
    """

    role: Role
    parts: tuple[Part, ...]
    name: str = ""
    id: str = ""
    is_item: bool = False
    at: str = ""

    @property
    def speaks(self) -> bool:
        """Whether the message has a part that is not a tool result, or no parts at all."""
        return not self.parts or any(part.kind != "result" for part in self.parts)


def read_message(raw: Any, where: str) -> ChatMessage:
    """Read a message given as a dict, an object of an SDK or of LangChain, or ``(role, text)``.

    Raises:
        InputError: ``raw`` has no supported form; the error names ``where``.
    """
    if isinstance(raw, tuple) and len(raw) == 2 and isinstance(raw[0], str):
        return _chat({"content": raw[1]}, _role(raw[0], LANGCHAIN, where), where)
    if isinstance(getattr(raw, "type", None), str) and hasattr(raw, "additional_kwargs"):
        return _langchain(raw.type, vars(raw), where)
    raw = raw.model_dump() if hasattr(raw, "model_dump") else raw
    if not isinstance(raw, Mapping):
        raise InputError(
            f"the message is {type(raw).__name__}, not an object",
            where=where,
            hint='write {"role": ..., "content": ...}',
        )
    if "role" not in raw and (dumped := _dumped(raw)):
        return _langchain(*dumped, where)
    if "role" not in raw and isinstance(raw.get("type"), str):
        return _item(raw, where)
    return _chat(raw, _role(raw.get("role"), _ROLES, where), where)


def is_message(raw: Any) -> bool:
    """Whether ``raw``, from JSON, has the form of a message."""
    return isinstance(raw, Mapping) and ("role" in raw or _is_item(raw) or bool(_dumped(raw)))


def _is_item(raw: Mapping[str, Any]) -> bool:
    return isinstance(raw.get("type"), str) and raw["type"].endswith(_ITEMS)


def _dumped(raw: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The type and fields of a LangChain message in JSON; None for any other object."""
    kind = raw.get("type")
    if isinstance(kind, str) and isinstance(raw.get("data"), Mapping):
        return kind, raw["data"]
    if raw.get("lc") and isinstance(raw.get("kwargs"), Mapping):
        named = raw.get("id")
        last = str(named[-1]) if isinstance(named, list) and named else ""
        return str(raw["kwargs"].get("type") or last), raw["kwargs"]
    if isinstance(kind, str) and "content" in raw and not _is_item(raw):
        return kind, raw
    return None


def _langchain(kind: str, fields: Mapping[str, Any], where: str) -> ChatMessage:
    plain = kind.removesuffix("Chunk").removesuffix("Message").lower()
    if plain == "chat":
        plain = str(fields.get("role"))
    if plain not in LANGCHAIN:
        raise InputError(
            f"unknown type of message: {kind!r}",
            where=where,
            hint=f"use one of {', '.join(LANGCHAIN)}",
        )
    return _chat(fields, LANGCHAIN[plain], where)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _role(role: Any, roles: Mapping[str, Role], where: str) -> Role:
    if isinstance(role, str) and role in roles:
        return roles[role]
    raise InputError(
        f"unknown role {role!r}",
        where=where,
        hint=f"use one of {', '.join(_ROLES)}; supported are messages in {READ} form",
    )


def _item(raw: Mapping[str, Any], where: str) -> ChatMessage:
    """Normalize an item of OpenAI's Responses: a call or a result."""
    parts = read_parts([raw], by_agent=True, where=where)
    role: Role = "tool" if parts and all(p.kind == "result" for p in parts) else "assistant"
    if any(part.kind not in ("call", "result") for part in parts):
        raise InputError(
            f"an item of the type {raw['type']!r} is not supported",
            where=where,
            hint="leave it out, or write it as a message with a role and content",
        )
    return ChatMessage(role, parts, id=str(raw.get("id") or ""), is_item=True)


def _chat(raw: Mapping[str, Any], role: Role, where: str) -> ChatMessage:
    more, own_id = _mapping(raw.get("additional_kwargs")), str(raw.get("id") or "")
    is_summary = more.get("lc_source") == "summarization"
    by_agent = role == "assistant" and not is_summary
    parts = read_parts(_content(raw, where), by_agent=by_agent, where=where)
    if by_agent:
        made = list(_calls(raw, where))
        listed = {(part.call_id, part.name) for part in made}
        own = [p for p in parts if p.kind != "call" or (p.call_id, p.name) not in listed]
        parts = (*own, *_voiced(raw, own), *made)
    text = "\n".join(part.text for part in parts)
    if is_summary or (role == "user" and text.startswith(SUMMARY)):
        # A model wrote this text into a user's message: the user did not say it.
        return ChatMessage("assistant", (Part("document", text, "summary"),), id=own_id)
    if role == "tool" and not any(part.kind == "result" for part in parts):
        parts = (Part("result", text, first(raw, ("name",)), str(raw.get("tool_call_id") or "")),)
    return ChatMessage(role, parts, first(raw, ("name",)), own_id, at=_time(raw, where))


def _content(raw: Mapping[str, Any], where: str) -> Any:
    """Return the message's content. Raises an error if it may be under an unknown key."""
    content = raw.get("content")
    known = {"content", "tool_calls", "function_call", "refusal", "audio"}
    elsewhere = [key for key in (*_PARTS, *(_ELSEWHERE if not content else ())) if raw.get(key)]
    if not known & raw.keys() or elsewhere:
        what = f", but there is something under {elsewhere[0]!r}" if elsewhere else ""
        what = f"the message has no content{what}"
        if content:
            what = f"the message has content, and something under {elsewhere[0]!r}"
        raise InputError(
            what,
            where=where,
            hint=f"put all of it under 'content'; supported are messages in {READ} form",
        )
    return content


def _voiced(raw: Mapping[str, Any], parts: Sequence[Part]) -> Iterator[Part]:
    """Yield speech of the agent outside of the content: a refusal, or an audio transcript."""
    texts = [raw.get("refusal"), _mapping(raw.get("audio")).get("transcript")]
    said = {part.text for part in parts}
    yield from (Part("speech", t) for t in texts if isinstance(t, str) and t and t not in said)


def _calls(raw: Mapping[str, Any], where: str) -> Iterator[Part]:
    made = [*_listed(raw, "tool_calls", where), *_listed(raw, "invalid_tool_calls", where)]
    if not made:  # old dumps have only the provider's own form
        made = _listed(_mapping(raw.get("additional_kwargs")), "tool_calls", where)
    if legacy := raw.get("function_call"):
        made.append({"id": "", "function": legacy})
    for given in made:
        call = given.model_dump() if hasattr(given, "model_dump") else given
        fields = _mapping(call)
        function = fields.get("function") or fields.get("custom") or call
        if not isinstance(function, Mapping):
            raise InputError(
                f"the tool call is {type(function).__name__}, not an object",
                where=where,
                hint='write {"id": ..., "function": {"name": ..., "arguments": ...}}',
            )
        arguments = function.get("arguments", function.get("args", function.get("input", "")))
        name, call_id = str(function.get("name") or ""), str(fields.get("id") or "")
        yield Part("call", as_arguments(arguments), name, call_id)


def _listed(raw: Mapping[str, Any], name: str, where: str) -> list[Any]:
    found = raw.get(name) or []
    if isinstance(found, list | tuple):
        return list(found)
    raise InputError(f"{name} is not a list", where=where, hint="write a list of objects")


# --- times ---

TIMES = ("timestamp", "created_at", "createdAt", "created")
"""Fields with the time of a message, in the message itself or in what LangChain keeps beside it."""


def _time(raw: Mapping[str, Any], where: str) -> str:
    beside = (_mapping(raw.get(name)) for name in ("additional_kwargs", "metadata"))
    for fields in (raw, *beside):
        for name in TIMES:
            if at := time_in(fields.get(name), f"{where}, {name}"):
                return at
    told = _mapping(raw.get("response_metadata"))
    for name in TIMES:
        with suppress(InputError):  # the application cannot change what a model's provider tells
            if at := time_in(told.get(name), ""):
                return at
    return ""


def time_in(given: Any, where: str) -> str:
    """Return the time in ISO 8601; empty for None and an empty text.

    Raises:
        InputError: It is no time in a form that `acc.clock.time_of` reads; the error names ``where``.
    """
    if given is None or given == "":
        return ""
    if found := time_of(given):
        return found.isoformat()
    raise InputError(
        f"{str(given)[:80]!r} is no time",
        where=where,
        hint='write it in ISO 8601, such as "2026-11-25T10:00:00+01:00", or as seconds since 1970',
    )
