"""What is written about the use of evidence, and read back.

Nothing is written when something is recalled. A turn's commit is in the audit log anyway, with
every verdict, so what was admitted in it is read from there; an execution of a task writes one
event when it is over, with what it was shown; feedback writes one event. All of these survive
a kill, and what a killed process had only recalled was of no use to anybody.
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
    """How one piece of evidence fared.

    Attributes:
        retrieved: The times at which it was read, in order.
        utilities: What came of it, as far as anybody said.
    """

    retrieved: list[int] = field(default_factory=list)
    utilities: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Usage:
    """What a deletion policy judges: one piece of evidence and how it fared.

    Attributes:
        key: `evidence_key`.
        ref: What citations call it.
        kind: Kind of its records.
        added: The time at which it came.
        retrieved: The times at which it was read.
        utilities: What came of it each time that somebody said.
        prior: What the evaluator said it was worth when it was added.
        order: Its place among all, oldest first.
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
        """freq_t of the paper: how often it was read up to the time ``until``."""
        return bisect_right(self.retrieved, until)

    @property
    def mean_utility(self) -> float | None:
        """The mean of its utilities; None if there is none."""
        return sum(self.utilities) / len(self.utilities) if self.utilities else None


def evidence_key(artifact: Artifact) -> str:
    """What all parts of one piece of evidence share: its thread's or namespace's key, and its ref."""
    return f"{artifact.thread}:{artifact.ref}"


def is_named(artifact: Artifact, ref: str) -> bool:
    """Whether ``ref`` names it, or the document that it is a part of."""
    is_part = is_ingested(ref) and artifact.ref.rpartition(".")[0] == ref
    return artifact.ref == ref or is_part


class Ledger:
    """Tallies by evidence key, as of the time `t`.

    Attributes:
        t: Executions or commits so far.
        tallies: By key.
        stamps: When each was.
        similarities: Of each execution's task to that of the most similar experience shown, and of the
            execution to that one's; -1 where none was shown.
    """

    def __init__(self) -> None:
        self.t = 0
        self.tallies: dict[str, Tally] = {}
        self.stamps: list[str] = []
        self.similarities: list[tuple[float, float]] = []

    def retrieved(self, keys: Iterable[str], utility: float | None = None, at: str = "") -> None:
        """One more execution or commit, in which the evidence of ``keys`` was read."""
        self.t += 1
        self.stamps.append(at)
        for key in dict.fromkeys(keys):
            self.tallies.setdefault(key, Tally()).retrieved.append(self.t)
        self.valued(keys, utility)

    def valued(self, keys: Iterable[str], utility: float | None) -> None:
        """What came of the evidence of ``keys``."""
        for key in dict.fromkeys(keys) if utility is not None else ():
            self.tallies.setdefault(key, Tally()).utilities.append(float(utility or 0.0))

    def time_of(self, stamp: str) -> int:
        """The time that a stamp falls into: how many commits were made before it.

        Of one millisecond a commit comes first: what it stored itself is older by a whole turn,
        while the next turn may follow at once.
        """
        return bisect_right(self.stamps, stamp)

    def usage(self, artifact: Artifact, *, added: int, prior: float | None, order: int) -> Usage:
        """How ``artifact`` fared."""
        key = evidence_key(artifact)
        tally = self.tallies.get(key, Tally())
        return Usage(
            key=key, ref=artifact.ref, kind=artifact.kind, added=added,
            retrieved=tally.retrieved, utilities=tally.utilities,
            prior=prior, order=order,
        )  # fmt: skip


SUMMARY = "summary"
"""Name of the records that tell what a compacted shelf held before."""


class Event(BaseModel):
    """Something that happened to evidence.

    Attributes:
        of: Keys of the evidence (`evidence_key`).
        kind: ``execution`` of a task that was shown it, or ``feedback`` on it.
        utility: How good what came of it was; None if nobody said.
        input_similarity: Of an execution's task to the most similar one shown; -1 if none was.
        output_similarity: Of the execution to that one's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    of: tuple[str, ...] = ()
    kind: Literal["execution", "feedback"] = "execution"
    utility: float | None = Field(default=None, allow_inf_nan=False)
    input_similarity: float = -1.0
    output_similarity: float = -1.0


def checked_utility(utility: Any, where: str) -> float:
    """``utility``, if it is a finite number.

    Raises:
        InputError: It is none.
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
    """Write an event. Its records are written at once, so it has happened or it has not.

    Raises:
        StoreError: It cannot be written.
    """
    shelf.append(usage_records("event", event.model_dump_json(), at))


def usage_records(name: str, text: str, at: str) -> list[Artifact]:
    """The records of a usage shelf that tell ``text``."""
    texts = split_text(text)
    return [
        Artifact(
            id="", thread="", branch="", seq=0, turn=0, kind="usage", name=name, text=piece,
            part=part, parts=len(texts), at=at,
        )
        for part, piece in enumerate(texts)
    ]  # fmt: skip


def told_whole(name: str, records: Iterable[Artifact]) -> list[str]:
    """The texts of that name on a usage shelf of which every record is there, in order."""
    found, parts = [], list[str]()
    for record in records:
        if record.name == name:
            parts = [*parts, record.text] if record.part else [record.text]
            if len(parts) == record.parts:
                found.append("".join(parts))
    return found


def events(records: Iterable[Artifact]) -> list[Event]:
    """The events among the records of a usage shelf, in order."""
    return [Event.model_validate_json(text) for text in told_whole("event", records)]


def summary(ledger: Ledger) -> str:
    """``ledger`` as text; `carried` reads it back."""
    tallies = [[key, t.retrieved, t.utilities] for key, t in ledger.tallies.items()]
    said = {"t": ledger.t, "tallies": tallies, "similarities": ledger.similarities}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def carried(records: Sequence[Artifact]) -> Ledger:
    """What a compacted usage shelf begins with; nothing where it was not compacted.

    A summary further on belongs to a compaction that was not ended.
    """
    ledger = Ledger()
    if records and records[0].name == SUMMARY:
        said = json.loads(told_whole(SUMMARY, records)[0])
        ledger.t = said["t"]
        ledger.tallies = {key: Tally(times, worth) for key, times, worth in said["tallies"]}
        ledger.similarities = [(task, execution) for task, execution in said["similarities"]]
    return ledger


def execution_ledger(records: Sequence[Artifact]) -> Ledger:
    """How experiences fared, by a usage shelf's events."""
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
    """How the evidence of turns fared: by the audit logs of a namespace, and by feedback.

    Args:
        audits: The logs of its threads; for documents, of all threads that may see them.
        records: What stands on its usage shelf.
        read: Gives a log's audit records.
        others: What stands on the usage shelves of others who may see its documents: who gives
            feedback on a document gives it in their own namespace.
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
    """Keys of the evidence that an audit record's turn admitted."""
    return list(dict.fromkeys(_admitted(entry)))


def _admitted(entry: Mapping[str, Any]) -> list[str]:
    return [
        f"{verdict['artifact'].partition('.')[0]}:{verdict['ref'].rpartition('/')[2]}"
        for verdict in entry.get("verdicts", ())
        if verdict["admitted"]
    ]
