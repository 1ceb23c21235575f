"""How an endpoint is held to the schema: the rungs of a ladder, from the strictest down.

Servers that speak OpenAI's API differ in what they can enforce. The first rung that an
endpoint accepts is remembered for the process, per address, model and API. Whether what comes
back fits is judged all the same: some servers accept a format and ignore it.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from acc.compressors.endpoint import Call, CallFailed, Reply
from acc.compressors.http_failures import FORMAT
from acc.compressors.outcomes import Outcome


class Rung(StrEnum):
    """A way to hold a model to the schema."""

    JSON_SCHEMA = "json_schema"
    STRUCTURED = "structured"
    TOOL = "tool"
    JSON_OBJECT = "json_object"
    TEXT = "text"


RUNGS = (Rung.JSON_SCHEMA, Rung.TOOL, Rung.JSON_OBJECT, Rung.TEXT)
"""Those of OpenAI's API. ``structured`` is LangChain's: whatever the provider has."""

IN_WORDS = {
    Rung.JSON_SCHEMA: "strict JSON schema: the endpoint itself holds the model to the state's schema",
    Rung.STRUCTURED: "structured output: the schema goes to the provider in its own way",
    Rung.TOOL: "forced tool call: the schema goes along as a tool that the model has to call",
    Rung.JSON_OBJECT: "JSON object: the endpoint ensures JSON, the schema stands in the prompt",
    Rung.TEXT: "plain text: the schema stands in the prompt, the JSON is taken out of the answer",
}

ROOMS = ("max_completion_tokens", "max_tokens")
"""What chat endpoints call the bound on the answer: OpenAI's newer models, and most others."""


@dataclass
class Known:
    """What is known of an endpoint.

    Attributes:
        rung: The strictest rung that it may accept.
        room: What it calls the bound on the answer.
        proven: Whether it has answered on that rung.
    """

    rung: Rung = Rung.JSON_SCHEMA
    room: str = ROOMS[0]
    proven: bool = False


_KNOWN: dict[tuple[str, str, str], Known] = {}


def known(base_url: str, model: str, api: str) -> Known:
    """What this process knows of an endpoint so far."""
    newest = "api.openai.com" in base_url or ".azure.com" in base_url
    fresh = Known(room=ROOMS[0] if newest else ROOMS[1])
    return _KNOWN.setdefault((base_url, model, api), fresh)


def forget() -> None:
    """Forget what is known of every endpoint: the next call begins at the top."""
    _KNOWN.clear()


REFUSED = (Outcome.BAD_REQUEST, Outcome.NOT_FOUND)
"""What may be meant for the way in which an answer was asked for."""


def descend(
    call: Call, found: Known, rungs: Sequence[Rung] = RUNGS
) -> Generator[Call, Reply, Reply]:
    """Make ``call``, and while the endpoint refuses it the next one down; note what it accepts.

    Raises:
        CallFailed: The endpoint refuses on every rung (its first refusal), or the call fails
            for a reason that has nothing to do with the rung.
    """
    following: Call | None = call
    first: CallFailed | None = None
    tried: set[tuple[str, str]] = set()
    while following is not None and (following.rung, following.room) not in tried:
        call = following
        tried.add((call.rung, call.room))
        try:
            reply = yield call
        except CallFailed as failure:
            if failure.outcome not in REFUSED:
                raise
            first = first or failure
            following = next_call(call, failure, rungs, proven=found.proven)
        else:
            found.rung, found.room = Rung(call.rung), call.room or found.room
            found.proven = True
            return reply
    raise first or CallFailed(Outcome.BAD_REQUEST, "refused on every rung")


def next_call(
    call: Call, failure: CallFailed, rungs: Sequence[Rung] = RUNGS, *, proven: bool
) -> Call | None:
    """The call to make after ``failure``: the other name for the bound, or the next rung down.

    None where the request was refused for something else. An endpoint that has answered on
    this rung before has to name the format in its refusal; of a new one any refusal counts.
    """
    if failure.outcome not in REFUSED:
        return None
    if call.room and call.room == ROOMS[0] and _names_room(failure, ROOMS[0]):
        return call._replace(room=ROOMS[1])
    if call.room and call.room == ROOMS[1] and _names_room(failure, ROOMS[1]):
        return call._replace(room=ROOMS[0])
    names_format = FORMAT.search(failure.detail) is not None
    if not names_format and (proven or failure.outcome is Outcome.NOT_FOUND):
        return None
    below = rungs[rungs.index(Rung(call.rung)) + 1 :]
    return call._replace(rung=below[0]) if below else None


def _names_room(failure: CallFailed, room: str) -> bool:
    return re.search(rf"\b{room}\b", failure.detail) is not None
