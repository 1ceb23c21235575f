"""Finance: what an agent carries through a close, a reconciliation or a report."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import model_validator

from acc.state.items import Name, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Slot
from acc.turn.observations import Trust
from acc_schemas.approvals import Approval, approval_slot


class Figure(Record):
    """A figure by what it measures, whose it is and for when; amounts as they were given."""

    key = ("measure", "entity", "period")
    measure: Name
    entity: Name
    period: Name
    amount: Name
    basis: Literal["audited", "booked", "preliminary", "forecast", "estimate"]


class Materiality(Record):
    """From what amount on something matters, for a scope. The user's word alone."""

    key = ("scope",)
    scope: Name
    threshold: Name
    basis: Text = ""


class CutOff(Record):
    """A date of the closing calendar: what is later belongs to the next period. The user's word alone."""

    key = ("process", "period")
    process: Name
    period: Name
    due: Name
    stage: Literal["open", "soft_closed", "closed", "reopened"]


class ReconcilingItem(Record):
    """A difference on an account, and whether it is explained."""

    key = ("account", "item")
    account: Name
    item: Name
    amount: Name
    stage: Literal["open", "explained", "adjusted", "waived"]
    explanation: Text = ""


class JournalEntry(Record):
    """An entry by its number. Whoever prepared it cannot approve it."""

    key = ("entry",)
    entry: Name
    debit: Name
    credit: Name
    amount: Name
    stage: Literal["drafted", "reviewed", "posted", "reversed"]
    preparer: Text = ""
    approver: Text = ""

    @model_validator(mode="after")
    def _duties_are_segregated(self) -> Self:
        if self.preparer and self.preparer.casefold() == self.approver.casefold():
            raise ValueError(f"{self.preparer} is preparer and approver")
        return self


class Assumption(Record):
    """What a figure or a judgement rests on, that somebody could question."""

    key = ("assumption",)
    assumption: Name
    standing: Literal["proposed", "agreed", "challenged"]


class FinanceState(CompressedCognitiveState):
    """Finance: figures with their basis, materiality, cut-off dates, differences, entries, approvals."""

    max_tokens: ClassVar[int] = 1_700

    figures: Annotated[
        tuple[Figure, ...],
        Slot(
            "figures", "n", "Figures", places=16, share=0.5, lesser="beside",
            guidance="figures with currency or unit exactly as given, their period, and on what basis "
            "they stand",
        ),
    ] = ()  # fmt: skip
    materiality: Annotated[
        tuple[Materiality, ...],
        Slot(
            "materiality", "m", "Materiality", places=6, share=0.3, lesser="beside",
            least=Trust.USER,
            guidance="thresholds by scope: group, entity, account; basis: what they were derived from",
        ),
    ] = ()  # fmt: skip
    cut_offs: Annotated[
        tuple[CutOff, ...],
        Slot(
            "cut_offs", "w", "Cut-off dates", places=8, share=0.3, lesser="beside", least=Trust.USER,
            guidance="dates of the closing calendar by process and period; a closed period takes no "
            "entry",
        ),
    ] = ()  # fmt: skip
    reconciling_items: Annotated[
        tuple[ReconcilingItem, ...],
        Slot(
            "differences", "v", "Differences", places=10, share=0.4,
            guidance="differences by account; explained only by what was shown, waived only by the user",
        ),
    ] = ()  # fmt: skip
    journal_entries: Annotated[
        tuple[JournalEntry, ...],
        Slot(
            "entries", "j", "Journal entries", places=8, share=0.4, lesser="beside", least=Trust.TOOL,
            guidance="entries by number with both accounts; who prepared and who approved are two "
            "people",
        ),
    ] = ()  # fmt: skip
    assumptions: Annotated[
        tuple[Assumption, ...],
        Slot(
            "assumptions", "l", "Assumptions", places=6, share=0.2,
            guidance="what figures and judgements rest on: rates, dates, methods",
        ),
    ] = ()  # fmt: skip
    approvals: Annotated[
        tuple[Approval, ...],
        approval_slot("y", "sign-offs and refusals of the user, by entry or report, with limits"),
    ] = ()
