"""What the tests of model compressors share: answers on the wire, and compressors of a server."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable
from functools import cache
from typing import Any

import openai

from acc import Settings
from acc.compress.endpoint import Ask, Call, CallFailed, Reply, Retries
from acc.compress.openai import OpenAICompressor
from acc.controller import AsyncMemoryController, MemoryController
from acc.pipeline.turn_pipeline import Step
from acc.state.declaration import RESERVED
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.stores.in_memory import InMemoryStore
from acc.testing import Fault, FixedClock, ModelServer, Request
from acc.turn.turn import Turn

SAID = "Never restart nginx. The db runs on db-7."
TURN = Turn.said(SAID)
POLICY = Policy()
"""One for all: its fingerprint takes longer than a turn."""

RULE = {
    "text": "Never restart nginx", "kind": "prohibition", "quote": "Never restart nginx",
    "refers_to": "",
    "cites": ["u1"], "id": "",
}  # fmt: skip


def fact(subject: str, value: str, *cites: str, id: str = "") -> dict[str, Any]:
    return {
        "subject": subject, "predicate": "runs on", "object": value, "status": "stated",
        "cites": list(cites), "id": id,
    }  # fmt: skip


def wire(**slots: list[dict[str, Any]]) -> dict[str, Any]:
    """A wire object with every slot of the schema; empty but for ``slots``."""
    names = (*CompressedCognitiveState.slots(), *RESERVED)
    return {**{name: [] for name in names}, **slots}


GOOD = wire(constraints=[RULE], relational_map=[fact("db", "db-7", "u1")])


def noting(request: Request) -> dict[str, Any]:
    """An answer that notes each turn: cites the last source of the prompt."""
    ref = re.findall(r"^<<\w{8} \w+ (\S+)", request.messages[1].text, re.MULTILINE)[-1]
    return wire(relational_map=[fact(f"turn {ref}", "noted", ref)])


WAYS = ("sync chat", "async responses")
"""Both APIs, and both ways of calling; the ladder's tests have the other two pairs."""


def always(name: str) -> ModelServer:
    seconds = {"seconds": 0.02} if name in ("delay", "slow_drip") else {}
    return ModelServer(lambda _: GOOD, faults=lambda _: Fault(name, **seconds))  # type: ignore[arg-type]


class Slept(list[float]):
    """Waits of no time at all, and what was waited for."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)

    async def awaited(self, seconds: float) -> None:
        self.append(seconds)


def retries(slept: Slept | None = None, **changed: Any) -> Retries:
    slept = Slept() if slept is None else slept
    return Retries(sleep=slept, asleep=slept.awaited, jitter=lambda: 0.0, **changed)


@cache
def trusted() -> ssl.SSLContext:
    """Reading the certificates takes longer than asking."""
    return ssl.create_default_context()


def transport() -> Any:
    return openai.DefaultHttpx2Client(verify=trusted())


def async_transport() -> Any:
    return openai.DefaultAsyncHttpx2Client(verify=trusted())


def client_of(base_url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=base_url, api_key="none", http_client=transport())


def aclient(base_url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=base_url, api_key="none", http_client=async_transport())


def asking(base_url: str, how: str = "sync chat", **settings: Any) -> OpenAICompressor:
    """A compressor of the server at ``base_url``, through the real SDK."""
    client = aclient(base_url) if how.startswith("async") else client_of(base_url)
    settings.setdefault("retries", retries())
    api = "responses" if how.endswith("responses") else "chat"
    return OpenAICompressor("test-model", client=client, api=api, **settings)  # type: ignore[arg-type]


def stepped(
    compressor: Any, *, turn: Turn = TURN, state: Any = None, how: str = "sync", **settings: Any
) -> Step:
    """One step of a fresh memory with ``compressor``."""
    settings.setdefault("clock", FixedClock())
    settings.setdefault("policy", POLICY)
    if not how.startswith("async"):
        with MemoryController(InMemoryStore(), compressor, Settings(**settings)) as memory:
            return memory.step(state, turn, thread="t")

    async def run() -> Step:
        async with AsyncMemoryController(
            InMemoryStore(), compressor, Settings(**settings)
        ) as memory:
            return await memory.step(state, turn, thread="t")

    return asyncio.run(run())


class InProcess:
    """An endpoint without a network: a rule that answers each `Ask` with a text, a reply or a failure."""

    model = "in-process"
    retries_itself = False

    def __init__(self, rule: Callable[[Ask], str | Reply | CallFailed]) -> None:
        self._rule = rule
        self.asks: list[Ask] = []

    def steps(self, ask: Ask) -> Any:
        return (yield Call(ask, "json_schema"))

    def send(self, call: Call, seconds: float) -> Reply:
        self.asks.append(call.ask)
        said = self._rule(call.ask)
        if isinstance(said, CallFailed):
            raise said
        return (
            said if isinstance(said, Reply) else Reply(said, {"input": 9, "output": 5, "cached": 2})
        )

    async def asend(self, call: Call, seconds: float) -> Reply:
        return self.send(call, seconds)
