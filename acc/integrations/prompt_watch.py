"""What reaches the chat model, as it is sent: to see whether the state is still in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.tracers.context import register_configure_hook

from acc.errors import ConfigurationError


class PromptWatch(BaseCallbackHandler):
    """Collects the prompts of the chat models that are called in a block, tried ones included.

    Attributes:
        prompts: The messages of each call, in order.
    """

    run_inline = True

    def __init__(self) -> None:
        self.prompts: list[list[BaseMessage]] = []

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **_: Any
    ) -> None:
        """Called by LangChain before each call of a chat model."""
        self.prompts.extend(messages)

    def check(self, state: str, user_id: str | None) -> None:
        """See that one of the prompts holds what was laid out.

        Args:
            state: The rendered state.
            user_id: Id of the user's current message, if there is one.

        Raises:
            ConfigurationError: None of them holds the state, or the user's message.
        """
        lost = [part for prompt in self.prompts if (part := _lost(prompt, state, user_id))]
        # Without any prompt it was answered without a model, by a cache say.
        if self.prompts and len(lost) == len(self.prompts):
            raise ConfigurationError(
                f"a middleware took {lost[-1]} out of the prompt",
                where="a middleware listed after MemoryMiddleware",
                mend="list MemoryMiddleware after every middleware that writes prompts",
            )


_WATCH: ContextVar[PromptWatch | None] = ContextVar("acc_prompt_watch", default=None)
register_configure_hook(_WATCH, inheritable=True)


@contextmanager
def watching() -> Iterator[PromptWatch]:
    """Watch the chat models that are called in the block, in this thread or task."""
    watch = PromptWatch()
    token = _WATCH.set(watch)
    try:
        yield watch
    finally:
        _WATCH.reset(token)


def _lost(prompt: Sequence[BaseMessage], state: str, user_id: str | None) -> str:
    said = "\n\n".join(str(m.text) for m in prompt if isinstance(m, SystemMessage))
    if state not in said:
        return "the memory's state"
    if user_id is not None and all(m.id != user_id for m in prompt):
        return "the user's message"
    return ""
