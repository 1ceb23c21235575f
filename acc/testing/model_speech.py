"""The faults of what a model says, done to what it would have said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from acc.testing.model_faults import SPOKEN, Fault, FaultName
from acc.testing.model_replies import Completion

_Change: TypeAlias = Callable[[Completion], Completion]

_REFUSAL = "I'm sorry, but I can't help with that."
_PROSE = "Sure! Here is the object you asked for: {} Let me know if you need anything else."
_FENCED = "Here is the updated state:\n\n```json\n{}\n```\n\nI kept it short, as you asked."


def spoken(said: Completion, fault: Fault | None) -> Completion:
    """``said`` with the fault done to it; unchanged by a fault of another kind, or by none."""
    if fault is None or fault.name not in SPOKEN:
        return said
    return _CHANGES[fault.name](said)


def _refusal(said: Completion) -> Completion:
    return replace(said, text="", refusal=_REFUSAL)


def _truncated(said: Completion) -> Completion:
    text = said.text or ""
    return replace(said, text=text[: max(1, len(text) // 2)], finish="length")


def _invalid_json(said: Completion) -> Completion:
    """A comma too many, and the last bracket missing: what models do write."""
    return replace(said, text=(said.text or "{").rstrip()[:-1] + ",")


def _within(form: str) -> _Change:
    """Chatter around the answer; a model that chats makes no tool call."""
    return lambda said: replace(said, text=form.format(said.text), tool="")


_CHANGES: Mapping[FaultName, _Change] = {
    "refusal": _refusal,
    "content_filter": lambda said: replace(said, text="", tool="", finish="content_filter"),
    "truncated": _truncated,
    "empty": lambda said: replace(said, text=""),
    "no_output": lambda said: replace(said, text=None),
    "invalid_json": _invalid_json,
    "wrong_shape": lambda said: replace(said, text='{"unexpected": [1, 2, {"three": null}]}'),
    "in_prose": _within(_PROSE),
    "fenced": _within(_FENCED),
    "failed": lambda said: replace(said, text="", finish="failed"),
    "missing_usage": lambda said: replace(said, reported="absent"),
    "null_usage": lambda said: replace(said, reported="null"),
}
