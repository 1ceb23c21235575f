"""What a passage of a document says about a question: the few sentences that share most of its words."""

from __future__ import annotations

from collections.abc import Sequence

from acc.compressors.rules.reading import MOST_SENTENCES
from acc.compressors.rules.sentences import fit, sentences
from acc.excerpt import GAP
from acc.wording import marks, stems

LONGEST = 280
"""Characters of what is told of a passage: with its ref it fits a line of the state."""


def about(text: str, asked: frozenset[str], limit: int = LONGEST) -> str:
    """The sentence or line of ``text`` that shares most of the stems ``asked``, and says more than they do.

    Those that have others of these stems come with it, in the order of the text, as far as there is room:
    the heading above it, the first row of a table. Empty where no sentence shares any.
    """
    lines = [line.text.lstrip("# ") for line in sentences(text, MOST_SENTENCES)]
    telling = [at for at, line in enumerate(lines) if stems(line) - asked]
    chosen = [] if not telling else [_next(lines, telling, asked, asked)]
    if not chosen or not stems(lines[chosen[0]]) & asked:
        return ""
    while True:
        left = asked.difference(*(stems(lines[at]) for at in chosen))
        rest = [at for at in range(len(lines)) if at not in chosen and stems(lines[at]) & left]
        more = [*chosen, _next(lines, rest, left, asked)] if rest else chosen
        if more == chosen or len(_joined(lines, more)) > limit:
            return fit(_joined(lines, chosen), limit)
        chosen = more


def _next(
    lines: Sequence[str], places: Sequence[int], left: frozenset[str], asked: frozenset[str]
) -> int:
    """Of ``places`` the line with most stems that are ``left``; of equals the one with more figures and names."""

    def worth(at: int) -> tuple[int, int, int]:
        words = stems(lines[at])
        return len(words & left), len(marks(lines[at])) + len(words - asked), -at

    return max(places, key=worth)


def _joined(lines: Sequence[str], chosen: Sequence[int]) -> str:
    ordered = sorted(chosen)
    said = [lines[at] if at - 1 in chosen else f"{GAP} {lines[at]}" for at in ordered]
    return " ".join(said).removeprefix(f"{GAP} ")
