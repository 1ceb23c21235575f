"""Specifications of memories for command lines: ``NAME,option=value,...``.

    acc                           keyless rules, 800 tokens
    acc,max_tokens=400,label=small
    next   next,model=openai:gpt-x,record=FILE   next,answers=FILE,max_tokens=1100,compress_over=800
    acc,model=openai:gpt-x,mode=rewrite,schema=my.states:ClinicState
    transcript   recent,tokens=800   retrieval,k=5,index=chroma   summary,tokens=1024   semantic
    summary+semantic              two memories, read one after the other
    my.memories:Graph,depth=2     your own factory

A third party's memory is a factory that takes its options by name and returns a new
`EvaluatedMemory` for each conversation. Its name is ``module:factory``, or an entry point of the
group ``acc.memories``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from typing import Any, Literal, cast

from pydantic import ConfigDict, ValidationError, validate_call

from acc.compress.asking import asked_text, endpoint_named
from acc.compress.endpoint import Endpoint
from acc.compress.protocol import Compressor
from acc.controller import MemoryController
from acc.errors import AccError, ConfigurationError
from acc.evaluation.memories.baselines import (
    ChromaIndex,
    RecentWindow,
    Retrieval,
    RollingSummary,
    TranscriptReplay,
    by_model,
)
from acc.evaluation.memories.next import make_next
from acc.evaluation.memories.protocol import EvaluatedMemory, HeldItem, Joined, Reading, imported
from acc.pipeline.session import Settings
from acc.pipeline.turn_pipeline import Step
from acc.recall.candidates import Recall
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Lifting, Policy
from acc.state.proposal import Mode
from acc.state.render import Style
from acc.stores.in_memory import InMemoryStore
from acc.text.tokens import utf8_quarter
from acc.turn.turn import UNDATED, Turn, dated

GROUP = "acc.memories"
"""The group of entry points that publish memories."""

THREAD = "evaluated"


class ControlledMemory:
    """The Compressed Cognitive State, committed once per completed turn.

    Attributes:
        state: The last committed state.
        failures: Failed compressions, each with its turn.
        usage: The model's requests and tokens for the turns so far; empty without a model.
    """

    has_slots = True

    def __init__(
        self,
        compressor: Compressor | None = None,
        settings: Settings | None = None,
        *,
        conditioning: Literal["step", "state"] = "step",
    ) -> None:
        """Create a memory.

        Args:
            compressor: Makes the proposals; None for the keyless rules.
            settings: Schema, limits, recall, gate.
            conditioning: What an agent reads for a question: ``step`` for the state after a step on
                the question (the paper's Algorithm 1), ``state`` for the last committed state
                (section 3.3).
        """
        self._memory = MemoryController(InMemoryStore(), compressor, settings or Settings())
        self._policy = self._memory.settings.policy
        self._conditioning = conditioning
        self.state: CompressedCognitiveState = self._policy.schema.empty()
        self.failures: list[str] = []
        self.usage: Counter[str] = Counter()

    @property
    def max_tokens(self) -> int:
        """The token limit of the rendered state."""
        return self._policy.max_tokens

    def observe(self, turn: Turn) -> None:
        """Commit the completed turn."""
        step = self._step(turn)
        self.state = step.state
        if step.account is not None:
            self.usage.update(step.usage, requests=len(step.account.calls))

    def held(self) -> Reading:
        """The committed state."""
        return self._reading(self.state)

    def read(self, question: str) -> Reading:
        """The state after a step on ``question``.

        The step creates a branch that no later turn continues.
        """
        if self._conditioning == "state":
            return self.held()
        return self._reading(self._step(Turn.said(question)).state)

    def close(self) -> None:
        """Close the store."""
        self._memory.close()

    def _step(self, turn: Turn) -> Step:
        step = self._memory.step(self.state, dated(turn, UNDATED), thread=THREAD)
        if step.failure:
            self.failures.append(f"turn {step.turn.number}: {step.failure}")
        return step

    def _reading(self, state: CompressedCognitiveState) -> Reading:
        items = (
            HeldItem(
                item.words,
                slot=slot.name,
                is_hypothesis=getattr(item, "status", "") == "hypothesis",
                is_open=item.is_open,
            )
            for slot, item in state.items()
        )
        text = self._policy.rendered(state)
        return Reading(text, tuple(items), {"state": utf8_quarter(text)})


_checked = validate_call(config=ConfigDict(strict=True))
"""Checks the types of a factory's options."""


@_checked
def make_acc(
    *,
    endpoint: Any = None,
    compressor: str = "",
    model: str = "",
    mode: Mode = "revise",
    schema: str = "",
    max_tokens: int = 0,
    style: Style = "toon",
    recall: int = 16,
    conditioning: Literal["step", "state"] = "step",
    lifting: Lifting = "confirm",
) -> ControlledMemory:
    """Create an ACC memory; docs/evaluation.md explains the options.

    ``endpoint`` is the model that compresses, unless ``compressor`` or ``model`` is given.
    """
    state: Any = imported(schema) if schema else CompressedCognitiveState
    policy = Policy(schema=state, max_tokens=max_tokens, style=style, lifting=lifting)
    return ControlledMemory(
        _compressor(compressor, model, mode, endpoint),
        Settings(policy=policy, recall=Recall(limit=recall)),
        conditioning=conditioning,
    )


def _compressor(
    compressor: str, model: str, mode: Mode, endpoint: Endpoint | None
) -> Compressor | None:
    if compressor and model:
        raise ConfigurationError(
            "both a compressor and a model", where="acc", hint="remove one of the two options"
        )
    if compressor == "rules":
        return None
    if compressor:
        return cast(Compressor, imported(compressor)())
    if model:
        endpoint = endpoint_named(model)
    if endpoint is None:
        return None
    from acc.compress.model import ModelCompressor

    return ModelCompressor(endpoint, mode=mode)


@_checked
def make_summary(
    *,
    endpoint: Any = None,
    tokens: int = 1_024,
    summariser: Literal["", "extractive"] = "",
    model: str = "",
) -> RollingSummary:
    """Create a rolling summary.

    ``endpoint`` is the model that summarises, unless ``summariser`` or ``model`` is given.
    """
    if model:
        endpoint = endpoint_named(model)
    if endpoint is None or summariser:
        return RollingSummary(tokens)
    # The memory limits the summary. The answer needs room for the JSON around it.
    ask = partial(asked_text, endpoint, limit=2 * tokens + 256)
    return RollingSummary(tokens, summarise=by_model(ask))


@_checked
def make_retrieval(k: int = 5, *, index: Literal["bm25", "chroma"] = "bm25") -> Retrieval:
    """Create a memory that retrieves ``k`` artifacts.

    The paper says five (5.5.1) and three (Figure 5, section 6).
    """
    return Retrieval(k, index=ChromaIndex() if index == "chroma" else None)


@_checked
def make_semantic(*, index: Literal["bm25", "chroma"] = "chroma") -> Retrieval:
    """Create the tutorial's semantic memory, which retrieves the nearest artifact."""
    return Retrieval(1, index=ChromaIndex() if index == "chroma" else None)


@_checked
def make_recent(*, tokens: int = 800) -> RecentWindow:
    """Create a memory of the most recent messages."""
    return RecentWindow(tokens)


BUILT_IN: dict[str, Callable[..., EvaluatedMemory]] = {
    "acc": make_acc,
    "next": _checked(make_next),
    "transcript": TranscriptReplay,
    "retrieval": make_retrieval,
    "summary": make_summary,
    "semantic": make_semantic,
    "recent": make_recent,
}
"""The built-in memories, by name."""

WITH_MODEL = ("acc", "summary")
"""Memories that take the evaluation's model as ``endpoint``."""


Option = str | int | float | bool
Factory = Callable[..., EvaluatedMemory]


@dataclass(frozen=True)
class MemorySpec:
    """A memory's label in reports, and its parts with options, which are read one after the other."""

    label: str
    parts: tuple[tuple[str, Mapping[str, Option]], ...]

    def make(self, endpoint: Endpoint | None = None) -> EvaluatedMemory:
        """Create a new memory.

        ``endpoint`` is the model for built-in memories that compress or summarise and name no model
        of their own.
        """
        made = [_made(name, options, endpoint) for name, options in self.parts]
        return made[0] if len(made) == 1 else Joined(made)

    def as_json(self) -> dict[str, Any]:
        """The specification as plain JSON values."""
        return {
            "label": self.label,
            "parts": [{"memory": name, "options": dict(options)} for name, options in self.parts],
        }


def read_specs(given: list[str]) -> list[MemorySpec]:
    """Read several specifications with distinct labels.

    Raises:
        ConfigurationError: A specification is malformed or unknown, or two labels are equal.
    """
    specs = [read_spec(each) for each in given]
    labels = [spec.label for spec in specs]
    for label in labels:
        if labels.count(label) > 1:
            raise ConfigurationError(
                f"two memories have the label {label!r}",
                where=", ".join(given),
                hint="give one another label: NAME,option=value,label=ANOTHER",
            )
    return specs


def read_spec(given: str) -> MemorySpec:
    """Read one specification."""
    parts = []
    label = ""
    for part in given.split("+"):
        name, *settings = (piece.strip() for piece in part.split(","))
        options = dict(_option(setting, given) for setting in settings)
        label = str(options.pop("label", label))
        factory_named(name)
        parts.append((name, options))
    return MemorySpec(label or given, tuple(parts))


def _option(setting: str, given: str) -> tuple[str, Option]:
    key, equals, value = setting.partition("=")
    if not key.isidentifier() or not equals:
        raise ConfigurationError(
            f"{setting!r} is not an option",
            where=given,
            hint="write NAME,option=value,option=value",
        )
    return key, value if key == "label" else _value(value)


def _value(text: str) -> Option:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def factory_named(name: str) -> Factory:
    """The factory of the memory ``name``."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    published = entry_points(group=GROUP)
    found: Any = None
    if name in published.names:
        found = imported(published[name].value)
    elif ":" in name:
        found = imported(name)
    if callable(found):
        return cast(Factory, found)
    known = ", ".join((*BUILT_IN, *sorted(published.names)))
    raise ConfigurationError(
        f"unknown memory {name!r}", where=name, hint=f"use module:factory, or one of {known}"
    )


def _made(name: str, options: Mapping[str, Option], endpoint: Endpoint | None) -> EvaluatedMemory:
    model = {"endpoint": endpoint} if name in WITH_MODEL else {}
    try:
        memory = factory_named(name)(**options, **model)
    except AccError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            what = f"{'.'.join(map(str, first['loc']))}={first['input']}: {first['msg']}"
        given = ",".join([name, *(f"{key}={value}" for key, value in options.items())])
        raise ConfigurationError(
            f"the memory cannot be created: {what}", where=given, hint="correct its options"
        ) from error
    if isinstance(memory, EvaluatedMemory):
        return memory
    raise ConfigurationError(
        f"{type(memory).__name__} lacks the methods of a memory",
        where=name,
        hint="implement acc.evaluation.memories.protocol.EvaluatedMemory",
    )
