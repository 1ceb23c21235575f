"""A judge by rule: it counts for which of the needed components a design says something of a kind.

It knows nothing of what the rule agents know: only words by which any text speaks of growth, failures, costs and
reasons. It counts words and cannot tell a true statement from a false one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from acc.models.protocol import AnswerError, object_in

NEEDED = (
    r"ingest", r"synchron|fusion|join", r"camera|image", r"lidar|point cloud", r"radar", r"stor",
    r"train", r"infer|serving",
)  # fmt: skip
"""What the task needs a component for, as its name says it."""

_MONEY = "(?:dollars|USD|euros|EUR)"
_SAYS = {
    "scalability": (r"\bscal(?:es|ing|able)\b|auto-?scal|elastic",),
    "reliability": (r"\brecover|\bretr(?:y|ies)\b|fail-?over|checkpoint|backup|fault",),
    "usability": (r"\b(?:[Uu]se|with|on) (?:the )?[A-Z]", rf"(?<![$€\d.,])(?<![$€] )\d(?![\d.,]* ?{_MONEY})"),
    "cost_effectiveness": (rf"\d ?{_MONEY}|[$€] ?\d", r"\bsav(?:es|ing)|\bspot\b|reserved|cheaper"),
    "documentation": (r"\bbecause\b|\breason|\bin order to\b", r"\bdrawback|\btrade-?off|\bcons?\b"),
}  # fmt: skip
"""For each metric, what a component's text has to say; each part counts the same."""


def verdicts(design: str) -> Mapping[str, Any]:
    """A verdict for each metric: 1 if no needed component has what it asks for, 10 if every one has all of it."""
    texts = _components(design)
    needed = [next((text for name, text in texts if re.search(n, name, re.I)), "") for n in NEEDED]
    found = {}
    for metric, parts in _SAYS.items():
        hits = sum(bool(re.search(part, text)) for text in needed for part in parts)
        most = len(needed) * len(parts)
        found[metric] = {
            "score": 1 + round(9 * hits / most),
            "justification": f"{hits} of {most} statements that it looks for",
        }
    return found


def _components(design: str) -> list[tuple[str, str]]:
    """Name and text of each component. Fields without words, and their names, are no text."""
    try:
        value = object_in(design, ("Platform", "Component 1"))
    except AnswerError:
        return []
    listed = [each for key, each in value.items() if key.startswith("Component")]
    texts = [list(_words(each)) for each in listed]
    return [(words[0], "\n".join(words[1:])) for words in texts if words]


def _words(value: Any) -> Iterator[str]:
    """The texts within ``value``, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _words(each)
    elif isinstance(value, list):
        for each in value:
            yield from _words(each)
