"""The commits that led to a branch's head, and the state after a turn."""

from __future__ import annotations

from collections.abc import Iterator

from acc.cli.opening import Place
from acc.errors import InputError
from acc.journal import Journal, StoredCommit

_NEAR = 64
"""Commits before the head that are looked at first."""


def commits_of(journal: Journal, place: Place, after: int = 0) -> Iterator[StoredCommit]:
    """Yield the commits that led to a branch's head, oldest first, those of the branches it came from too.

    ``after``: leave out commits up to this version.
    """
    names = [name for name, _ in journal.lineage(place.thread, place.branch)]
    for name, following in zip(names, [*names[1:], ""], strict=True):
        first = next(journal.commits(place.thread, following), None) if following else None
        for stored in journal.commits(place.thread, name, after):
            if first is not None and stored.version >= first.version:
                break  # later than the fork
            yield stored


def since_turn(journal: Journal, place: Place, turn: int) -> list[StoredCommit]:
    """Return the last commit of a turn, and all after it; from the first commit on if no commit is so old.

    Raises:
        InputError: The branch has no commit.
    """
    head = journal.head(place.thread, place.branch)
    for after in dict.fromkeys((max(0, head.version - _NEAR), 0)):
        found = list(commits_of(journal, place, after))
        start = max((n for n, each in enumerate(found) if each.turn <= turn), default=None)
        if start is not None:
            return found[start:]
    if not found:
        raise InputError("the thread has no commit", where=place.label, hint="step it first")
    return found


def after_turn(journal: Journal, place: Place, turn: int) -> StoredCommit:
    """Return the last commit of a turn.

    Raises:
        InputError: The branch has no commit of this turn, or an erasure blanked it.
    """
    found = since_turn(journal, place, turn)
    what, hint = "", f"name a turn from 1 to {found[-1].turn}"
    if found[0].turn != turn:
        what = f"no turn {turn}"
    elif found[0].problem or found[0].state is None:
        what = f"the state after turn {turn} is lost: {found[0].problem or 'it was erased'}"
    if what:
        raise InputError(what, where=place.label, hint=hint)
    return found[0]
