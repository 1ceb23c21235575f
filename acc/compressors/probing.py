"""Finding out what an endpoint can do: on which rung of the ladder it stands.

Each rung is asked a trifle that no model would answer in JSON by itself, so that a server
which accepts a format and ignores it is told from one that holds its model to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from acc.compressors.answers import NoJson, json_in
from acc.compressors.deadline import LATER, within
from acc.compressors.endpoint import Ask, Call, CallFailed, Ledger, Message, Reply
from acc.compressors.ladder import IN_WORDS, REFUSED, RUNGS, Rung, next_call
from acc.compressors.openai import OpenAIEndpoint
from acc.compressors.outcomes import WORTH_REPAIRING, Outcome

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"greeting": {"type": "string"}, "letters": {"type": "integer"}},
    "required": ["greeting", "letters"],
    "additionalProperties": False,
}
_MESSAGES = (
    Message("system", "You greet people in French. Where JSON is asked for, you answer in JSON."),
    Message("user", "Greet me with one word, and tell how many letters it has."),
)
_ROOM = 1_024
_GO_ON = (Outcome.WRONG_SHAPE, Outcome.INVALID_JSON, *REFUSED)


class Tried(NamedTuple):
    """What came of asking on one rung: OK, WRONG_SHAPE where it was ignored, or the failure."""

    rung: Rung
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True)
class Probe:
    """What an endpoint turned out to do.

    Attributes:
        where: Model and address.
        rung: The strictest that it keeps to; None where it keeps to none.
        tried: Every rung down to that one.
        usage: Tokens by kind that the probe cost.
    """

    where: str
    rung: Rung | None
    tried: tuple[Tried, ...]
    usage: Mapping[str, int]

    @property
    def in_words(self) -> str:
        """One line for people."""
        if self.rung is not None:
            return f"{self.where}: {IN_WORDS[self.rung]}"
        last = self.tried[-1]
        return f"{self.where}: no usable answer ({last.outcome.value}: {last.detail})"


def probe(endpoint: OpenAIEndpoint, seconds: float = 60.0) -> Probe:
    """Ask ``endpoint`` on each rung from the top until it keeps to one, and remember that.

    Args:
        endpoint: The model.
        seconds: For each call.

    Raises:
        ConfigurationError: The key, the model or the address cannot work.
    """
    ledger = Ledger()
    tried: list[Tried] = []
    for rung in RUNGS:
        tried.append(_tried(endpoint, rung, seconds, ledger))
        if tried[-1].outcome is Outcome.OK:
            endpoint.known.rung, endpoint.known.proven = rung, True
            break
        if tried[-1].outcome not in _GO_ON:
            break
    kept = tried[-1].rung if tried[-1].outcome is Outcome.OK else None
    return Probe(endpoint.where, kept, tuple(tried), dict(ledger.usage))


def _tried(endpoint: OpenAIEndpoint, rung: Rung, seconds: float, ledger: Ledger) -> Tried:
    room = endpoint.known.room
    call = Call(Ask(_MESSAGES, _SCHEMA, _ROOM), rung, room)
    try:
        return _judged(rung, _asked(endpoint, call, seconds, ledger))
    except CallFailed as failure:
        is_of_an_answer = failure.outcome in WORTH_REPAIRING
        other = call if is_of_an_answer else next_call(call, failure, proven=False)
        if other is None or other.rung != rung:
            return Tried(rung, failure.outcome, failure.detail)
    try:
        reply = _asked(endpoint, other, seconds, ledger)
    except CallFailed as failure:
        return Tried(rung, failure.outcome, failure.detail)
    endpoint.known.room = other.room
    return _judged(rung, reply)


def _asked(endpoint: OpenAIEndpoint, call: Call, seconds: float, ledger: Ledger) -> Reply:
    return ledger.answered(within(seconds, partial(endpoint.send, call, seconds + LATER)))


def _judged(rung: Rung, reply: Reply) -> Tried:
    if reply.outcome is not Outcome.OK:
        return Tried(rung, reply.outcome, reply.detail)
    try:
        value = json_in(reply.text, ("greeting", "letters"))
    except NoJson:
        value = None
    kept = isinstance(value, Mapping) and set(value) == {"greeting", "letters"}
    if kept and isinstance(value["greeting"], str) and isinstance(value["letters"], int):
        return Tried(rung, Outcome.OK)
    return Tried(rung, Outcome.WRONG_SHAPE, f"accepted and ignored: {reply.text[:100]!r}")
