"""Versions of a schema, and migration of states stored under an earlier version.

    class ClinicState(CompressedCognitiveState):
        schema_version: ClassVar[int] = 2
        migrations: ClassVar[Migrations] = {1: Migration(jobs_are_runs)}

Each class counts its own versions; a parent counts its own. A stored state names all of them: ``ClinicState``
is version 1, ``ClinicState@2`` is version 2, and ``ClinicState@2/ITOperationsState@3`` is version 2 on top of
version 3 of its parent. A migration that loses an item or a value raises an error that names it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import BaseModel

from acc.errors import AccError, SchemaError, StateError
from acc.state.items import Item
from acc.state.slots import SlotField

Stored: TypeAlias = dict[str, list[dict[str, Any]]]
"""Items by slot; each item is a dict of its own fields and its ``id``."""


@dataclass(frozen=True)
class Migration:
    """The conversion from one version of a schema to the next.

    Attributes:
        change: Receives the stored items and returns them in the form of the next version. It must
            return every item exactly once, under its id, in any slot. Items that exceed a slot's
            places are evicted to the store by the next commit. It may raise `StateError` for a
            version that is no longer supported.
        rewrites: Names of the form ``slot.field`` with values that the migration may change or drop.
            Every other value must be in the migrated item. Quoted items have no exception.
    """

    change: Callable[[Stored], Stored]
    rewrites: tuple[str, ...] = ()


Migrations: TypeAlias = Mapping[int, Migration]
"""Migrations by the version that they start from."""


def check_versions(state: type[BaseModel]) -> None:
    """Raise `SchemaError` unless a state class has one migration for each of its earlier versions."""
    version, migrations = own_version(state), own_migrations(state)
    if not isinstance(version, int) or version < 1:
        raise SchemaError(
            f"schema_version is {version!r}", where=state.__qualname__, hint="count from 1"
        )
    for since in range(1, version):
        if not isinstance(migrations.get(since), Migration):
            raise SchemaError(
                f"schema_version is {version}, but no migration starts from {since}",
                where=state.__qualname__,
                hint=f"declare migrations: ClassVar[Migrations] = {{{since}: Migration(...)}}; "
                "acc schema diff OLD NEW lists the changes that it must cover",
            )
    if beyond := [since for since in migrations if since not in range(1, version)]:
        raise SchemaError(
            f"a migration starts from version {beyond[0]!r}, but schema_version is {version}",
            where=state.__qualname__,
            hint="raise schema_version to the version after the last migration",
        )


def own_version(state: type[BaseModel]) -> int:
    """Return the version that the class itself declares, ignoring its parents; 1 if none."""
    version: int = vars(state).get("schema_version", 1)
    return version


def own_migrations(state: type[BaseModel]) -> Migrations:
    """Return the migrations that the class itself declares."""
    declared: Migrations = vars(state).get("migrations", {})
    return declared


def stored_name(state: type[BaseModel]) -> str:
    """Return the name in stored states of this class, including versions from 2 on."""
    parents = [base for base in _lineage(state) if base is not state and own_version(base) > 1]
    return "/".join([_versioned(state), *map(_versioned, reversed(parents))])


def _versioned(state: type[BaseModel]) -> str:
    version = own_version(state)
    return state.__name__ if version == 1 else f"{state.__name__}@{version}"


def class_named(stored: str) -> str:
    """Return the class name in the stored name of a state."""
    return stored.partition("/")[0].partition("@")[0]


def without_other_roles(stored: str, state: str) -> str:
    """Return the name in a stored state, as the class ``state`` would have it without projections for roles."""
    first, _, parents = stored.partition("/")
    base, bracket, _ = first.partition("[")
    if not bracket or base != state:
        return stored
    return parents if class_named(parents) == base else "/".join(filter(None, (base, parents)))


def migrated(
    state: type[BaseModel], slots: Mapping[str, SlotField], stored: str, items: Stored
) -> Stored:
    """Migrate complete items by slot from the schema version ``stored`` to ``state``.

    Raises:
        StateError: A later version stored the items, or a migration fails or loses something.
    """
    was_in = {item.get("id"): name for name, item in _each(items)}
    for base, since in _steps(state, stored):
        items = _step(base, since, items)
    for name, item in _each(items):
        is_moved = was_in.get(item.get("id")) != name
        if is_moved and item.get("quote") and not (name in slots and slots[name].rules.quote):
            raise StateError(
                f"the migration moves the quoted item {item.get('id')} to {name!r}, which keeps no quotes",
                where=state.__qualname__,
                hint="move it to a slot with quote=True",
            )
    return {name: each for name, each in items.items() if each or name in slots}


def _steps(state: type[BaseModel], stored: str) -> Iterator[tuple[type[BaseModel], int]]:
    was = _versions(stored)
    lineage = {base.__name__: base for base in _lineage(state)}
    if class_named(stored) not in lineage:
        raise StateError(
            f"the state was stored under {stored!r}, which is not a parent of {state.__qualname__}",
            where=f"loading {state.__qualname__}",
            hint="load it with that schema, or start another thread",
        )
    for name, version in was.items():
        now = own_version(lineage[name]) if name in lineage else 0
        if version > now:
            raise StateError(
                f"the state was stored under version {version} of {name}, but "
                + (f"this is version {now}" if now else "this schema has no such parent"),
                where=f"loading {state.__qualname__}",
                hint="load it with the release that stored it, or a later one",
            )
    for base in lineage.values():
        for since in range(was.get(base.__name__, 1), own_version(base)):
            yield base, since


def _lineage(state: type[BaseModel]) -> list[type[BaseModel]]:
    """Return the state classes that ``state`` inherits from, and ``state`` as the last."""
    return [base for base in reversed(state.__mro__) if hasattr(base, "slots")]


def _versions(stored: str) -> dict[str, int]:
    found = {}
    for part in stored.split("/"):
        name, _, version = part.partition("@")
        found[name] = int(version) if version.isascii() and version.isdigit() else 1
    return found


def _step(base: type[BaseModel], since: int, items: Stored) -> Stored:
    migration = own_migrations(base)[since]
    where = f"{base.__qualname__}, version {since} to {since + 1}"
    kept = {
        str(item.get("id")): {k: v for k, v in item.items() if k in _BOOKKEEPING}
        for _, item in _each(items)
    }
    said = {
        name: [{k: v for k, v in item.items() if k not in _BOOKKEEPING} for item in each]
        for name, each in items.items()
    }
    try:
        changed = migration.change(copy.deepcopy(said))
        after = {name: [dict(item) for item in each] for name, each in changed.items()}
    except AccError:
        raise
    except Exception as error:  # a schema author's migration may raise anything
        raise StateError(
            f"the migration fails: {type(error).__name__}: {error}",
            where=where,
            hint="correct the migration of the schema; the stored state is unchanged",
        ) from error
    for what in _lost(said, after, migration.rewrites):
        raise StateError(
            f"the migration {what}",
            where=where,
            hint="return every item under its id; list values that may change as slot.field in rewrites",
        )
    return {name: [{**kept[item["id"]], **item} for item in each] for name, each in after.items()}


def _lost(before: Stored, after: Stored, rewrites: tuple[str, ...]) -> Iterator[str]:
    old = {str(item.get("id")): (name, item) for name, item in _each(before)}
    ids = [str(item.get("id")) for _, item in _each(after)]
    if missing := [i for i in old if i not in ids]:
        yield f"drops {', '.join(missing)} of {old[missing[0]][0]}"
    if made := [i for i in ids if i not in old]:
        yield f"returns an item {made[0]!r} that was not stored"
    if twice := [i for i in old if ids.count(i) > 1]:
        yield f"returns {twice[0]} twice"
    for _, item in _each(after):
        if forged := sorted(_BOOKKEEPING & set(item)):
            yield f"writes {forged[0]} of {item['id']}, which only commit may write"
        name, was = old[str(item["id"])]
        for field in _missing(was, item):
            if f"{name}.{field}" not in rewrites or was.get("quote"):
                yield f"loses {field} of {was['id']} in {name}: {str(was[field])[:60]!r}"


def _missing(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield fields with values that the new item lacks; a value in two fields must remain in two fields."""
    rest = {name: value for name, value in now.items() if not _same(was.get(name), value)}
    for field, value in was.items():
        if value == "" or _same(now.get(field), value):
            continue
        match = next((name for name, other in rest.items() if _same(other, value)), None)
        if match is None:
            yield field
        else:
            del rest[match]


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _each(items: Stored) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((name, item) for name, each in items.items() for item in each)


_BOOKKEEPING = set(Item.model_fields) - {"id"}
