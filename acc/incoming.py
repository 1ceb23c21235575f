"""What comes in from callers: held to its form, and the user's words told from what they pasted.

A turn may be made by `Turn.said`, of messages, or by hand: law 6 holds for each, so the split is made
where turns are taken in. Words that were split carry that (`Observation.is_split`), and are not split again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from acc.errors import InputError
from acc.paste import split_pasted
from acc.turn import Channel, Observation, Turn

PASTED = "pasted"
"""Name of a document that the user pasted into a message."""


def user_observations(
    text: str, pasted: str | Iterable[str] | Mapping[str, str] = ()
) -> tuple[Observation, ...]:
    """A user's message as observations: pasted passages as documents, then their own words.

    A message that is all paste yields the documents and an empty-handed `[pasted]` mark.

    Args:
        text: The message as the user sent it.
        pasted: What is known to be pasted, in ``text`` or beside it: texts, or texts by name.

    Raises:
        InputError: The message, or what was pasted, is no text.
    """
    if not isinstance(text, str):
        raise InputError(
            f"the user's message is {type(text).__name__}", where="turn", mend="give its text"
        )
    known = tuple(_named(pasted))
    own, passages = split_pasted(text, [passage for _, passage in known])
    documents = [*known, *((PASTED, passage) for passage in passages)]
    return (
        *(Observation(channel=Channel.DOCUMENT, text=p, name=name) for name, p in documents),
        Observation(channel=Channel.USER, text=own).as_split(),
    )


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
    split = tuple(_split(turn.observations))
    if all(one is other for one, other in zip(split, turn.observations, strict=False)):
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


def _named(pasted: Any) -> Iterator[tuple[str, str]]:
    """Name and text of what a caller knows to be pasted."""
    given = [pasted] if isinstance(pasted, str) else pasted
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        given = [given]
    for name, text in given.items() if isinstance(given, Mapping) else ((PASTED, t) for t in given):
        if not (isinstance(name, str) and isinstance(text, str)):
            raise InputError(
                f"what was pasted is {type(text).__name__}",
                where="pasted",
                mend='give texts, or texts by name: pasted={"mail": text}',
            )
        if text.strip():
            yield name, text


def _split(observations: Iterable[Observation]) -> Iterator[Observation]:
    for observation in observations:
        if observation.channel is not Channel.USER or observation.is_split:
            yield observation
            continue
        *documents, own = user_observations(observation.text)
        yield from (d.model_copy(update={"message": observation.message}) for d in documents)
        text = own.text if documents else observation.text
        yield observation.model_copy(update={"text": text}).as_split()
