"""A commit and its state as the page shows them: its line in the list, which holds nobody's words, and what it changed.

A state is read as JSON, so that it can be shown without its class. Only its text needs the class.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from acc.errors import AccError
from acc.journal import Journal, StoredCommit, ThreadKey
from acc.journal.record import notes_of
from acc.state.model import UNHASHED, CompressedCognitiveState
from acc.state.reasons import LEFT, REFUSED
from acc.state.render import render
from acc.text.lines import sha256_of
from acc.text.tokens import utf8_quarter

Body = Mapping[str, Any]
"""A state's canonical form, an item or a record as JSON."""

Schemas = Callable[[str], type[CompressedCognitiveState] | None]
"""Returns the state class of a name; None, or an error, if it is not installed."""

BESIDE = ("unread", "gone", "feedback")
"""Lists of a state that are no slots."""

COMPUTED = ("episodic_trace", "retrieved_artifacts")
"""Slots that every compression fills anew, and that the agent does not read."""

_UNSEEN = frozenset({"id", "turn", "touched", "uses", "minor", "sources", "trust"})
_WHY = ("turn", "reason", "detail")
_QUIET = frozenset({"touched", "uses"})
"""Fields whose change says only that an item was cited."""


def commits_of(
    journal: Journal, key: ThreadKey, branch: str, after: int = 0
) -> Iterator[StoredCommit]:
    """Yield the commits after a version that led to a branch's head, oldest first, from the branches before it too."""
    names = [name for name, _ in journal.lineage(key, branch)]
    forks = [next(journal.commits(key, name, page=1), None) for name in names[1:]]
    for name, fork in zip(names, [*forks, None], strict=True):
        if fork is not None and fork.version <= after + 1:
            continue  # all before the fork is too old
        for commit in journal.commits(key, name, after):
            if fork is not None and commit.version >= fork.version:
                break  # later than the fork
            yield commit


class StateReading(NamedTuple):
    """A state that was read: the text that the agent reads, its tokens, and its value; or why there is none."""

    text: str | None
    tokens: int
    problem: str = ""
    state: CompressedCognitiveState | None = None


def _generic(name: str) -> type[CompressedCognitiveState] | None:
    return CompressedCognitiveState if name == CompressedCognitiveState.__name__ else None


@dataclass
class StateReader:
    """Reads states, with the numbers of their policies by fingerprint, as the journal has them."""

    schemas: Schemas = _generic
    policies: dict[str, Body] = field(default_factory=dict)

    def read(self, body: Body) -> StateReading:
        """Return what a state says. Without its class, its tokens are estimated."""
        name = str(body.get("schema_name", ""))
        problem = f"the schema {name!r} is not installed"
        try:
            if schema := self.schemas(name):
                state = schema.load(body)
                text = render(state, self.policies.get(state.policy, {}).get("style", "lines"))
                return StateReading(text, utf8_quarter(text), state=state)
        except AccError as error:
            problem = str(error)
        tokens = sum(utf8_quarter(words_of(item)) + 1 for _, item in _read_items(body))
        return StateReading(None, tokens, problem)


def checked(commit: StoredCommit) -> StoredCommit:
    """Return a commit without what was changed behind the journal's back; ``problem`` says so."""
    if commit.problem:
        return commit
    hashed = {k: v for k, v in (commit.state or {}).items() if k not in UNHASHED}
    if commit.state is not None and not (
        sha256_of(hashed) == commit.hash == commit.state.get("hash")
    ):
        return replace(commit, state=None, problem="its state was changed after the commit")
    record = commit.record or {}
    try:
        notes_of(record.get("notes", ()))
        (record.get("given", {}).get("proposal") or {}).get("author")
        [f"{ref}{place + 0}{reason}" for ref, place, reason in record.get("verdicts", ())]
        sum(record.get("usage", {}).values())
    except (ValueError, TypeError, AttributeError, KeyError):
        return replace(commit, record=None, problem="its record was not written by acc")
    return commit


def entry_of(
    commit: StoredCommit, before: StoredCommit | None, reader: StateReader
) -> dict[str, Any]:
    """Return a commit's line in the list, which follows that of the commit ``before``. It holds nobody's words."""
    record = commit.record or {}
    usage, notes = record.get("usage", {}), [note["reason"] for note in record.get("notes", ())]
    reasons = [each[2] for each in record.get("verdicts", ())]
    is_next = before is None or commit.parent == before.hash or commit.kind == "taken"
    return {
        "version": commit.version, "branch": commit.branch, "hash": commit.hash,
        "turn": commit.turn, "at": commit.at, "kind": _kind_of(commit), "said": 0,
        "outcome": _outcome_of(commit), "failed": bool(record.get("failure") or commit.problem),
        "requests": usage.get("requests", 0), "read": usage.get("input", 0),
        "wrote": usage.get("output", 0),
        "candidates": len(reasons), "admitted": reasons.count("admitted"),
        "refused": sum(each in REFUSED for each in notes),
        "evicted": sum(each in LEFT for each in notes),
        "fault": commit.problem or ("" if is_next else "it does not follow the commit before it"),
        "limit": reader.policies.get(commit.policy, {}).get("max_tokens", 0),
        **_figures(commit.state, (before and before.state) or {}, reader),
    }  # fmt: skip


