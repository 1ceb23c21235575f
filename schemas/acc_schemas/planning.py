"""Planning: what a plan-execute-reflect agent carries from one iteration to the next."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from acc.state.items import Name, Question, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Slot
from acc.turn.observations import Trust
from acc_schemas.approvals import Approval, approval_slot


class PlanStep(Record):
    """A step that is committed to and not yet done, and how one will know that it is."""

    key = ("step",)
    step: Name
    stage: Literal["planned", "active", "blocked"]
    after: Text = ""
    done_when: Text = ""


class StepDone(Record):
    """A step that was executed, and what came of it."""

    key = ("step",)
    step: Name
    outcome: Literal["succeeded", "partly", "failed"]
    result: Name


class Option(Record):
    """A way that was weighed; what was rejected stays, so that it stays rejected."""

    key = ("option",)
    option: Name
    standing: Literal["candidate", "selected", "rejected"]
    because: Text = ""


class Finding(Record):
    """A fact that the plan rests on, and where it was found. Its heading says where only a document does."""

    key = ("claim",)
    claim: Name
    standing: Literal["verified", "reported", "disputed"]
    found_in: Name


class OpenQuestion(Question):
    """A gap in the plan, and what would settle it."""

    settled_by: Text = ""


class Lesson(Record):
    """What reflection found worth doing otherwise."""

    key = ("lesson",)
    lesson: Name
    applies_to: Text = ""


class PlanningState(CompressedCognitiveState):
    """Planning: plan commitments, steps done, options, findings, open questions, approvals, lessons."""

    max_tokens: ClassVar[int] = 1_600

    plan: Annotated[
        tuple[PlanStep, ...],
        Slot(
            "plan", "h", "Plan", places=12, share=0.5, least=Trust.AGENT,
            guidance="steps committed to, and after which other; drop one that moved on to done steps",
        ),
    ] = ()  # fmt: skip
    steps_done: Annotated[
        tuple[StepDone, ...],
        Slot(
            "steps_done", "n", "Steps done", places=12, share=0.4, least=Trust.TOOL,
            guidance="steps executed, with the outcome that was observed, never the one expected",
        ),
    ] = ()  # fmt: skip
    options: Annotated[
        tuple[Option, ...],
        Slot(
            "options", "m", "Options", places=8, share=0.3, least=Trust.AGENT,
            guidance="ways that were weighed, the selected one and why the others were not",
        ),
    ] = ()  # fmt: skip
    findings: Annotated[
        tuple[Finding, ...],
        Slot(
            "findings", "v", "Findings", places=14, share=0.4,
            guidance="facts the plan rests on: versions, mitigations, dates; verified only where a "
            "tool or person showed it, disputed where sources differ",
        ),
    ] = ()  # fmt: skip
    uncertainty_signal: Annotated[
        tuple[OpenQuestion, ...],
        Slot(
            "open", "q", "Open questions", places=10, share=0.25,
            guidance="open questions, and the next evidence that would settle each",
        ),
    ] = ()  # fmt: skip
    approvals: Annotated[
        tuple[Approval, ...],
        approval_slot("y", "gates of the plan: what the user approved or refused, with limits"),
    ] = ()
    lessons: Annotated[
        tuple[Lesson, ...],
        Slot(
            "lessons", "l", "Lessons", places=6, share=0.2, least=Trust.AGENT,
            guidance="what reflection would do otherwise, from outcomes seen, and what it applies to",
        ),
    ] = ()  # fmt: skip
