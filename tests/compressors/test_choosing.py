"""What `model=` may be: a name, a chat model, or clients and a name."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import openai
import pytest
from asking import GOOD, TURN, InProcess, asking, retries, stepped

from acc.compress.model import ModelCompressor, as_compressor
from acc.compress.openai import OpenAICompressor
from acc.controller import MemoryController
from acc.errors import ConfigurationError
from acc.pipeline.update import update_state
from acc.testing import Capabilities, FailingCompressor, ModelServer


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def of_environment(monkeypatch: pytest.MonkeyPatch, server: ModelServer) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "key-1")


@pytest.mark.parametrize("name", ["test-model", "openai:test-model", "openai:llama3:8b"])
def test_a_name_is_asked_at_the_endpoint_of_the_environment(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(lambda _: GOOD, capabilities=Capabilities(api_key="key-1")) as server:
        of_environment(monkeypatch, server)
        done = update_state(None, TURN, model=name)
    assert len(done.state.constraints) == 1
    assert server.requests[0].model == name.removeprefix("openai:")


def test_a_memory_takes_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(lambda _: GOOD) as server:
        of_environment(monkeypatch, server)
        with MemoryController.open(tmp_path, model="test-model") as memory:
            assert memory.step(None, TURN, thread="t").outcome == "ok"


def test_each_event_loop_has_connections_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(lambda _: GOOD) as server:
        of_environment(monkeypatch, server)
        compressor = OpenAICompressor("test-model")
        for _ in range(2):
            proposal = asyncio.run(compressor.acompress(TURN.numbered(1), _empty(), ()))
            assert len(proposal.items) == 2


def test_clients_and_a_name_are_asked_without_their_own_retries() -> None:
    with ModelServer(lambda _: GOOD) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=5)
        aclient = openai.AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=5)
        for model in ((client, "m"), (client, aclient, "m")):
            compressor = as_compressor(model, retries=retries())
            assert len(compressor(TURN.numbered(1), _empty(), ()).items) == 2
    assert client.max_retries == 5
    assert {r.headers["x-stainless-retry-count"] for r in server.requests} == {"0"}


def test_an_address_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with ModelServer(lambda _: GOOD) as server:
        compressor = OpenAICompressor("m", base_url=server.base_url)
        proposals = [
            compressor(TURN.numbered(1), _empty(), ()),
            asyncio.run(compressor.acompress(TURN.numbered(1), _empty(), ())),
        ]
        client = openai.OpenAI(base_url=server.base_url, api_key="x")
        with pytest.raises(ConfigurationError, match="both base_url and a client"):
            OpenAICompressor("m", client=client, base_url=server.base_url)
    assert [len(p.items) for p in proposals] == [2, 2]
    assert compressor.endpoint.where == f"m at {server.base_url}"


def test_what_stands_before_the_host_is_not_told() -> None:
    compressor = OpenAICompressor("m", base_url="http://user:secret@127.0.0.1:9/v1/")
    assert compressor.endpoint.where == "m at http://127.0.0.1:9/v1"


def test_a_synchronous_client_alone_serves_asynchronous_steps() -> None:
    with ModelServer(lambda _: GOOD) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="x")
        compressor = OpenAICompressor("m", client=client)
        proposal = asyncio.run(compressor.acompress(TURN.numbered(1), _empty(), ()))
    assert len(proposal.items) == 2


def test_an_asynchronous_client_alone_says_what_it_cannot() -> None:
    client = openai.AsyncOpenAI(base_url="http://127.0.0.1:9/v1", api_key="x")
    with pytest.raises(ConfigurationError, match="AsyncMemoryController"):
        update_state(None, TURN, model=(client, "m"))


def test_a_missing_key_is_told_of_when_the_memory_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="set OPENAI_API_KEY"):
        MemoryController.open(tmp_path / "memory", model="gpt-x")
    assert not (tmp_path / "memory").exists()


@pytest.mark.parametrize(
    "model",
    ["", 7, (), ("a", 1), object(), (None,), "nowhere:model", ("http://127.0.0.1:1/v1", "m")],
)
def test_what_is_no_model_is_a_configuration_error(model: object) -> None:
    with pytest.raises(ConfigurationError, match="To fix: "):
        as_compressor(model)


def test_a_model_and_a_compressor_are_one_too_many() -> None:
    with pytest.raises(ConfigurationError, match="both"):
        update_state(None, TURN, model="m", compressor=FailingCompressor())


def test_a_compressor_of_a_model_is_a_model() -> None:
    compressor = ModelCompressor(InProcess(lambda _: ""))
    assert as_compressor(compressor) is compressor


@pytest.mark.parametrize(
    "changed",
    [{"mode": "both"}, {"prompt": "You are a compressor."}, {"deadline": 0},
     {"timeout": -1}, {"max_output_tokens": 0}, {"input_chars": 0},
     {"modes": "revise"}, {"api": "completions"}, {"deadline": float("inf")}, {"deadline": "60"},
     {"timeout": None}, {"max_output_tokens": 1.5}, {"input_chars": "many"}, {"guidance": None},
     {"price": (2.0, 8.0)}, {"retries": 3}, {"skip_idle": "no"}],
)  # fmt: skip
def test_a_setting_that_makes_no_sense_is_a_configuration_error(changed: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="To fix: "):
        OpenAICompressor("m", **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "prompt", [lambda _: None, lambda _: [], lambda _: "You are.", lambda _: [{"role": "user"}]]
)
def test_a_prompt_that_is_none_is_a_configuration_error(prompt: Callable[..., object]) -> None:
    asked = ModelCompressor(InProcess(lambda _: "{}"), prompt=prompt)
    with pytest.raises(ConfigurationError, match="Message"):
        update_state(None, TURN, compressor=asked)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_an_argument_that_no_request_takes_is_a_configuration_error(how: str) -> None:
    with ModelServer(lambda _: GOOD) as server:
        asked = asking(server.base_url, f"{how} chat", request={"top_k": 1})
        with pytest.raises(ConfigurationError, match="extra_body"):
            stepped(asked, how=how)
        asked = asking(server.base_url, f"{how} chat", request={"extra_body": {"top_k": 1}})
        assert stepped(asked, how=how).outcome == "ok"


def test_a_chat_model_with_something_around_it_is_one() -> None:
    chat = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    model = chat.FakeListChatModel(responses=[json.dumps(GOOD)])
    for around in (
        model.bind(stop=["x"]),
        model.with_config(tags=["a"]),
        model.with_fallbacks([model]),
    ):
        assert len(update_state(None, TURN, model=around).state.constraints) == 1


def _empty():  # type: ignore[no-untyped-def]
    from acc.state.model import CompressedCognitiveState

    return CompressedCognitiveState.empty()
