"""What comes in from callers: held to its form, and the user's words told from what they pasted.

A turn may be made by `Turn.said`, of messages, or by hand: law 6 holds for each, so the split is made
where turns are taken in. What was split once is not split again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from acc.errors import InputError
from acc.paste import split_pasted
from acc.turn import Channel, Observation, Turn

PASTED = "pasted"
"""Name of a document that the user pasted into a message."""


def user_observations(text: str) -> tuple[Observation, ...]:
    """A user's message as observations: pasted passages as documents, then their own words.

    A message that is all paste yields the documents and an empty-handed `[pasted]` mark.

    Raises:
        InputError: The message is no text.
    """
    if not isinstance(text, str):
        raise InputError(
            f"the user's message is {type(text).__name__}", where="turn", mend="give its text"
        )
    own, pasted = split_pasted(text)
    documents = (Observation(channel=Channel.DOCUMENT, text=p, name=PASTED) for p in pasted)
    return (*documents, Observation(channel=Channel.USER, text=own))


def taken_in(turn: Any, where: str) -> Turn:
    """The turn with what the user pasted split off, however it was made.

    Raises:
        InputError: It is no turn.
    """
    if not isinstance(turn, Turn):
        raise InputError(
            f"the turn is {type(turn).__name__}",
            where=where,
            mend="make one: Turn.said(text) or Turn.from_messages(messages)",
        )
    if turn.number:
        return turn  # it was taken in before: what is stored is told by the same words again
    split = tuple(_split(turn.observations))
    if len(split) == len(turn.observations):
        return turn
    return turn.model_copy(update={"observations": split})


def as_observations(given: Sequence[Any]) -> tuple[Observation, ...]:
    """What was ``given`` as observations, with what the user pasted split off.

    Raises:
        InputError: It is something else.
    """
    seen = tuple(given) if isinstance(given, Iterable) else (given,)
    if odd := [o for o in seen if not isinstance(o, Observation)]:
        raise InputError(
            f"observations expected, and there is {type(odd[0]).__name__}",
            where="the decision to record",
            mend="pass observations, such as Turn.from_messages(messages).observations",
        )
    return tuple(_split(seen))


def _split(observations: Iterable[Observation]) -> Iterator[Observation]:
    for observation in observations:
        if observation.channel is not Channel.USER:
            yield observation
            continue
        *documents, own = user_observations(observation.text)
        yield from (d.model_copy(update={"message": observation.message}) for d in documents)
        if documents:
            yield observation.model_copy(update={"text": own.text})
        else:
            yield observation
