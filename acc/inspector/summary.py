"""What the list of turns says of each audit record: small enough that a thousand turns open at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from acc.state.items import Constraint, Item
from acc.state.reasons import EVICTIONS, REFUSALS
from acc.text.tokens import utf8_quarter
from acc.turn.observations import Channel

Record = Mapping[str, Any]

BOOKKEEPING = frozenset({*Item.model_fields, *Constraint.unseen})
"""Fields of a stored item that the agent does not read."""

BESIDE = ("lifted", "doubted", "evicted", "pending")
"""Lists of a state that are no slots."""

_TOLD = {"lifted": ("text", "because"), "evicted": ("ref", "text"), "pending": ("ref", "text")}
"""What the agent reads of an entry of these lists. A doubted rule stays in its slot."""

_ROW = 3
"""Bytes of separators around a rendered value, about."""


def entry_of(record: Record) -> dict[str, Any]:
    """Return a record's line in the list of turns."""
    notes = [str(note["reason"]) for note in record.get("notes", ())]
    changes = [str(each["change"]) for each in changes_of(record)]
    verdicts = record.get("verdicts", ())
    said = record["turn"]["observations"]
    usage = record.get("usage") or {}
    return {
        "digest": record["digest"], "turn": record["state"]["turn"],
        "branch": record["state"]["branch"], "at": record.get("at", ""), "kind": kind_of(record),
        "tokens": record["tokens"], "limit": record["policy"]["max_tokens"],
        "slots": tokens_by_slot(record), "said": sum(map(_tokens_said, said)),
        "outcome": record.get("outcome", "ok"), "failed": bool(record.get("failure")),
        "ms": record.get("ms", {}), "read": usage.get("input", 0), "wrote": usage.get("output", 0),
        "money": record.get("money"), "redacted": bool(record.get("redacted")),
        "added": changes.count("added"), "removed": changes.count("removed"),
        "changed": changes.count("changed"),
        "refused": sum(reason in REFUSALS for reason in notes),
        "evicted": sum(reason in EVICTIONS for reason in notes),
        "candidates": len(verdicts), "admitted": sum(bool(each["admitted"]) for each in verdicts),
    }  # fmt: skip


def kind_of(record: Record) -> str:
    """Return what made the record: a turn, an operator's act or an erasure."""
    if "erasure" in record:
        return "erasure"
    said = record["turn"]["observations"]
    if said and all(each["channel"] == Channel.OPERATOR for each in said):
        return "operator"
    return "turn"


def changes_of(record: Record) -> Iterator[dict[str, Any]]:
    """Yield the record's changes of items, without those that only note a citation."""
    for change in record.get("diff", ()):
        fields = {n: v for n, v in change.get("fields", {}).items() if n != "touched"}
        if change["change"] != "changed" or fields:
            yield {**change, **({"fields": fields} if fields else {})}


def tokens_by_slot(record: Record) -> dict[str, int]:
    """Split the counted tokens of a state among its slots, by the bytes of the text that each renders."""
    sizes = {name: _size(name, value) for name, value in record["state"].items()
             if isinstance(value, list) and name != "feedback"}  # fmt: skip
    sizes = {name: size for name, size in sizes.items() if size}
    if not (whole := sum(sizes.values())):
        return {}
    names, tokens, done, given = list(sizes), int(record["tokens"]), 0, 0
    shares = {}
    for name in names:  # the parts add up to the counted whole
        done += sizes[name]
        shares[name] = tokens * done // whole - given
        given += shares[name]
    return shares


def words_of(item: Mapping[str, Any]) -> str:
    """Return what a stored item says, as `Item.words` does; the item's class need not be installed."""
    shown = ((name, value) for name, value in item.items() if name not in BOOKKEEPING)
    return " ".join(n if v is True else str(v) for n, v in shown if v is not False and v != "")


def _size(name: str, entries: list[Any]) -> int:
    rows = [each for each in entries if isinstance(each, dict)]
    if name == "doubted":
        return 0
    if name in BESIDE:
        told = [
            [str(row.get(n, "")) for n in _TOLD[name]] for row in rows if row.get("shown", True)
        ]
    else:
        told = [[str(v) for n, v in row.items() if n not in BOOKKEEPING] for row in rows]
    return sum(len(text.encode("utf-8", "replace")) + _ROW for row in told for text in row)


def _tokens_said(observation: Mapping[str, Any]) -> int:
    return utf8_quarter(observation["text"]) + int(observation.get("left_out", 0)) // 4
