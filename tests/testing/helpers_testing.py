"""The real SDK in the four ways a program can use it, behind one call."""

from __future__ import annotations

import asyncio
import ssl
from functools import cache
from typing import Any, Literal, TypeAlias

import httpx2
import openai
from pydantic import BaseModel, ConfigDict

How: TypeAlias = Literal["chat", "responses", "async chat", "async responses"]

WAYS: tuple[How, ...] = ("chat", "responses", "async chat", "async responses")


class Plan(BaseModel):
    """What the tests ask a model for."""

    model_config = ConfigDict(extra="forbid")
    goal: str
    steps: list[str]


IMPATIENT = httpx2.Timeout(10, read=0.05)
"""Waits for a server that is busy, not for an answer."""

PLAN = {"goal": "ship é", "steps": ["build", "test"]}
PLAN_SCHEMA = Plan.model_json_schema() | {"additionalProperties": False}


def ask(
    how: How,
    base_url: str,
    *,
    parse: bool = False,
    user: str = "hi",
    model: str = "test-model",
    key: str = "none",
    timeout: float | httpx2.Timeout = 10.0,
    retries: int = 0,
    **body: Any,
) -> Any:
    """Have the SDK call ``create``, or ``parse`` for a Plan, and give what it returns."""
    chat = how.endswith("chat")
    body = {"model": model, **({"messages": said(user)} if chat else {"input": said(user)}), **body}
    if parse:
        body["response_format" if chat else "text_format"] = Plan
    options = {"base_url": base_url, "api_key": key, "timeout": timeout, "max_retries": retries}
    if how.startswith("async"):
        return asyncio.run(_ask_async(chat, parse, options, body))
    return _method(_client().with_options(**options), chat, parse)(**body)


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Plan."}, {"role": "user", "content": text}]


def format_arguments(how: How, format_: str) -> dict[str, Any]:
    """What asks for an answer in ``format_``, in the words of either API."""
    chat = how.endswith("chat")
    named: dict[str, Any] = {"name": "plan", "strict": True}
    if format_ == "tool":
        function = {**named, "parameters": PLAN_SCHEMA}
        tool = {"function": function} if chat else function
        choice = {"function": {"name": "plan"}} if chat else {"name": "plan"}
        wanted = {"tool_choice": {"type": "function", **choice}}
        return {"tools": [{"type": "function", **tool}], **wanted}
    asked: dict[str, Any] = {"type": format_}
    if format_ == "json_schema":
        schema = {**named, "schema": PLAN_SCHEMA}
        asked |= {"json_schema": schema} if chat else schema
    return {"response_format": asked} if chat else {"text": {"format": asked}}


def text_of(answer: Any) -> Any:
    """The text of an answer of either API."""
    return answer.choices[0].message.content if hasattr(answer, "choices") else answer.output_text


def arguments_of(answer: Any) -> tuple[str, str]:
    """Name and arguments of the one tool call in an answer of either API."""
    if hasattr(answer, "choices"):
        (call,) = answer.choices[0].message.tool_calls
        return call.function.name, call.function.arguments
    (call,) = answer.output
    return call.name, call.arguments


def bill_of(answer: Any) -> tuple[int, int, int]:
    """Input, output and cached tokens of an answer of either API."""
    usage = answer.usage
    if hasattr(answer, "choices"):
        cached = usage.prompt_tokens_details.cached_tokens
        return usage.prompt_tokens, usage.completion_tokens, cached
    return usage.input_tokens, usage.output_tokens, usage.input_tokens_details.cached_tokens


async def _ask_async(chat: bool, parse: bool, options: dict[str, Any], body: dict[str, Any]) -> Any:
    transport = openai.DefaultAsyncHttpx2Client(verify=_trust())
    async with openai.AsyncOpenAI(**options, http_client=transport) as client:
        return await _method(client, chat, parse)(**body)


def _method(client: Any, chat: bool, parse: bool) -> Any:
    resource = client.chat.completions if chat else client.responses
    return resource.parse if parse else resource.create


@cache
def _trust() -> ssl.SSLContext:
    """Reading the certificates takes ten times as long as asking."""
    return ssl.create_default_context()


@cache
def _client() -> openai.OpenAI:
    return openai.OpenAI(api_key="none")
