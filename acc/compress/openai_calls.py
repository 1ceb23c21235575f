"""OpenAI's two APIs: builds the arguments of a call and reads the response.

Response bodies are read leniently, as plain values, because servers omit fields.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from acc.compress.endpoint import Ask, Call, CallFailed, Message, Reply
from acc.compress.failures import FORMAT
from acc.logs import log_event
from acc.state.proposal import Outcome

_LOG = logging.getLogger(__name__)


class OutputMode(StrEnum):
    """A way to enforce the schema."""

    JSON_SCHEMA = "json_schema"
    STRUCTURED = "structured"
    TOOL = "tool"
    JSON_OBJECT = "json_object"
    TEXT = "text"


RUNGS = (OutputMode.JSON_SCHEMA, OutputMode.TOOL, OutputMode.JSON_OBJECT, OutputMode.TEXT)
"""The rungs of OpenAI's API, strictest first. ``structured`` is LangChain's: the provider's own way."""

IN_WORDS = {
    OutputMode.JSON_SCHEMA: "JSON schema: the endpoint makes the model follow the schema",
    OutputMode.STRUCTURED: "structured output: the provider enforces the schema in its own way",
    OutputMode.TOOL: "forced tool call: the model must call a tool that has the schema",
    OutputMode.JSON_OBJECT: "JSON object: the endpoint ensures JSON; the schema is in the prompt",
    OutputMode.TEXT: "plain text: the schema is in the prompt; the JSON is extracted from the answer",
}

LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")
"""Names of the answer's limit: at chat endpoints OpenAI's newer models, then most others; the responses API."""

SAMPLING = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty", "seed")
"""Arguments of a deployer that reasoning models refuse, and that an answer can do without."""

_NAMED = {name: re.compile(rf"\b{name}\b", re.I) for name in SAMPLING} | dict.fromkeys(
    LIMITS, re.compile(r"\bmax(?:imum)?[_ ](?:(?:completion|output|new)[_ ])?tokens\b", re.I)
)


@dataclass
class Known:
    """What is known about an endpoint.

    Attributes:
        rung: Its strictest rung.
        limits: Names of the answer's limit, in the order in which they are tried.
        refused: Optional arguments that it refuses.
        proven: Whether it has answered.
    """

    rung: OutputMode = OutputMode.JSON_SCHEMA
    limits: tuple[str, ...] = LIMITS[:2]
    refused: set[str] = field(default_factory=set)
    proven: bool = False

    def call(self, ask: Ask, rung: OutputMode | None = None, sampling: Sequence[str] = ()) -> Call:
        """Return a call with the arguments that it is not known to refuse."""
        names = (*self.limits, *sampling)
        optional = tuple(name for name in names if name not in self.refused)
        return Call(ask, rung or self.rung, optional)


_KNOWN: dict[tuple[str, str, str], Known] = {}


def known(base_url: str, model: str, api: str) -> Known:
    """Return what this process knows about an endpoint so far."""
    newest = "api.openai.com" in base_url or ".azure.com" in base_url
    limits = LIMITS[2:] if api == "responses" else LIMITS[:2] if newest else LIMITS[1::-1]
    return _KNOWN.setdefault((base_url, model, api), Known(limits=limits))


def forget() -> None:
    """Delete the knowledge about all endpoints; the next call starts at the strictest rung."""
    _KNOWN.clear()


REFUSED = (Outcome.BAD_REQUEST, Outcome.NOT_FOUND)
"""Outcomes that may concern the output format or an optional argument."""


def descend(
    call: Call, found: Known, rungs: Sequence[OutputMode] = RUNGS
) -> Generator[Call, Reply, Reply]:
    """Yield ``call``; while the endpoint refuses it, yield the next call down. Record what it accepts.

    Raises:
        CallFailed: The endpoint refuses on every rung (its first refusal), or fails for another reason.
    """
    begun = call
    following: Call | None = call
    first: CallFailed | None = None
    while following is not None:
        call = following
        try:
            reply = yield call
        except CallFailed as failure:
            if failure.outcome not in REFUSED:
                raise
            first = first or failure
            following = next_call(call, failure, rungs, proven=found.proven)
        else:
            found.rung, found.proven = OutputMode(call.rung), True
            _learn(found, set(begun.optional) - set(call.optional), first)
            return reply
    raise first or CallFailed(Outcome.BAD_REQUEST, "refused on every rung")


