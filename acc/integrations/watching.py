"""See to it that the memory reaches the model, whatever other middlewares do to the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.tracers.context import register_configure_hook

from acc.errors import ConfigurationError
from acc.integrations.identity import within


class PromptWatch(BaseCallbackHandler):
    """Collects the prompts of all chat model calls in a block, including failed attempts.

    Attributes:
        prompts: The messages of each call, in order.
    """

    run_inline = True

    def __init__(self) -> None:
        self.prompts: list[list[BaseMessage]] = []

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **_: Any
    ) -> None:
        """Collect the prompts; LangChain calls this before each chat model call."""
        self.prompts.extend(messages)

    def check(self, memory: str) -> None:
        """Check that at least one prompt contains what the memory says.

        Raises:
            ConfigurationError: There were prompts, and none does.
        """
        # Without any prompt the answer came without a model, for example from a cache.
        if memory and self.prompts and not any(memory in _said(each) for each in self.prompts):
            raise ConfigurationError(
                "a middleware took the memory's state out of the prompt",
                where="a middleware listed after MemoryMiddleware",
                hint="list MemoryMiddleware after every middleware that writes prompts",
            )


def _said(prompt: Sequence[BaseMessage]) -> str:
    return "\n\n".join(str(m.text) for m in prompt if isinstance(m, SystemMessage))


_WATCH: ContextVar[PromptWatch | None] = ContextVar("acc_prompt_watch", default=None)
register_configure_hook(_WATCH, inheritable=True)


def watching() -> AbstractContextManager[PromptWatch]:
    """Collect the prompts of chat models called in the block, in this thread or task."""
    return within(_WATCH, PromptWatch())
