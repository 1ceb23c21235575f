"""Log lines: a sentence and its fields, as text for people and as data for JSON formatters.

Loggers are named after their modules, below ``acc``, and have no handlers. The fields follow the sentence as
``key=value``; a formatter finds them as a dict in the record's attribute ``acc``. ``event`` names the kind of line.

Above DEBUG a line says ids, refs, counts, codes and hashes, and no words of a conversation. An error is therefore
logged by `cause`, never by its message, which may quote what was said.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any

from acc.text.lines import inert_line

CONVERSATION: ContextVar[Mapping[str, str] | None] = ContextVar("acc_conversation", default=None)
"""Name and key of the thread that the current context works for. Worker threads inherit it; each line names both."""

LONGEST = 200
"""Maximum characters of a text in a field, and maximum number of values of a list."""


def log_event(logger: logging.Logger, level: int, event: str, what: str, /, **fields: Any) -> None:
    """Write the line ``what`` with ``fields``; empty fields are left out.

    Args:
        logger: The logger of the calling module.
        level: A level of `logging`.
        event: The code of this kind of line. A code never changes.
        what: What happened: a constant text, without a full stop.
        fields: Ids, refs, counts, codes and hashes.
    """
    if not logger.isEnabledFor(level):
        return
    found: dict[str, Any] = {"event": event}
    fields = {**(CONVERSATION.get() or {}), **fields}
    found |= {name: plain for name, value in fields.items() if (plain := _plain(value)) is not None}
    told = " ".join(f"{name}={_shown(value)}" for name, value in found.items())
    logger.log(level, f"{what}: %s", told, extra={"acc": found}, stacklevel=2)


def cause(error: BaseException | None) -> str:
    """Return the types of an error and of what caused it, as in ``StoreError<OSError:ENOSPC``."""
    names: list[str] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        number = errno.errorcode.get(getattr(error, "errno", None) or 0, "")
        names.append(type(error).__name__ + (f":{number}" if number else ""))
        error = error.__cause__
    return "<".join(names)


def code(text: Any) -> str:
    """Return ``text`` if it has the form of a code, otherwise "other": a compressor may name its own outcomes."""
    is_code = isinstance(text, str) and text.isascii() and text.isidentifier() and len(text) <= 40
    return text.lower() if is_code else "other"


def _plain(value: Any) -> Any:
    """Return a value of JSON; None if it is empty."""
    if isinstance(value, str):
        return inert_line(str(value))[:LONGEST] or None
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, Iterable):
        return [_plain(each) for each in list(value)[:LONGEST]] or None
    return inert_line(str(value))[:LONGEST]


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_shown, value))
    text = str(value)
    return (
        repr(text) if isinstance(value, str) and (not text or " " in text or "=" in text) else text
    )
