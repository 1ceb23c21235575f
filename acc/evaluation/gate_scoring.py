"""Labelled candidates for the gate: read from a file, or derived from a scenario's ground truth.

A file has one JSON object per line::

    {"question": "...", "turn": 12, "state": {...}, "retired": {"u3": 9},
     "candidates": [{"text": "...", "channel": "tool", "turn": 3, "ref": "t3", "name": "kubectl",
                     "score": 0.8, "by_turn": 1.0, "wanted": true, "says": ["port"]}]}

Required are the question, and each candidate's text and label: ``wanted`` is true, false, or null
for no label. ``says`` names the needs that a candidate meets; it matters if several candidates meet
the same need. Candidates without scores are ranked by the question, like in recall.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acc.controller import MemoryController
from acc.errors import AccError, InputError
from acc.evaluation.ground_truth import Matcher, Probe
from acc.evaluation.scenarios import Scenario
from acc.folders import file_errors
from acc.gate.built_in import default_gate
from acc.gate.protocol import Context, GateLike, qualify
from acc.memory import whose
from acc.pipeline.session import Settings
from acc.recall.candidates import Candidate
from acc.state.model import CompressedCognitiveState
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact
from acc.text.ranking import LexicalIndex
from acc.turn.observations import Channel, Trust
from acc.turn.turn import Turn

MOST = 16
"""Maximum number of candidates of a case, as in recall."""


@dataclass(frozen=True)
class LabelledCase:
    """A question, its candidates, best first, and their labels.

    Attributes:
        wanted: Whether each candidate is wanted; None for no label.
        says: The needs that each candidate meets, by name; empty if each wanted candidate meets a
            need of its own.
        turn: The turn before the question.
        state: CCS_t-1; empty if None.
        retired: Turns in which the content of a ref was retired, by ref.
    """

    question: str
    candidates: Sequence[Candidate]
    wanted: Sequence[bool | None]
    turn: int = 0
    state: CompressedCognitiveState | None = None
    retired: Mapping[str, int] = field(default_factory=dict)
    says: Sequence[frozenset[str]] = ()

    def needs(self) -> list[frozenset[str]]:
        """The needs that each candidate meets; none for an unwanted candidate."""
        if self.says:
            return [s if w else frozenset() for s, w in zip(self.says, self.wanted, strict=True)]
        return [frozenset({str(at)} if w else ()) for at, w in enumerate(self.wanted)]


@dataclass(frozen=True)
class GateScore:
    """The score of a gate.

    Attributes:
        cases: Number of questions.
        labelled: Number of candidates with a label.
        wanted: Number of wanted candidates.
        admitted: Number of admitted candidates with a label.
        right: Number of candidates that are wanted and admitted.
        needs: Needs that at least one candidate meets, counted per case.
        found: Needs that at least one admitted candidate meets.
        refusals: Wanted candidates that were refused, counted by the gate that refused them.
    """

    cases: int
    labelled: int
    wanted: int
    admitted: int
    right: int
    needs: int
    found: int
    refusals: Mapping[str, int]

    @property
    def precision(self) -> float | None:
        """``right`` / ``admitted``."""
        return _share(self.right, self.admitted)

    @property
    def recall(self) -> float | None:
        """``right`` / ``wanted``."""
        return _share(self.right, self.wanted)

    @property
    def needs_found(self) -> float | None:
        """``found`` / ``needs``."""
        return _share(self.found, self.needs)

    @property
    def base(self) -> float | None:
        """Precision of admitting everything: ``wanted`` / ``labelled``."""
        return _share(self.wanted, self.labelled)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        if self.precision is None or self.recall is None:
            return None
        if not self.right:
            return 0.0
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


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def score_gate(
    cases: Iterable[LabelledCase], gate: GateLike | None = None, *, floor: int | None = None
) -> GateScore:
    """Run the gate on every case and score it. By default, gate and floor are the controller's."""
    judge = gate or default_gate()
    least = Settings().floor if floor is None else floor
    count = Counter(dict.fromkeys(_COUNTS, 0))
    refusals: Counter[str] = Counter()
    for case in cases:
        state = case.state or CompressedCognitiveState.empty()
        turn = Turn.said(case.question).numbered(case.turn + 1)
        context = Context(turn, state, retired=dict(case.retired))
        _, verdicts = qualify(case.candidates, judge, context, floor=least)
        needs: set[str] = set()
        found: set[str] = set()
        for verdict, wanted, met in zip(verdicts, case.wanted, case.needs(), strict=True):
            if wanted is None:
                continue
            needs |= met
            found |= met if verdict.admitted else set()
            right = wanted and verdict.admitted
            count.update(labelled=1, wanted=wanted, admitted=verdict.admitted, right=right)
            refusals[verdict.gate] += wanted and not verdict.admitted
        count.update(cases=1, needs=len(needs), found=len(found))
    refused = {name: number for name, number in sorted(refusals.items()) if number}
    return GateScore(**count, refusals=refused)


_COUNTS = ("cases", "labelled", "wanted", "admitted", "right", "needs", "found")


def of_user(text: str, position: int) -> Artifact:
    """A text as a user's message, with its position as ``seq``."""
    return Artifact(
        id=f"{position}", thread="labelled", branch="main", seq=position, turn=position + 1,
        ref=f"u{position + 1}", channel=Channel.USER, text=text,
    )  # fmt: skip


def candidates_of(
    index: LexicalIndex, artifacts: Sequence[Artifact], question: str
) -> list[Candidate]:
    """The best of ``artifacts`` for ``question``. ``index`` holds them in the same order."""
    found = index.best(question, MOST)
    return [
        # Without a state, the question accounts for the whole score.
        Candidate(artifact=artifacts[at], score=score / found[0][1], by_turn=1.0)
        for at, score in found
    ]


