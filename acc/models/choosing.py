"""One argument for any model: a name, an address, a client, a chat model."""

from __future__ import annotations

import re
from typing import Any, cast

from acc.errors import ConfigurationError
from acc.models.langchain_client import LangChainModel, is_a
from acc.models.openai_client import OpenAIModel
from acc.models.protocol import ChatModel

_AT = re.compile(r"(?:openai:)?(?P<name>.+?)@(?P<url>https?://.+)", re.DOTALL)
_FORMS = (
    'pass "NAME" or "openai:NAME", "NAME@http://host:port/v1", "PROVIDER:NAME" with its langchain package, '
    '(OpenAI(...), "NAME"), a LangChain chat model, or an object with complete and acomplete'
)


def as_model(given: Any) -> ChatModel:
    """Return the model that ``given`` stands for.

    Args:
        given: A `ChatModel`; ``NAME`` or ``openai:NAME`` at OPENAI_BASE_URL; ``NAME@http://host/v1``;
            ``PROVIDER:NAME`` of LangChain's `init_chat_model`; a pair of an OpenAI client and a name; or a
            LangChain chat model, also with settings bound to it.

    Raises:
        ConfigurationError: It stands for none. The hint lists the forms.
    """
    if isinstance(given, str) and given.strip():
        return _named(given.strip())
    if all(callable(getattr(given, name, None)) for name in ("complete", "acomplete")):
        return cast(ChatModel, given)
    if _is_chat_model(given):
        return LangChainModel(given)
    client, name = given if isinstance(given, tuple) and len(given) == 2 else (None, None)
    if hasattr(client, "chat") and isinstance(name, str):
        return OpenAIModel(name, client=client)
    raise ConfigurationError(f"{type(given).__name__} is no model", where="model", hint=_FORMS)


def _named(name: str) -> ChatModel:
    if found := _AT.fullmatch(name):
        return OpenAIModel(found["name"], base_url=found["url"])
    provider, colon, rest = name.partition(":")
    if not colon or provider == "openai":
        return OpenAIModel(rest if colon else name)
    try:
        from langchain.chat_models import init_chat_model

        return LangChainModel(init_chat_model(name))
    except Exception as error:  # no langchain, an unknown provider, a missing package or key
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        hint = f"install the provider's langchain package, or use openai:{name}"
        what = f"LangChain makes no chat model of {name!r}: {said}"
        raise ConfigurationError(what, where="model", hint=hint) from error


def _is_chat_model(given: Any) -> bool:
    for _ in range(8):  # with_config, with_retry and bind wrap a model in others
        if is_a(given, "BaseChatModel"):
            return True
        given = getattr(given, "bound", None) or getattr(given, "runnable", None)
    return False
