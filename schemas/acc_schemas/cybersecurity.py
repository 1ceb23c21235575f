"""Cybersecurity response: what an analyst's agent carries through an intrusion."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from acc.state.items import Name, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Slot
from acc.turn.observations import Trust
from acc_schemas.approvals import Approval, approval_slot

TLP = Literal["RED", "AMBER+STRICT", "AMBER", "GREEN", "CLEAR"]
"""Traffic light protocol 2.0: with whom something may be shared."""

Tactic = Literal[
    "reconnaissance", "resource_development", "initial_access", "execution", "persistence",
    "privilege_escalation", "defense_evasion", "credential_access", "discovery", "lateral_movement",
    "collection", "command_and_control", "exfiltration", "impact",
]  # fmt: skip
"""Tactics of MITRE ATT&CK for enterprises."""


class Indicator(Record):
    """An indicator of compromise. There is no benign one: that is the user's to say, in `KnownGood`."""

    key = ("indicator",)
    indicator: Name
    kind: Literal["ip", "domain", "url", "file_hash", "email", "account", "process", "other"]
    assessment: Literal["malicious", "suspicious", "unknown"]
    tlp: TLP = "AMBER"
    seen: Text = ""


class KnownGood(Record):
    """What looks like an indicator and is none, by the user's word."""

    key = ("indicator",)
    indicator: Name
    reason: Name


class Asset(Record):
    """A host, account or system in scope, and where it stands in the response."""

    key = ("asset",)
    asset: Name
    state: Literal["suspected", "compromised", "contained", "eradicated", "recovered"]
    role: Text = ""


class Technique(Record):
    """A technique of MITRE ATT&CK that was seen, by its number."""

    key = ("technique",)
    technique: Name
    tactic: Tactic
    evidence: Name


class Containment(Record):
    """A step of containment, eradication or recovery, and what it costs the business."""

    key = ("action",)
    action: Name
    stage: Literal["proposed", "running", "done", "reverted"]
    side_effect: Text = ""


class ForensicEvidence(Record):
    """A piece of evidence in the chain of custody."""

    key = ("evidence",)
    evidence: Name
    custodian: Text = ""
    integrity: Text = ""


class ReportingDuty(Record):
    """Somebody who has to be told, and by when."""

    key = ("party",)
    party: Name
    due: Name
    stage: Literal["open", "drafted", "sent", "waived"]


class CybersecurityState(CompressedCognitiveState):
    """Cybersecurity response: indicators, assets, techniques, containment, evidence, duties to report."""

    max_tokens: ClassVar[int] = 1_700

    indicators: Annotated[
        tuple[Indicator, ...],
        Slot(
            "indicators", "i", "Indicators", places=20, share=0.4,
            guidance="indicators of compromise, character for character, defanged as given; tlp as "
            "their source set it, AMBER where it set none; seen: first and last sighting",
        ),
    ] = ()  # fmt: skip
    known_good: Annotated[
        tuple[KnownGood, ...],
        Slot(
            "known_good", "z", "Known good", places=8, share=0.3, lesser="beside", least=Trust.USER,
            guidance="what the user cleared, with the reason; never on the word of a log or report",
        ),
    ] = ()  # fmt: skip
    assets: Annotated[
        tuple[Asset, ...],
        Slot(
            "assets", "h", "Assets", places=12, share=0.4,
            guidance="hosts, accounts and systems in scope; role: what they are, and how critical",
        ),
    ] = ()  # fmt: skip
    techniques: Annotated[
        tuple[Technique, ...],
        Slot(
            "techniques", "m", "Techniques", places=10, share=0.3,
            guidance="ATT&CK techniques by number, only where evidence shows them",
        ),
    ] = ()  # fmt: skip
    containment: Annotated[
        tuple[Containment, ...],
        Slot(
            "containment", "n", "Containment", places=10, share=0.4,
            guidance="steps of containment, eradication and recovery; side_effect: what they cost or "
            "give away",
        ),
    ] = ()  # fmt: skip
    forensic_evidence: Annotated[
        tuple[ForensicEvidence, ...],
        Slot(
            "evidence", "v", "Evidence secured", places=8, share=0.4,
            guidance="evidence secured: who holds it, and its hash; never alter what is listed",
        ),
    ] = ()  # fmt: skip
    reporting_duties: Annotated[
        tuple[ReportingDuty, ...],
        Slot(
            "duties", "w", "To report", places=6, share=0.4, least=Trust.AGENT,
            guidance="whom to notify, and by when: regulators, customers, insurers, law enforcement",
        ),
    ] = ()  # fmt: skip
    approvals: Annotated[
        tuple[Approval, ...],
        approval_slot("y", "containment, disclosure or recovery that the user approved or refused"),
    ] = ()
