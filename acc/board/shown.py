"""What an agent reads of the past with a board: the board, then its own state, then its tail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from acc.board.batch import State
from acc.board.choosing import held_on
from acc.journal import Latest
from acc.state.items import Pinned
from acc.state.policy import Policy
from acc.state.render import render

HEADING = "Shared with all agents:"
OWN_HEADING = "Your own:"


def both(latest: Latest[Any], own: State | None, board: Policy, agent: Policy) -> str:
    """Return the board, then the agent's own state, each under its heading; what is empty stays out.

    Of the board it is the state without facts that the agent's own has.
    """
    state = latest.state
    parts = []
    if state is not None:
        parts.append((HEADING, render(_without_facts_of(state, own), board.style)))
    parts.append((OWN_HEADING, render(own, agent.style) if own is not None else ""))
    return "\n".join(f"{heading}\n{text}" for heading, text in parts if text)


def _without_facts_of(state: State, own: State | None) -> State:
    told = {item.text_of for slot, item in own.items() if slot.is_record} if own else set()
    update = {
        name: tuple(item for item in getattr(state, name) if item.text_of not in told)
        for name, slot in state.slots().items()
        if slot.is_record
    }
    return state.model_copy(update=update)


def doubled(own: State, board: State) -> Iterator[str]:
    """Yield the ids of an agent's rules and goals that the board holds with all that stands beside them."""
    for slot, item in own.items():
        held = held_on(board, slot, item) if isinstance(item, Pinned) else None
        if isinstance(item, Pinned) and held is not None:
            texts = {item.words.text, *(words.text for words in held.later)}
            names = ("about", "scope", "done", "ending")
            is_all = all(getattr(held, n, None) or not getattr(item, n, None) for n in names)
            if is_all and texts.issuperset(words.text for words in item.later):
                yield item.id
