"""Finance: what an agent carries through a close, a reconciliation or a report."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import model_validator

from acc import CompressedCognitiveState, Item, Observation, Slot, Trust
from acc.state import Example, Line, Name, OptionalLine, OptionalName
from acc_schemas.approvals import APPROVAL_CUES, APPROVAL_EXAMPLES, Approval


class Figure(Item):
    """A figure by what it measures, whose it is and for when; amounts as they were given."""

    key = ("measure", "entity", "period")
    head = "measure"
    measure: Name
    entity: Name
    period: Name
    amount: Name
    basis: Literal["audited", "booked", "preliminary", "forecast", "estimate"]


class Materiality(Item):
    """From what amount on something matters, for a scope. The user's word alone."""

    key = ("scope",)
    head = "scope"
    scope: Name
    threshold: Name
    basis: OptionalLine = ""


class CutOff(Item):
    """A date of the closing calendar: what is later belongs to the next period. The user's word alone."""

    key = ("process", "period")
    head = "process"
    process: Name
    period: Name
    due: Name
    stage: Literal["open", "soft_closed", "closed", "reopened"]


class ReconcilingItem(Item):
    """A difference on an account, and whether it is explained."""

    key = ("account", "item")
    head = "item"
    account: Name
    item: Name
    amount: Name
    stage: Literal["open", "explained", "adjusted", "waived"]
    explanation: OptionalLine = ""


class JournalEntry(Item):
    """An entry by its number. Whoever prepared it cannot approve it."""

    key = ("entry",)
    head = "entry"
    entry: Name
    debit: Name
    credit: Name
    amount: Name
    stage: Literal["drafted", "reviewed", "posted", "reversed"]
    preparer: OptionalName = ""
    approver: OptionalName = ""

    @classmethod
    def settled(cls, fields: dict[str, Any], source: Observation, trust: Trust) -> dict[str, Any]:
        """A document may ask for an entry; that it was reviewed or posted, the ledger or a person says."""
        return {**fields, "stage": "drafted"} if trust < Trust.TOOL else fields

    @model_validator(mode="after")
    def _duties_are_segregated(self) -> Self:
        if self.preparer and self.preparer.casefold() == self.approver.casefold():
            raise ValueError(f"{self.preparer} is preparer and approver")
        return self


class Assumption(Item):
    """What a figure or a judgement rests on, that somebody could question."""

    key = ("assumption",)
    head = "assumption"
    assumption: Line
    standing: Literal["proposed", "agreed", "challenged"]


