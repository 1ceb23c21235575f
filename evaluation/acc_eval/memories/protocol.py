"""The protocol of memories that an evaluation can compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from acc.errors import ConfigurationError
from acc.turn.turn import Turn


def imported(name: str) -> Any:
    """Import the object ``module:name``. The name may have dots.

    Raises:
        ConfigurationError: It cannot be imported.
    """
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # importing runs any code of the module
        raise ConfigurationError(
            f"cannot be imported: {type(error).__name__}: {error}",
            where=name,
            hint="write module:name, with the module on PYTHONPATH",
        ) from error
    return found


CONSTRAINTS = "constraints"
GOALS = "goal_orientation"
PRIVILEGED = (CONSTRAINTS, GOALS, "predictive_cue")
"""Slots that steer an agent. They must hold no planted text."""


@dataclass(frozen=True)
class HeldItem:
    """One element of a memory: an item of a state, a message, an artifact, a summary.

    Attributes:
        text: Its rendered text.
        slot: Its slot; None in a memory without slots, and for the messages of a tail.
        is_hypothesis: Whether the memory marks it as unsettled.
        is_open: Whether it is still in force; False for a completed goal.
        later: Numbers of the turns whose words of the user stand beside it as later words.
    """

    text: str
    slot: str | None = None
    is_hypothesis: bool = False
    is_open: bool = True
    later: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Reading:
    """What an agent reads of a memory, in addition to its role and the current turn.

    Attributes:
        text: The context as it appears in the prompt; its tokens are the memory's tokens.
        items: The same content, one by one.
        parts: Its tokens by part: ``state``, ``tail``, ``evidence``; empty for a memory without parts.
        verbatim: Numbers of the observed turns, from 1, that stand in the text word for word.
    """

    text: str
    items: tuple[HeldItem, ...]
    parts: Mapping[str, int] = field(default_factory=dict, hash=False)
    verbatim: frozenset[int] = frozenset()


@runtime_checkable
class EvaluatedMemory(Protocol):
    """A memory of one conversation. Each conversation gets a new memory.

    The same turns and questions must give the same readings. Reports include three optional
    attributes: ``max_tokens``, the memory's token limit; ``failures``, a sequence of texts about
    errors that the memory survived; and ``usage``, what its model was asked for the turns so far:
    a mapping with ``requests`` and the tokens ``input``, ``output`` and ``cached``, which is part
    of ``input``. Questions do not count in it.
    """

    @property
    def has_slots(self) -> bool:
        """Whether the items are in the slots of a state. Otherwise the metrics ignore slots."""
        ...

    def observe(self, turn: Turn) -> None:
        """Add a completed turn: the user's words, the tools' outputs, the agent's answer."""
        ...

    def held(self) -> Reading:
        """The contents after the last turn, which the agent takes into the next turn."""
        ...

    def read(self, question: str) -> Reading:
        """What the agent would read if the user asked ``question`` now. Changes nothing."""
        ...

    def close(self) -> None:
        """Release all resources. Safe to repeat."""
        ...


class Joined:
    """Several memories read one after the other, as by the tutorial agent."""

    def __init__(self, parts: Sequence[EvaluatedMemory]) -> None:
        self._parts = tuple(parts)

    @property
    def has_slots(self) -> bool:
        """Whether all parts have slots."""
        return all(part.has_slots for part in self._parts)

    def observe(self, turn: Turn) -> None:
        """Pass the turn to every part."""
        for part in self._parts:
            part.observe(turn)

    def held(self) -> Reading:
        """The contents of all parts."""
        return _joined([part.held() for part in self._parts])

    def read(self, question: str) -> Reading:
        """The readings of all parts."""
        return _joined([part.read(question) for part in self._parts])

    def close(self) -> None:
        """Close all parts."""
        for part in self._parts:
            part.close()


def _joined(readings: Sequence[Reading]) -> Reading:
    text = "\n\n".join(reading.text for reading in readings if reading.text)
    parts: Counter[str] = Counter()
    for reading in readings:
        parts.update(reading.parts)
    verbatim = frozenset[int]().union(*(reading.verbatim for reading in readings))
    return Reading(text, tuple(item for r in readings for item in r.items), dict(parts), verbatim)
