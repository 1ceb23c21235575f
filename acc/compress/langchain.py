"""Compresses with any LangChain chat model of any provider.

compressor = LangChainCompressor("anthropic:claude-x")
compressor = LangChainCompressor(my_chat_model)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from acc.compress.endpoint import Ask, Call, CallFailed, Reply
from acc.compress.failures import translated
from acc.compress.model import ModelCompressor, ModelOptions
from acc.compress.openai_calls import (
    LIMITS,
    NAME,
    SAMPLING,
    Known,
    OutputMode,
    calls_or_text,
    descend,
    finish,
    is_strict,
    limit_of,
    reply_of,
    tokens_by_kind,
    with_schema,
)
from acc.errors import ConfigurationError
from acc.logs import CONVERSATION
from acc.state.proposal import Outcome

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig

_OPENAI_RUNGS = (OutputMode.JSON_SCHEMA, OutputMode.STRUCTURED, OutputMode.TEXT)
_RUNGS = (OutputMode.STRUCTURED, OutputMode.TEXT)

RUN = "acc_compressor"
"""Name of the runs of the model in traces, and their ``lc_source``."""


class LangChainCompressor(ModelCompressor):
    """Proposes by asking a LangChain chat model."""

    def __init__(self, model: str | BaseChatModel, **options: Unpack[ModelOptions]) -> None:
        """Create the compressor for a model.

        Args:
            model: ``provider:model`` for LangChain's `init_chat_model`, or a chat model. A chat
                model that retries failed calls itself keeps doing so and is called once.
            options: Fields of `ModelSettings`: mode, guidance, price, deadline and so on.

        Raises:
            ConfigurationError: The provider is unknown, or a package or key is missing.
        """
        super().__init__(LangChainEndpoint(model), **options)


class LangChainEndpoint:
    """A LangChain chat model as an `Endpoint`; ``known`` is what this object knows about the model."""

    def __init__(self, model: str | BaseChatModel) -> None:
        named = isinstance(model, str)
        self._chat: Any = _whole(_made(model) if isinstance(model, str) else model)
        self.model = model if isinstance(model, str) else _name_of(model)
        repeats = getattr(self._chat, "max_retries", 0)
        self.retries_itself = not named and (repeats is None or repeats > 0)
        self._rungs = _OPENAI_RUNGS if _is_a(self._chat, "BaseChatOpenAI") else _RUNGS
        self._caches_marked = _is_a(self._chat, "ChatAnthropic")
        # a limit that the user set stands
        is_limited = getattr(self._chat, "max_tokens", 0) is not None
        self.known = Known(self._rungs[0], () if is_limited else LIMITS[1:2])
        self._sampling = [n for n in SAMPLING if getattr(self._chat, n, None) is not None]

    def steps(self, ask: Ask) -> Generator[Call, Reply, Reply]:
        """Yield the call on the known rung, then on lower ones while the model refuses the rung.

        Raises:
            CallFailed: The model refuses for another reason, or on every rung.
        """
        call = self.known.call(ask, sampling=self._sampling)
        return (yield from descend(call, self.known, self._rungs))

    def send(self, call: Call, seconds: float) -> Reply:
        """Make a call (`Endpoint.send`). The model's own setting limits the wait, not ``seconds``."""
        try:
            return _reply(self._asked(call).invoke(self._messages(call), _config()))
        except Exception as error:
            return _reply_in(error, self.model)

    async def asend(self, call: Call, seconds: float) -> Reply:
        """Asynchronous `send`."""
        try:
            return _reply(await self._asked(call).ainvoke(self._messages(call), _config()))
        except Exception as error:
            return _reply_in(error, self.model)

    def _asked(self, call: Call) -> Any:
        """The model with the output format of ``call.rung``."""
        chat = self._chat
        if refused := dict.fromkeys(name for name in self._sampling if name not in call.optional):
            chat = chat.model_copy(update=refused)
        if call.rung == OutputMode.STRUCTURED:
            return self._structured(chat, call)
        name = limit_of(call)
        bound: dict[str, Any] = {name: call.ask.limit} if name else {}
        if call.rung == OutputMode.JSON_SCHEMA:
            strict = is_strict(call.ask.schema)
            schema = {"name": NAME, "strict": strict, "schema": call.ask.schema}
            bound["response_format"] = {"type": "json_schema", "json_schema": schema}
        return chat.bind(**bound) if bound else chat

    def _messages(self, call: Call) -> list[tuple[str, Any]]:
        """The messages; for Anthropic the stable part ends with a marker for the prompt cache."""
        said: list[tuple[str, Any]] = [(each.role, each.text) for each in with_schema(call)]
        if self._caches_marked:
            role, text = said[0]
            marked = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
            said[0] = (role, [marked])
        return said

    def _structured(self, chat: Any, call: Call) -> Any:
        schema = {"title": NAME, "description": "The proposal.", **call.ask.schema}
        way = {"method": "function_calling"} if _is_a(chat, "BaseChatOpenAI") else {}
        try:
            return chat.with_structured_output(schema, include_raw=True, **way)
        except Exception as error:  # the model has no structured output; nothing was sent
            what = f"no structured output: {type(error).__name__}: {error}"
            raise CallFailed(Outcome.BAD_REQUEST, what) from error


