"""What a memory has to offer to be evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from acc.errors import ConfigurationError
from acc.turn.turn import Turn


def imported(name: str) -> Any:
    """The object that ``module:name`` names; the name may have dots.

    Raises:
        ConfigurationError: It cannot be imported.
    """
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # importing runs whatever stands in the module
        raise ConfigurationError(
            f"cannot be imported: {type(error).__name__}: {error}",
            where=name,
            hint="write module:name, with the module on PYTHONPATH",
        ) from error
    return found


CONSTRAINTS = "constraints"
GOALS = "goal_orientation"
PRIVILEGED = (CONSTRAINTS, GOALS, "predictive_cue")
"""Slots by which an agent steers: nothing that was planted may stand in them."""


@dataclass(frozen=True)
class HeldItem:
    """One thing that a memory holds: an item of a state, a message, an artifact, a summary.

    Attributes:
        text: Its rendered text.
        slot: The slot it stands in; None in a memory without slots.
        is_hypothesis: Whether the memory itself says that it is not settled.
        is_open: Whether it still binds; False for a goal that is done.
    """

    text: str
    slot: str | None = None
    is_hypothesis: bool = False
    is_open: bool = True


@dataclass(frozen=True)
class Reading:
    """What an agent reads of a memory, beside its role and the current turn.

    Attributes:
        text: The context, as it stands in the prompt; its tokens are the memory's tokens.
        items: The same, one by one.
    """

    text: str
    items: tuple[HeldItem, ...]


@runtime_checkable
class EvaluatedMemory(Protocol):
    """A memory of one conversation, fresh for each. Everything else is its own affair.

    The same turns and questions have to give the same readings. Two attributes are told where a
    memory has them: ``max_tokens``, the bound that it keeps, and ``failures``, a sequence of texts
    on what failed and was survived.
    """

    @property
    def has_slots(self) -> bool:
        """Whether items stand in the slots of a state; else no metric speaks of slots."""
        ...

    def observe(self, turn: Turn) -> None:
        """Take in a completed turn: the user's words, tools' outputs, the agent's answer."""
        ...

    def held(self) -> Reading:
        """What it holds after the last turn: what the agent carries into the next."""
        ...

    def read(self, question: str) -> Reading:
        """What the agent would read if the user asked ``question`` now; changes nothing."""
        ...

    def close(self) -> None:
        """Release what it uses. Safe to repeat."""
        ...


class Joined:
    """Several memories read one after the other: the tutorial agent's summary and semantic memory."""

    def __init__(self, parts: Sequence[EvaluatedMemory]) -> None:
        self._parts = tuple(parts)

    @property
    def has_slots(self) -> bool:
        """Whether all of them have."""
        return all(part.has_slots for part in self._parts)

    def observe(self, turn: Turn) -> None:
        """Show each the turn."""
        for part in self._parts:
            part.observe(turn)

    def held(self) -> Reading:
        """What each holds."""
        return _joined(part.held() for part in self._parts)

    def read(self, question: str) -> Reading:
        """What would be read of each."""
        return _joined(part.read(question) for part in self._parts)

    def close(self) -> None:
        """Close each."""
        for part in self._parts:
            part.close()


def _joined(readings: Iterable[Reading]) -> Reading:
    each = tuple(readings)
    text = "\n\n".join(reading.text for reading in each if reading.text)
    return Reading(text, tuple(item for reading in each for item in reading.items))