_THREAD = "labelled"

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class _Labelled(BaseModel):
    """A candidate in a line of the file."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1)
    wanted: bool | None
    channel: Channel = Channel.USER
    turn: int = Field(1, ge=0)
    ref: str = ""
    name: str = ""
    kind: str = "observation"
    reason: str = ""
    trust: Trust | None = None
    score: Share | None = None
    by_turn: Share = 1.0
    says: list[str] = []


class _Case(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1)
    candidates: list[_Labelled] = Field(min_length=1)
    turn: int | None = Field(None, ge=0)
    state: dict[str, Any] | None = None
    retired: dict[str, int] = {}


def read_labelled(file: Path) -> Iterator[LabelledCase]:
    """Read a file of labelled candidates.

    Raises:
        InputError: The file cannot be read, or a line is malformed; the error names it.
    """
    what, hint, besides = "the labels cannot be read", "choose another file", (UnicodeDecodeError,)
    with file_errors(InputError, what, where=file, hint=hint, besides=besides):
        lines = file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _case(line, f"{file}, line {number}")


def _case(line: str, where: str) -> LabelledCase:
    try:
        given = _Case.model_validate(json.loads(line))
        state = CompressedCognitiveState.load(given.state) if given.state else None
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{' '.join(map(str, first['loc']))}: {first['msg']}"
        raise InputError(what, where=where, hint="see docs/evaluation.md for the format") from error
    except (ValueError, RecursionError) as error:
        hint = "write one JSON object per line"
        raise InputError(f"not JSON: {error}", where=where, hint=hint) from error
    except AccError as error:
        raise InputError(error.what, where=where, hint=error.hint) from error
    ranked = list(_ranked(given))
    last = max(labelled.turn for labelled in given.candidates)
    turn = given.turn if given.turn is not None else state.turn if state else last
    # A candidate without ``says`` meets a need of its own.
    says = [frozenset(each.says or [f"candidate {at}"]) for at, (_, each) in enumerate(ranked)]
    return LabelledCase(
        given.question, [c for c, _ in ranked], [each.wanted for _, each in ranked], turn, state,
        given.retired, says,
    )  # fmt: skip


def _ranked(given: _Case) -> Iterator[tuple[Candidate, _Labelled]]:
    """Candidates with their labels, best first. Those without a word of the question come last."""
    artifacts = [
        Artifact.model_validate({
            **each.model_dump(include={"text", "channel", "turn", "name", "kind", "reason", "trust"}),
            "id": str(at), "thread": _THREAD, "branch": "main", "seq": at,
            "ref": each.ref or f"x{at}",
        })
        for at, each in enumerate(given.candidates)
    ]  # fmt: skip
    index = LexicalIndex()
    for artifact in artifacts:
        index.add(artifact.text)
    found = {c.artifact.seq: c for c in candidates_of(index, artifacts, given.question)}
    ranked = []
    for at, each in enumerate(given.candidates):
        candidate = found.get(at) or Candidate(artifacts[at], 0.0, 0.0)
        if each.score is not None:
            candidate = Candidate(artifacts[at], each.score, each.by_turn)
        ranked.append((candidate, each))
    yield from sorted(ranked, key=lambda pair: -pair[0].score)


def cases_of(scenario: Scenario) -> Iterator[LabelledCase]:
    """Derive one case per probe of a scenario: the candidates of recall under the keyless rules.

    A candidate is wanted if it holds an entry that the probe needs and the state lacks. It has no
    label if it holds an entry that the state already has. Any other candidate is unwanted.

    Raises:
        PinnedOverflow: Rules and goals alone exceed the limits.
    """
    matcher, truth = Matcher(scenario.truth), scenario.truth
    with MemoryController(InMemoryStore()) as memory:
        state: CompressedCognitiveState | None = None
        for number, turn in enumerate(scenario.turns, 1):
            state = memory.step(state, turn, thread=_THREAD).state
            for probe in truth.probes:
                if probe.turn == number:
                    yield _probed(memory, state, probe, matcher)


def _probed(
    memory: MemoryController, state: CompressedCognitiveState, probe: Probe, matcher: Matcher
) -> LabelledCase:
    turn = Turn.said(probe.question).numbered(state.turn + 1)
    branch = memory._log_of(whose(_THREAD)).branch(state.branch)
    candidates = memory.settings.recall(turn, state, branch)
    held = set().union(*(matcher.found(item.words).entries for _, item in state.items()))
    needs = set(probe.needs)
    needed = [matcher.found(c.artifact.text).entries & needs for c in candidates]
    return LabelledCase(
        probe.question, candidates, [_wanted(each, held) for each in needed], state.turn, state,
        dict(branch.retired), [each - held for each in needed],
    )  # fmt: skip


def _wanted(needed: frozenset[str] | set[str], held: set[str]) -> bool | None:
    if needed - held:
        return True
    return None if needed else False


def as_lines(cases: Sequence[LabelledCase]) -> Iterator[str]:
    """The lines of a file of labelled candidates, for manual review and correction."""
    for case in cases:
        fields = {"channel", "turn", "ref", "name", "kind", "reason", "trust"}
        candidates = [
            {
                "text": c.artifact.text, "wanted": wanted,
                **c.artifact.model_dump(mode="json", include=fields),
                "score": c.score, "by_turn": c.by_turn, "says": sorted(met),
            }
            for c, wanted, met in zip(case.candidates, case.wanted, case.needs(), strict=True)
        ]  # fmt: skip
        state = case.state.canonical() if case.state else None
        yield json.dumps({
            "question": case.question, "turn": case.turn, "state": state,
            "retired": dict(case.retired), "candidates": candidates,
        }, ensure_ascii=False)  # fmt: skip
