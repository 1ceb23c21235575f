"""IT operations: what an on-call agent carries through an incident."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from acc import CompressedCognitiveState, Item, Slot, Trust
from acc.state import Example, Name, OptionalLine, OptionalName
from acc_schemas.approvals import APPROVAL_CUES, APPROVAL_EXAMPLES, Approval
from acc_schemas.diagnosis import (
    CAUSE_CUES,
    CAUSE_EXAMPLES,
    CHECK_CUES,
    CHECK_EXAMPLES,
    Cause,
    Check,
)


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
    symptom: OptionalLine = ""
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
            max_items=8,
            eviction_priority=55,
            id_prefix="v",
            guidance="services known to be affected, by their name; impact: who feels it",
            cues=("down", "degraded", "unavailable", "5xx", "recovered", "outage"),
            examples=(
                Example(
                    "checkout is degraded: p95 at 4.2s, card payments in EU fail",
                    service="checkout",
                    health="degraded",
                    symptom="p95 at 4.2s",
                    impact="card payments in EU fail",
                ),
                Example(
                    "search is down: 503 on all nodes, nobody can find orders",
                    service="search",
                    health="down",
                    symptom="503 on all nodes",
                    impact="nobody can find orders",
                ),
                Example(
                    "search is unavailable: 503 on all nodes",
                    service="search",
                    health="down",
                    symptom="503 on all nodes",
                ),
                Example(
                    "search is slow: p95 at 4.2s",
                    service="search",
                    health="degraded",
                    symptom="p95 at 4.2s",
                ),
                Example(
                    "search is back to normal: no errors since 10:00",
                    service="search",
                    health="recovered",
                    symptom="no errors since 10:00",
                ),
                Example(
                    "search has recovered: no errors since 10:00",
                    service="search",
                    health="recovered",
                    symptom="no errors since 10:00",
                ),
                Example(
                    "search is at risk: disk at 93 %",
                    service="search",
                    health="at_risk",
                    symptom="disk at 93 %",
                ),
            ),
        ),
    ]
    changes: Annotated[
        tuple[Change, ...],
        Slot(
            max_items=6,
            eviction_priority=58,
            id_prefix="h",
            guidance="production changes, by change number; blast_radius: what it could break; "
            "rollback: how it is undone. A stage of approved is the change system's word",
            cues=("change window", "rollout", "rollback", "blast radius"),
            examples=(
                Example(
                    "CHG-4412 is approved for Wed 02:00-04:00, it can drop open sessions",
                    change="CHG-4412",
                    window="Wed 02:00-04:00",
                    stage="approved",
                    blast_radius="can drop open sessions",
                ),
                Example(
                    "CHG-4412 runs Wed 02:00-04:00",
                    change="CHG-4412",
                    window="Wed 02:00-04:00",
                    stage="approved",
                ),
                Example(
                    "CHG-4412 is proposed for Wed 02:00, rollback by redeploying 3.1",
                    change="CHG-4412",
                    window="Wed 02:00",
                    stage="proposed",
                    rollback="redeploying 3.1",
                ),
                Example(
                    "The window of CHG-4412 is Wed 02:00-04:00",
                    change="CHG-4412",
                    window="Wed 02:00-04:00",
                    stage="proposed",
                ),
                Example(
                    "We rolled back CHG-4412 on Wed 03:10",
                    change="CHG-4412",
                    window="Wed 03:10",
                    stage="rolled_back",
                ),
            ),
        ),
    ]
    incident: Annotated[
        tuple[Incident, ...],
        Slot(
            max_items=2,
            eviction_priority=88,
            id_prefix="n",
            guidance="the incident by its number, with commander and time of the next update",
            cues=("incident", "severity", "commander"),
            examples=(
                Example(
                    "INC-7731 is a sev2, Dana commands, next update 14:30",
                    incident="INC-7731",
                    severity="sev2",
                    phase="investigating",
                    commander="Dana",
                    next_update="14:30",
                ),
                Example(
                    "We have INC-7731, a sev2",
                    incident="INC-7731",
                    severity="sev2",
                    phase="investigating",
                ),
                Example(
                    "We have INC-7731, it's a sev2",
                    incident="INC-7731",
                    severity="sev2",
                    phase="investigating",
                ),
                Example(
                    "INC-7731 was raised as a sev2",
                    incident="INC-7731",
                    severity="sev2",
                    phase="investigating",
                ),
                Example(
                    "INC-7731 is resolved", incident="INC-7731", severity="unset", phase="resolved"
                ),
                Example(
                    "Dana commands INC-7731",
                    incident="INC-7731",
                    severity="unset",
                    phase="investigating",
                    commander="Dana",
                ),
                Example(
                    "Next update for INC-7731 is at 14:30",
                    incident="INC-7731",
                    severity="unset",
                    phase="investigating",
                    next_update="14:30",
                ),
            ),
        ),
    ]
    checks: Annotated[
        tuple[Check, ...],
        Slot(
            max_items=8,
            eviction_priority=30,
            id_prefix="l",
            guidance="diagnostics that were run, with what they showed",
            cues=CHECK_CUES,
            examples=CHECK_EXAMPLES,
        ),
    ]
    causes: Annotated[
        tuple[Cause, ...],
        Slot(
            max_items=5,
            eviction_priority=56,
            id_prefix="w",
            guidance="causes in question, never as more than is shown; keep what was ruled out",
            cues=CAUSE_CUES,
            examples=CAUSE_EXAMPLES,
        ),
    ]
    approvals: Annotated[
        tuple[Approval, ...],
        Slot(
            max_items=6,
            min_trust=Trust.USER,
            eviction_priority=85,
            id_prefix="y",
            guidance="what the user approved or refused, by change or action, with window and limits",
            cues=("not approved", *APPROVAL_CUES),
            examples=(
                Example(
                    "CHG-4412 is approved, one node at a time",
                    subject="CHG-4412",
                    answer="given",
                    terms="one node at a time",
                ),
                *APPROVAL_EXAMPLES,
            ),
        ),
    ]
