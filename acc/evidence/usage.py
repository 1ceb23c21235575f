"""How evidence fared: how often it was read, when, and how useful that was.

Nothing is written when something is recalled. A turn's commit is in the audit log anyway, with
every verdict, so what was admitted in it is read from there; an execution of a task writes one
event when it is over, with what it was shown; feedback writes one event. All of these survive
a kill, and what a killed process had only recalled was of no use to anybody.

Time is counted, not measured: in commits of a namespace for the evidence of turns, in
executions for experiences. That is the paper's t.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from acc.evidence.shelf import Shelf
from acc.store import Artifact, split_text


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


class Ledger:
    """Tallies by evidence key, as of the time `t`."""

    def __init__(self) -> None:
        self.t = 0
        self.tallies: dict[str, Tally] = {}
        self.stamps: list[str] = []

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
        """The time that a stamp falls into: how many commits were made before it."""
        return bisect_left(self.stamps, stamp)

    def usage(self, artifact: Artifact, *, added: int, prior: float | None, order: int) -> Usage:
        """How ``artifact`` fared."""
        key = evidence_key(artifact)
        tally = self.tallies.get(key, Tally())
        return Usage(
            key=key, ref=artifact.ref, kind=artifact.kind, added=added,
            retrieved=tally.retrieved, utilities=tally.utilities,
            prior=prior, order=order,
        )  # fmt: skip


def told(shelf: Shelf, event: Event, at: str) -> None:
    """Write an event: one record, so it has happened or it has not.

    Raises:
        StoreError: It cannot be written.
    """
    (text,) = split_text(event.model_dump_json())
    shelf.append([_record("event", text, at)])


def events(records: Iterable[Artifact]) -> list[Event]:
    """The events among the records of a usage shelf, in order."""
    return [Event.model_validate_json(a.text) for a in records if a.name == "event"]


def execution_ledger(records: Iterable[Artifact]) -> Ledger:
    """How experiences fared, by a usage shelf's events."""
    ledger = Ledger()
    for event in events(records):
        if event.kind == "execution":
            ledger.retrieved(event.of, event.utility)
        else:
            ledger.valued(event.of, event.utility)
    return ledger


def turn_ledger(
    audits: Sequence[Path], records: Iterable[Artifact], read: Callable[[Path], Iterable[Any]]
) -> Ledger:
    """How the evidence of turns fared: by the audit logs of a namespace, and by feedback.

    Args:
        audits: The logs of its threads.
        records: What stands on its usage shelf.
        read: Gives a log's audit records.
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
    for event in events(records):
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


def _record(name: str, text: str, at: str) -> Artifact:
    return Artifact(
        id="", thread="", branch="", seq=0, turn=0, kind="usage", name=name, text=text, at=at
    )