def _kind_of(commit: StoredCommit) -> str:
    if commit.kind != "step":
        return str(commit.kind)
    given = (commit.record or {}).get("given", {})
    for name, kind in (("is_provisional", "provisional"), ("is_repair", "repair")):
        if given.get(name):
            return kind
    if given.get("judgements"):
        return "judge"
    if (given.get("proposal") or {}).get("author") == "operator":
        return "operator"
    return "turn" if commit.span[1] else "compression"


def _outcome_of(commit: StoredCommit) -> str:
    record = commit.record or {}
    if commit.problem:
        return "damaged"
    if failure := str(record.get("failure", "")):
        return failure.partition(":")[0]
    kind = _kind_of(commit)
    if kind in ("turn", "compression"):
        return "compressed" if record.get("given", {}).get("proposal") else "in the tail"
    return kind


def _figures(state: Body | None, before: Body, reader: StateReader) -> dict[str, Any]:
    """Return tokens, those of the tail with long messages whole, and how many items changed."""
    if state is None:
        return {"tokens": 0, "tail": 0, "added": 0, "changed": 0, "removed": 0}
    unread = state.get("unread", ())
    kinds = [each["change"] for each in changes(before, state)]
    return {
        "tokens": reader.read(state).tokens,
        "tail": sum(e.get("tokens", 0) for e in unread if e.get("status") != "provisional"),
        **{kind: kinds.count(kind) for kind in ("added", "changed", "removed")},
    }  # fmt: skip


def items_of(body: Body) -> Iterator[tuple[str, Body]]:
    """Yield every item of a state with the name of its slot."""
    for slot, entries in body.items():
        if isinstance(entries, list) and slot not in BESIDE:
            for each in entries:
                if isinstance(each, Mapping) and each.get("id"):
                    yield slot, each


def words_of(item: Body) -> str:
    """Return what an item says; its class need not be installed."""
    said = item.get("words")
    if isinstance(said, Mapping):
        return str(said.get("text", ""))
    told = ((n, v) for n, v in item.items() if n not in _UNSEEN and isinstance(v, str | bool | int))
    return " ".join(n if v is True else str(v) for n, v in told if v not in ("", False))


def changes(before: Body, after: Body) -> Iterator[dict[str, Any]]:
    """Yield what was added, changed and removed between two states, by slot and id."""
    old = {item["id"]: (slot, item) for slot, item in _read_items(before)}
    new = {item["id"]: (slot, item) for slot, item in _read_items(after)}
    for name, (slot, item) in new.items():
        if name not in old:
            yield {"change": "added", "slot": slot, "id": name, "words": words_of(item)}
        elif fields := _fields(old[name][1], item):
            told = {"change": "changed", "slot": slot, "id": name, "words": words_of(item)}
            yield {**told, "fields": fields}
    for name, (slot, item) in old.items():
        if name not in new:
            yield {"change": "removed", "slot": slot, "id": name, "words": words_of(item)}


def _read_items(body: Body) -> Iterator[tuple[str, Body]]:
    return (each for each in items_of(body) if each[0] not in COMPUTED)


def _fields(before: Body, after: Body) -> dict[str, list[str]]:
    if before == after:
        return {}
    names = [name for name in {**before, **after} if name not in _QUIET]
    pairs = {name: (before.get(name), after.get(name)) for name in names}
    return {n: [told(old), told(new)] for n, (old, new) in pairs.items() if old != new}


def told(value: Any) -> str:
    """Return a field of an item on one line: of somebody's words their text, of a claim what was said of it."""
    if isinstance(value, list):
        return "; ".join(map(told, value))
    if isinstance(value, Mapping) and "since" in value:
        by, verdict = told(value.get("words") or ""), value.get("verdict", "not judged yet")
        return f"claimed in turn {value['since']}{': ' if by else ''}{by}; verdict: {verdict}"
    if isinstance(value, Mapping) and "text" in value:
        return f"{value['text']} ({value['ref']})" if "ref" in value else str(value["text"])
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def explained(before: Body, after: Body, notes: Iterable[Body]) -> Iterator[dict[str, Any]]:
    """Yield the changes between two states, each with the reasons that the notes give of its item."""
    by_item: dict[str, list[Body]] = {}
    for note in notes:
        by_item.setdefault(note.get("item", ""), []).append(note)
    for change in changes(before, after):
        reasons: list[Body] = []
        for note in by_item.get(change["id"], ()):
            told = {"detail": "", **{name: note[name] for name in _WHY if name in note}}
            reasons += [told] if told not in reasons else []
        yield {**change, "reasons": reasons}
