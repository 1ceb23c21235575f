"""A turn: what was observed, by whom, and how far to trust it."""

from acc.turn.observations import Channel, Evidence, Observation, Trust
from acc.turn.turn import Turn

__all__ = ["Channel", "Evidence", "Observation", "Trust", "Turn"]
