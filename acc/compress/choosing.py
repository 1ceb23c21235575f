"""Selects the compressor for a model's name, a chat model, or a client with a name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Unpack

from acc.compress.protocol import Compressor
from acc.errors import ConfigurationError

if TYPE_CHECKING:
    from acc.compress.model import ModelOptions


def chosen(compressor: Compressor | None, model: Any) -> Compressor | None:
    """Return the compressor, or one that asks ``model``; None for the keyless rules.

    Raises:
        ConfigurationError: Both are set, or the model cannot be asked.
    """
    if model is None:
        return compressor
    if compressor is not None:
        raise ConfigurationError(
            "both a compressor and a model",
            where="compressor, model",
            hint="give one: a compressor of a model is as_compressor(model, ...)",
        )
    return as_compressor(model)


def as_compressor(model: Any, **options: Unpack[ModelOptions]) -> Compressor:
    """Return a compressor that asks ``model``.

    Args:
        model: A name: ``openai:NAME`` or NAME, at OPENAI_BASE_URL with OPENAI_API_KEY;
            ``PROVIDER:NAME`` through LangChain. Or a LangChain chat model. Or OpenAI clients and
            a name, as ``(client, "name")`` or ``(client, async_client, "name")``.
        options: Fields of `acc.compress.model.ModelSettings`.

    Raises:
        ConfigurationError: ``model`` is none of these, or a key or package is missing.
    """
    from acc.compress.model import ModelCompressor

    if isinstance(model, ModelCompressor) and not options:
        return model
    if isinstance(model, str) and model:
        return _named(model, options)
    if isinstance(model, tuple) and 2 <= len(model) <= 3 and isinstance(model[-1], str):
        from acc.compress.openai import OpenAICompressor

        clients = dict(zip(("client", "async_client"), model[:-1], strict=False))
        return OpenAICompressor(model[-1], **clients, **options)
    if _is_chat_model(model):
        from acc.compress.langchain import LangChainCompressor

        return LangChainCompressor(model, **options)
    raise ConfigurationError(
        f"{type(model).__name__} is no model",
        where="model",
        hint='"gpt-x", "openai:gpt-x", "anthropic:claude-x", a LangChain chat model, or (client, "gpt-x")',
    )


def _named(name: str, options: ModelOptions) -> Compressor:
    provider, colon, rest = name.partition(":")
    if colon and provider != "openai":
        from acc.compress.langchain import LangChainCompressor

        return LangChainCompressor(name, **options)
    from acc.compress.openai import OpenAICompressor

    compressor = OpenAICompressor(rest if colon else name, **options)
    compressor.endpoint.ready()
    return compressor


def _is_chat_model(model: Any) -> bool:
    """Whether it is a LangChain chat model, possibly wrapped with settings or fallbacks."""
    models = sys.modules.get("langchain_core.language_models")
    inner, around = model, 0
    while models is not None and inner is not None and around < _MOST_AROUND:
        if isinstance(inner, models.BaseChatModel):
            return True
        inner, around = (
            getattr(inner, "bound", None) or getattr(inner, "runnable", None),
            around + 1,
        )
    return False


_MOST_AROUND = 8
"""Maximum number of wrapper layers: with_config, with_retry, with_fallbacks, bind."""
