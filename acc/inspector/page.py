"""The page, live and as a file: the same markup, style and scripts, which are files of this package.

A live page asks the server for its data. An exported page holds the data of one thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from acc.errors import InputError
from acc.inspector.detail import Details, Reader, missing
from acc.inspector.logs import Logs
from acc.report.page import allowed, document

SCRIPTS = ("text.js", "data.js", "chart.js", "turn.js", "acts.js", "app.js")
"""The scripts in the order in which they run, as one."""

MESSAGE_CHARS = 2_000
"""Maximum number of characters of each text in an exported page."""


def live_page(*, operator: bool) -> tuple[str, str]:
    """Return the page that asks its server, and its content security policy for the header.

    With ``operator`` the page offers acts.
    """
    own = "connect-src 'self'"
    text = _page("ACC inspector", {"live": True, "operator": operator}, own)
    return text, allowed(_style(), _script(), f"{own}; frame-ancestors 'none'")


def exported_page(logs: Logs, name: str, reader: Reader, title: str) -> str:
    """Return a page with all turns that led to the newest state of the log ``name``.

    Raises:
        InputError: The log has no record.
        AuditError: The log cannot be read.
    """
    return _page(title, exported(logs, name, reader))


def exported(logs: Logs, name: str, reader: Reader) -> dict[str, Any]:
    """Return the data of an exported page. Items, rendered lines and sources are in it once."""
    index = logs.index(name)
    if not index.entries:
        raise InputError("the audit log has no record", where=logs.store.where(name))
    path = index.lineage(len(index.entries) - 1)[::-1]
    places = {old: new for new, old in enumerate(path)}
    details = Details(index, reader, MESSAGE_CHARS)
    records = {r["digest"]: r for r in logs.records(name)}
    pool: dict[str, tuple[int, Any]] = {}

    def shared(value: Any) -> int:
        """Return the place of a value that many turns share; the page holds it once."""
        return pool.setdefault(repr(value), (len(pool), value))[0]

    turns: list[dict[str, Any]] = []
    sources: dict[str, Any] = {}
    for position in path:
        record = records[index.entries[position]["digest"]]
        turn = details.of(record, position) | {"position": places[position]}
        new = (ref for ref in _named(turn) if ref not in sources)
        sources |= {ref: _source(details, records, ref, position) for ref in new}
        turn["items"] = [shared(item) for item in turn["items"]]
        if turn["rendered"] is not None:
            turn["rendered"] = [shared(line) for line in turn["rendered"].split("\n")]
        turns.append(turn)
    entries = [
        {**index.entries[old], "prior": places.get(index.entries[old]["prior"])} for old in path
    ]
    return {
        "live": False, "thread": turns[-1]["thread"], "entries": entries, "faults": index.faults,
        "turns": turns, "pool": [value for _, value in pool.values()],
        "sources": sources,
    }  # fmt: skip


def _named(turn: Mapping[str, Any]) -> Sequence[str]:
    """Return the refs that a turn's items and verdicts name."""
    cited = [ref for item in (*turn["items"], *turn["left"]) for ref in item["sources"] or ()]
    return list(dict.fromkeys([*cited, *(each["ref"] for each in turn["verdicts"])]))


def _source(
    details: Details, records: Mapping[str, Mapping[str, Any]], ref: str, position: int
) -> dict[str, Any]:
    place = details.index.place_of(ref, position)
    if place is None:
        return missing(ref)
    return details.source(records[details.index.entries[place.position]["digest"]], ref)


def _page(title: str, data: Mapping[str, Any], policy: str = "") -> str:
    body = _resource("page.html")
    return document(title, body, style=_style(), script=_script(), data=data, policy=policy)


def _style() -> str:
    return _resource("style.css")


def _script() -> str:
    return "".join(map(_resource, SCRIPTS))


def _resource(name: str) -> str:
    return files("acc.inspector").joinpath(name).read_text(encoding="utf-8")
