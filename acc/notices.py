"""What the agent reads beside the items: rules lifted in this turn, and what nobody has read yet."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from acc.lines import Quote
from acc.turn import Observation


class Lifted(BaseModel):
    """A pinned item retired in this turn; the agent reads it once (law 7)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Quote
    because: Quote


class Doubted(BaseModel):
    """A pinned item that somebody's words may have been meant to end: it stands, and the agent asks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    text: Quote
    because: Quote


class Pending(Observation):
    """An observation that no compression has read yet.

    Attributes:
        shown: Whether there is room for it in what the agent reads.
    """

    shown: bool = True
    # Left empty: the evidence has it, and the form and hash of a stored state must not change.
    message: SkipJsonSchema[str] = Field(default="", exclude=True)

    def plain(self) -> Observation:
        """The observation, as a turn carries it."""
        return Observation(**self.model_dump(exclude={"shown"}))
