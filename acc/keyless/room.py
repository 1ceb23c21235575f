"""What the state has room for: rules first, then later words and goals, then the facts most worth their tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

from acc.keyless.facts import Candidate
from acc.keyless.words import marks, stems
from acc.state.items import Pinned
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.render import render

SPARE = 0.02
"""Share of the bound that stays free for what commit adds."""

AGAIN = 0.1
"""Factor on the worth of a fact whose figures and names stand in others that are kept."""

TELLING = 4
"""Minimum length of a figure or identifier with one meaning in all facts: "3" is too short."""

FADING = 0.02
"""Worth that a fact loses with each turn in which nobody speaks of it."""

FLAT, POWER = 40, 0.5
"""The rank of a fact is its worth by ``(tokens + FLAT) ** POWER``: very short ones say little by themselves."""

BESIDE = ' LATER 2026-01-01: ""'
HEADINGS = "Facts:\nFacts by tool:\n"


class Room:
    """The tokens that are left while a proposal is made."""

    def __init__(self, state: CompressedCognitiveState, policy: Policy) -> None:
        own = {
            name: getattr(state, name)
            for name, slot in type(state).slots().items()
            if slot.is_pinned
        }
        self._counter: Callable[[str], int] = policy.counter
        self._used = policy.counter(render(type(state)(**own), policy.style))
        self._pinned = policy.pinned_tokens
        self._most = int(policy.max_tokens * (1 - SPARE))

    def takes(self, text: str, *, is_beside: bool = False, share: float = 1.0) -> bool:
        """Return whether a goal or later word fits into ``share`` of the room of rules; take its tokens if so."""
        cost = self._counter(f"{BESIDE}{text}" if is_beside else f'- "{text}"\n')
        if self._used + cost > share * self._pinned:
            return False
        self._used += cost
        return True

    def needs(self, text: str) -> None:
        """Take the tokens of a rule, which is proposed in any case: commit says loudly if it does not fit."""
        self._used += self._counter(f'- "{text}"\n')

    def kept(self, found: Sequence[Candidate], pinned: Iterable[Pinned]) -> list[Candidate]:
        """Return the facts that fit, those most worth their tokens first."""
        left = self._most - self._used - self._counter(HEADINGS)
        kept: list[Candidate] = []
        for each in self._best_first(found, [item.text_of for item in pinned]):
            cost = self._cost(each)
            if cost <= left:
                left -= cost
                kept.append(each)
        return kept

    def _cost(self, each: Candidate) -> int:
        return self._counter(f"- {each.text}\n")

    def _best_first(self, found: Sequence[Candidate], said: Sequence[str]) -> Iterator[Candidate]:
        """Order facts by worth per token. One without new figures or names loses most of its worth."""
        told: dict[str, list[frozenset[str]]] = {}
        for text in said:
            _tell(told, text)
        ranks = (
            (each.worth - FADING * each.age) / (self._cost(each) + FLAT) ** POWER for each in found
        )
        queue = [(-rank, place, False) for place, rank in enumerate(ranks)]
        heapify(queue)
        while queue:
            rank, place, is_again = heappop(queue)
            each = found[place]
            if not is_again and _is_covered(told, each.text):
                heappush(queue, (rank * AGAIN if rank < 0 else rank, place, True))
                continue
            _tell(told, each.text)
            yield each


def _tell(told: dict[str, list[frozenset[str]]], text: str) -> None:
    for mark in marks(text):
        told.setdefault(mark, []).append(stems(text) - marks(text))


def _is_covered(told: dict[str, list[frozenset[str]]], text: str) -> bool:
    """Return whether kept texts hold all figures and identifiers; a short one counts only with its subject."""
    says, about = marks(text), stems(text) - marks(text)
    return bool(says) and all(
        any(len(mark) >= TELLING or about & other for other in told.get(mark, ())) for mark in says
    )
