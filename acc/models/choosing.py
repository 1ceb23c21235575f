"""One argument for any model: a name, an address, a client, or a chat model of LangChain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from acc.errors import ConfigurationError
from acc.models.asking import AskedModel, Request, answered
from acc.models.openai_client import OpenAIModel, completion_in, tokens
from acc.models.protocol import ChatModel, Completion, Price

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

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
    for scheme in ("@http://", "@https://"):
        model, at, rest = name.removeprefix("openai:").partition(scheme)
        if model and rest:
            return OpenAIModel(model, base_url=f"{at[1:]}{rest}")
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
        if _is_a(given, "BaseChatModel"):
            return True
        given = getattr(given, "bound", None) or getattr(given, "runnable", None)
    return False


_RUN: Any = {"tags": ["nostream"], "run_name": "acc_compressor"}
"""The run's name in traces, and the tag that keeps it out of what LangGraph streams to the user."""


class LangChainModel(AskedModel):
    """A LangChain chat model. Its own time-out and retries apply: nothing is tried again here.

    OpenAI's chat models get the schema as ``response_format``; any other one is asked for JSON in words.
    """

    def __init__(self, chat_model: BaseChatModel, price: Price | None = None) -> None:
        names = (getattr(chat_model, name, None) for name in ("model_name", "model"))
        name = next((n for n in names if isinstance(n, str) and n), type(chat_model).__name__)
        form: Any = "schema" if _is_a(chat_model, "BaseChatOpenAI") else "words"
        super().__init__(name, price=price, format=form)
        self._chat: Any = chat_model
        if getattr(chat_model, "streaming", False) is True:  # streams often leave the usage out
            self._chat = chat_model.model_copy(update={"streaming": False})

    def send(self, request: Request) -> Completion:
        """Make one request."""
        try:
            return self._read(self._bound(request).invoke(request.prompt, _RUN))
        except Exception as error:
            return self._kept_in(error)

    async def asend(self, request: Request) -> Completion:
        """Make one request."""
        try:
            return self._read(await self._bound(request).ainvoke(request.prompt, _RUN))
        except Exception as error:
            return self._kept_in(error)

    def _bound(self, request: Request) -> Any:
        takes_limit = request.max_tokens and hasattr(self._chat, "max_tokens")
        limit = {"max_tokens": request.max_tokens} if takes_limit else {}
        return self._chat.bind(**limit, **request.response_format)

    def _read(self, message: Any) -> Completion:
        about, usage = message.response_metadata or {}, message.usage_metadata or {}
        cached = (usage.get("input_token_details") or {}).get("cache_read")
        finish = str(about.get("finish_reason") or about.get("stop_reason") or "").lower()
        refusal = str(message.additional_kwargs.get("refusal") or "")
        spent = tokens(usage.get("input_tokens"), usage.get("output_tokens"), cached)
        model = str(about.get("model_name") or about.get("model") or self.name)
        return answered(message.text, finish, refusal, spent, model)

    def _kept_in(self, error: Exception) -> Completion:
        """The completion in an error: OpenAI's SDK raises one for an answer that is cut off."""
        if (kept := getattr(error, "completion", None)) is None:
            raise error
        return completion_in(kept, self.name)


def _is_a(model: Any, name: str) -> bool:
    """Return whether a class of ``model`` has this name. It imports nothing to find out."""
    return any(kind.__name__ == name for kind in type(model).__mro__)
