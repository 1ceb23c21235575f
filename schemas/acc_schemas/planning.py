"""Planning: what a plan-execute-reflect agent carries from one iteration to the next."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from acc import CompressedCognitiveState, Item, Observation, Slot, Trust
from acc.state import Example, Line, Name, OptionalLine, Uncertainty
from acc_schemas.approvals import APPROVAL_CUES, APPROVAL_EXAMPLES, Approval


class PlanStep(Item):
    """A step that is committed to and not yet done, and how one will know that it is."""

    key = ("step",)
    head = "step"
    step: Line
    stage: Literal["planned", "active", "blocked"]
    after: OptionalLine = ""
    done_when: OptionalLine = ""


class StepDone(Item):
    """A step that was executed, and what came of it."""

    key = ("step",)
    head = "step"
    step: Line
    outcome: Literal["succeeded", "partly", "failed"]
    result: Line


class Option(Item):
    """A way that was weighed; what was rejected stays, so that it stays rejected."""

    key = ("option",)
    head = "option"
    option: Line
    standing: Literal["candidate", "selected", "rejected"]
    because: OptionalLine = ""


class Finding(Item):
    """A fact that the plan rests on, and where it was found. A document reports; it verifies nothing."""

    key = ("claim",)
    head = "claim"
    claim: Line
    standing: Literal["verified", "reported", "disputed"]
    found_in: Name

    @classmethod
    def settled(cls, fields: dict[str, Any], source: Observation, trust: Trust) -> dict[str, Any]:
        """What only documents say is reported, whatever they say of themselves."""
        claims_more = fields.get("standing") == "verified" and trust < Trust.TOOL
        return {**fields, "standing": "reported"} if claims_more else fields


class OpenQuestion(Uncertainty):
    """A gap in the plan, and what would settle it."""

    settled_by: OptionalLine = ""


class Lesson(Item):
    """What reflection found worth doing otherwise."""

    key = ("lesson",)
    head = "lesson"
    lesson: Line
    applies_to: OptionalLine = ""


class PlanningState(CompressedCognitiveState):
    """Planning: plan commitments, steps done, options, findings, open questions, approvals, lessons."""

    max_tokens: ClassVar[int] = 1200

    plan: Annotated[
        tuple[PlanStep, ...],
        Slot(
            max_items=10,
            min_trust=Trust.AGENT,
            eviction_priority=78,
            id_prefix="h",
            guidance="steps committed to, and after which other; an executed one moves on to steps_done",
            cues=("step", "then", "plan", "done when"),
            examples=(
                Example(
                    "After the inventory, patch the gateway, done when the scan is clean",
                    step="patch the gateway",
                    stage="planned",
                    after="the inventory",
                    done_when="the scan is clean",
                ),
                Example(
                    "Next step: patch the gateway, done when the scan is clean",
                    step="patch the gateway",
                    stage="planned",
                    done_when="the scan is clean",
                ),
                Example(
                    "First step: list the gateways, done when all are counted",
                    step="list the gateways",
                    stage="active",
                    done_when="all are counted",
                ),
                Example(
                    "Patch the gateway is blocked, after the inventory",
                    step="Patch the gateway",
                    stage="blocked",
                    after="the inventory",
                ),
                Example(
                    "Step 2 is to patch the gateway", step="patch the gateway", stage="planned"
                ),
            ),
        ),
    ]
    steps_done: Annotated[
        tuple[StepDone, ...],
        Slot(
            max_items=10,
            eviction_priority=53,
            id_prefix="n",
            guidance="steps executed, with the outcome that was observed, never the one expected",
            cues=("done", "finished", "failed"),
            examples=(
                Example(
                    "Inventory the gateways succeeded: 14 found, 3 unpatched",
                    step="Inventory the gateways",
                    outcome="succeeded",
                    result="14 found, 3 unpatched",
                ),
                Example(
                    "Patch the gateway failed: the image is too old",
                    step="Patch the gateway",
                    outcome="failed",
                    result="the image is too old",
                ),
                Example(
                    "Patch the gateway partly succeeded: 2 of 3",
                    step="Patch the gateway",
                    outcome="partly",
                    result="2 of 3",
                ),
            ),
        ),
    ]
    options: Annotated[
        tuple[Option, ...],
        Slot(
            max_items=6,
            min_trust=Trust.AGENT,
            eviction_priority=65,
            id_prefix="m",
            guidance="ways that were weighed, the selected one and why the others were not",
            cues=("option", "alternative", "instead"),
            examples=(
                Example(
                    "Disable the module, rejected because uploads need it",
                    option="Disable the module",
                    standing="rejected",
                    because="uploads need it",
                ),
                Example(
                    "We rejected disabling the module because uploads need it",
                    option="disabling the module",
                    standing="rejected",
                    because="uploads need it",
                ),
                Example(
                    "I reject disabling the module, uploads need it",
                    option="disabling the module",
                    standing="rejected",
                    because="uploads need it",
                ),
                Example(
                    "We selected a rolling patch, nobody notices it",
                    option="a rolling patch",
                    standing="selected",
                    because="nobody notices it",
                ),
                Example(
                    "One option is a rolling patch", option="a rolling patch", standing="candidate"
                ),
            ),
        ),
    ]
    findings: Annotated[
        tuple[Finding, ...],
        Slot(
            max_items=12,
            eviction_priority=57,
            id_prefix="v",
            guidance="facts the plan rests on: versions, mitigations, dates; verified only where a tool or person "
            "showed it, disputed where sources differ",
            cues=("according to", "advisory", "affected versions"),
            examples=(
                Example(
                    "The vendor advisory says 4.0 to 4.7 are affected",
                    claim="4.0 to 4.7 are affected",
                    standing="reported",
                    found_in="vendor advisory",
                ),
                Example(
                    "According to the vendor advisory, 4.0 to 4.7 are affected",
                    claim="4.0 to 4.7 are affected",
                    standing="reported",
                    found_in="vendor advisory",
                ),
                Example(
                    "The scan shows that 4.7 is affected",
                    claim="4.7 is affected",
                    standing="verified",
                    found_in="scan",
                ),
            ),
        ),
    ]
    uncertainty_signal: Annotated[
        tuple[OpenQuestion, ...],
        Slot(
            max_items=6,
            eviction_priority=60,
            id_prefix="q",
            guidance="open questions, the next evidence that would settle each, and how much it matters",
            cues=("unclear", "unknown", "which", "?"),
            examples=(
                Example(
                    "Unclear whether 4.8 is affected; the changelog would tell",
                    gap="whether 4.8 is affected",
                    level="high",
                    settled_by="the changelog",
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
            id_prefix="y",
            guidance="gates of the plan: what the user approved or refused, with limits",
            cues=("stop before", *APPROVAL_CUES),
            examples=(
                Example(
                    "You may patch the gateway on Sunday only",
                    subject="patch the gateway",
                    answer="given",
                    terms="on Sunday only",
                ),
                *APPROVAL_EXAMPLES,
            ),
        ),
    ]
    lessons: Annotated[
        tuple[Lesson, ...],
        Slot(
            max_items=4,
            min_trust=Trust.AGENT,
            eviction_priority=55,
            id_prefix="l",
            guidance="what reflection would do otherwise, from outcomes seen, and what it applies to",
            cues=("next time", "lesson"),
            examples=(
                Example(
                    "Next time drain the node first, for every patch",
                    lesson="drain the node first",
                    applies_to="every patch",
                ),
                Example(
                    "Lesson: drain the node first, for every patch",
                    lesson="drain the node first",
                    applies_to="every patch",
                ),
            ),
        ),
    ]
