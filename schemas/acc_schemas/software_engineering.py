"""Software engineering: what a coding agent carries through a task that outlives its context."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from acc import CompressedCognitiveState, Item, Observation, Slot, Trust
from acc.state import Example, Line, Name, OptionalLine, OptionalName
from acc_schemas.approvals import APPROVAL_CUES, APPROVAL_EXAMPLES, Approval
from acc_schemas.diagnosis import CAUSE_CUES, CAUSE_EXAMPLES, Cause


class WorkItem(Item):
    """An issue or pull request, by its number."""

    key = ("item",)
    head = "item"
    item: Name
    subject: Line
    stage: Literal["open", "in_progress", "in_review", "merged", "closed"]


class Edit(Item):
    """A file that is being changed, and how far that is."""

    key = ("path",)
    head = "path"
    path: Name
    change: Line
    stage: Literal["planned", "edited", "tested", "committed", "reverted"]


class CheckRun(Item):
    """A test, suite, build or linter, as it last came out, and on what."""

    key = ("run",)
    head = "run"
    run: Name
    result: Literal["passed", "failed", "flaky", "not_run"]
    at: OptionalName = ""
    finding: OptionalLine = ""

    @classmethod
    def settled(cls, fields: dict[str, Any], source: Observation, trust: Trust) -> dict[str, Any]:
        """A document ran nothing, whatever it says of a test."""
        return {**fields, "result": "not_run"} if trust < Trust.TOOL else fields


class Decision(Item):
    """A decision of design, with its reason: what was rejected stays, so that it stays rejected."""

    key = ("decision",)
    head = "decision"
    decision: Line
    standing: Literal["proposed", "accepted", "rejected", "superseded"]
    because: OptionalLine = ""


class Contract(Item):
    """An interface and the promise that others rely on."""

    key = ("interface",)
    head = "interface"
    interface: Name
    promise: Line


class SoftwareEngineeringState(CompressedCognitiveState):
    """Software engineering: work items, edits, check runs, decisions, contracts, causes, approvals."""

    max_tokens: ClassVar[int] = 1200

    work_items: Annotated[
        tuple[WorkItem, ...],
        Slot(
            max_items=5,
            eviction_priority=60,
            id_prefix="w",
            guidance="issues and pull requests by number",
            cues=("issue", "pull request", "PR"),
            examples=(
                Example(
                    "#512 is in review: retry uploads",
                    item="#512",
                    subject="retry uploads",
                    stage="in_review",
                ),
                Example(
                    "PR 512 is merged: retry uploads",
                    item="512",
                    subject="retry uploads",
                    stage="merged",
                ),
                Example(
                    "#512 is open: retry uploads",
                    item="#512",
                    subject="retry uploads",
                    stage="open",
                ),
            ),
        ),
    ]
    edits: Annotated[
        tuple[Edit, ...],
        Slot(
            max_items=12,
            eviction_priority=55,
            id_prefix="h",
            guidance="files by path from the root of the repository, with what changes in them and how far it is",
            cues=("edited", "changed", "renamed", "reverted"),
            examples=(
                Example(
                    "Edited src/upload.py: backoff doubles",
                    path="src/upload.py",
                    change="backoff doubles",
                    stage="edited",
                ),
                Example(
                    "Changed src/upload.py: backoff doubles",
                    path="src/upload.py",
                    change="backoff doubles",
                    stage="edited",
                ),
                Example(
                    "src/upload.py is committed: backoff doubles",
                    path="src/upload.py",
                    change="backoff doubles",
                    stage="committed",
                ),
                Example(
                    "I will edit src/upload.py: backoff doubles",
                    path="src/upload.py",
                    change="backoff doubles",
                    stage="planned",
                ),
            ),
        ),
    ]
    check_runs: Annotated[
        tuple[CheckRun, ...],
        Slot(
            max_items=10,
            eviction_priority=52,
            id_prefix="v",
            guidance="tests, builds and linters as a run showed them, never as expected; at: commit or environment",
            cues=("passed", "failed", "flaky", "error:"),
            examples=(
                Example(
                    "test_upload failed on 3.11: timeout after 30 s",
                    run="test_upload",
                    result="failed",
                    at="3.11",
                    finding="timeout after 30 s",
                ),
                Example(
                    "test_upload passed on 3.11", run="test_upload", result="passed", at="3.11"
                ),
                Example(
                    "The build failed on 3.11: timeout after 30 s",
                    run="build",
                    result="failed",
                    at="3.11",
                    finding="timeout after 30 s",
                ),
            ),
        ),
    ]
    decisions: Annotated[
        tuple[Decision, ...],
        Slot(
            max_items=8,
            min_trust=Trust.AGENT,
            eviction_priority=70,
            id_prefix="n",
            guidance="decisions of design with their reason; keep rejected ones, so that nobody proposes them again",
            cues=("decided", "instead of", "rejected"),
            examples=(
                Example(
                    "Decided: retries by tenacity, which is there already",
                    decision="retries by tenacity",
                    standing="accepted",
                    because="which is there already",
                ),
                Example(
                    "We decided on retries by tenacity, which is there already",
                    decision="retries by tenacity",
                    standing="accepted",
                    because="which is there already",
                ),
                Example(
                    "We decided against a new dependency, tenacity is there already",
                    decision="a new dependency",
                    standing="rejected",
                    because="tenacity is there already",
                ),
                Example(
                    "We rejected a new dependency, tenacity is there already",
                    decision="a new dependency",
                    standing="rejected",
                    because="tenacity is there already",
                ),
                Example(
                    "We use tenacity instead of a new dependency",
                    decision="a new dependency",
                    standing="rejected",
                    because="tenacity",
                ),
            ),
        ),
    ]
    contracts: Annotated[
        tuple[Contract, ...],
        Slot(
            max_items=6,
            min_trust=Trust.AGENT,
            eviction_priority=75,
            id_prefix="m",
            guidance="interfaces that others use, and what must not change about them",
            cues=("public API", "backwards compatible", "must not change"),
            examples=(
                Example(
                    "POST /v1/files must not change, the mobile app relies on 201",
                    interface="POST /v1/files",
                    promise="the mobile app relies on 201",
                ),
                Example(
                    "POST /v1/files has to stay backwards compatible: clients expect 201",
                    interface="POST /v1/files",
                    promise="clients expect 201",
                ),
            ),
        ),
    ]
    causes: Annotated[
        tuple[Cause, ...],
        Slot(
            max_items=4,
            eviction_priority=56,
            id_prefix="l",
            guidance="causes of the defect in question, never as more than is shown; keep what was ruled out",
            cues=CAUSE_CUES,
            examples=CAUSE_EXAMPLES,
        ),
    ]
    approvals: Annotated[
        tuple[Approval, ...],
        Slot(
            max_items=4,
            min_trust=Trust.USER,
            eviction_priority=85,
            id_prefix="y",
            guidance="what the user lets the agent do, or not: pushes, merges, releases, migrations, deletions",
            cues=("merge it", *APPROVAL_CUES),
            examples=(
                Example(
                    "You may merge #512 once CI is green",
                    subject="merge #512",
                    answer="given",
                    terms="once CI is green",
                ),
                *APPROVAL_EXAMPLES,
            ),
        ),
    ]
