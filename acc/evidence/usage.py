"""The use of evidence: events and holds on a namespace's usage shelf, and tallies of them.

A recall writes nothing: the audit record of the turn has every verdict, and so the admitted evidence.
A finished execution of a task writes one event with its demonstrations; feedback writes one event. All
of these survive a kill. A recall that was killed before its commit is not counted.

`compact` replaces many events by one summary, with the same effect on policies:

1. It appends the summary after the last event, with the current holds and the unfinished intents.
2. It writes a record that says that the shelf starts there. Each start can have only one such record.
   A kill before it changes nothing, and if another process was first, nothing changes either. After it,
   the compaction is complete.
3. It deletes the records before the start. In a shared store the next compaction does this, because
   another process may be about to append after an event that it has read.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from acc.audit.log import AuditLog
from acc.errors import InputError
from acc.evidence.unfinished import INTENT, Prunes, open_intents, usage_record
from acc.stores.protocol import Artifact, ArtifactStore, ManagedStore, Thread, split_text
from acc.stores.shelf import START, Shelf
from acc.turn.observations import is_ingested


@dataclass
class Tally:
    """When one piece of evidence was retrieved, and the known utilities of the results."""

    retrieved: list[int] = field(default_factory=list)
    utilities: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Usage:
    """The input of a deletion policy: one piece of evidence and its usage.

    Attributes:
        key: `evidence_key`.
        ref: Name in citations.
        kind: Kind of its records.
        added: The time of its addition.
        retrieved: The times of its retrievals.
        utilities: The known utilities of the results.
        prior: The evaluator's utility at its addition.
        order: Its position among all, oldest first.
    """

    key: str
    ref: str
    kind: str
    added: int
    retrieved: Sequence[int] = ()
    utilities: Sequence[float] = ()
    prior: float | None = None
    order: int = 0

    def frequency(self, until: int) -> int:
        """Return the paper's freq_t: the number of retrievals up to the time ``until``."""
        return bisect_right(self.retrieved, until)

    @property
    def mean_utility(self) -> float | None:
        """The mean of its utilities; None if there is none."""
        return sum(self.utilities) / len(self.utilities) if self.utilities else None


def evidence_key(artifact: Artifact) -> str:
    """Return the key that all parts of a text share: the key of the thread or namespace, and the ref."""
    return f"{artifact.thread}:{artifact.ref}"


def is_named(artifact: Artifact, ref: str) -> bool:
    """Return whether ``ref`` names the artifact, or the document that it is a part of."""
    is_part = is_ingested(ref) and artifact.ref.rpartition(".")[0] == ref
    return artifact.ref == ref or is_part


class Ledger:
    """Tallies by evidence key, as of the time `t`.

    Attributes:
        t: Number of executions or commits so far.
        tallies: Tally by key.
        stamps: Time stamp of each.
        similarities: For each execution, the similarity of its task to the most similar one shown,
            and of the two executions; -1 if none was shown.
    """

    def __init__(self) -> None:
        self.t = 0
        self.tallies: dict[str, Tally] = {}
        self.stamps: list[str] = []
        self.similarities: list[tuple[float, float]] = []

    def add_retrieval(
        self, keys: Iterable[str], utility: float | None = None, at: str = ""
    ) -> None:
        """Count one more execution or commit that read the evidence of ``keys``."""
        self.t += 1
        self.stamps.append(at)
        for key in dict.fromkeys(keys):
            self.tallies.setdefault(key, Tally()).retrieved.append(self.t)
        self.add_utility(keys, utility)

    def add_utility(self, keys: Iterable[str], utility: float | None) -> None:
        """Add the utility of a result to the evidence of ``keys``; None adds nothing."""
        if utility is None:
            return
        for key in dict.fromkeys(keys):
            self.tallies.setdefault(key, Tally()).utilities.append(float(utility))

    def time_of(self, stamp: str) -> int:
        """Return the time of a stamp: the number of commits up to it, those with an equal stamp included.

        A commit and a record with equal stamps: the record belongs to the next turn, which began within
        the same millisecond. The records of the commit's own turn are older.
        """
        return bisect_right(self.stamps, stamp)

    def usage(self, artifact: Artifact, *, added: int, prior: float | None, order: int) -> Usage:
        """Return the usage of ``artifact``."""
        key = evidence_key(artifact)
        tally = self.tallies.get(key, Tally())
        return Usage(
            key=key, ref=artifact.ref, kind=artifact.kind, added=added,
            retrieved=tally.retrieved, utilities=tally.utilities,
            prior=prior, order=order,
        )  # fmt: skip


