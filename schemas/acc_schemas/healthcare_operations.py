"""Healthcare operations: what an agent carries that keeps clinical data flowing."""

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
from acc_schemas.identifiers import OptionalUnidentifiedLine, UnidentifiedLine, UnidentifiedName


class Feed(Item):
    """An interface by which clinical data arrive, with its standard and version."""

    key = ("feed",)
    head = "feed"
    feed: UnidentifiedName
    standard: OptionalName = ""
    flow: Literal["flowing", "delayed", "stopped", "replaying"]
    backlog: OptionalName = ""


class Job(Item):
    """A pipeline job by its id, and the span of data that it affects."""

    key = ("job",)
    head = "job"
    job: UnidentifiedName
    stage: Literal["failed", "delayed", "running", "on_hold", "recovered"]
    data_window: OptionalName = ""
    finding: OptionalUnidentifiedLine = ""


class ClinicalImpact(Item):
    """A process of care that feels it, the risk to patients, and how staff get by meanwhile."""

    key = ("process",)
    head = "process"
    process: UnidentifiedLine
    risk: Literal["none_known", "delay", "safety"]
    workaround: OptionalUnidentifiedLine = ""


class OperatingWindow(Item):
    """When a site sees patients, and when its systems may be touched. The user's word alone."""

    key = ("site", "kind")
    head = "site"
    site: Name
    kind: Literal["clinic_hours", "maintenance_window", "downtime"]
    hours: Name
    permits: OptionalLine = ""


class DataSet(Item):
    """How far a data set identifies patients, and where it may go. The user's word alone."""

    key = ("data_set",)
    head = "data_set"
    data_set: Name
    identifiability: Literal["identified", "limited_data_set", "de_identified", "synthetic"]
    method: Literal["safe_harbor", "expert_determination", "none"]
    may_go: OptionalLine = ""


class HealthcareOperationsState(CompressedCognitiveState):
    """Healthcare operations: feeds, jobs, impact on care, clinic hours, and what is de-identified."""

    max_tokens: ClassVar[int] = 1300

    feeds: Annotated[
        tuple[Feed, ...],
        Slot(
            max_items=6,
            eviction_priority=55,
            id_prefix="h",
            guidance="interfaces by name with standard and version (HL7 v2.5.1, FHIR R4); no patient",
            cues=("HL7", "FHIR", "feed", "interface", "backlog"),
            examples=(
                Example(
                    "The ADT feed (HL7 v2.5.1) is delayed, 1,200 messages wait",
                    feed="ADT feed",
                    standard="HL7 v2.5.1",
                    flow="delayed",
                    backlog="1,200 messages",
                ),
                Example(
                    "The ADT feed, HL7 v2.5.1, has stopped, 1,200 messages wait",
                    feed="ADT feed",
                    standard="HL7 v2.5.1",
                    flow="stopped",
                    backlog="1,200 messages",
                ),
                Example(
                    "The ADT feed is flowing, HL7 v2.5.1",
                    feed="ADT feed",
                    standard="HL7 v2.5.1",
                    flow="flowing",
                ),
            ),
        ),
    ]
    affected_jobs: Annotated[
        tuple[Job, ...],
        Slot(
            max_items=8,
            eviction_priority=56,
            id_prefix="j",
            guidance="pipeline jobs known to be affected, by job id, with the span of data they affect",
            cues=("job", "failed", "rerun"),
            examples=(
                Example(
                    "lab-ingest-3 failed: unknown segment ZPI, data of 2 to 4 May",
                    job="lab-ingest-3",
                    stage="failed",
                    data_window="2 to 4 May",
                    finding="unknown segment ZPI",
                ),
                Example(
                    "lab-ingest-3 is on hold: unknown segment ZPI, data of 2 to 4 May",
                    job="lab-ingest-3",
                    stage="on_hold",
                    data_window="2 to 4 May",
                    finding="unknown segment ZPI",
                ),
                Example("We reran lab-ingest-3", job="lab-ingest-3", stage="running"),
            ),
        ),
    ]
    clinical_impact: Annotated[
        tuple[ClinicalImpact, ...],
        Slot(
            max_items=5,
            eviction_priority=80,
            id_prefix="m",
            guidance="processes of care that feel it, and the workaround in force; never a patient",
            cues=("clinicians", "ward", "downtime procedure"),
            examples=(
                Example(
                    "Lab results in the ED arrive late, the ED phones the lab",
                    process="Lab results in the ED",
                    risk="delay",
                    workaround="the ED phones the lab",
                ),
                Example(
                    "The ward gets lab results late, the ED phones the lab",
                    process="lab results",
                    risk="delay",
                    workaround="the ED phones the lab",
                ),
            ),
        ),
    ]
    operating_windows: Annotated[
        tuple[OperatingWindow, ...],
        Slot(
            max_items=6,
            min_trust=Trust.USER,
            eviction_priority=86,
            id_prefix="w",
            guidance="clinic hours and maintenance windows by site, with what may be done in them",
            cues=("clinic hours", "maintenance window"),
            examples=(
                Example(
                    "Clinic hours at Northside are 07:00-19:00, read-only diagnostics",
                    site="Northside",
                    kind="clinic_hours",
                    hours="07:00-19:00",
                    permits="read-only diagnostics",
                ),
                Example(
                    "The maintenance window at Northside is Sunday 02:00-05:00, restarts allowed",
                    site="Northside",
                    kind="maintenance_window",
                    hours="Sunday 02:00-05:00",
                    permits="restarts allowed",
                ),
            ),
        ),
    ]
    data_sets: Annotated[
        tuple[DataSet, ...],
        Slot(
            max_items=5,
            min_trust=Trust.USER,
            eviction_priority=87,
            id_prefix="n",
            guidance="data sets and whether they identify patients; what nobody called de-identified is not",
            cues=("de-identified", "limited data set", "safe harbor", "PHI"),
            examples=(
                Example(
                    "labs_2026 is de-identified by safe harbor, analytics only",
                    data_set="labs_2026",
                    identifiability="de_identified",
                    method="safe_harbor",
                    may_go="analytics only",
                ),
                Example(
                    "labs_2026 is synthetic, anybody may have it",
                    data_set="labs_2026",
                    identifiability="synthetic",
                    method="none",
                    may_go="anybody may have it",
                ),
                Example(
                    "labs_2026 is identified, treatment only",
                    data_set="labs_2026",
                    identifiability="identified",
                    method="none",
                    may_go="treatment only",
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
            guidance="diagnostics that were run, with what they showed; read-only ones in clinic hours",
            cues=CHECK_CUES,
            examples=CHECK_EXAMPLES,
        ),
    ]
    causes: Annotated[
        tuple[Cause, ...],
        Slot(
            max_items=4,
            eviction_priority=57,
            id_prefix="v",
            guidance="the hypotheses in question, never as more than is shown; keep what was ruled out",
            cues=CAUSE_CUES,
            examples=CAUSE_EXAMPLES,
        ),
    ]
    approvals: Annotated[
        tuple[Approval, ...],
        Slot(
            max_items=5,
            min_trust=Trust.USER,
            eviction_priority=85,
            id_prefix="y",
            guidance="interventions that the user approved or refused, with window and limits",
            cues=APPROVAL_CUES,
            examples=(
                Example(
                    "Replay of the ADT feed is approved after 19:00",
                    subject="Replay of the ADT feed",
                    answer="given",
                    terms="after 19:00",
                ),
                *APPROVAL_EXAMPLES,
            ),
        ),
    ]