def _config() -> RunnableConfig:
    """Return the config of a run. Its tag keeps the output out of the messages that LangGraph streams to the user."""
    from langchain_core.runnables.config import ensure_config

    thread = CONVERSATION.get()
    outer = ensure_config().get("metadata", {})
    about = {"thread_id": thread.thread} if thread is not None and "thread_id" not in outer else {}
    return {"tags": ["nostream"], "run_name": RUN, "metadata": {**outer, **about, "lc_source": RUN}}


def _made(name: str) -> Any:
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ConfigurationError(
            f"the model {name!r} needs LangChain, which is not installed",
            where="model",
            hint="pip install 'agent-cognitive-compressor[langchain]', or use openai:MODEL",
        ) from error
    try:
        return init_chat_model(name, max_retries=0)
    except Exception as error:  # an unknown provider, a missing package or a missing key
        said = " ".join(str(error).split())[:300]
        raise ConfigurationError(
            f"LangChain cannot create the chat model {name!r}: {type(error).__name__}: {said}",
            where="model",
            hint="use PROVIDER:MODEL with its langchain package and key, or openai:MODEL with "
            "OPENAI_BASE_URL",
        ) from error


def _whole(model: Any) -> Any:
    """Turn streaming off, because streamed answers usually come without usage."""
    if getattr(model, "streaming", False) is True and hasattr(model, "model_copy"):
        return model.model_copy(update={"streaming": False})
    return model


def _name_of(model: Any) -> str:
    named = (getattr(model, name, None) for name in ("model_name", "model"))
    return next((n for n in named if isinstance(n, str) and n), type(model).__name__)


_MOST_AROUND = 8
"""Maximum number of wrapper layers: with_config, with_retry, with_fallbacks, bind."""


def is_chat_model(model: Any) -> bool:
    """Whether ``model`` is a LangChain chat model, possibly wrapped with settings or fallbacks."""
    models: Any = sys.modules.get("langchain_core.language_models")
    for _ in range(_MOST_AROUND if models is not None else 0):
        if isinstance(model, models.BaseChatModel):
            return True
        model = getattr(model, "bound", None) or getattr(model, "runnable", None)
    return False


def _is_a(model: Any, name: str) -> bool:
    return any(kind.__name__ == name for kind in type(model).__mro__)


def _reply(answer: Any) -> Reply:
    """Return the reply in a message or in an ``include_raw`` result.

    The message has priority: LangChain's parser completes truncated objects and uses the first of several.
    """
    parsed = answer.get("parsed") if isinstance(answer, Mapping) else None
    message = answer.get("raw") if isinstance(answer, Mapping) else answer
    about = getattr(message, "response_metadata", None) or {}
    refusal = (getattr(message, "additional_kwargs", None) or {}).get("refusal")
    outcome = finish(about.get("finish_reason") or about.get("stop_reason"))
    if outcome is Outcome.OK and refusal:
        outcome = Outcome.REFUSAL
    text = _text(message)
    if not text and parsed is not None:
        text = json.dumps(parsed)
    return Reply(text, _usage(message), outcome, str(refusal or ""))


def _text(message: Any) -> str:
    """The arguments of a message's tool calls, valid or not; its text if it has none."""
    calls = [json.dumps(call.get("args")) for call in getattr(message, "tool_calls", None) or ()]
    invalid = getattr(message, "invalid_tool_calls", None) or ()
    calls += [str(call.get("args") or "") for call in invalid]
    return calls_or_text(calls, str(getattr(message, "text", "")))


def _usage(message: Any) -> dict[str, int] | None:
    usage = getattr(message, "usage_metadata", None)
    if not usage:
        return None
    return tokens_by_kind(
        usage["input_tokens"], usage["output_tokens"], usage.get("total_tokens") or 0,
        cached=_sum_of(usage.get("input_token_details"), "cache_read"),
        reasoning=_sum_of(usage.get("output_token_details"), "reasoning"),
    )  # fmt: skip


def _sum_of(details: Any, kind: str) -> int:
    """The tokens of a kind, which a service tier may precede, as in ``priority_cache_read``."""
    return sum(n or 0 for name, n in (details or {}).items() if name.endswith(kind))


def _reply_in(error: Exception, model: str) -> Reply:
    """Return the reply that an error carries, as some models do, or raise the translated error."""
    completion = getattr(error, "completion", None)
    if completion is not None and callable(getattr(completion, "to_dict", None)):
        return reply_of(completion.to_dict(warnings=False), "chat")
    if isinstance(error, NotImplementedError):  # no structured output; try the next rung
        raise CallFailed(Outcome.BAD_REQUEST, f"no structured output: {error}") from error
    raise translated(error, model) from error
