"""Chat models of LangChain without structured output are asked in plain text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asking import GOOD, retries, stepped, transport

pytest.importorskip("langchain_core")

from langchain_core.language_models.fake_chat_models import FakeListChatModel

from acc.compress.langchain import LangChainCompressor
from acc.testing import ModelServer


class Toolless(FakeListChatModel):
    """A local model without tools, as Ollama's: it says so only when it is asked."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools)

    def _call(self, *args: Any, **kwargs: Any) -> str:
        if "tools" in kwargs:
            raise Refusing("llama-x does not support tools", 400)
        return super()._call(*args, **kwargs)


class Refusing(Exception):
    def __init__(self, said: str, status_code: int) -> None:
        super().__init__(said)
        self.status_code = status_code


class Unbindable(FakeListChatModel):
    """Its tools cannot even be bound."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        raise AttributeError("no tools here")


@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize("kind", [Toolless, Unbindable])
def test_a_model_without_tools_is_asked_in_plain_text(kind: Any, how: str) -> None:
    asked = LangChainCompressor(kind(responses=[json.dumps(GOOD)]), retries=retries())
    for _ in range(2):
        step = stepped(asked, how=how)
        assert step.outcome == "ok"
        assert step.account is not None
        assert step.account.rung == "text"
    assert step.account.calls == ("ok",)  # remembered


def test_a_model_that_streams_to_its_user_answers_the_compressor_whole() -> None:
    openai = pytest.importorskip("langchain_openai")
    with ModelServer(lambda _: GOOD) as server:
        model = openai.ChatOpenAI(
            model="m", base_url=server.base_url, api_key="x", streaming=True, max_retries=0,
            http_client=transport(),
        )  # fmt: skip
        step = stepped(LangChainCompressor(model, retries=retries()))
    assert step.outcome == "ok"
    assert step.usage["output"] > 0
    assert model.streaming  # the caller's own stays as it is
