"""Lines that are quoted as mail programs and Markdown do it, each with its mark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from acc.paste.lines import Span, lines


def quoted_lines(text: str) -> Iterator[Span]:
    """Runs of lines that begin with ``>``, with the rest of one that a mail program broke.

    Not one that stands alone and compares: "> 500 EUR: ask me".
    """
    every = list(lines(text))
    quoted = (at for at, (_, line) in enumerate(every) if line.lstrip().startswith(">"))
    for _, run in groupby(enumerate(quoted), key=lambda pair: pair[1] - pair[0]):
        places = [at for _, at in run]
        first, last = places[0], places[-1]
        if first == last and _COMPARES.match(every[first][1]):
            continue
        last += _is_broken([line for _, line in every[last : last + 2]])
        start, line = every[last]
        yield every[first][0], start + len(line)


_COMPARES = re.compile(r"\s{0,8}> ?[$€£]?\d[\d.,]*\s?[\w%$€£]{0,8}:")

WRAPPED = 60
"""Characters of a quoted line from which on mail programs break it."""


def _is_broken(pair: Sequence[str]) -> bool:
    """Whether a quoted line goes on without its mark: it is long, ends in a word, and no capital follows."""
    if len(pair) < 2:
        return False
    line, rest = pair[0].rstrip(), pair[1]
    return len(line) >= WRAPPED and (line[-1].isalnum() or line[-1] == ",") and rest[:1].islower()