def _learn(found: Known, refused: set[str], why: CallFailed | None) -> None:
    """Record the arguments that an endpoint refused, and tell which ones the next requests go without."""
    found.refused |= refused
    lost = refused.intersection(SAMPLING)
    if refused and not set(found.limits) - found.refused:
        lost |= refused.intersection(LIMITS)
    if lost:
        log_event(
            _LOG, logging.WARNING, "argument_refused",
            "the endpoint refuses arguments; requests go without", arguments=sorted(lost),
            outcome=why.outcome if why is not None else None,
        )  # fmt: skip


def next_call(
    call: Call, failure: CallFailed, rungs: Sequence[OutputMode] = RUNGS, *, proven: bool
) -> Call | None:
    """Return the call after ``failure``: without the argument that it names, or the next rung down, or None.

    An endpoint that has answered on this rung must name the format in its refusal. For a new endpoint any bad
    request counts.
    """
    if failure.outcome not in REFUSED:
        return None
    if name := _argument_in(failure.detail, call):
        return call._replace(optional=tuple(n for n in call.optional if n != name))
    names_format = FORMAT.search(failure.detail) is not None
    if not names_format and (proven or failure.outcome is Outcome.NOT_FOUND):
        return None
    below = rungs[rungs.index(OutputMode(call.rung)) + 1 :]
    return call._replace(rung=below[0]) if below else None


_PARAM = re.compile(r"\(param ([\w.]+)\)")


def _argument_in(detail: str, call: Call) -> str:
    """The optional argument of ``call`` that a refusal names, before it names the format, or empty."""
    told = _PARAM.search(detail)
    text = told[1] if told else detail
    sent = (limit_of(call), *(name for name in call.optional if name in SAMPLING))
    found = {name: at.start() for name in filter(None, sent) if (at := _NAMED[name].search(text))}
    form = FORMAT.search(text)
    first = min(found, key=found.__getitem__, default="")
    return first if first and (form is None or found[first] < form.start()) else ""


def limit_of(call: Call) -> str:
    """Return the name under which the request carries the answer's limit; empty if it carries none."""
    return next((name for name in call.optional if name in LIMITS), "")


Api = Literal["chat", "responses"]

NAME = "propose_state"
"""Name of the schema or of the tool."""

_TEXTS = ("text", "output_text")
"""Types of the parts of a message that belong to the answer."""

_FINISHES = {
    "length": Outcome.TRUNCATED,
    "max_tokens": Outcome.TRUNCATED,
    "max_output_tokens": Outcome.TRUNCATED,
    "content_filter": Outcome.CONTENT_FILTER,
    "refusal": Outcome.REFUSAL,
    "safety": Outcome.CONTENT_FILTER,
}


def finish(reason: Any) -> Outcome:
    """Return the outcome for a provider's finish reason."""
    return _FINISHES.get(str(reason).lower(), Outcome.OK)


def body_of(call: Call, api: Api) -> dict[str, Any]:
    """Return the arguments of the SDK's ``create``, except the model."""
    messages = with_schema(call)
    said = [{"role": message.role, "content": message.text} for message in messages]
    name = limit_of(call)
    limit = {name: call.ask.limit} if name else {}
    if api == "chat":
        return {"messages": said, **limit, **_format(call, api)}
    return {"input": said, **limit, "store": False, **_format(call, api)}


def with_schema(call: Call) -> Sequence[Message]:
    """Return the messages. If the endpoint does not get the schema, the first message includes it."""
    first, *rest = call.ask.messages
    if call.rung not in (OutputMode.JSON_OBJECT, OutputMode.TEXT):
        return call.ask.messages
    schema = json.dumps(call.ask.schema, ensure_ascii=False, separators=(",", ":"))
    asked = f"{first.text}\n\nThe JSON object has to fit this JSON Schema:\n{schema}"
    return (first._replace(text=asked), *rest)


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Return whether strict structured output accepts ``schema``: each property of it is required."""
    return set(schema["required"]) == set(schema["properties"])


def _format(call: Call, api: Api) -> dict[str, Any]:
    """Return the arguments that ask for the rung's output format; none on the lowest rung."""
    is_chat = api == "chat"
    if call.rung == OutputMode.TOOL:
        tool = {"name": NAME, "parameters": call.ask.schema, "strict": is_strict(call.ask.schema)}
        if is_chat:
            return {
                "tools": [{"type": "function", "function": tool}],
                "tool_choice": {"type": "function", "function": {"name": NAME}},
            }
        choice = {"type": "function", "name": NAME}
        return {"tools": [{"type": "function", **tool}], "tool_choice": choice}
    form: dict[str, Any] = {"type": str(call.rung)}
    if call.rung == OutputMode.JSON_SCHEMA:
        schema = {"name": NAME, "strict": is_strict(call.ask.schema), "schema": call.ask.schema}
        form |= {"json_schema": schema} if is_chat else schema
    elif call.rung != OutputMode.JSON_OBJECT:
        return {}
    return {"response_format": form} if is_chat else {"text": {"format": form}}


