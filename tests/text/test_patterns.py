"""Each pattern of the library takes time in proportion to the text, also for texts made to slow it down.

Such a text repeats what a repetition of the pattern matches, behind what stands before it, and fails at its end.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from re import _constants as op
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest
import regex
from timing import is_linear

import acc

LENGTH = 3_200
PLAIN = ("a", " ", "1", "-", "\n", ".", "'", "a ", "a1", "\u00e9", "> ", "a\n", "A", ":")
TAILS = ("\x01", "")
_CATEGORIES = {
    op.CATEGORY_DIGIT: "1", op.CATEGORY_SPACE: " ", op.CATEGORY_WORD: "a", op.CATEGORY_NOT_DIGIT: "a",
    op.CATEGORY_NOT_SPACE: "a", op.CATEGORY_NOT_WORD: "-",
}  # fmt: skip
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


def patterns() -> Iterator[tuple[str, Any, bool]]:
    """Every compiled pattern that stands in a module of the library, and whether it is only matched at a place."""
    for info in pkgutil.walk_packages(acc.__path__, "acc."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        source = Path(str(module.__file__)).read_text("utf-8")
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern | regex.Pattern):
                uses = set(re.findall(rf"\b{name}\.(\w+)\(", source))
                yield f"{info.name}.{name}", value, uses <= {"match", "fullmatch"}


def sample(parsed: Iterable[Any]) -> str:
    """A text that a parsed pattern matches, as far as looks around and references do not matter."""
    return "".join(_one(kind, value) for kind, value in parsed)


def _one(kind: Any, value: Any) -> str:
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if kind is op.ANY:
        return "a"
    if kind is op.IN:
        return _of_class(value)
    if kind is op.BRANCH:
        return sample(value[1][0])
    if kind is op.SUBPATTERN:
        return sample(value[3])
    if kind is op.ATOMIC_GROUP:
        return sample(value)
    if kind in _REPEATS:
        least, _, inner = value
        return sample(inner) * min(max(least, 1), 8)
    return ""


def _of_class(members: Any) -> str:
    taken = [_of(kind, value) for kind, value in members if kind is not op.NEGATE]
    if members[0][0] is not op.NEGATE:
        return taken[0]
    return next(each for each in "a1 -\n.:" if each not in taken)


def _of(kind: Any, value: Any) -> str:
    if kind is op.RANGE:
        return chr(value[0])
    return _CATEGORIES.get(value, "a") if kind is op.CATEGORY else chr(value)


def pumped(parsed: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """What stands before each repetition, and what it repeats."""
    for kind, value in parsed:
        if kind in _REPEATS:
            yield before, sample(value[2])
            yield from pumped(value[2], before)
        elif kind is op.SUBPATTERN:
            yield from pumped(value[3], before)
        elif kind is op.ATOMIC_GROUP:
            yield from pumped(value, before)
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from pumped(branch, before)
        before += _one(kind, value)


def texts(pattern: Any) -> Iterator[str]:
    """Texts that are made to slow a pattern down."""
    units = {("", each) for each in PLAIN}
    try:
        parsed = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    except (re.error, ValueError, TypeError):
        parsed = []  # of the module `regex`, which has more than `re`
    for before, unit in pumped(parsed):
        if unit:
            units |= {("", unit), (before, unit), ("", before + unit)}
    for before, unit in sorted(units):
        for tail in TAILS:
            yield before + unit * (LENGTH // len(unit)) + tail


FOUND = {name: (pattern, is_matched) for name, pattern, is_matched in patterns()}


def test_the_patterns_are_found() -> None:
    assert len(FOUND) > 40


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND)
def test_a_pattern_takes_time_in_proportion_to_the_text(name: str) -> None:
    pattern, is_matched = FOUND[name]

    def search(text: str) -> None:
        if is_matched:
            pattern.match(text)
        for _ in () if is_matched else pattern.finditer(text):
            pass

    slow = [text[:40] for text in texts(pattern) if not is_linear(search, text)]
    assert not slow
