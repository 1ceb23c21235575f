"""What observations are called: keys by which a retry is known, refs by which they are cited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from acc.turn import Observation, Turn

DOCUMENT = "doc."
"""What the refs of ingested documents begin with; those of observations begin with one letter and a number."""


def identities(observations: Sequence[Observation]) -> list[str]:
    """A key for each observation: equal ones within a turn are told apart by their order."""
    seen: Counter[str] = Counter()
    keys = []
    for observation in observations:
        identity = observation.identity[:32]
        keys.append(f"{identity}.{seen[identity]}")
        seen[identity] += 1
    return keys


def refs(
    observations: Sequence[Observation], keys: Sequence[str], known: Mapping[str, str], number: int
) -> list[str]:
    """The ref of each observation of turn ``number``; those of ``known`` keys have theirs already."""
    used = Counter(ref[0] for ref in known.values())
    found = []
    for observation, key in zip(observations, keys, strict=True):
        letter = observation.channel.value[0]
        if key in known:
            found.append(known[key])
            continue
        found.append(f"{letter}{number}" + (f".{used[letter]}" if used[letter] else ""))
        used[letter] += 1
    return found


def refs_of(some: Sequence[Observation], turn: Turn) -> tuple[str, ...]:
    """The refs that ``some`` observations have in ``turn``."""
    wanted = {observation.identity for observation in some}
    return tuple(o.ref for o in turn.observations if o.identity in wanted)


def is_ingested(ref: str) -> bool:
    """Whether ``ref`` names a document that was taken in (`acc.evidence.documents`), or a part of one."""
    return ref.startswith(DOCUMENT)
