"""One turn of the loop, and the state update without a store."""

from acc.pipeline.session import Settings
from acc.pipeline.turn_pipeline import Step
from acc.pipeline.update import aupdate_state, seed, update_state

__all__ = [
    "Settings",
    "Step",
    "aupdate_state",
    "seed",
    "update_state",
]
