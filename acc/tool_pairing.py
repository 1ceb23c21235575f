"""Which call a tool's result belongs to, and so which channel it comes through.

Results belong to the calls of the step before them. Ids decide among these only: some servers
give several calls one id, or none, and a result must not gain trust by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from acc.turn import Channel


@dataclass
class _Call:
    call_id: str
    name: str
    is_answered: bool = False
    is_doubtful: bool = False


@dataclass
class Calls:
    """The calls of a conversation so far, step by step.

    Attributes:
        channels: Channel by tool name; a tool that is not named speaks as a tool.
    """

    channels: Mapping[str, Channel]
    _steps: list[list[_Call]] = field(default_factory=list)
    _is_over: bool = True

    def end_step(self) -> None:
        """What is called from here on belongs to another step."""
        self._is_over = True

    def made(self, call_id: str, name: str) -> None:
        """The agent calls a tool."""
        if self._is_over:
            self._steps.append([])
            self._is_over = False
        self._steps[-1].append(_Call(call_id, name))

    def knows(self, call_id: str) -> bool:
        """Whether a call had this id."""
        return any(call.call_id == call_id for step in self._steps for call in step)

    def answered(self, call_id: str, own: str) -> tuple[str, Channel]:
        """The tool whose result comes in, and the channel it comes through.

        Where neither the id nor the place together with the result's own name tells which of
        several calls it answers, the channel is the least trusted of those that it may be.

        Args:
            call_id: Id that the result gives; may be empty.
            own: Name that the result gives; may be empty.
        """
        self._is_over = True
        step = self._step_of(call_id)
        if not step:
            return own, self._least({own} if own else {*self.channels, ""})
        alike = [call for call in step if call.call_id == call_id]
        candidates = alike or step
        call = next((call for call in candidates if not call.is_answered), candidates[-1])
        call.is_answered = True
        names = {each.name for each in candidates}
        agrees = own == call.name and not call.is_doubtful
        if agrees or (len(names) == 1 and (alike or not own)):
            return call.name, self._channel(call.name)
        for each in candidates:  # one out of place, and the places of the others tell nothing
            each.is_doubtful = True
        return own if own in names else call.name, self._least(names | {own} - {""})

    def _step_of(self, call_id: str) -> list[_Call]:
        """The latest step; an earlier one where a call waits there that alone has this id."""
        for step in reversed(self._steps):
            if any(call.call_id == call_id for call in step):
                waiting = any(c.call_id == call_id and not c.is_answered for c in step)
                if step is self._steps[-1] or (call_id and waiting):
                    return step
        return self._steps[-1] if self._steps else []

    def _channel(self, name: str) -> Channel:
        return self.channels.get(name, Channel.TOOL)

    def _least(self, names: set[str]) -> Channel:
        return min(map(self._channel, names), key=lambda channel: channel.trust)