SUMMARY = "summary"
"""Name of the records with the earlier content of a compacted shelf."""


class Event(BaseModel):
    """An event about evidence.

    Attributes:
        of: Keys of the evidence (`evidence_key`).
        kind: ``execution`` of a task with it as a demonstration, or ``feedback`` on it.
        utility: Utility of the result; None if unknown.
        input_similarity: Similarity of an execution's task to the most similar one shown; -1 if
            none was.
        output_similarity: Similarity of the two executions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    of: tuple[str, ...] = ()
    kind: Literal["execution", "feedback"] = "execution"
    utility: float | None = Field(default=None, allow_inf_nan=False)
    input_similarity: float = -1.0
    output_similarity: float = -1.0


def checked_utility(utility: Any, where: str) -> float:
    """Return ``utility``, or raise an `InputError` if it is not a finite number."""
    is_number = isinstance(utility, int | float) and not isinstance(utility, bool)
    if is_number and -sys.float_info.max <= utility <= sys.float_info.max:
        return float(utility)
    what = f"{utility:.3g}" if isinstance(utility, float) else type(utility).__name__
    raise InputError(
        f"a utility is a finite number, not {what}",
        where=where,
        hint="give a number, for example from 0 to 1; higher is better",
    )


def record_event(shelf: Shelf, event: Event, at: str) -> None:
    """Write an event atomically."""
    shelf.append(usage_records("event", event.model_dump_json(), at))


def usage_records(name: str, text: str, at: str) -> list[Artifact]:
    """Return the usage records with ``text``."""
    texts = split_text(text)
    return [
        usage_record(name, piece, at, part=part, parts=len(texts))
        for part, piece in enumerate(texts)
    ]


def usage_texts(name: str, records: Iterable[Artifact]) -> list[str]:
    """Return the complete texts of the records ``name`` on a usage shelf, in order."""
    found, parts = [], list[str]()
    for record in records:
        if record.name == name:
            parts = [*parts, record.text] if record.part else [record.text]
            if len(parts) == record.parts:
                found.append("".join(parts))
    return found


def events(records: Iterable[Artifact]) -> list[Event]:
    """Return the events among the records of a usage shelf, in order."""
    return [Event.model_validate_json(text) for text in usage_texts("event", records)]


def summary(ledger: Ledger) -> str:
    """Return ``ledger`` as text; `summarized_ledger` reads it back."""
    tallies = [[key, t.retrieved, t.utilities] for key, t in ledger.tallies.items()]
    said = {"t": ledger.t, "tallies": tallies, "similarities": ledger.similarities}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def summarized_ledger(records: Sequence[Artifact]) -> Ledger:
    """Return the ledger that a compacted usage shelf begins with; empty without a compaction.

    A summary elsewhere on the shelf belongs to an unfinished compaction.
    """
    ledger = Ledger()
    if records and records[0].name == SUMMARY:
        said = json.loads(usage_texts(SUMMARY, records)[0])
        ledger.t = said["t"]
        ledger.tallies = {key: Tally(times, worth) for key, times, worth in said["tallies"]}
        ledger.similarities = [(task, execution) for task, execution in said["similarities"]]
    return ledger


def execution_ledger(records: Sequence[Artifact]) -> Ledger:
    """Return the ledger of experiences from a usage shelf's events."""
    ledger = summarized_ledger(records)
    for event in events(records):
        if event.kind == "execution":
            ledger.add_retrieval(event.of, event.utility)
            ledger.similarities.append((event.input_similarity, event.output_similarity))
        else:
            ledger.add_utility(event.of, event.utility)
    return ledger


def turn_ledger(audits: Sequence[AuditLog], shelves: Iterable[Sequence[Artifact]]) -> Ledger:
    """Return the ledger of turns' evidence from audit logs, and from feedback on usage shelves.

    For documents, give the logs and shelves of all who may see them: feedback on a document is
    stored with its author.
    """
    ledger = Ledger()
    commits = [
        (str(entry.get("at", "")), number, admitted_in(entry))
        for number, log in enumerate(audits)
        for entry in log.records()
        if "erasure" not in entry
    ]
    commits.sort(key=lambda commit: commit[:2])
    for at, _, keys in commits:
        ledger.add_retrieval(keys, at=at)
    for shelf in shelves:
        for key, tally in summarized_ledger(shelf).tallies.items():
            for utility in tally.utilities:
                ledger.add_utility([key], utility)
        for event in events(shelf):
            if event.kind == "feedback":
                ledger.add_utility(event.of, event.utility)
    return ledger


