"""What an update of a role's memory reads: the agent's own output, as in the paper, or the whole turn."""

from __future__ import annotations

import logging
from typing import Any

from acc.errors import InputError
from acc.logs import log_event
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.turn import Turn

_LOG = logging.getLogger(__name__)


def turn_of(said: Any, role: str) -> Turn:
    """Return what a role said, its output or a turn, as a turn.

    Raises:
        InputError: It is neither.
    """
    if isinstance(said, str):
        return Turn(observations=(Observation(channel=Channel.AGENT, text=said),))
    if isinstance(said, Turn):
        return said
    raise InputError(
        f"the update is {type(said).__name__}",
        where=f"role {role!r}",
        hint="pass the agent's output as text, or a Turn",
    )


def own_output(turn: Turn, role: str, *, has_board: bool) -> Turn:
    """Return ``turn`` with the agent's own words alone, and with a board the user's, which alone make rules.

    What it repeats of a tool or document keeps their trust, although they stay out of its memory.

    Raises:
        InputError: The turn has no output of the agent, or words of the user that nothing would keep.
    """
    if not has_board and any(o.trust >= Trust.USER for o in turn.observations):
        raise InputError(
            "the turn has words of the user, and the role's memory is updated from its own output alone",
            where=f"role {role!r}",
            hint='give the team a board, which keeps the user\'s rules; use update_from="turn"; or pass the output '
            "as text",
        )
    own: list[Observation] = []
    others: list[Observation] = []
    for o in turn.observations:
        is_own = o.trust >= Trust.USER or (o.channel is Channel.AGENT and not o.is_call)
        (own if is_own else others).append(o)
    if not own:
        raise InputError(
            "the turn has no output of the agent",
            where=f"role {role!r}",
            hint='pass its answer as text or as Channel.AGENT, or use update_from="turn"',
        )
    if others:
        log_event(
            _LOG, logging.INFO, "own_output",
            "other observations of the turn stay out of a role's memory", role=role, count=len(others),
            channels=sorted({o.channel.value for o in others}),
        )  # fmt: skip
    heard = (*turn.heard, *(o for o in others if o.trust < Trust.AGENT))
    return turn.model_copy(update={"observations": tuple(own), "reply": None, "heard": heard})
