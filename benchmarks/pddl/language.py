"""The part of PDDL that the tasks use: STRIPS with types and constants, read and grounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from acc.errors import InputError

Literal = tuple[str, ...]
"""A predicate and its objects: ``("at", "ball1", "rooma")``."""

ANYTHING = "object"


@dataclass(frozen=True)
class Schema:
    """An action with variables.

    Attributes:
        name: Its name.
        parameters: Variables with their types, in order.
        needs: Literals that must hold.
        adds: Literals that hold afterwards.
        removes: Literals that no longer hold.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    needs: tuple[Literal, ...]
    adds: tuple[Literal, ...]
    removes: tuple[Literal, ...]


@dataclass(frozen=True)
class Action:
    """An action with objects: name and objects are its ``call``, as a literal is written."""

    call: Literal
    needs: frozenset[Literal]
    adds: frozenset[Literal]
    removes: frozenset[Literal]

    def after(self, state: frozenset[Literal]) -> frozenset[Literal]:
        """The state after the action."""
        return (state - self.removes) | self.adds


@dataclass(frozen=True)
class Domain:
    """Types with their parents, constants with their types, actions."""

    name: str
    parents: Mapping[str, str]
    constants: Mapping[str, str]
    actions: tuple[Schema, ...]


@dataclass(frozen=True)
class Problem:
    """Objects with their types, what holds at first, and what shall hold."""

    name: str
    objects: Mapping[str, str]
    start: frozenset[Literal]
    goal: tuple[Literal, ...]


def read_domain(path: Path) -> Domain:
    """Read a domain.

    Raises:
        InputError: The file cannot be read, or uses more of PDDL than STRIPS with types.
    """
    blocks = _blocks(path)
    actions = tuple(_schema(block, path) for block in blocks if block[0] == ":action")
    parents = _typed(_block(blocks, ":types"))
    constants = _typed(_block(blocks, ":constants"))
    return Domain(_block(blocks, "domain")[0], parents, constants, actions)


def read_problem(path: Path, domain: Domain) -> Problem:
    """Read a problem of ``domain``; its objects include the domain's constants.

    Raises:
        InputError: The file cannot be read, or has a goal that is no conjunction of literals.
    """
    blocks = _blocks(path)
    objects = {**domain.constants, **_typed(_block(blocks, ":objects"))}
    start = frozenset(tuple(each) for each in _block(blocks, ":init"))
    goal, denied = _split(_block(blocks, ":goal")[0], path)
    if denied:
        raise _unreadable(path, "a goal with a negation")
    return Problem(_block(blocks, "problem")[0], objects, start, goal)


def grounded(domain: Domain, problem: Problem) -> tuple[Action, ...]:
    """All actions of the problem's objects by their types, in a fixed order."""
    found = []
    for schema in domain.actions:
        choices = [
            [name for name, own in problem.objects.items() if _is_a(own, wanted, domain.parents)]
            for _, wanted in schema.parameters
        ]
        for chosen in product(*choices):
            names = {v: name for (v, _), name in zip(schema.parameters, chosen, strict=True)}
            needs, adds, removes = (
                frozenset(tuple(names.get(word, word) for word in literal) for literal in literals)
                for literals in (schema.needs, schema.adds, schema.removes)
            )
            found.append(Action((schema.name, *chosen), needs, adds, removes - adds))
    return tuple(found)


def _is_a(own: str, wanted: str, parents: Mapping[str, str]) -> bool:
    seen: set[str] = set()
    while own != wanted and own in parents and own not in seen:
        seen.add(own)
        own = parents[own]
    return wanted in (own, ANYTHING)


def _blocks(path: Path) -> list[Any]:
    """The parts of a definition; the first is ``["domain", NAME]`` or ``["problem", NAME]``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the file cannot be read: {error}", where=str(path), hint="name a PDDL file"
        ) from error
    words = iter(re.findall(r"[()]|[?]?[^\s()?]+", re.sub(r";[^\n]*", "", text.lower())))
    try:
        found = _nested(words) if next(words, "") == "(" else []
    except StopIteration:
        raise _unreadable(path, "an unclosed parenthesis") from None
    if not found or found[0] != "define":
        raise _unreadable(path, "no (define ...)")
    return found[1:]


def _nested(words: Iterator[str]) -> list[Any]:
    found: list[Any] = []
    while (word := next(words)) != ")":
        found.append(_nested(words) if word == "(" else word)
    return found


def _block(blocks: Sequence[Any], name: str) -> list[Any]:
    return next((block[1:] for block in blocks if block[0] == name), [])


def _typed(words: Sequence[str]) -> dict[str, str]:
    """``a b - kind c`` as names with their types."""
    found: dict[str, str] = {}
    waiting: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-":
            kind = next(rest, ANYTHING)
            found.update((name, kind) for name in waiting)
            waiting = []
        else:
            waiting.append(word)
    return {**found, **dict.fromkeys(waiting, ANYTHING)}


def _schema(block: Sequence[Any], path: Path) -> Schema:
    parts = dict(zip(block[2::2], block[3::2], strict=False))
    needs, denied = _split(parts.get(":precondition", []), path)
    if denied:
        raise _unreadable(path, f"a negated condition in {block[1]}")
    adds, removes = _split(parts.get(":effect", []), path)
    return Schema(
        block[1], tuple(_typed(parts.get(":parameters", [])).items()), needs, adds, removes
    )


def _split(formula: Any, path: Path) -> tuple[tuple[Literal, ...], tuple[Literal, ...]]:
    """The literals of a conjunction: those that hold, and those that are negated."""
    parts = formula[1:] if formula and formula[0] == "and" else [formula] if formula else []
    held: list[Literal] = []
    denied: list[Literal] = []
    for part in parts:
        literal, into = (part[1], denied) if part[0] == "not" else (part, held)
        if not all(isinstance(word, str) for word in literal):
            raise _unreadable(path, f"a condition {part[0]}")
        into.append(tuple(literal))
    return tuple(held), tuple(denied)


def _unreadable(path: Path, what: str) -> InputError:
    return InputError(
        f"not readable here: {what}",
        where=str(path),
        hint="use STRIPS with types: conjunctions of literals, negation in effects alone",
    )
