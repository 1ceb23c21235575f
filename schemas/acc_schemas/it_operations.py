"""IT operations: what an on-call agent carries through an incident."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from acc.state.items import Name, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Slot
from acc_schemas.approvals import Approval, approval_slot
from acc_schemas.diagnosis import CAUSES, CHECKS, Cause, Check


class Incident(Record):
    """The incident that is being handled, and who leads it."""

    key = ("incident",)
    incident: Name
    severity: Literal["sev1", "sev2", "sev3", "sev4", "unset"]
    phase: Literal["investigating", "identified", "mitigated", "monitoring", "resolved"]
    commander: Text = ""
    next_update: Text = ""


class AffectedService(Record):
    """A service and how it is doing; a later health replaces an earlier one."""

    key = ("service",)
    service: Name
    health: Literal["down", "degraded", "at_risk", "recovered"]
    symptom: Text = ""
    impact: Text = ""


class Change(Record):
    """A change to a production system, by its number, with the window it may run in."""

    key = ("change",)
    change: Name
    window: Name
    stage: Literal["proposed", "approved", "running", "done", "rolled_back"]
    blast_radius: Text = ""
    rollback: Text = ""


class ITOperationsState(CompressedCognitiveState):
    """IT operations: an incident, the services it hits, the changes under way and their approval."""

    max_tokens: ClassVar[int] = 1_500

    incident: Annotated[
        tuple[Incident, ...],
        Slot(
            "incident", "n", "Incident", places=2,
            guidance="the incident by its number, with commander and time of the next update",
        ),
    ] = ()  # fmt: skip
    affected_services: Annotated[
        tuple[AffectedService, ...],
        Slot(
            "services", "v", "Affected services", places=10, share=0.4,
            guidance="services known to be affected, by their name; impact: who feels it",
        ),
    ] = ()  # fmt: skip
    changes: Annotated[
        tuple[Change, ...],
        Slot(
            "changes", "h", "Changes", places=8, share=0.4,
            guidance="production changes, by change number; blast_radius: what it could break; "
            "rollback: how it is undone; a stage of approved is the change system's word",
        ),
    ] = ()  # fmt: skip
    checks: Annotated[tuple[Check, ...], CHECKS] = ()
    causes: Annotated[tuple[Cause, ...], CAUSES] = ()
    approvals: Annotated[
        tuple[Approval, ...],
        approval_slot(
            "y", "what the user approved or refused, by change or action, with its terms"
        ),
    ] = ()
