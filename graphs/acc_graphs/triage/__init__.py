"""Triage of an ingestion failure in a clinic's data pipeline (the paper's example of ReAct)."""

from acc_graphs.triage.clinic import CHANNELS, Clinic
from acc_graphs.triage.deciding import ROLE, decide

__all__ = ["CHANNELS", "ROLE", "Clinic", "decide"]
