"""A text normalised for comparison, with the place of each normalised character in the text.

Two texts that a reader takes for the same words compare equal here, however they were typed: NFKC,
letter case folded, invisible characters dropped, dashes, quotation marks and white space unified.
The properties of the Unicode database say which characters these are; no list stands here.
"""

from __future__ import annotations

import json
import unicodedata
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

import numpy as np
import numpy.typing as npt
import regex

Places = npt.NDArray[np.int64]

# NFKC joins and reorders characters inside one grapheme cluster, so a cluster is normalised as a
# whole. Most text needs no such care: characters that NFKC leaves alone, with no mark behind them.
_PLAIN = r"[\p{NFKC_QC=Yes}--[\p{M}\p{Default_Ignorable_Code_Point}]]"
_PIECE = regex.compile(rf"({_PLAIN}++(?!.)|{_PLAIN}+(?={_PLAIN}))|\X", regex.V1 | regex.S)

_UNIFIED = regex.compile(
    r"(\p{Default_Ignorable_Code_Point})|(\p{Dash})|(\p{Quotation_Mark})"
    r"|[[\p{White_Space}\p{Cc}]--[ ]]",
    regex.V1,
)
_SIGNS = {1: "", 2: "-", 3: "'", None: " "}

_LAID_OUT = regex.compile(
    r"(\r\n|[\p{Line_Break=BK}\p{Line_Break=NL}\p{Bidi_Class=B}--[\n]])"
    r"|(\p{Default_Ignorable_Code_Point})|([[\p{White_Space}\p{Cc}]--[ \t\n]])|(\p{NFKC_QC=No})",
    regex.V1,
)
_LAID = {1: "\n", 2: "", 3: " "}

MOST_MARKS = 32
"""Characters of one cluster that are normalised together. Sorting the marks of a longer one takes
quadratic time; Unicode's Stream-Safe Text Format bounds them in the same way."""


@dataclass(frozen=True, slots=True)
class Normal:
    """A normalised text; ``starts`` and ``ends`` give the range of each character in the original."""

    text: str
    starts: Places
    ends: Places

    @classmethod
    def of(cls, text: str) -> Normal:
        """Normalise ``text``. Takes time in proportion to its length."""
        normal = _once(text)
        # One pass can make a character that the next one changes (a folded letter that joins with
        # the mark behind it). The end is a text that a pass leaves alone, so it is idempotent.
        while not normal.text.isascii():
            again = _once(normal.text)
            if again.text == normal.text:
                break
            normal = cls(again.text, normal.starts[again.starts], normal.ends[again.ends - 1])
        return normal

    @classmethod
    def laid_out(cls, text: str) -> Normal:
        """Normalise ``text`` for a search of marks: lines, indents, letter case, dashes and quotation marks stay.

        Invisible characters are dropped, all line breaks are line feeds, other white space and control
        characters are spaces, and a character that NFKC replaces by one other is that one: a full-width sign.
        """
        parts: list[str] = []
        kept = np.ones(len(text), dtype=bool)
        position = 0
        for match in _LAID_OUT.finditer(text):
            start, end = match.span()
            sign = _laid_out(match)
            kept[start + len(sign) : end] = False
            parts += text[position:start], sign
            position = end
        starts = np.flatnonzero(kept).astype(np.int64)
        return cls("".join((*parts, text[position:])), starts, starts + 1)

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The range in the original text of a range of at least one normalised character."""
        return int(self.starts[start]), int(self.ends[end - 1])


def normalised(text: str) -> str:
    """``text`` as it is compared. ``normalised(normalised(x)) == normalised(x)`` for every string."""
    if text.isascii():  # the same as below without the places, ten times as fast
        return " ".join(text.translate(_ASCII).split())
    return Normal.of(text).text


_ESCAPES = regex.compile(r'(?:\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt]')


def unescaped(text: str) -> str:
    """``text`` with what JSON or HTML escaped in it as the characters that it means: another reading of it."""
    plain = (
        _ESCAPES.sub(lambda found: str(json.loads(f'"{found[0]}"')), text) if "\\" in text else text
    )
    return unescape(plain) if "&" in plain else plain


def _once(text: str) -> Normal:
    """One pass: each piece on its own, then runs of spaces to one space, the outer ones dropped."""
    parts: list[str] = []
    starts, ends = array("q"), array("q")
    for start, end, part, one_each in _pieces(text):
        parts.append(part)
        if one_each:
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
        else:
            starts.extend([start] * len(part))
            ends.extend([end] * len(part))
    return _with_single_spaces("".join(parts), starts, ends)


def _pieces(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Start, end and normalised text of each piece, and whether it has a character for each given."""
    for match in _PIECE.finditer(text):
        (start, end), step = match.span(), MOST_MARKS
        if match.lastindex:
            folded = match[0].casefold()
            if len(folded) == end - start:  # folding never takes characters away
                yield start, end, _unified(folded), True
                continue
            step = 1
        for at in range(start, end, step):
            stop = min(at + step, end)
            yield at, stop, _cluster(text[at:stop]), False


def _unified(text: str) -> str:
    return _UNIFIED.sub(lambda match: _SIGNS[match.lastindex], text)


def _laid_out(match: regex.Match[str]) -> str:
    if (kind := match.lastindex or 0) in _LAID:
        return _LAID[kind]
    replaced = unicodedata.normalize("NFKC", match[0])
    return replaced if len(replaced) == 1 else match[0]


@lru_cache(maxsize=1 << 14)
def _cluster(piece: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", piece).casefold())
    return _unified(folded)


_ASCII = {code: _cluster(chr(code)) for code in range(128)}


def _with_single_spaces(text: str, starts: array[int], ends: array[int]) -> Normal:
    """Runs of spaces become one, outer ones go."""
    # "surrogatepass": a text may hold half a surrogate pair, which no encoding accepts otherwise.
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    space = codes == ord(" ")
    follows = np.concatenate(([True], space[:-1])) if len(space) else space
    keep = ~(space & follows)
    if keep.any() and space[kept_last := int(np.flatnonzero(keep)[-1])]:
        keep[kept_last] = False
    kept = codes[keep].tobytes().decode("utf-32-le", "surrogatepass")
    return Normal(
        kept, np.asarray(starts, dtype=np.int64)[keep], np.asarray(ends, dtype=np.int64)[keep]
    )
