"""Finds a schema by its published name, by its class, or in a file; and writes it as a JSON document.

A package publishes its schemas through entry points:

    [project.entry-points."acc.schemas"]
    clinic = "my_package.clinic:ClinicState"
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from acc.errors import ConfigurationError, SchemaError
from acc.state.model import CompressedCognitiveState
from acc.state.slots import SlotField

GROUP = "acc.schemas"
"""The group of entry points that publish schemas."""

RULES = "x-acc"
"""The keyword of a document that holds the rules of a state or a slot."""

Schema: TypeAlias = type[CompressedCognitiveState]


def published() -> dict[str, EntryPoint]:
    """Return the schemas that installed packages publish, by name. Imports nothing."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise ConfigurationError(
                f"two schemas are published as {entry.name!r}",
                where=f"{other.value} and {entry.value}",
                hint="write module:Class instead, or uninstall one of the two packages",
            )
    return dict(sorted(found.items()))


def schema_named(name: str) -> Schema:
    """Return the state class of a published name, ``module:Class`` or ``file.py``; ``file.py:Class`` if it has several.

    Raises:
        ConfigurationError: There is none. As a `SchemaError`: its declaration is wrong.
    """
    place, _, path = name.partition(":")
    if place.endswith(".py"):
        value = _in_file(Path(place), path)
    elif path:
        value = name
    elif (entry := (known := published()).get(name)) is not None:
        value = entry.value
    else:
        raise ConfigurationError(
            f"no schema is published as {name!r}",
            where=f"published: {', '.join(known) or 'none'}",
            hint="use one of these, module:Class, or file.py",
        )
    with _importing(name):
        found = EntryPoint(name, value, GROUP).load()
    if isinstance(found, type) and issubclass(found, CompressedCognitiveState):
        return found
    hint = "use a subclass of CompressedCognitiveState"
    raise ConfigurationError("not a state class", where=name, hint=hint)


@contextmanager
def _importing(name: str) -> Iterator[None]:
    """Raise a `ConfigurationError` for what an import raises: it runs any code of the module."""
    try:
        yield
    except SchemaError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"the schema cannot be imported: {type(error).__name__}: {error}",
            where=name,
            hint="write module:Class with the module on PYTHONPATH, or file.py",
        ) from error


def _in_file(file: Path, path: str) -> str:
    """Import a file under its stem; return ``module:Class``, without ``path`` that of its only class."""
    module = _module_of(file)
    own = [
        value.__name__
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, CompressedCognitiveState)
        and value.__module__ == module.__name__
    ]
    if not path and len(own) != 1:
        named = f", with one of {', '.join(own)}" if own else ""
        hint = f"write {file}:Class{named}"
        raise ConfigurationError(f"{len(own) or 'no'} state classes", where=str(file), hint=hint)
    return f"{module.__name__}:{path or own[0]}"


def _module_of(file: Path) -> ModuleType:
    """Return the module of a file, imported once."""
    module = sys.modules.get(file.stem)
    if module is not None:
        if Path(getattr(module, "__file__", None) or "").resolve() == file.resolve():
            return module
        what, hint = f"another module named {file.stem!r} is loaded", "rename the file"
        raise ConfigurationError(what, where=str(file), hint=hint)
    if not file.is_file():
        raise ConfigurationError("no such file", where=str(file), hint="use a Python file")
    module = ModuleType(file.stem)
    module.__file__ = str(file)
    sys.modules[file.stem] = module  # pydantic resolves annotations through sys.modules
    try:
        with _importing(str(file)):
            SourceFileLoader(file.stem, str(file)).exec_module(module)
    except BaseException:
        del sys.modules[file.stem]
        raise
    return module


def state_document(schema: Schema) -> dict[str, Any]:
    """Return the JSON Schema of a state's `canonical` form. Equal declarations give equal bytes."""
    found = schema.model_json_schema(mode="serialization")
    for name, slot in schema.slots().items():
        found["properties"][name] |= {"maxItems": slot.rules.places, RULES: _rules(slot)}
    about = {
        "stored_as": schema.__name__,
        "max_tokens": schema.max_tokens,
        "slots": list(schema.slots()),
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, RULES: about}


def as_text(document: Mapping[str, Any]) -> str:
    """Return a document as the text of a file."""
    return json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _rules(slot: SlotField) -> dict[str, Any]:
    rules = slot.rules
    told = {"least": rules.least.word, "item": slot.item.__name__, "is_pinned": slot.is_pinned}
    return {**vars(rules), **told}
