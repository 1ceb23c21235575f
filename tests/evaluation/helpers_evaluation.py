"""Live evaluations with models that answer in this process, and ``acc eval`` as a function."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock
from typing import Any, NamedTuple

import typer
from typer.main import get_command

from acc.errors import AccError, CompressionError
from acc.models.protocol import Completion, Messages, PromptMessage, Schema, Usage
from acc.text.tokens import utf8_quarter
from acc_eval.cli import app
from acc_eval.judge_by_rule import answer_by_rule
from acc_eval.judge_runs import ROLES, Live, LiveResult, play
from acc_eval.memories.specs import read_specs
from acc_eval.scenarios import Scenario

ACC = "acc,compress_over=0,label=acc"
"""It asks its model in each turn, as the paper's does."""

MEMORIES = ["transcript", "retrieval,k=2", ACC]


class Request(NamedTuple):
    """What a model was asked."""

    model: str
    messages: tuple[PromptMessage, ...]
    schema: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        return "\n".join(message.content for message in self.messages)


class Fault(NamedTuple):
    """A rule's answer for a request that fails."""

    outcome: str = "server_error"


Rule = Callable[[Request], Any]


def by_rule(request: Request) -> Any:
    return answer_by_rule(request.messages, request.schema)


class ScriptedModel:
    """Answers by ``rule``: an object, a text, or a fault. A list answers one after the other."""

    def __init__(self, name: str, rule: Rule | Sequence[Any], requests: list[Request]) -> None:
        self.name, self._rule, self._requests, self._lock = name, rule, requests, Lock()

    def complete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        request = Request(self.name, tuple(messages), schema or {})
        with self._lock:
            place = len(self._requests)
            self._requests.append(request)
            answer = self._rule(request) if callable(self._rule) else self._rule[place]
        if isinstance(answer, Fault):
            raise CompressionError("down", where=self.name, outcome=answer.outcome)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        usage = Usage(1, utf8_quarter(request.prompt), utf8_quarter(text))
        return Completion(text, usage, self.name)

    async def acomplete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        return self.complete(messages, schema, max_tokens=max_tokens)


class Asked(NamedTuple):
    """What the models of an evaluation were asked."""

    requests: list[Request]


@contextmanager
def live(
    scenario: Scenario, log: Path, rule: Rule = by_rule, **changed: Any
) -> Iterator[tuple[Live, Asked]]:
    """A live evaluation whose models answer by ``rule``, and what they are asked."""
    memories = changed.pop("memories", MEMORIES)
    roles = changed.pop("roles", ROLES)
    asked = Asked([])
    models = {role: ScriptedModel(f"{role}-model", rule, asked.requests) for role in roles}
    specs = read_specs(memories)
    yield Live(scenarios=[scenario], memories=specs, models=models, log=log, **changed), asked


def played(wanted: Live) -> LiveResult:
    """The evaluation, to its end."""
    return play(wanted, lambda _: None, Event())


def role_of(request: Request) -> str:
    return request.model.removesuffix("-model")


def asks_for(request: Request, field: str) -> bool:
    return field in request.schema.get("properties", {})


def said(request: Request) -> str:
    return request.prompt


def runs_of(result: LiveResult) -> list[Mapping[str, Any]]:
    return [run.as_json() for run in result.runs]


def run(arguments: Sequence[str]) -> int:
    """``acc eval ...`` with the exit codes and the one line of an error that ``acc`` gives."""
    assert arguments[0] == "eval"
    try:
        with (
            suppress(typer.Exit),
            get_command(app).make_context("acc eval", list(arguments[1:])) as context,
        ):
            context.command.invoke(context)
    except AccError as error:
        print(f"acc: {error}", file=sys.stderr)
        return 1
    except Exception as error:
        if not callable(usage := getattr(error, "format_message", None)):
            raise
        print(f"acc: {usage()}", file=sys.stderr)
        return 2
    return 0
