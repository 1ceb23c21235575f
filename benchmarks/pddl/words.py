"""Literals and actions in words, and back: how a world speaks, and what an agent understands of a text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acc.errors import InputError

from .language import Action, Domain, Literal

GOAL = "Make it so that"
"""Begins the user's task. The rest of the line is wanted, and says nothing of what holds."""

LOOK = "Look around"
"""The agent's words for seeing everything again. It costs a step."""

SEEN = "All that holds now:"
"""Begins an observation of everything: what was known before and is not in it no longer holds."""

REFUSED = "That cannot be done now."
"""The answer to an action that is impossible, and changes nothing."""


@dataclass(frozen=True)
class Wording:
    """A domain's sentences.

    Attributes:
        news_only: Whether an observation has only what was not so before; else it has everything.
        literals: A sentence for each predicate, with ``{0}``, ``{1}`` for its objects.
        actions: What the agent says, for each action, after "I".
    """

    news_only: bool
    literals: Mapping[str, str]
    actions: Mapping[str, str]

    def literal(self, one: Literal) -> str:
        """A literal as a sentence without its full stop."""
        return self.literals[one[0]].format(*one[1:])

    def action(self, one: Action) -> str:
        """An action as the agent says it."""
        return f"I {self.actions[one.call[0]].format(*one.call[1:])}."

    def sentences(self, literals: Collection[Literal]) -> str:
        """Literals as sentences, in the order of the alphabet."""
        texts = sorted(self.literal(one) for one in literals)
        return " ".join(f"{text[:1].upper()}{text[1:]}." for text in texts)


def read_wording(path: Path, domain: Domain) -> Wording:
    """Read the sentences of ``domain`` from a TOML file.

    Raises:
        InputError: The file cannot be read, or lacks a predicate or an action of the domain.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        wording = Wording(bool(found["news_only"]), found["literals"], found["actions"])
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"the words of a domain cannot be read: {type(error).__name__}: {error}",
            where=str(path),
            hint="write news_only, [literals] and [actions], as benchmarks/pddl/domains does",
        ) from error
    used = {
        one[0]
        for action in domain.actions
        for one in (*action.needs, *action.adds, *action.removes)
    }
    missing = (used - set(wording.literals)) | {
        action.name for action in domain.actions if action.name not in wording.actions
    }
    if missing:
        raise InputError(
            f"no words for {', '.join(sorted(missing))}",
            where=str(path),
            hint="give each predicate and each action a sentence",
        )
    return wording


class Reader:
    """Understands the texts of one task. What it knows beside the text is the domain alone: what actions undo."""

    def __init__(
        self, wording: Wording, objects: Collection[str], actions: Sequence[Action]
    ) -> None:
        """Read sentences about ``objects`` and ``actions``."""
        self._objects = frozenset(objects)
        self._literals = [
            (name, _pattern(text))
            for name, text in sorted(wording.literals.items(), key=lambda pair: -len(pair[1]))
        ]
        self._actions = {_plain(wording.action(each)): each for each in actions}

    def action(self, text: str) -> Action | None:
        """The action that the agent's first line names; None if it names none."""
        said = _plain(text.strip().splitlines()[0]) if text.strip() else ""
        said = said.removeprefix("action: ")
        return self._actions.get(said) or self._actions.get(f"i {said}")

    def literals(self, text: str) -> list[tuple[int, Literal]]:
        """What the text says to hold, with the place of each; a sentence within a longer one is not read.

        "A, b: is so" says it of each of the things, if all of them are.
        """
        return self._read(_LISTS.sub(self._apart, text))

    def _apart(self, match: re.Match[str]) -> str:
        names = match[1].split(", ")
        known = self._objects.issuperset(name.lower() for name in names)
        return " / ".join(f"{name} {match[2]}" for name in names) if known else match[0]

    def _read(self, text: str) -> list[tuple[int, Literal]]:
        taken: list[tuple[int, int]] = []
        found = []
        for name, pattern in self._literals:
            for match in pattern.finditer(text):
                objects = tuple(group.lower() for group in match.groups())
                start, end = match.span()
                apart = all(end <= a or b <= start for a, b in taken)
                if apart and self._objects.issuperset(objects):
                    taken.append((start, end))
                    found.append((start, (name, *objects)))
        return sorted(found)

    def believed(self, text: str) -> frozenset[Literal]:
        """What a reader of ``text`` takes to hold after it, in the order of its sentences.

        An action removes what the domain says that it removes, once an outcome follows that is no refusal.
        """
        text = _LISTS.sub(self._apart, _GOALS.sub(lambda match: " " * len(match[0]), text))
        events: list[tuple[int, Literal | Action | str]] = [*self._read(text)]
        events += [(match.start(), match[0]) for match in _MARKS.finditer(text)]
        for match in _SAID.finditer(text):
            if (action := self._actions.get(_plain(match[0]))) is not None:
                events.append((match.start(), action))
        held: set[Literal] = set()
        tried: Action | None = None
        for _, event in sorted(events, key=lambda pair: pair[0]):
            if isinstance(event, Action):
                tried = event
                continue
            if tried is not None and event != REFUSED:
                held -= tried.removes
            tried = None
            if event == SEEN:
                held.clear()
            elif isinstance(event, tuple):
                held.add(event)
        return frozenset(held)


_GOALS = re.compile(rf"{GOAL}[^\n]*")
_LISTS = re.compile(r"((?:[\w-]+, )*[\w-]+): ([^\"\n.,:/]+)")
_MARKS = re.compile("|".join(map(re.escape, (SEEN, REFUSED))))
_SAID = re.compile(r"\bI [a-z][^.\n]*\.")


def _plain(text: str) -> str:
    return re.sub(r"[\s.]+", " ", text.lower()).strip()


def _pattern(template: str) -> re.Pattern[str]:
    """A template as an expression; its objects must come in order."""
    parts = re.split(r"\{\d\}", template)
    return re.compile(
        r"(?<![\w-])" + r"([\w-]+)".join(map(re.escape, parts)) + r"(?![\w-])", re.IGNORECASE
    )
