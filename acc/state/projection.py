"""One schema for several roles: a state class without the slots of other roles."""

from __future__ import annotations

from functools import cache
from threading import Lock
from types import new_class
from typing import Any, ClassVar, TypeVar, cast

from acc.errors import SchemaError
from acc.state.model import CompressedCognitiveState
from acc.state.slots import is_role_name

S = TypeVar("S", bound=CompressedCognitiveState)

_LOCK = Lock()


def projected(schema: type[S], role: str) -> type[S]:
    """Implement `CompressedCognitiveState.for_role`. The same class and role give the same projection."""
    if not is_role_name(role):
        raise SchemaError(
            f"{role!r} cannot name a role",
            where=schema.__qualname__,
            hint="use 1 to 64 letters, digits and spaces, with .-_ only between them",
        )
    if schema.projected_for not in ("", role):
        raise SchemaError(
            f"a projection has no slots for {role!r}",
            where=schema.__qualname__,
            hint="project the class that declares the slots",
        )
    if schema.projected_for or all(s.rules.is_for(role) for s in schema.slots().values()):
        return schema
    with _LOCK:
        return cast(type[S], _made(schema, role))


@cache
def _made(schema: type[CompressedCognitiveState], role: str) -> type[CompressedCognitiveState]:
    body: dict[str, Any] = {
        "__module__": schema.__module__,
        "__qualname__": f"{schema.__qualname__}[{role}]",
        "__doc__": vars(schema).get("__doc__"),
        "__annotations__": {"projected_for": ClassVar[str]},
        "projected_for": role,
    }
    name = f"{schema.__name__}[{role}]"
    return cast(
        type[CompressedCognitiveState],
        new_class(name, (schema,), {}, lambda made: made.update(body)),
    )
