"""What node and middleware can be told, beside which memory they use."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypedDict

from acc.integrations.identity import Identify
from acc.integrations.sharing import Share, To
from acc.turn.observations import Channel


class AgentSettings(TypedDict, total=False):
    """What an agent's memory can be told, beside which memory it is.

    Attributes:
        channels: Channel by tool name (``{"ask": Channel.USER}``), and by name of human messages that are not the
            user's. A tool's result is a tool's by default.
        speakers: Names of people who speak as the user; other names are documents. None accepts every name.
        human: Channel of a human who reviews a call (`HumanInTheLoopMiddleware`) or answers an interrupt. By default
            an operator, whose rules the user cannot end. ``"user"`` where the user reviews; ``"document"`` where a
            reviewer's words shall bind nobody.
        identity: Finds the thread of a run; `Identity()` by default.
        resume: If the checkpoint has no state, continue from the thread's last state. None does so unless the
            checkpointer holds states of the thread: the run then goes back to before the first turn. False begins
            anew, without the thread's rules.
        tell_time: The model reads the time of the controller's clock after the state.
        share: What the agents of a conversation share on a board: ``"rules"`` shares those that somebody said to all
            of them (`acc.integrations.sharing`).
        to: Whom the user speaks to: ``"all"`` says each rule of the user's to all agents.
        mode: ``"memory"``, or ``"shadow"``: everything is committed, and nothing that the model reads changes.
    """

    channels: Mapping[str, Channel] | None
    speakers: Collection[str] | None
    human: Channel | str
    identity: Identify | None
    resume: bool | None
    tell_time: bool
    share: Share | None
    to: To
    mode: str
