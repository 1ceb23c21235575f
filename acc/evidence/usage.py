"""How evidence fared: how often it was read, when, and how useful that was.

Time is counted, not measured: in commits of a namespace for the evidence of turns, in
executions for experiences. That is the paper's t.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from acc.refs import is_ingested
from acc.store import Artifact


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