def reply_of(body: Any, api: Api) -> Reply:
    """Return the reply in a response body; raise `CallFailed` if it is no JSON object or reports an error."""
    if not isinstance(body, Mapping):
        detail = " ".join(str(body).split())[:200]
        raise CallFailed(Outcome.MALFORMED_REPLY, f"the reply is no JSON object: {detail}")
    if error := body.get("error"):
        said = error.get("message", error) if isinstance(error, Mapping) else error
        raise CallFailed(Outcome.SERVER_ERROR, f"the reply tells of an error: {str(said)[:400]}")
    return _chat_reply(body) if api == "chat" else _responses_reply(body)


def _chat_reply(body: Mapping[str, Any]) -> Reply:
    choice = next(_maps(body.get("choices")), None)
    if choice is None:
        return Reply("", _usage(body.get("usage")), Outcome.EMPTY, "no choice in the reply")
    message = _map(choice.get("message"))
    called = [_arguments(_map(call.get("function"))) for call in _maps(message.get("tool_calls"))]
    text = calls_or_text(called, _joined(message.get("content")))
    refusal = message.get("refusal")
    outcome = Outcome.REFUSAL if refusal else finish(choice.get("finish_reason"))
    return Reply(text, _usage(body.get("usage")), outcome, str(refusal or ""))


def _responses_reply(body: Mapping[str, Any]) -> Reply:
    output = list(_maps(body.get("output")))
    parts = [
        part
        for item in output
        if item.get("type") == "message"
        for part in _maps(item.get("content"))
    ]
    called = [_arguments(item) for item in output if item.get("type") == "function_call"]
    said = _joined(parts)
    refusal = next((str(p.get("refusal")) for p in parts if p.get("refusal")), "")
    outcome = finish(_map(body.get("incomplete_details")).get("reason"))
    if refusal:
        outcome = Outcome.REFUSAL
    return Reply(calls_or_text(called, said), _usage(body.get("usage")), outcome, refusal)


def calls_or_text(arguments: Iterable[str], text: str) -> str:
    """Return the arguments of all tool calls, or ``text`` if there are none."""
    return "\n".join(filter(None, arguments)) or text


def _arguments(called: Mapping[str, Any]) -> str:
    """A call's arguments: text by the API, an object from some servers."""
    given = called.get("arguments") or ""
    return given if isinstance(given, str) else json.dumps(given)


def _usage(usage: Any) -> dict[str, int] | None:
    """Tokens by kind, from the names of either API; None without a count.

    Some servers count reasoning beside the completion, in the total alone. It is part of the output.
    """
    counts = _map(usage)
    read = _count(counts, "prompt_tokens", "input_tokens")
    wrote = _count(counts, "completion_tokens", "output_tokens")
    if read is None and wrote is None:
        return None
    details = _map(counts.get("prompt_tokens_details") or counts.get("input_tokens_details"))
    thought = _map(counts.get("completion_tokens_details") or counts.get("output_tokens_details"))
    return tokens_by_kind(
        read or 0,
        wrote or 0,
        _count(counts, "total_tokens") or 0,
        cached=_count(details, "cached_tokens") or 0,
        reasoning=_count(thought, "reasoning_tokens") or 0,
    )


def tokens_by_kind(
    read: int, wrote: int, total: int, *, cached: int, reasoning: int
) -> dict[str, int]:
    """Return the usage: ``cached`` is part of ``input``, and ``reasoning``, if reported, of ``output``."""
    beside = reasoning and total >= read + wrote + reasoning
    usage = {"input": read, "output": wrote + reasoning if beside else wrote, "cached": cached}
    return usage | ({"reasoning": reasoning} if reasoning else {})


def _count(counts: Mapping[str, Any], *names: str) -> int | None:
    found = (counts.get(name) for name in names)
    return next((n for n in found if isinstance(n, int) and n >= 0), None)


def _joined(content: Any) -> str:
    """A message's text, without parts of reasoning."""
    if isinstance(content, str):
        return content
    said = (part for part in _maps(content) if part.get("type", "text") in _TEXTS)
    return "".join(str(part.get("text") or "") for part in said)


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _maps(values: Any) -> Iterator[Mapping[str, Any]]:
    return (v for v in (values if isinstance(values, list) else ()) if isinstance(v, Mapping))
