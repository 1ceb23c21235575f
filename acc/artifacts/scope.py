"""What recall has read of a thread, as one branch sees it: the messages, and which passages are the best.

The newest messages are read at the first question, older ones when a store proposes them, so that the index takes
them in any order. With the rarity w(t) of a term among the messages, as `acc.text.ranking` defines it, and W(A) the sum
of w over those terms of the question that A contains, a passage p of message m scores

    (0.7 W(p) + 0.3 W(m) + 0.3 W(message before m)) / W(question)
        * trust * (1 + 0.1 age(m)) / (0.6 + 0.4 |p| / mean |p|)

The message before m counts because an answer often leaves out what it answers ("Thirty, then."). ``trust`` is 1
for what people and the agent say, 1/2 for tools and documents, which are long and whose point the agent repeats.
``age``, 0 to 1, puts the later of the same words first. |p| is in characters. Figures: ``benchmarks/evidence_gate.py``.
"""

from __future__ import annotations

import hashlib
import threading
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from acc.artifacts.store import Hit
from acc.gate import Candidate, candidate_of, passages
from acc.text.ranking import NEAR, LexicalIndex, Numbers, terms
from acc.turn.observations import Trust, is_ingested

if TYPE_CHECKING:  # values of the journal, which recall reads by their fields
    from acc.journal import StoredMessage

    Around = Callable[[Sequence[int]], Iterable[StoredMessage]]
    """The journal's messages with these numbers that a branch sees."""

FAR = 40
"""Messages, of those that the store proposes and nobody has read, that are read: the nearest."""

OWN, CONTEXT, LESS_TRUSTED, LATER, LENGTH = 0.7, 0.3, 0.5, 0.1, 0.4

_AROUND, _PASSAGES, _LEFT_OUT = 2, 1 << 20, -1


class Rarities(dict[str, float]):
    """The rarity of each term that is asked for: the gate asks for a few of thousands."""

    def __init__(self, index: LexicalIndex) -> None:
        super().__init__()
        self._index = index

    def __missing__(self, term: str) -> float:
        self[term] = found = self._index.rarity(term)
        return found