def admitted_in(entry: Mapping[str, Any]) -> list[str]:
    """Return keys of the evidence that an audit record's turn admitted."""
    return [
        f"{verdict['artifact'].partition('.')[0]}:{verdict['ref'].rpartition('/')[2]}"
        for verdict in entry.get("verdicts", ())
        if verdict["admitted"]
    ]


HOLD = "hold"


@dataclass(frozen=True)
class Holds:
    """The holds of a namespace, by evidence key; a key without a ref holds the whole thread."""

    reasons: dict[str, str]

    def on(self, key: str) -> str | None:
        """Return the reason of a hold on ``key``, its document or its thread; None if not held."""
        thread = key.partition(":")[0]
        whole = (key, key.rpartition(".")[0], f"{thread}:")
        return next((self.reasons[k] for k in whole if k in self.reasons), None)


def holds(records: Iterable[Artifact]) -> Holds:
    """Return the current holds from the records of a usage shelf."""
    reasons: dict[str, str] = {}
    for record in records:
        if record.name == HOLD:
            said = json.loads(record.text)
            if said["held"]:
                reasons[said["key"]] = said["reason"]
            else:
                reasons.pop(said["key"], None)
    return Holds(reasons)


def hold_record(key: str, reason: str, at: str, *, held: bool = True) -> Artifact:
    """Return the usage record of a hold or its release."""
    text = json.dumps({"key": key, "reason": reason[:2_000], "held": held}, ensure_ascii=False)
    return usage_record(HOLD, text, at)


MIN_RECORDS = 1_000
"""Minimum number of records of a usage shelf for a compaction."""


def compact(
    store: ArtifactStore, space: Thread, now: Callable[[], str], *, least: int = MIN_RECORDS
) -> int:
    """Compact a namespace's usage shelf if it has ``least`` records; return how many fewer it then has.

    Concurrent writes are allowed; 0 if another process was first. Also removes the tallies of
    deleted experiences.
    """
    usage = Shelf(store, space, "usage")
    if not isinstance(store, ManagedStore) or len(usage.records()) < least:
        return 0
    Prunes(usage, now).resume()
    records, old_start = usage.records(), usage.first
    ledger = execution_ledger(records)
    _drop_deleted(ledger, {a.ref for a in Shelf(store, space, "experiences").records()}, space)
    at = now()
    begun = {intent.id for intent in open_intents(records)}
    kept = [
        *usage_records(SUMMARY, summary(ledger), at),
        *(hold_record(key, reason, at) for key, reason in holds(records).reasons.items()),
        *(r for r in records if r.name == INTENT and r.identity in begun),
    ]
    placed = usage.append_next(kept)
    if placed is None or not _record_start(usage, old_start, placed[0]):
        return 0
    _delete_replaced(store, usage, old_start, placed[0])
    return len(records) - len(kept)


def _record_start(usage: Shelf, old_start: int, first: Artifact) -> bool:
    """Record that the shelf starts at ``first``; False if another process was first."""
    said = first.model_copy(update={
        "id": usage.new_start_id(old_start), "branch": f"usage.{START}", "seq": old_start,
        "name": START, "text": str(first.seq), "part": 0, "parts": 1,
    })  # fmt: skip
    usage.store.add(usage.space.tenant, [said])
    return usage.store.get(usage.space.tenant, [said.id]) == [said]


def _delete_replaced(store: ManagedStore, usage: Shelf, old_start: int, first: Artifact) -> None:
    """Name the new start in the record at place 1, and delete the records that no reader reaches."""
    tenant, key = usage.space.tenant, usage.space.key
    start = first.model_copy(update={
        "id": usage.id_of(1), "seq": 1, "name": START, "text": str(first.seq), "part": 0, "parts": 1,
    })  # fmt: skip
    store.replace(tenant, [start])
    ids = [i for kind in ("usage", "tombstone") for i in store.ids(tenant, kind=kind, thread=key)]
    end = old_start if store.shared else first.seq
    gone = []
    for record in store.get(tenant, ids):
        is_start = record.branch == f"usage.{START}" and not store.shared
        if is_start or (record.branch == "usage" and 1 < record.seq < end):
            gone.append(record.id)
    store.delete(tenant, gone)


def _drop_deleted(ledger: Ledger, known: set[str], space: Thread) -> None:
    for key in list(ledger.tallies):
        owner, _, ref = key.partition(":")
        if owner == space.key and ref.startswith("exp.") and ref not in known:
            del ledger.tallies[key]
