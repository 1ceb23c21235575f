"""``acc doctor --endpoint``: asks a model's server one small question, as a compressor asks."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from acc.cli.doctor import Finding
from acc.clock import SystemClock
from acc.errors import CompressionError, ConfigurationError
from acc.models.answers import AnswerError, object_in
from acc.models.asking import Call, Format
from acc.models.failures import error_of, failure_of
from acc.models.openai_client import OpenAIModel
from acc.models.protocol import Completion, PromptMessage, Usage

TIMEOUT, SLOW = 60.0, 15.0
"""Seconds that the small question may take, and above which a compression may miss its time-out."""

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"greeting": {"type": "string"}, "letters": {"type": "integer"}},
    "required": ["greeting", "letters"],
    "additionalProperties": False,
}
_MESSAGES = (
    PromptMessage("system", "You greet people in French. If asked for JSON, you answer in JSON."),
    PromptMessage("user", "Greet me with one word, and tell how many letters it has."),
)
_IN_WORDS: Mapping[Format, str] = {
    "strict": "the server enforces the JSON Schema, strictly",
    "json_schema": "the server enforces the JSON Schema",
    "json_object": "the server ensures JSON; the prompt states the schema",
    "text": "plain text; the prompt states the schema",
}
_ADDRESS = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+):(?:\d+/|\d{4,5}$)|[^:@]+/v1/?$")
"""Matches an address without a scheme. "llama3:8b" and "org/model" do not match: they name models."""


class _Probe(OpenAIModel):
    """Keeps which formats were asked for."""

    def __init__(self, name: str, url: str) -> None:
        super().__init__(name, base_url=url or None, timeout=TIMEOUT, deadline=TIMEOUT, attempts=1)
        self.asked: list[Format] = []

    def send(self, call: Call) -> Completion:
        """Make one request."""
        self.asked.append(call.format)
        return super().send(call)


def check_endpoint(given: str) -> Iterator[Finding]:
    """Ask an endpoint a small question, in the strictest format that it takes.

    ``given`` is a model's NAME at OPENAI_BASE_URL, NAME@URL, or a URL, whose first listed model is asked.
    """
    if _ADDRESS.match(given):
        what = f"the address {given!r} does not begin with http:// or https://"
        yield Finding("bad", what, f"use --endpoint http://{given}, or https://{given}")
        return
    named, _, url = given.rpartition("@") if "://" in given else (given, "", "")
    try:
        probe = _Probe(named.removeprefix("openai:") or _first_listed(url), url)
        started = time.perf_counter()
        answer = probe.complete(_MESSAGES, _SCHEMA, max_tokens=1_024)
    except (ConfigurationError, CompressionError) as error:
        yield Finding.of_error(error)
        return
    for refused in dict.fromkeys(probe.asked[:-1]):
        yield Finding("note", f"output format {refused}: the server refuses it")
    yield _shape(probe, answer)
    if not answer.usage.input and not answer.usage.output:
        yield Finding("note", "the server does not report used tokens: acc cannot count the cost")
    seconds = (time.perf_counter() - started) / len(probe.asked)
    what, hint = f"a request took {seconds:.1f} s", "use a smaller model, or Settings(behind=True)"
    if seconds > SLOW:
        yield Finding("note", f"{what}; a compression reads and writes far more", hint)
    else:
        yield Finding("ok", what)


def _shape(probe: _Probe, answer: Completion) -> Finding:
    """Return whether the answer has the shape that was asked for."""
    if answer.cut_off:
        hint = "let the model reason less, or use another: its answer reached the limit of tokens"
        return Finding("bad", f"{probe.where}: the answer was cut off", hint)
    try:
        found = object_in(answer.text, ("greeting", "letters"))
        said = f"an object with the fields {', '.join(found)}"
    except AnswerError as error:
        found, said = {}, str(error)
    fits = isinstance(found.get("greeting"), str) and isinstance(found.get("letters"), int)
    if fits and len(found) == 2:
        return Finding("ok", f"{probe.where}: {_IN_WORDS[probe.asked[-1]]}")
    what = f"{probe.where}: it was to answer by a JSON Schema, and answered {said}"
    return Finding("bad", what, "use a stronger model: this one does not follow a JSON Schema")


def _first_listed(url: str) -> str:
    """Return the first model that a server lists."""
    import openai

    key = os.environ.get("OPENAI_API_KEY") or "none"
    hint = f"name the model: --endpoint NAME@{url}"
    try:
        client = openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=10.0)
        listed = [model.id for model in client.models.list().data or ()]
    except Exception as error:
        told = error_of(failure_of(error, SystemClock().now()), url, key, Usage())
        what = f"the server does not list its models: {told.what}"
        raise ConfigurationError(what, where=url, hint=f"{told.hint}; or {hint}") from error
    if not listed:
        raise ConfigurationError("the server lists no model", where=url, hint=hint)
    return listed[0]
