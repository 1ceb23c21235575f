"""Asks a model for something other than a state: an answer, a summary, a judgement.

A model is held to a JSON Schema, so every answer is an object; a text is its single field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from acc.errors import CompressionError, EvaluationError
from acc.models.protocol import AnswerError, ChatModel, Completion, Messages, PromptMessage, Usage
from acc.models.protocol import object_in as found_in

TEXT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}

WITHHELD = ("refusal", "content_filter", "empty")
"""Outcomes of a request that the model answered, without saying anything."""


def asked(
    model: ChatModel, messages: Messages, schema: Mapping[str, Any], limit: int
) -> Completion:
    """Return the answer of ``model`` in at most ``limit`` tokens; a refusal has an empty text.

    Raises:
        EvaluationError: The model does not answer.
        ConfigurationError: The model cannot answer with this configuration.
    """
    try:
        return model.complete(messages, schema, max_tokens=limit)
    except CompressionError as failure:
        if failure.outcome in WITHHELD:
            return Completion("", Usage(), model.name)
        raise EvaluationError(
            f"the model does not answer: {failure.outcome}: {failure.what}",
            where=model.name,
            hint="run the same command again; calls that are in a log are not paid twice",
        ) from failure


def object_in(text: str, schema: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    """Return the JSON object of an answer, or raise `EvaluationError`."""
    try:
        return found_in(text, tuple(schema["properties"]))
    except AnswerError as error:
        raise EvaluationError(
            f"the model's answer is not a JSON object: {error}: {text[:80]!r}",
            where=model,
            hint="use an endpoint that supports JSON schemas, another model, or allow longer answers",
        ) from error


def text_in(answer: str) -> str:
    """Return the text of an answer that was requested with `TEXT_SCHEMA`, as far as it goes."""
    try:
        text = found_in(answer, ("text",)).get("text")
    except AnswerError:
        return _cut_off(answer) or answer.strip()
    return text.strip() if isinstance(text, str) else answer.strip()


_BEGUN = re.compile(r'\s*\{\s*"text"\s*:\s*"((?:[^"\\]|\\(?:[^u]|u[0-9a-fA-F]{4}))*)')


def _cut_off(text: str) -> str:
    """The available part of the text field in a truncated object; empty if there is none."""
    begun = _BEGUN.match(text)
    return str(json.loads(f'"{begun[1]}"', strict=False)).strip() if begun else ""


def asked_text(model: ChatModel, instruction: str, text: str, *, limit: int) -> str:
    """Return the model's answer as text, in at most ``limit`` tokens including its JSON.

    Raises:
        EvaluationError: The model does not answer.
    """
    messages = (PromptMessage("system", instruction), PromptMessage("user", text))
    return text_in(asked(model, messages, TEXT_SCHEMA, limit).text)
