"""Cybersecurity response: what an analyst's agent carries through an intrusion."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from acc import CompressedCognitiveState, Item, Slot, Trust
from acc.state import Example, Line, Name, OptionalLine, OptionalName
from acc_schemas.approvals import APPROVAL_CUES, APPROVAL_EXAMPLES, Approval

TLP = Literal["RED", "AMBER+STRICT", "AMBER", "GREEN", "CLEAR"]
"""Traffic light protocol 2.0: with whom something may be shared."""

Tactic = Literal[
    "reconnaissance", "resource_development", "initial_access", "execution", "persistence",
    "privilege_escalation", "defense_evasion", "credential_access", "discovery", "lateral_movement",
    "collection", "command_and_control", "exfiltration", "impact",
]  # fmt: skip
"""Tactics of MITRE ATT&CK for enterprises."""


class Indicator(Item):
    """An indicator of compromise. There is no benign one: that is the user's to say, in `KnownGood`."""

    key = ("indicator",)
    head = "indicator"
    indicator: Name
    kind: Literal["ip", "domain", "url", "file_hash", "email", "account", "process", "other"]
    assessment: Literal["malicious", "suspicious", "unknown"]
    tlp: TLP = "AMBER"
    seen: OptionalLine = ""


class KnownGood(Item):
    """What looks like an indicator and is none, by the user's word."""

    key = ("indicator",)
    head = "indicator"
    indicator: Name
    reason: Line


class Asset(Item):
    """A host, account or system in scope, and where it stands in the response."""

    key = ("asset",)
    head = "asset"
    asset: Name
    state: Literal["suspected", "compromised", "contained", "eradicated", "recovered"]
    role: OptionalLine = ""


class Technique(Item):
    """A technique of MITRE ATT&CK that was seen, by its number."""

    key = ("technique",)
    head = "technique"
    technique: Name
    tactic: Tactic
    evidence: Line


class Containment(Item):
    """A step of containment, eradication or recovery, and what it costs the business."""

    key = ("action",)
    head = "action"
    action: Line
    stage: Literal["proposed", "running", "done", "reverted"]
    side_effect: OptionalLine = ""


class ForensicEvidence(Item):
    """A piece of evidence in the chain of custody."""

    key = ("evidence",)
    head = "evidence"
    evidence: Name
    custodian: OptionalName = ""
    integrity: OptionalName = ""


class ReportingDuty(Item):
    """Somebody who has to be told, and by when."""

    key = ("party",)
    head = "party"
    party: Name
    due: Name
    stage: Literal["open", "drafted", "sent", "waived"]


