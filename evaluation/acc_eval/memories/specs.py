"""Specifications of memories for command lines: ``NAME,option=value,...``.

    acc                           keyless rules
    acc,max_tokens=400,label=small
    acc,model=openai:gpt-x,record=FILE   acc,answers=FILE,max_tokens=1100,compress_over=800
    acc,model=openai:gpt-x,mode=rewrite,schema=my.states:ClinicState
    langchain,model=openai:gpt-x,trigger=4000,keep=20
    transcript   recent,tokens=800   retrieval,k=5   summary,tokens=1024   semantic
    summary+semantic              two memories, read one after the other
    my.memories:Graph,depth=2     your own factory

A third party's memory is a factory that takes its options by name and returns a new
`EvaluatedMemory` for each conversation. Its name is ``module:factory``, or an entry point of the
group ``acc.memories``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from typing import Any, Literal, cast

from pydantic import ConfigDict, ValidationError, validate_call

from acc.errors import AccError, ConfigurationError, extra
from acc.models.endpoints import as_model
from acc.models.protocol import ChatModel
from acc_eval.asking import asked_text
from acc_eval.memories.acc import make_acc
from acc_eval.memories.baselines import (
    RecentWindow,
    Retrieval,
    RollingSummary,
    TranscriptReplay,
    by_model,
)
from acc_eval.memories.protocol import EvaluatedMemory, Joined, imported

GROUP = "acc.memories"
"""The group of entry points that publish memories."""

_checked = validate_call(config=ConfigDict(strict=True))
"""Checks the types of a factory's options."""


@_checked
def make_summary(
    *,
    asked: Any = None,
    tokens: int = 1_024,
    summariser: Literal["", "extractive"] = "",
    model: str = "",
) -> RollingSummary:
    """Create a rolling summary.

    ``asked`` is the model that summarises, unless ``summariser`` or ``model`` is given.
    """
    chosen = as_model(model) if model else asked
    if chosen is None or summariser:
        return RollingSummary(tokens)
    # The memory limits the summary. The answer needs room for the JSON around it.
    ask = partial(asked_text, chosen, limit=2 * tokens + 256)
    return RollingSummary(tokens, summarise=by_model(ask))


@_checked
def make_retrieval(*, k: int = 5) -> Retrieval:
    """Create a memory that retrieves ``k`` artifacts.

    The paper says five (5.5.1) and three (Figure 5, section 6).
    """
    return Retrieval(k)


@_checked
def make_semantic() -> Retrieval:
    """Create the tutorial's semantic memory, which retrieves the nearest artifact."""
    return Retrieval(1)


@_checked
def make_recent(*, tokens: int = 800) -> RecentWindow:
    """Create a memory of the most recent messages."""
    return RecentWindow(tokens)


def _langchain(**options: Any) -> EvaluatedMemory:
    """LangChain's summariser, which only the extra ``langchain`` brings."""
    with extra("langchain", "the memory langchain cannot be loaded: {error}", where="langchain"):
        from acc_eval.memories.peers import langchain
    return _checked(langchain)(**options)


BUILT_IN: dict[str, Callable[..., EvaluatedMemory]] = {
    "acc": _checked(make_acc),
    "transcript": TranscriptReplay,
    "retrieval": make_retrieval,
    "summary": make_summary,
    "semantic": make_semantic,
    "recent": make_recent,
    "langchain": _langchain,
}
"""The built-in memories, by name."""

WITH_MODEL = ("acc", "summary", "langchain")
"""Memories that take the evaluation's model as ``asked``."""


Option = str | int | float | bool
Factory = Callable[..., EvaluatedMemory]


@dataclass(frozen=True)
class MemorySpec:
    """A memory's label in reports, and its parts with options, which are read one after the other."""

    label: str
    parts: tuple[tuple[str, Mapping[str, Option]], ...]

    def make(self, asked: ChatModel | None = None) -> EvaluatedMemory:
        """Create a new memory.

        ``asked`` is the model for built-in memories that compress or summarise and name no model
        of their own.
        """
        made = [_made(name, options, asked) for name, options in self.parts]
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


def _made(name: str, options: Mapping[str, Option], asked: ChatModel | None) -> EvaluatedMemory:
    model = {"asked": asked} if name in WITH_MODEL else {}
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
        hint="implement acc_eval.memories.protocol.EvaluatedMemory",
    )
