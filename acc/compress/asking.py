"""Asks a model for something other than a state: an answer, a summary, a judgement.

The endpoints are the compressors'. An endpoint constrains the model to a JSON Schema, so every
answer is an object; a text is its single field.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, cast

from acc.compress.answers import NoJson, json_in
from acc.compress.endpoint import Ask, CallFailed, Endpoint, Ledger, Message, Reply
from acc.compress.model import Patience, Run, as_compressor
from acc.compress.protocol import object_schema
from acc.errors import ConfigurationError, EvaluationError

TEXT_SCHEMA: Mapping[str, Any] = object_schema({"text": {"type": "string"}})


def asked(endpoint: Endpoint, ask: Ask, patience: Patience | None = None) -> Reply:
    """Return the reply of the model behind ``endpoint``; its outcome may be a refusal.

    Raises:
        EvaluationError: The model does not answer.
        ConfigurationError: The model cannot answer with this configuration.
    """
    try:
        return Run(endpoint, endpoint.steps(ask), Ledger(), patience or Patience()).finish()
    except CallFailed as failure:
        detail = f": {failure.detail}" if failure.detail else ""
        raise EvaluationError(
            f"the model does not answer: {failure.outcome}{detail}",
            where=endpoint.model,
            hint="run the same command again; calls that are in a log are not paid twice",
        ) from failure


def object_in(reply: Reply, schema: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    """Return the JSON object of a reply, or raise `EvaluationError`."""
    try:
        found = json_in(reply.text, schema["properties"])
    except NoJson as error:
        found, why = None, str(error)
    else:
        why = f"{type(found).__name__}, not an object"
    if isinstance(found, Mapping):
        return found
    raise EvaluationError(
        f"the model's answer is not a JSON object: {why}: {reply.text[:80]!r}",
        where=model,
        hint="use an endpoint that supports JSON schemas, another model, or allow longer answers",
    )


def text_in(reply: Reply) -> str:
    """Return the text of a reply that was requested with `TEXT_SCHEMA`, as far as it goes."""
    try:
        found = json_in(reply.text, ("text",))
    except NoJson:
        return _cut_off(reply.text) or reply.text.strip()
    text = found.get("text") if isinstance(found, Mapping) else None
    return text.strip() if isinstance(text, str) else reply.text.strip()


_BEGUN = re.compile(r'\s*\{\s*"text"\s*:\s*"((?:[^"\\]|\\(?:[^u]|u[0-9a-fA-F]{4}))*)')


def _cut_off(text: str) -> str:
    """The available part of the text field in a truncated object; empty if there is none."""
    begun = _BEGUN.match(text)
    return str(json.loads(f'"{begun[1]}"', strict=False)).strip() if begun else ""


def asked_text(endpoint: Endpoint, instruction: str, text: str, *, limit: int) -> str:
    """Return the model's answer as text, in at most ``limit`` tokens including its JSON.

    Raises:
        EvaluationError: The model does not answer.
    """
    messages = (Message("system", instruction), Message("user", text))
    return text_in(asked(endpoint, Ask(messages, TEXT_SCHEMA, limit)))


def endpoint_named(model: str) -> Endpoint:
    """Return the endpoint of a model.

    Args:
        model: ``openai:NAME`` or NAME, at OPENAI_BASE_URL with OPENAI_API_KEY;
            ``NAME@http://HOST/v1`` for another address; ``PROVIDER:NAME`` through LangChain.

    Raises:
        ConfigurationError: The model cannot be reached with this configuration.
    """
    name, at, url = model.rpartition("@")
    if at and url.startswith(("http://", "https://")):
        import openai

        # Local servers accept any key; the SDK requires one.
        key = os.environ.get("OPENAI_API_KEY") or "none"
        client = openai.OpenAI(base_url=url, api_key=key, max_retries=0)
        compressor: Any = as_compressor((client, name.removeprefix("openai:")))
    else:
        compressor = as_compressor(model)
    endpoint = getattr(compressor, "endpoint", None)
    if endpoint is None:
        raise ConfigurationError(
            "this is not a language model",
            where=model,
            hint="name one: openai:gpt-x, anthropic:claude-x",
        )
    return cast(Endpoint, endpoint)