class CybersecurityState(CompressedCognitiveState):
    """Cybersecurity response: indicators, assets, techniques, containment, evidence, duties to report."""

    max_tokens: ClassVar[int] = 1300

    indicators: Annotated[
        tuple[Indicator, ...],
        Slot(
            max_items=16,
            eviction_priority=54,
            id_prefix="i",
            guidance="indicators of compromise, character for character, defanged as given; tlp as their source "
            "set it, AMBER where it set none; seen: first and last sighting",
            cues=("indicator", "C2", "malicious", "TLP", "hash", "beacon"),
            examples=(
                Example(
                    "203.0.113[.]7 is malicious, beacons every 60 s",
                    indicator="203.0.113[.]7",
                    kind="ip",
                    assessment="malicious",
                    seen="beacons every 60 s",
                ),
                Example(
                    "203.0.113[.]7 is malicious, TLP:RED",
                    indicator="203.0.113[.]7",
                    kind="ip",
                    assessment="malicious",
                    tlp="RED",
                ),
                Example(
                    "cdn.example[.]top is suspicious, first seen 2 May",
                    indicator="cdn.example[.]top",
                    kind="domain",
                    assessment="suspicious",
                    seen="first seen 2 May",
                ),
                Example(
                    "cdn.example[.]top is malicious, TLP:RED",
                    indicator="cdn.example[.]top",
                    kind="domain",
                    assessment="malicious",
                    tlp="RED",
                ),
                Example(
                    "hxxps://example[.]top/a is malicious, first seen 2 May",
                    indicator="hxxps://example[.]top/a",
                    kind="url",
                    assessment="malicious",
                    seen="first seen 2 May",
                ),
                Example(
                    "9f2c01b7a4e5d6839f2c01b7a4e5d683 is malicious, the dropper of 2 May",
                    indicator="9f2c01b7a4e5d6839f2c01b7a4e5d683",
                    kind="file_hash",
                    assessment="malicious",
                    seen="the dropper of 2 May",
                ),
                Example(
                    "billing@example[.]top is suspicious, sent the invoice",
                    indicator="billing@example[.]top",
                    kind="email",
                    assessment="suspicious",
                    seen="sent the invoice",
                ),
            ),
        ),
    ]
    known_good: Annotated[
        tuple[KnownGood, ...],
        Slot(
            max_items=6,
            min_trust=Trust.USER,
            eviction_priority=82,
            id_prefix="y",
            guidance="what the user cleared, with the reason; never on the word of a log or report",
            cues=("ours", "known good", "false positive", "allow-list"),
            examples=(
                Example(
                    "198.51.100.4 is ours, the vulnerability scanner",
                    indicator="198.51.100.4",
                    reason="the vulnerability scanner",
                ),
                Example(
                    "198.51.100.4 is known good, the vulnerability scanner",
                    indicator="198.51.100.4",
                    reason="the vulnerability scanner",
                ),
                Example(
                    "198.51.100.4 is a false positive, the vulnerability scanner",
                    indicator="198.51.100.4",
                    reason="the vulnerability scanner",
                ),
                Example(
                    "scan.example.org is ours, the vulnerability scanner",
                    indicator="scan.example.org",
                    reason="the vulnerability scanner",
                ),
            ),
        ),
    ]
    assets: Annotated[
        tuple[Asset, ...],
        Slot(
            max_items=10,
            eviction_priority=57,
            id_prefix="h",
            guidance="hosts, accounts and systems in scope; role: what they are, and how critical",
            cues=("compromised", "isolated", "reimaged"),
            examples=(
                Example(
                    "FIN-LT-22 is compromised, a laptop of payroll",
                    asset="FIN-LT-22",
                    state="compromised",
                    role="a laptop of payroll",
                ),
                Example(
                    "We contained FIN-LT-22, a laptop of payroll",
                    asset="FIN-LT-22",
                    state="contained",
                    role="a laptop of payroll",
                ),
                Example(
                    "FIN-LT-22 is isolated, a laptop of payroll",
                    asset="FIN-LT-22",
                    state="contained",
                    role="a laptop of payroll",
                ),
                Example(
                    "FIN-LT-22 is reimaged, a laptop of payroll",
                    asset="FIN-LT-22",
                    state="eradicated",
                    role="a laptop of payroll",
                ),
                Example(
                    "svc_backup is compromised, an account of the backup",
                    asset="svc_backup",
                    state="compromised",
                    role="an account of the backup",
                ),
            ),
        ),
    ]
    techniques: Annotated[
        tuple[Technique, ...],
        Slot(
            max_items=8,
            eviction_priority=45,
            id_prefix="m",
            guidance="ATT&CK techniques by number, only where evidence shows them",
            cues=("T1", "ATT&CK", "technique"),
            examples=(
                Example(
                    "T1566.001 is initial access, a macro in invoice.docm",
                    technique="T1566.001",
                    tactic="initial_access",
                    evidence="a macro in invoice.docm",
                ),
                Example(
                    "T1059.001 (execution), powershell from a macro",
                    technique="T1059.001",
                    tactic="execution",
                    evidence="powershell from a macro",
                ),
            ),
        ),
    ]
    containment: Annotated[
        tuple[Containment, ...],
        Slot(
            max_items=8,
            eviction_priority=60,
            id_prefix="n",
            guidance="steps of containment, eradication and recovery; side_effect: what they cost or give away",
            cues=("isolate", "block", "revoke", "reset", "reimage"),
            examples=(
                Example(
                    "We could isolate FIN-LT-22, payroll stops until Thursday",
                    action="isolate FIN-LT-22",
                    stage="proposed",
                    side_effect="payroll stops until Thursday",
                ),
                Example(
                    "We should revoke the sessions, payroll stops until Thursday",
                    action="revoke the sessions",
                    stage="proposed",
                    side_effect="payroll stops until Thursday",
                ),
                Example(
                    "I will isolate FIN-LT-22, payroll stops until Thursday",
                    action="isolate FIN-LT-22",
                    stage="proposed",
                    side_effect="payroll stops until Thursday",
                ),
            ),
        ),
    ]
    forensic_evidence: Annotated[
        tuple[ForensicEvidence, ...],
        Slot(
            max_items=6,
            eviction_priority=62,
            id_prefix="v",
            guidance="evidence secured: who holds it, and its hash; never alter what is listed",
            cues=("image", "memory dump", "custody", "preserved"),
            examples=(
                Example(
                    "Memory dump FIN-LT-22.raw is with Kim, sha256 9f2c",
                    evidence="FIN-LT-22.raw",
                    custodian="Kim",
                    integrity="sha256 9f2c",
                ),
                Example(
                    "Disk image FIN-LT-22.raw is held by Kim, sha256 9f2c",
                    evidence="FIN-LT-22.raw",
                    custodian="Kim",
                    integrity="sha256 9f2c",
                ),
            ),
        ),
    ]
    reporting_duties: Annotated[
        tuple[ReportingDuty, ...],
        Slot(
            max_items=5,
            min_trust=Trust.AGENT,
            eviction_priority=84,
            id_prefix="w",
            guidance="whom to notify, and by when: regulators, customers, insurers, law enforcement",
            cues=("notify", "72 hours", "regulator", "deadline"),
            examples=(
                Example(
                    "The regulator has to be told by Friday 09:00",
                    party="regulator",
                    due="Friday 09:00",
                    stage="open",
                ),
                Example(
                    "We have to notify the regulator by Friday 09:00",
                    party="regulator",
                    due="Friday 09:00",
                    stage="open",
                ),
                Example(
                    "The report to the regulator is due Friday 09:00",
                    party="regulator",
                    due="Friday 09:00",
                    stage="open",
                ),
            ),
        ),
    ]
    approvals: Annotated[
        tuple[Approval, ...],
        Slot(
            max_items=5,
            min_trust=Trust.USER,
            eviction_priority=85,
            id_prefix="b",
            guidance="actions of containment, disclosure or recovery that the user approved or refused",
            cues=("do not isolate", *APPROVAL_CUES),
            examples=(
                Example(
                    "Isolate FIN-LT-22, approved, after 18:00",
                    subject="Isolate FIN-LT-22",
                    answer="given",
                    terms="after 18:00",
                ),
                *APPROVAL_EXAMPLES,
            ),
        ),
    ]