class FinanceState(CompressedCognitiveState):
    """Finance: figures with their basis, materiality, cut-off dates, differences, entries, approvals."""

    max_tokens: ClassVar[int] = 1300

    figures: Annotated[
        tuple[Figure, ...],
        Slot(
            max_items=14,
            eviction_priority=57,
            id_prefix="n",
            guidance="figures with currency or unit exactly as given, their period, and on what basis they stand",
            cues=("revenue", "balance", "accrual", "EBITDA"),
            examples=(
                Example(
                    "Revenue of DE GmbH for Q3 is EUR 4.21m, preliminary",
                    measure="Revenue",
                    entity="DE GmbH",
                    period="Q3",
                    amount="EUR 4.21m",
                    basis="preliminary",
                ),
                Example(
                    "DE GmbH has revenue of EUR 4.21m for Q3, preliminary",
                    measure="revenue",
                    entity="DE GmbH",
                    period="Q3",
                    amount="EUR 4.21m",
                    basis="preliminary",
                ),
            ),
        ),
    ]
    materiality: Annotated[
        tuple[Materiality, ...],
        Slot(
            max_items=4,
            min_trust=Trust.USER,
            eviction_priority=87,
            id_prefix="m",
            guidance="thresholds by scope: group, entity, account; basis: what they were derived from",
            cues=("materiality", "threshold", "immaterial"),
            examples=(
                Example(
                    "Materiality for the group is EUR 250k, 5% of profit before tax",
                    scope="group",
                    threshold="EUR 250k",
                    basis="5% of profit before tax",
                ),
                Example(
                    "The threshold for receivables is EUR 250k, 5% of the balance",
                    scope="receivables",
                    threshold="EUR 250k",
                    basis="5% of the balance",
                ),
            ),
        ),
    ]
    cut_offs: Annotated[
        tuple[CutOff, ...],
        Slot(
            max_items=6,
            min_trust=Trust.USER,
            eviction_priority=84,
            id_prefix="w",
            guidance="dates of the closing calendar by process and period; a closed period takes no entry",
            cues=("cut-off", "close", "closing calendar"),
            examples=(
                Example(
                    "Accounts payable for September close on 4 October, 18:00",
                    process="Accounts payable",
                    period="September",
                    due="4 October, 18:00",
                    stage="open",
                ),
                Example(
                    "The cut-off of accounts payable for September is 4 October, 18:00",
                    process="accounts payable",
                    period="September",
                    due="4 October, 18:00",
                    stage="open",
                ),
            ),
        ),
    ]
    reconciling_items: Annotated[
        tuple[ReconcilingItem, ...],
        Slot(
            max_items=8,
            eviction_priority=58,
            id_prefix="v",
            guidance="differences by account; explained only by what was shown, waived only by the user",
            cues=("difference", "unreconciled", "variance"),
            examples=(
                Example(
                    "Account 1200 is off by EUR 18,400: deposits in transit, a late bank file",
                    account="1200",
                    item="deposits in transit",
                    amount="EUR 18,400",
                    stage="explained",
                    explanation="a late bank file",
                ),
                Example(
                    "Account 1200 has a difference of EUR 18,400",
                    account="1200",
                    item="difference",
                    amount="EUR 18,400",
                    stage="open",
                ),
                Example(
                    "Account 1200 has a difference of EUR 18,400, still open",
                    account="1200",
                    item="difference",
                    amount="EUR 18,400",
                    stage="open",
                ),
            ),
        ),
    ]
    journal_entries: Annotated[
        tuple[JournalEntry, ...],
        Slot(
            max_items=6,
            eviction_priority=59,
            id_prefix="j",
            guidance="entries by number with both accounts; who prepared and who approved are two people",
            cues=("journal", "JE-", "debit", "credit", "posted"),
            examples=(
                Example(
                    "JE-881 drafted by Ana: debit 6400, credit 2310, EUR 52,000",
                    entry="JE-881",
                    debit="6400",
                    credit="2310",
                    amount="EUR 52,000",
                    stage="drafted",
                    preparer="Ana",
                ),
                Example(
                    "JE-881 is posted: debit 6400, credit 2310, EUR 52,000",
                    entry="JE-881",
                    debit="6400",
                    credit="2310",
                    amount="EUR 52,000",
                    stage="posted",
                ),
                Example(
                    "I drafted JE-881, debit 6400, credit 2310, EUR 52,000",
                    entry="JE-881",
                    debit="6400",
                    credit="2310",
                    amount="EUR 52,000",
                    stage="drafted",
                ),
            ),
        ),
    ]
    assumptions: Annotated[
        tuple[Assumption, ...],
        Slot(
            max_items=5,
            eviction_priority=45,
            id_prefix="l",
            guidance="what figures and judgements rest on: rates, dates, methods",
            cues=("assume", "assumption", "rate of"),
            examples=(
                Example(
                    "We assume a EUR/USD rate of 1.08",
                    assumption="a EUR/USD rate of 1.08",
                    standing="proposed",
                ),
                Example(
                    "Let's assume a EUR/USD rate of 1.08",
                    assumption="a EUR/USD rate of 1.08",
                    standing="proposed",
                ),
                Example(
                    "We agreed to assume a EUR/USD rate of 1.08",
                    assumption="a EUR/USD rate of 1.08",
                    standing="agreed",
                ),
            ),
        ),
    ]
    approvals: Annotated[
        tuple[Approval, ...],
        Slot(
            max_items=6,
            min_trust=Trust.USER,
            eviction_priority=86,
            id_prefix="y",
            guidance="sign-offs and refusals of the user, by entry or report, with limits",
            cues=("waive", *APPROVAL_CUES),
            examples=(
                Example(
                    "JE-881 is approved, up to EUR 52,000",
                    subject="JE-881",
                    answer="given",
                    terms="up to EUR 52,000",
                ),
                *APPROVAL_EXAMPLES,
            ),
        ),
    ]
