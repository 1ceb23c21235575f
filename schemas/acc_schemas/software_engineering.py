"""Software engineering: what a coding agent carries through a task that outlives its context."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from acc.state.items import Name, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Slot
from acc.turn.observations import Trust
from acc_schemas.approvals import Approval, approval_slot
from acc_schemas.diagnosis import CAUSES, Cause


class WorkItem(Record):
    """An issue or pull request, by its number."""

    key = ("item",)
    item: Name
    subject: Name
    stage: Literal["open", "in_progress", "in_review", "merged", "closed"]


class Edit(Record):
    """A file that is being changed, and how far that is."""

    key = ("path",)
    path: Name
    change: Name
    stage: Literal["planned", "edited", "tested", "committed", "reverted"]


class CheckRun(Record):
    """A test, suite, build or linter, as it last came out, and on what."""

    key = ("run",)
    run: Name
    result: Literal["passed", "failed", "flaky", "not_run"]
    on: Text = ""
    finding: Text = ""


class Decision(Record):
    """A decision of design, with its reason: what was rejected stays, so that it stays rejected."""

    key = ("decision",)
    decision: Name
    standing: Literal["proposed", "accepted", "rejected", "superseded"]
    because: Text = ""


class Contract(Record):
    """An interface and the promise that others rely on."""

    key = ("interface",)
    interface: Name
    promise: Name


class SoftwareEngineeringState(CompressedCognitiveState):
    """Software engineering: work items, edits, check runs, decisions, contracts, causes, approvals."""

    max_tokens: ClassVar[int] = 1_600

    work_items: Annotated[
        tuple[WorkItem, ...],
        Slot(
            "work", "i", "Work items", places=6, share=0.3,
            guidance="issues and pull requests by number",
        ),
    ] = ()  # fmt: skip
    edits: Annotated[
        tuple[Edit, ...],
        Slot(
            "edits", "h", "Edits", places=14, share=0.4,
            guidance="files by path from the root of the repository, what changes in them, how far",
        ),
    ] = ()  # fmt: skip
    check_runs: Annotated[
        tuple[CheckRun, ...],
        Slot(
            "runs", "v", "Test and build runs", places=12, share=0.4, least=Trust.TOOL,
            guidance="tests, builds and linters as a run showed them, never as expected; on: commit "
            "or environment",
        ),
    ] = ()  # fmt: skip
    decisions: Annotated[
        tuple[Decision, ...],
        Slot(
            "decisions", "n", "Decisions", places=10, share=0.4, least=Trust.AGENT,
            guidance="decisions of design with their reason; keep rejected ones, so that nobody "
            "proposes them again",
        ),
    ] = ()  # fmt: skip
    contracts: Annotated[
        tuple[Contract, ...],
        Slot(
            "contracts", "m", "Must not change", places=8, share=0.4, least=Trust.AGENT,
            guidance="interfaces that others use, and what must not change about them",
        ),
    ] = ()  # fmt: skip
    causes: Annotated[tuple[Cause, ...], CAUSES] = ()
    approvals: Annotated[
        tuple[Approval, ...],
        approval_slot(
            "y", "what the user lets the agent do, or not: pushes, merges, releases, deletions"
        ),
    ] = ()