class Scope:
    """What was read of a thread, as one branch sees it.

    Attributes:
        messages: Those that say something.
        is_whole: Whether these are all that the branch sees.
        size: Their characters.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._index = LexicalIndex()
        self.messages: list[StoredMessage] = []
        self._seqs = array("q")
        self._follows: list[bool] = []
        self._places: dict[tuple[str, str], int] = {}
        self.is_whole = False
        self._passages: dict[int, tuple[tuple[str, tuple[str, ...]], ...]] = {}
        self.size = 0

    def read(self, newest: Iterable[StoredMessage], window: int) -> None:
        """Read the newest messages, back to one that is known, or as far as the window reaches."""
        new: list[StoredMessage] = []
        for stored in newest:
            if stored.name in self._places:
                break  # as much as was read before it
            if window <= 0:
                self.is_whole = False
                break
            window -= len(stored.message.text)
            new.append(stored)
        else:
            self.is_whole = True
        self._add(new[::-1])

    def meet(self, around: Around, proposed: Sequence[Hit]) -> None:
        """Read the messages that the store proposes, with those around them, if they are not known."""
        far = [hit for hit in proposed if (hit.branch, hit.ref) not in self._places][:FAR]
        numbers = {hit.seq + step for hit in far for step in range(-_AROUND, _AROUND + 1)}
        rows = around(sorted(numbers)) if numbers else ()
        rows = [row for row in rows if row.name not in self._places]
        self._add(sorted(rows, key=lambda row: row.seq))

    def cosines(self, proposed: Sequence[Hit]) -> Numbers:
        """Return the cosine of each message; the least of those that are known where the store proposes it not."""
        found = np.full(len(self.messages), min((hit.cosine for hit in proposed), default=0.0))
        for hit in proposed:
            if (at := self._places.get((hit.branch, hit.ref), _LEFT_OUT)) != _LEFT_OUT:
                found[at] = hit.cosine
        return found

    def best(
        self, question: str, cosines: Numbers, weight: float, upto: int | None, limit: int
    ) -> list[int]:
        """Return the places of the best messages."""
        own = self._index.bm25(question)
        own /= max(own.max(initial=0), 1e-9)
        above = cosines - cosines.min(initial=1)
        own += weight * above / max(above.max(initial=0), 1e-9)
        scores = self._index.in_context(own)
        if upto is not None:
            scores[np.array(self._seqs) > upto] = 0
        return self._index.best(scores, limit)

    def still_there(self, places: Sequence[int], around: Around) -> list[int]:
        """Return those of some places whose messages the journal still holds."""
        found = around([self.messages[at].seq for at in places]) if places else ()
        texts = {each.name: each.message.text for each in found}
        there = ((at, self.messages[at]) for at in places)
        return [at for at, each in there if texts.get(each.name) == each.message.text]

    def candidates(
        self, question: str, places: Sequence[int], meaning: Numbers, limit: int
    ) -> list[Candidate]:
        """Return the best passages of messages, each with its share of the meaning."""
        asked = {term: self._index.rarity(term) for term in sorted(frozenset(terms(question)))}
        worths, whole = self._index.worths(asked).tolist(), sum(asked.values()) or 1.0
        count = len(self.messages)
        ages = np.empty(count, int)
        ages[np.argsort(np.array(self._seqs), kind="stable")] = np.arange(count)
        found: list[tuple[float, int, int, int]] = []
        mean = fmean([len(text) for at in places for text, _ in self._passages_of(at)] or [1])
        for at in places:
            message, own, age = self.messages[at].message, self._passages_of(at), int(ages[at])
            before = worths[at - 1] if self._follows[at] else 0.0
            around = CONTEXT * (worths[at] + before)
            trust = 1 if message.channel.trust >= Trust.AGENT else LESS_TRUSTED
            weight = trust * (1 + LATER * age / count) / whole
            for place, (text, said) in enumerate(own):
                worth = sum(asked[term] for term in asked.keys() & said)
                score = (OWN * worth + around) * weight
                score = score / (1 - LENGTH + LENGTH * len(text) / mean) + meaning[at] / len(own)
                if score > 0:
                    found.append((float(score), age * _PASSAGES + place, at, place))
        rarities = Rarities(self._index)
        return [self._candidate(rarities, *each) for each in nlargest(limit, found)]

    def _candidate(
        self, rarities: Mapping[str, float], score: float, number: int, at: int, place: int
    ) -> Candidate:
        text, said = self._passages_of(at)[place]
        return candidate_of(self.messages[at].message, text, place, number, score, said, rarities)

    def _passages_of(self, at: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
        if at not in self._passages:
            split = passages(self.messages[at].message.text)
            self._passages[at] = tuple((each, tuple(terms(each))) for each in split)
        return self._passages[at]

    def _add(self, messages: Sequence[StoredMessage]) -> None:
        """Add messages in the order of the thread. Calls of tools are left out: their results say more."""
        kept = [m for m in messages if m.message.text.strip() and not m.message.observation.is_call]
        for before, stored in pairwise([None, *kept]):
            assert stored is not None
            follows = before is not None and 0 <= _row(stored) - _row(before) <= NEAR
            text = before.message.text if before is not None and follows else ""
            self._index.add(stored.message.text, text, _row(stored))
            self._places[stored.name] = len(self.messages)
            self.messages.append(stored)
            self._seqs.append(stored.seq)
            self.size += len(stored.message.text)
            self._follows.append(follows)
        for stored in messages:
            self._places.setdefault(stored.name, _LEFT_OUT)


def _row(stored: StoredMessage) -> int:
    """Return the number of a message; that of a document is far from every other document's: none is its context."""
    ref = stored.message.ref
    if not is_ingested(ref):
        return stored.seq
    own = hashlib.blake2b(ref.rpartition(".")[0].encode(), digest_size=4).digest()
    return (int.from_bytes(own, "big") << 30) + stored.seq
