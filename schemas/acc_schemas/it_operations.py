"""IT operations: what an on-call agent carries through an incident."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from acc.items import Item, Line, Name, OptionalLine, OptionalName
from acc.slots import Example, Slot
from acc.state import CompressedCognitiveState
from acc.turn import Trust
from acc_schemas.approvals import Approval
from acc_schemas.diagnosis import Cause, Check


class Incident(Item):
    """The incident that is being handled, and who leads it."""

    key = ("incident",)
    head = "incident"
    incident: Name
    severity: Literal["sev1", "sev2", "sev3", "sev4", "unset"]
    phase: Literal["investigating", "identified", "mitigated", "monitoring", "resolved"]
    commander: OptionalName = ""
    next_update: OptionalName = ""


class AffectedService(Item):
    """A service and how it is doing; a later health replaces an earlier one."""

    key = ("service",)
    head = "service"
    service: Name
    health: Literal["down", "degraded", "at_risk", "recovered"]
    symptom: Line
    impact: OptionalLine = ""


class Change(Item):
    """A change to a production system, by its number, with the window it may run in."""

    key = ("change",)
    head = "change"
    change: Name
    window: Name
    stage: Literal["proposed", "approved", "running", "done", "rolled_back"]
    blast_radius: OptionalLine = ""
    rollback: OptionalLine = ""


class ITOperationsState(CompressedCognitiveState):
    """IT operations: an incident, the services it hits, the changes under way and their approval."""

    max_tokens: ClassVar[int] = 1100

    affected_services: Annotated[
        tuple[AffectedService, ...],
        Slot(
            places=8,
            evict=55,
            letter="v",
            guidance="services known to be affected, by their name; impact: who feels it",
            cues=("down", "degraded", "unavailable", "5xx", "recovered"),
            examples=(
                Example(
                    "checkout is degraded: p95 at 4.2s, card payments in EU fail",
                    service="checkout",
                    health="degraded",
                    symptom="p95 at 4.2s",
                    impact="card payments in EU fail",
                ),
            ),
        ),
    ]
    changes: Annotated[
        tuple[Change, ...],
        Slot(
            places=6,
            evict=58,
            letter="h",
            guidance="production changes, by change number; blast_radius: what it could break; "
            "rollback: how it is undone. A stage of approved is the change system's word",
            cues=("change window", "rollout", "rollback", "blast radius"),
            examples=(
                Example(
                    "CHG-4412 is approved for Wed 02:00-04:00; it can drop open sessions",
                    change="CHG-4412",
                    window="Wed 02:00-04:00",
                    stage="approved",
                    blast_radius="can drop open sessions",
                ),
            ),
        ),
    ]
    incident: Annotated[
        tuple[Incident, ...],
        Slot(
            places=2,
            evict=88,
            letter="n",
            guidance="the incident by its number, with commander and time of the next update",
            cues=("incident", "severity", "commander"),
            examples=(
                Example(
                    "INC-7731 is a sev2, Dana commands; next update 14:30",
                    incident="INC-7731",
                    severity="sev2",
                    phase="investigating",
                    commander="Dana",
                    next_update="14:30",
                ),
            ),
        ),
    ]
    checks: Annotated[
        tuple[Check, ...],
        Slot(
            places=8,
            evict=30,
            letter="l",
            guidance="diagnostics that were run, with what they showed",
            cues=("checked", "ran", "measured"),
            examples=(
                Example(
                    "Checked keepalive on node-7: 5s, upstream has 60s",
                    check="keepalive on node-7",
                    result="abnormal",
                    finding="5s, upstream has 60s",
                ),
            ),
        ),
    ]
    causes: Annotated[
        tuple[Cause, ...],
        Slot(
            places=5,
            evict=56,
            letter="w",
            guidance="causes in question, never as more than is shown; keep what was ruled out",
            cues=("root cause", "suspect", "ruled out"),
            examples=(
                Example(
                    "DNS is ruled out: resolution takes 2 ms",
                    cause="DNS",
                    standing="ruled_out",
                    because="resolution takes 2 ms",
                ),
            ),
        ),
    ]
    approvals: Annotated[
        tuple[Approval, ...],
        Slot(
            places=6,
            write=Trust.USER,
            evict=85,
            letter="y",
            guidance="what the user approved or refused, by change or action, with window and limits",
            cues=("approve", "go ahead", "not approved"),
            examples=(
                Example(
                    "CHG-4412 is approved, one node at a time",
                    subject="CHG-4412",
                    answer="given",
                    terms="one node at a time",
                ),
            ),
        ),
    ]
