"""Deletion policies joined into one, as gates are.

A policy is a callable of (usages, t) that returns reasons by key. ``a & b`` deletes what both
do, ``a | b`` what either does, ``~a`` what a would keep, ``a.then(b)`` what a does and what b
does of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acc.evidence.usage import Usage

Doomed = dict[str, str]
"""Why each is to be deleted, by `Usage.key`."""

Judge = Callable[[Sequence[Usage], int], Doomed]


class Deletion:
    """Base of the policies: composition, and when one is due."""

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        """What is to be deleted at the time ``t``, and why."""
        raise NotImplementedError

    def due(self, t: int) -> bool:
        """Whether the policy runs by itself after the execution number ``t``."""
        return True

    def run(self, usages: Sequence[Usage], t: int) -> Doomed:
        """As calling it, when it is due; else nothing. What runs after each execution."""
        return self(usages, t) if self.due(t) else {}

    def then(self, other: Deletion) -> Deletion:
        """This policy, then ``other`` over what it leaves."""
        return Then(self, other)

    def __and__(self, other: Deletion) -> Deletion:
        return Both(self, other)

    def __or__(self, other: Deletion) -> Deletion:
        return Either(self, other)

    def __invert__(self) -> Deletion:
        return Inverse(self)


class _Pair(Deletion):
    """Two policies joined: by what they say now, or by what they say when each is due."""

    one: Deletion
    other: Deletion

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        """What the two say now."""
        return self._join(self.one, self.other, usages, t)

    def run(self, usages: Sequence[Usage], t: int) -> Doomed:
        """What those that are due say."""
        return self._join(self.one.run, self.other.run, usages, t)

    def due(self, t: int) -> bool:
        """When one is."""
        return self.one.due(t) or self.other.due(t)

    def _join(self, one: Judge, other: Judge, usages: Sequence[Usage], t: int) -> Doomed:
        raise NotImplementedError


@dataclass(frozen=True)
class Both(_Pair):
    """What both would delete: the intersection, with both reasons."""

    one: Deletion
    other: Deletion

    def _join(self, one: Judge, other: Judge, usages: Sequence[Usage], t: int) -> Doomed:
        first, second = one(usages, t), other(usages, t)
        return {key: f"{first[key]}; {second[key]}" for key in first if key in second}


@dataclass(frozen=True)
class Either(_Pair):
    """What either would delete: the union, with every reason."""

    one: Deletion
    other: Deletion

    def _join(self, one: Judge, other: Judge, usages: Sequence[Usage], t: int) -> Doomed:
        first, second = one(usages, t), other(usages, t)
        joined = {key: f"{first[key]}; {second[key]}" for key in first if key in second}
        return {**first, **second, **joined}


@dataclass(frozen=True)
class Then(_Pair):
    """One policy, then another over what is left."""

    one: Deletion
    other: Deletion

    def _join(self, one: Judge, other: Judge, usages: Sequence[Usage], t: int) -> Doomed:
        gone = one(usages, t)
        return {**gone, **other([u for u in usages if u.key not in gone], t)}


@dataclass(frozen=True)
class Inverse(Deletion):
    """What the other would keep."""

    policy: Deletion

    def due(self, t: int) -> bool:
        """When the other is."""
        return self.policy.due(t)

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        """The complement."""
        gone = self.policy(usages, t)
        return {u.key: "what the policy would keep" for u in usages if u.key not in gone}
