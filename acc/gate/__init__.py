"""Qualify: gates admit or refuse recalled candidates, each with a verdict."""

from acc.gate.built_in import (
    Budget,
    Contradiction,
    Distinct,
    InQuestion,
    NotStale,
    Novelty,
    Relevance,
    Trusted,
    default_gate,
)
from acc.gate.protocol import All, AnyOf, Context, Gate, Not, Verdict

__all__ = [
    "All",
    "AnyOf",
    "Budget",
    "Context",
    "Contradiction",
    "Distinct",
    "Gate",
    "InQuestion",
    "Not",
    "NotStale",
    "Novelty",
    "Relevance",
    "Trusted",
    "Verdict",
    "default_gate",
]
