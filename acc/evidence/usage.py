"""Write and read events about the use of evidence.

A recall writes nothing. The audit log has each turn's commit with every verdict, and supplies the
admitted evidence. A finished execution of a task writes one event with its demonstrations; feedback
writes one event. All of these survive a kill; a recall by a killed process was of no use.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from acc.errors import InputError
from acc.stores.protocol import Artifact, split_text
from acc.stores.shelf import Shelf
from acc.turn.observations import is_ingested


@dataclass
class Tally:
    """The usage of one piece of evidence.

    Attributes:
        retrieved: The times of its retrievals, in order.
        utilities: The known utilities of the results.
    """

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
    """Return the common key of all parts: the key of the thread or namespace, and the ref."""
    return f"{artifact.thread}:{artifact.ref}"


def is_named(artifact: Artifact, ref: str) -> bool:
    """Return whether ``ref`` names it, or the document that it is a part of."""
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

    def retrieved(self, keys: Iterable[str], utility: float | None = None, at: str = "") -> None:
        """Count one more execution or commit that read the evidence of ``keys``."""
        self.t += 1
        self.stamps.append(at)
        for key in dict.fromkeys(keys):
            self.tallies.setdefault(key, Tally()).retrieved.append(self.t)
        self.valued(keys, utility)

    def valued(self, keys: Iterable[str], utility: float | None) -> None:
        """Add the utility of a result to the evidence of ``keys``."""
        for key in dict.fromkeys(keys) if utility is not None else ():
            self.tallies.setdefault(key, Tally()).utilities.append(float(utility or 0.0))

    def time_of(self, stamp: str) -> int:
        """Return the time of a stamp: the number of commits up to it.

        A commit comes first within a millisecond: records that it stored itself are older by a
        whole turn, but the next turn may follow at once.
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
    """Return ``utility`` if it is a finite number.

    Raises:
        InputError: It is not.
    """
    is_number = isinstance(utility, int | float) and not isinstance(utility, bool)
    if is_number and -sys.float_info.max <= utility <= sys.float_info.max:
        return float(utility)
    what = f"{utility:.3g}" if isinstance(utility, float) else type(utility).__name__
    raise InputError(
        f"a utility is a finite number, not {what}",
        where=where,
        hint="higher is better: 0 to 1, say",
    )


def told(shelf: Shelf, event: Event, at: str) -> None:
    """Write an event atomically.

    Raises:
        StoreError: The event cannot be written.
    """
    shelf.append(usage_records("event", event.model_dump_json(), at))


def usage_records(name: str, text: str, at: str) -> list[Artifact]:
    """Return the usage records with ``text``."""
    texts = split_text(text)
    return [
        Artifact(
            id="", thread="", branch="", seq=0, turn=0, kind="usage", name=name, text=piece,
            part=part, parts=len(texts), at=at,
        )
        for part, piece in enumerate(texts)
    ]  # fmt: skip


def told_whole(name: str, records: Iterable[Artifact]) -> list[str]:
    """Return the complete texts of that name on a usage shelf, in order."""
    found, parts = [], list[str]()
    for record in records:
        if record.name == name:
            parts = [*parts, record.text] if record.part else [record.text]
            if len(parts) == record.parts:
                found.append("".join(parts))
    return found


def events(records: Iterable[Artifact]) -> list[Event]:
    """Return the events among the records of a usage shelf, in order."""
    return [Event.model_validate_json(text) for text in told_whole("event", records)]


def summary(ledger: Ledger) -> str:
    """Return ``ledger`` as text; `carried` reads it back."""
    tallies = [[key, t.retrieved, t.utilities] for key, t in ledger.tallies.items()]
    said = {"t": ledger.t, "tallies": tallies, "similarities": ledger.similarities}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def carried(records: Sequence[Artifact]) -> Ledger:
    """Return the ledger that a compacted usage shelf begins with; empty without a compaction.

    A summary elsewhere on the shelf belongs to an unfinished compaction.
    """
    ledger = Ledger()
    if records and records[0].name == SUMMARY:
        said = json.loads(told_whole(SUMMARY, records)[0])
        ledger.t = said["t"]
        ledger.tallies = {key: Tally(times, worth) for key, times, worth in said["tallies"]}
        ledger.similarities = [(task, execution) for task, execution in said["similarities"]]
    return ledger


def execution_ledger(records: Sequence[Artifact]) -> Ledger:
    """Return the ledger of experiences from a usage shelf's events."""
    ledger = carried(records)
    for event in events(records):
        if event.kind == "execution":
            ledger.retrieved(event.of, event.utility)
            ledger.similarities.append((event.input_similarity, event.output_similarity))
        else:
            ledger.valued(event.of, event.utility)
    return ledger


def turn_ledger(
    audits: Sequence[Path],
    records: Sequence[Artifact],
    read: Callable[[Path], Iterable[Any]],
    others: Iterable[Sequence[Artifact]] = (),
) -> Ledger:
    """Return the ledger of turns' evidence from the audit logs of a namespace and from feedback.

    Args:
        audits: The logs of its threads; for documents, of all threads that may see them.
        records: The records of its usage shelf.
        read: Returns a log's audit records.
        others: The records of usage shelves of other namespaces that may see its documents:
            feedback on a document is stored in the namespace of its author.
    """
    ledger = Ledger()
    commits = sorted(
        (
            (str(entry.get("at", "")), number, _admitted(entry))
            for number, path in enumerate(audits)
            for entry in read(path)
            if "erasure" not in entry
        ),
        key=lambda commit: commit[:2],
    )
    for at, _, keys in commits:
        ledger.retrieved(keys, at=at)
    for shelf in (records, *others):
        for key, tally in carried(shelf).tallies.items():
            for utility in tally.utilities:
                ledger.valued([key], utility)
        for event in events(shelf):
            if event.kind == "feedback":
                ledger.valued(event.of, event.utility)
    return ledger


def admitted_in(entry: Mapping[str, Any]) -> list[str]:
    """Return keys of the evidence that an audit record's turn admitted."""
    return list(dict.fromkeys(_admitted(entry)))


def _admitted(entry: Mapping[str, Any]) -> list[str]:
    return [
        f"{verdict['artifact'].partition('.')[0]}:{verdict['ref'].rpartition('/')[2]}"
        for verdict in entry.get("verdicts", ())
        if verdict["admitted"]
    ]
