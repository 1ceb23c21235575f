"""Specifications of memories for command lines: ``NAME,option=value,...``.

    acc                           keyless rules, 800 tokens
    acc,max_tokens=400,label=small
    acc,model=openai:gpt-x,mode=rewrite,schema=my.states:ClinicState
    transcript   recent,tokens=800   retrieval,k=5,index=chroma   summary,tokens=1024   semantic
    summary+semantic              two memories, read one after the other
    my.memories:Graph,depth=2     your own factory

A third party's memory is a factory that takes its options by name and returns a new
`EvaluatedMemory` for each conversation. Its name is ``module:factory``, or an entry point of the
group ``acc.memories``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, cast

from acc.compress.endpoint import Endpoint
from acc.errors import AccError, ConfigurationError
from acc.evaluation.memories.built_in import BUILT_IN, WITH_MODEL
from acc.evaluation.memories.protocol import EvaluatedMemory, Joined, imported

GROUP = "acc.memories"
"""The group of entry points that publish memories."""

Option = str | int | float | bool
Factory = Callable[..., EvaluatedMemory]


@dataclass(frozen=True)
class MemorySpec:
    """The specification of a memory.

    Attributes:
        label: Its name in reports.
        parts: Its parts, each with options; an agent reads them one after the other.
    """

    label: str
    parts: tuple[tuple[str, Mapping[str, Option]], ...]

    def make(self, endpoint: Endpoint | None = None) -> EvaluatedMemory:
        """Create a new memory.

        Args:
            endpoint: The model for built-in memories that compress or summarise and name no model
                of their own.

        Raises:
            ConfigurationError: The options are invalid.
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
                f"two memories are called {label!r}",
                where=", ".join(given),
                hint="tell them apart: NAME,option=value,label=ANOTHER",
            )
    return specs


def read_spec(given: str) -> MemorySpec:
    """Read one specification.

    Raises:
        ConfigurationError: It is malformed, or names an unknown memory.
    """
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
            f"{setting!r} is no option", where=given, hint="write NAME,option=value,option=value"
        )
    return key, value if key == "label" else _value(value)


def _value(text: str) -> Option:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def factory_named(name: str) -> Factory:
    """The factory of the memory ``name``.

    Raises:
        ConfigurationError: There is no such memory, or it cannot be imported.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    announced = entry_points(group=GROUP)
    found: Any = None
    if name in announced.names:
        found = imported(announced[name].value)
    elif ":" in name:
        found = imported(name)
    if callable(found):
        return cast(Factory, found)
    known = ", ".join((*BUILT_IN, *sorted(announced.names)))
    raise ConfigurationError(
        f"no memory {name!r}", where=name, hint=f"name module:factory, or one of {known}"
    )


def _made(name: str, options: Mapping[str, Option], endpoint: Endpoint | None) -> EvaluatedMemory:
    factory = factory_named(name)
    ours = {"endpoint": endpoint} if name in WITH_MODEL else {}
    try:
        memory = factory(**options, **ours)
    except AccError:
        raise
    except Exception as error:
        said = ",".join(f"{key}={value}" for key, value in options.items())
        raise ConfigurationError(
            f"the memory cannot be made: {type(error).__name__}: {error}",
            where=f"{name},{said}" if said else name,
            hint="correct its options",
        ) from error
    if isinstance(memory, EvaluatedMemory):
        return memory
    raise ConfigurationError(
        f"{type(memory).__name__} is no memory that can be evaluated",
        where=name,
        hint="offer has_slots, observe, held, read and close (acc.evaluation.memories.protocol)",
    )
