"""Finds a schema by its published name, by its class, or in a file; and writes it as a JSON document.

A package publishes its schemas through entry points:

    [project.entry-points."acc.schemas"]
    clinic = "my_package.clinic:ClinicState"
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
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
    """Return the schemas that installed packages publish, by name. Imports nothing.

    Raises:
        ConfigurationError: Two packages publish different schemas under one name.
    """
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
    """Return the state class that ``name`` refers to.

    Args:
        name: A published name; ``module:Class``; ``file.py``; or ``file.py:Class`` if the file has
            several classes.

    Raises:
        ConfigurationError: The name is unknown, cannot be imported, or is not a state class.
        SchemaError: The class's declaration is wrong.
    """
    place, _, path = name.partition(":")
    if place.endswith(".py"):
        return _chosen(_module_of(Path(place)), path, name)
    if not path:
        return _published_as(name, published())
    return _chosen(_imported(place, name), path, name)


def published_name(schema: Schema) -> str:
    """Return the published name of a class, or ``module:Class`` if it has none."""
    value = f"{schema.__module__}:{schema.__qualname__}"
    return next((name for name, entry in published().items() if entry.value == value), value)


def _published_as(name: str, known: Mapping[str, EntryPoint]) -> Schema:
    if name not in known:
        raise ConfigurationError(
            f"no schema is published as {name!r}",
            where=f"published: {', '.join(known) or 'none'}",
            hint="use one of these, module:Class, or file.py",
        )
    value = known[name].value
    module, _, path = value.partition(":")
    return _chosen(_imported(module, value), path, value)


def _imported(module: str, name: str) -> ModuleType:
    try:
        return import_module(module)
    except SchemaError:
        raise
    except (Exception, SystemExit) as error:  # importing runs any code of the module
        raise _unimportable(error, name) from error


def _module_of(file: Path) -> ModuleType:
    """Import a file under its stem, as ``import`` would; returns the module if already imported."""
    known = sys.modules.get(file.stem)
    if known is not None:
        if Path(getattr(known, "__file__", None) or "").resolve() == file.resolve():
            return known
        raise ConfigurationError(
            f"another module named {file.stem!r} is loaded", where=str(file), hint="rename the file"
        )
    if not file.is_file():
        raise ConfigurationError("no such file", where=str(file), hint="use a Python file")
    spec = spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ConfigurationError("not a Python file", where=str(file), hint="use a file.py")
    module = module_from_spec(spec)
    sys.modules[file.stem] = module  # pydantic resolves annotations through sys.modules
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[file.stem]
        if isinstance(error, SchemaError):
            raise
        raise _unimportable(error, str(file)) from error
    return module


def _chosen(module: ModuleType, path: str, name: str) -> Schema:
    if not path:
        return _only(module, name)
    found: object = module
    try:
        for part in path.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        raise _unimportable(error, name) from error
    if isinstance(found, type) and issubclass(found, CompressedCognitiveState):
        return found
    raise ConfigurationError(
        "not a state class", where=name, hint="use a subclass of CompressedCognitiveState"
    )


def _only(module: ModuleType, name: str) -> Schema:
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, CompressedCognitiveState)
        and value.__module__ == module.__name__
    ]
    if len(own) == 1:
        return own[0]
    named = ", ".join(schema.__name__ for schema in own)
    raise ConfigurationError(
        f"{len(own) or 'no'} state classes",
        where=name,
        hint=f"write {name}:Class{f', with one of {named}' if own else ''}",
    )


def _unimportable(error: Exception | SystemExit, name: str) -> ConfigurationError:
    return ConfigurationError(
        f"the schema cannot be imported: {type(error).__name__}: {error}",
        where=name,
        hint="write module:Class with the module on PYTHONPATH, or file.py",
    )


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
    told = {"least": rules.least.word, "roles": list(rules.roles)}
    return {**vars(rules), **told, "item": slot.item.__name__, "is_pinned": slot.is_pinned}
