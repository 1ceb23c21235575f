"""Live evaluations over loopback, for the tests of the judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import openai

from acc.compress.endpoint import Retries
from acc.compress.model import Patience
from acc.compress.openai import OpenAIEndpoint
from acc.evaluation.judge_by_rule import answer_by_rule
from acc.evaluation.judge_runs import ROLES, Live, LiveResult, play
from acc.evaluation.memories.specs import read_specs
from acc.evaluation.scenarios import Scenario
from acc.testing import ModelServer, Request

MEMORIES = ["transcript", "retrieval,k=2", "acc"]
ONCE = Patience(retries=Retries(attempts=1))

Rule = Callable[[Request], Any]


@contextmanager
def live(
    scenario: Scenario, log: Path, rule: Rule = answer_by_rule, **changed: Any
) -> Iterator[tuple[Live, ModelServer]]:
    """A live evaluation whose models answer by ``rule``, and their server."""
    memories = changed.pop("memories", MEMORIES)
    roles = changed.pop("roles", ROLES)
    with ModelServer(rule) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0)
        models = {role: OpenAIEndpoint(f"{role}-model", client=client) for role in roles}
        yield (
            Live(
                scenarios=[scenario], memories=read_specs(memories), models=models, log=log,
                patience=ONCE, **changed,
            ),
            server,
        )  # fmt: skip


def played(wanted: Live) -> LiveResult:
    """The evaluation, to its end."""
    return play(wanted, lambda _: None, Event())


def role_of(request: Request) -> str:
    return request.model.removesuffix("-model")


def asks_for(request: Request, field: str) -> bool:
    return field in (request.schema or {}).get("properties", {})


def said(request: Request) -> str:
    return "\n".join(message.text for message in request.messages)


def runs_of(result: LiveResult) -> list[Mapping[str, Any]]:
    return [run.as_json() for run in result.runs]
