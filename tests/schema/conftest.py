"""Tests of schemas see what the next release publishes, whatever is installed."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from acc import schema as catalog

DOMAINS = {
    "it_operations": "ITOperationsState",
    "cybersecurity": "CybersecurityState",
    "healthcare_operations": "HealthcareOperationsState",
    "finance": "FinanceState",
    "software_engineering": "SoftwareEngineeringState",
    "planning": "PlanningState",
}


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """What installed packages publish; a test may change it."""
    values = {name: f"acc_schemas.{name}:{state}" for name, state in DOMAINS.items()}
    values["generic"] = "acc.state.model:CompressedCognitiveState"
    entries = [EntryPoint(name, value, catalog.GROUP) for name, value in values.items()]
    monkeypatch.setattr(
        catalog, "entry_points", lambda group: [e for e in entries if e.group == group]
    )
    return entries
