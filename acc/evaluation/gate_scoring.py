"""Precision and recall of the gate, on candidates of which somebody said whether they are wanted.

Precision is the share of the admitted that are wanted, recall the share of the wanted that are
admitted; both are over all candidates of all cases. Candidates without a label count nowhere.
Several candidates may say the same. So what is wanted is counted as well, whoever says it:
``needs_found`` is the share of it that one of the admitted says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acc.gate import Context, GateLike, Verdict, qualify
from acc.gates import default_gate
from acc.memory import Settings
from acc.ranking import LexicalIndex
from acc.recall import Candidate
from acc.state import CompressedCognitiveState
from acc.store import Artifact
from acc.turn import Channel, Turn

MOST = 16
"""Candidates of a case at the most, as recall proposes."""


@dataclass(frozen=True)
class LabelledCase:
    """A question, the candidates for it, and which of them are wanted.

    Attributes:
        question: The user's words.
        candidates: Best first.
        wanted: For each candidate whether it is wanted; None where that is left open.
        says: For each candidate which of the things that are wanted it says, by name; empty
            where each wanted candidate says one of its own.
        turn: The turn before the question.
        state: CCS_t-1; empty if None.
        retired: Turn in which what a ref said was retired, by ref.
    """

    question: str
    candidates: Sequence[Candidate]
    wanted: Sequence[bool | None]
    turn: int = 0
    state: CompressedCognitiveState | None = None
    retired: Mapping[str, int] = field(default_factory=dict)
    says: Sequence[frozenset[str]] = ()

    def needs(self) -> list[frozenset[str]]:
        """For each candidate what is wanted of it."""
        if self.says:
            return [s if w else frozenset() for s, w in zip(self.says, self.wanted, strict=True)]
        return [frozenset({str(at)} if w else ()) for at, w in enumerate(self.wanted)]


@dataclass(frozen=True)
class GateScore:
    """How a gate did.

    Attributes:
        cases: Questions.
        wanted: Wanted candidates.
        admitted: Admitted candidates that have a label.
        right: Those that are both.
        refusals: Wanted candidates that were refused, by the gate that did.
        labelled: Candidates with a label.
        needs: Things that are wanted and that a candidate says, once for each case.
        found: Those of them that an admitted candidate says.
    """

    cases: int
    wanted: int
    admitted: int
    right: int
    refusals: Mapping[str, int]
    labelled: int
    needs: int
    found: int

    @property
    def precision(self) -> float | None:
        """Right over admitted."""
        return self.right / self.admitted if self.admitted else None

    @property
    def recall(self) -> float | None:
        """Right over wanted."""
        return self.right / self.wanted if self.wanted else None

    @property
    def needs_found(self) -> float | None:
        """Found over needs."""
        return self.found / self.needs if self.needs else None

    @property
    def base(self) -> float | None:
        """Precision of admitting everything: wanted over labelled."""
        return self.wanted / self.labelled if self.labelled else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        if self.precision is None or self.recall is None or not self.right:
            return 0.0 if self.wanted and self.admitted else None
        return 2 * self.precision * self.recall / (self.precision + self.recall)

    def as_json(self) -> dict[str, Any]:
        """The score as plain JSON values."""
        return {
            "cases": self.cases, "labelled": self.labelled, "wanted": self.wanted,
            "admitted": self.admitted, "right": self.right, "precision": self.precision,
            "recall": self.recall, "f1": self.f1, "precision_of_admitting_all": self.base,
            "needs": self.needs, "needs_found": self.needs_found,
            "wanted_but_refused": dict(self.refusals),
        }  # fmt: skip


def score_gate(
    cases: Iterable[LabelledCase], gate: GateLike | None = None, *, floor: int | None = None
) -> GateScore:
    """Let the gate judge every case.

    Args:
        cases: The cases.
        gate: The gate; the controller's if None.
        floor: As for `qualify`; the controller's if None.
    """
    judge = gate or default_gate()
    least = Settings().floor if floor is None else floor
    count: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for case in cases:
        state = case.state or CompressedCognitiveState.empty()
        turn = Turn.said(case.question).numbered(case.turn + 1)
        context = Context(turn, state, retired=dict(case.retired))
        _, verdicts = qualify(case.candidates, judge, context, floor=least)
        count["cases"] += 1
        _count(case, verdicts, count, refusals)
    told = {name: number for name, number in sorted(refusals.items()) if number}
    return GateScore(**{name: count[name] for name in _COUNTED}, refusals=told)


_COUNTED = ("cases", "wanted", "admitted", "right", "labelled", "needs", "found")


def _count(
    case: LabelledCase, verdicts: Sequence[Verdict], count: Counter[str], refusals: Counter[str]
) -> None:
    needs: set[str] = set()
    found: set[str] = set()
    for verdict, wanted, said in zip(verdicts, case.wanted, case.needs(), strict=True):
        if wanted is None:
            continue
        needs |= said
        found |= said if verdict.admitted else set()
        count["labelled"] += 1
        count["wanted"] += wanted
        count["admitted"] += verdict.admitted
        count["right"] += wanted and verdict.admitted
        refusals[verdict.gate] += wanted and not verdict.admitted
    count["needs"] += len(needs)
    count["found"] += len(found)


def of_user(text: str, position: int) -> Artifact:
    """A text as a user's words, with its position as ``seq``."""
    return Artifact(
        id=f"{position}", thread="labelled", branch="main", seq=position, turn=position + 1,
        ref=f"u{position + 1}", channel=Channel.USER, text=text,
    )  # fmt: skip


def candidates_of(
    index: LexicalIndex, artifacts: Sequence[Artifact], question: str, most: int = MOST
) -> list[Candidate]:
    """The best of ``artifacts``, which ``index`` holds in the same order, as recall gives them."""
    found = index.best(question, most)
    return [
        # Without a state all of a score is the question's.
        Candidate(artifact=artifacts[at], score=score / found[0][1], by_turn=1.0)
        for at, score in found
    ]
