"""Healthcare operations: what an agent carries that keeps clinical data flowing."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from acc.state.items import Name, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Slot
from acc.turn.observations import Trust
from acc_schemas.approvals import Approval, approval_slot
from acc_schemas.diagnosis import CAUSES, CHECKS, Cause, Check
from acc_schemas.identifiers import UnidentifiedName, UnidentifiedText


class Feed(Record):
    """An interface by which clinical data arrive, with its standard and version."""

    key = ("feed",)
    feed: UnidentifiedName
    flow: Literal["flowing", "delayed", "stopped", "replaying"]
    standard: Text = ""
    backlog: Text = ""


class Job(Record):
    """A pipeline job by its id, and the span of data that it affects."""

    key = ("job",)
    job: UnidentifiedName
    stage: Literal["failed", "delayed", "running", "on_hold", "recovered"]
    data_window: Text = ""
    finding: UnidentifiedText = ""


class ClinicalImpact(Record):
    """A process of care that feels it, the risk to patients, and how staff get by meanwhile."""

    key = ("process",)
    process: UnidentifiedName
    risk: Literal["none_known", "delay", "safety"]
    workaround: UnidentifiedText = ""


class OperatingWindow(Record):
    """When a site sees patients, and when its systems may be touched. The user's word alone."""

    key = ("site", "kind")
    site: Name
    kind: Literal["clinic_hours", "maintenance_window", "downtime"]
    hours: Name
    permits: Text = ""


class DataSet(Record):
    """How far a data set identifies patients, and where it may go. The user's word alone."""

    key = ("data_set",)
    data_set: Name
    identifiability: Literal["identified", "limited_data_set", "de_identified", "synthetic"]
    method: Literal["safe_harbor", "expert_determination", "none"]
    may_go: Text = ""


class HealthcareOperationsState(CompressedCognitiveState):
    """Healthcare operations: feeds, jobs, impact on care, clinic hours, and what is de-identified."""

    max_tokens: ClassVar[int] = 1_700

    feeds: Annotated[
        tuple[Feed, ...],
        Slot(
            "feeds", "h", "Feeds", places=8, share=0.4,
            guidance="interfaces by name with standard and version (HL7 v2.5.1, FHIR R4); no patient",
        ),
    ] = ()  # fmt: skip
    affected_jobs: Annotated[
        tuple[Job, ...],
        Slot(
            "jobs", "j", "Affected jobs", places=10, share=0.4,
            guidance="pipeline jobs known to be affected, by job id, with the span of data they affect",
        ),
    ] = ()  # fmt: skip
    clinical_impact: Annotated[
        tuple[ClinicalImpact, ...],
        Slot(
            "impact", "m", "Impact on care", places=6, share=0.4,
            guidance="processes of care that feel it, and the workaround in force; never a patient",
        ),
    ] = ()  # fmt: skip
    operating_windows: Annotated[
        tuple[OperatingWindow, ...],
        Slot(
            "windows", "x", "Hours and windows", places=8, share=0.4, lesser="beside",
            least=Trust.USER,
            guidance="clinic hours and maintenance windows by site, with what may be done in them",
        ),
    ] = ()  # fmt: skip
    data_sets: Annotated[
        tuple[DataSet, ...],
        Slot(
            "data_sets", "n", "Data sets", places=6, share=0.4, lesser="beside", least=Trust.USER,
            guidance="data sets and whether they identify patients; what nobody called de-identified "
            "is not",
        ),
    ] = ()  # fmt: skip
    checks: Annotated[tuple[Check, ...], CHECKS] = ()
    causes: Annotated[tuple[Cause, ...], CAUSES] = ()
    approvals: Annotated[
        tuple[Approval, ...],
        approval_slot(
            "y", "interventions that the user approved or refused, with window and limits"
        ),
    ] = ()
