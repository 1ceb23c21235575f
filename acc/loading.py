"""The one way in for a stored state: validated, of the right schema, and unedited, or adopted."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from acc.errors import StateError
from acc.state import CompressedCognitiveState
from acc.turn import Channel, Trust

State = TypeVar("State", bound=CompressedCognitiveState)


def load_state(schema: type[State], raw: Any, adopt: Trust | None) -> State:
    """What `CompressedCognitiveState.load` documents."""
    if raw is None:
        return schema.empty()
    state = raw if type(raw) is schema else _validated(schema, raw)
    if state.schema_name != schema.__name__:
        raise StateError(
            f"a state of schema {state.schema_name!r}",
            where=f"loading {schema.__name__}",
            mend=f"load it with that class, or start from {schema.__name__}.empty()",
        )
    if state.hash == state.digest():
        return state
    if adopt is None:
        raise StateError(
            "the state was changed after it was committed",
            where=f"version {state.version}, hash {state.hash[:12]}",
            mend="restore the committed state, or load it with adopt=Trust.USER or lower",
        )
    return _adopted(state, adopt)


def _validated(schema: type[State], raw: Any) -> State:
    try:
        if isinstance(raw, BaseModel):
            raw = raw.model_dump(mode="json")
        if isinstance(raw, str | bytes):
            return schema.model_validate_json(raw)
        return schema.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise StateError(
            f"not a state of {schema.__name__}: {first['msg']}",
            where=place,
            mend="pass what canonical() returned, unchanged",
        ) from error


def _adopted(state: State, trust: Trust) -> State:
    """``state`` with nothing in it above ``trust``, and no id that could be given out again."""
    lowered = {
        name: tuple(
            i.model_copy(update={"trust": min(i.trust, trust)}) for i in getattr(state, name)
        )
        for name in state.slots()
    }
    pending = tuple(
        o if o.trust <= trust else o.model_copy(update={"channel": Channel[trust.name]})
        for o in state.pending
    )
    numbers = (int(item.id[1:]) for _, item in state.items() if item.id[1:].isdigit())
    changed = {
        **lowered,
        "pending": pending,
        "lifted": (),
        "parent": state.hash,
        "counter": max(state.counter, max(numbers, default=0)),
    }
    return state.model_copy(update=changed).sealed()
