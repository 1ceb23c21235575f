"""What of an item's fields can be asked of a model, in the terms of strict structured output."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from acc.errors import SchemaError
from acc.items import Item

EXPRESSIBLE = ("string", "integer", "number", "boolean")
_DROPPED = ("default", "title", "minLength", "maxLength", "pattern", "format")


def wire_field(item: type[Item], name: str) -> dict[str, Any]:
    """JSON Schema of one field, without lengths and defaults, which commit checks and fills in.

    Raises:
        SchemaError: A field that strict output cannot express.
    """
    annotation: Any = item.model_fields[name].annotation
    try:
        found = TypeAdapter(annotation).json_schema()
    except Exception as error:  # pydantic's, of several kinds, and those of a type's own hooks
        raise _inexpressible(item, name) from error
    if found.get("type") not in EXPRESSIBLE:
        raise _inexpressible(item, name)
    return {key: value for key, value in found.items() if key not in _DROPPED}


def _inexpressible(item: type[Item], name: str) -> SchemaError:
    return SchemaError(
        f"field {name!r} of {item.__name__} cannot be asked of a model",
        where=item.__qualname__,
        mend="use str, int, float, bool or a Literal of strings; "
        "for text that may be missing OptionalLine or OptionalName of acc.items",
    )
